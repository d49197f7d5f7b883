"""Outputs of one audit never contradict each other: one sentence, and figures that agree with it."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import html5lib
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import cvpl
from cvpl.evaluation.contradictions import CheckedFigures, power_unexplained, top1_unexplained
from cvpl.reports.page import report_page
from cvpl.reports.sections.exposure import next_steps
from cvpl.reports.terminal import show
from cvpl.result import AuditResult, Risk, VerdictFigures, verdict_of
from examples import examples_apart

STORED = json.loads((Path(__file__).parents[1] / "fixtures" / "result-0.1.json").read_text(encoding="utf-8"))
NUMBERS = ("bill_length", "bill_depth", "flipper", "mass")
COLUMNS = {name: {"role": "attribute", "type": "numeric"} for name in NUMBERS} | {
    "species": {"role": "quasi_identifier", "type": "category"},
    "sex": {"role": "quasi_identifier", "type": "category"},
}
ATTACKERS = {
    "paper": {"preset": "paper"},
    "nearest": {"blocking": "none", "similarity": "euclidean", "threshold": "false_rate"},
    "rarity": {"blocking": "none", "similarity": "rarity"},
}
MIDDLES = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3730], [47.5, 15.0, 217, 5080]])
SPREADS = np.array([2.8, 1.1, 6.5, 460])
TENTH = np.array([1, 1, 0, -1])  # decimals of each measure


def penguins(rng, rows, spread=0.7):
    """As many penguins: three kinds, two sexes and four measures, which are more alike the smaller the spread."""
    kind = rng.choice(3, size=rows, p=(0.44, 0.2, 0.36))
    sex = rng.choice(2, size=rows)
    size = rng.normal(size=(rows, 1)) * 0.6 + 0.7 * sex[:, None]
    values = MIDDLES[kind] + SPREADS * (size + spread * rng.normal(size=(rows, 4)))
    table = pd.DataFrame({name: np.round(values[:, at], TENTH[at]) for at, name in enumerate(NUMBERS)})
    return table.assign(species=np.array(["adelie", "chinstrap", "gentoo"])[kind], sex=np.array(["f", "m"])[sex])


def noisy(rng, table, noise):
    changed = table[list(NUMBERS)] + rng.normal(size=(len(table), 4)) * SPREADS * noise
    rounded = {name: np.round(changed[name], TENTH[at]) for at, name in enumerate(NUMBERS)}
    return table.assign(**rounded).sample(frac=1, random_state=1).reset_index(drop=True)


def audited(original, released, control=None, *, columns=COLUMNS, attackers=ATTACKERS, **settings):
    config = {"columns": columns, "attackers": attackers, "seed": 1, "sensitivity": False, **settings}
    return cvpl.audit(original, released, config, control=control)


def printed(result):
    page = StringIO()
    show(result, Console(file=page, width=400), details=True)
    return page.getvalue()


def outputs(result):
    """What a person reads, by where, in one line each."""
    page = "".join(html5lib.parse(report_page(result), namespaceHTMLElements=False).itertext())
    found = {
        "terminal": printed(result),
        "html": page,
        "markdown": result.to_markdown().replace("\\", ""),
        "notebook": "".join(html5lib.parse(result._repr_html_(), namespaceHTMLElements=False).itertext()),
    }
    return {name: " ".join(text.split()) for name, text in found.items()}


def changed(result, **sections):
    return AuditResult.model_validate(json.loads(result.to_json()) | sections)


def penguin_audit(noise, **settings):
    """340 penguins, of which 100 are the control; the release has noise, or nobody of them where it is None."""
    rng = np.random.default_rng(5)
    everybody = penguins(rng, 340)
    original, control = everybody[:240], everybody[240:].reset_index(drop=True)
    released = penguins(rng, 240) if noise is None else noisy(rng, original, noise)
    return audited(original, released, control, **settings)


NOISES = (0.05, 0.3, 0.6, 1.0, None, 2.0)[:: examples_apart(2)]


@pytest.fixture(scope="module", params=NOISES, ids=[f"noise {noise}" for noise in NOISES])
def small(request):
    return penguin_audit(request.param)


def test_the_title_of_a_small_audit_agrees_with_its_body(small):
    """One sentence everywhere, and "nothing shows" never beside a figure that shows something."""
    sentence = small.verdict.sentence
    starts = ("can be linked because of this release", "cannot be told from 0", "cannot be told:", "is not assessable")
    (start,) = [item for item in starts if item in sentence]
    for name, text in outputs(small).items():
        assert sentence in text, name
        without = text.replace(sentence, "")
        assert "nothing shows" not in without.lower(), name
        assert "nothing beyond look-alikes" not in without.lower(), name
        said = {item for item in starts if item in without}
        assert said <= {start}, name
    if "nothing shows" in sentence:
        assert small.risk.high < 0.05
        assert small.attributable_rate.estimate <= small.risk.high
    assert (small.verdict.kind == "linkable") == ((small.certain or small.risk).low > 0)


def test_a_risk_that_may_be_large_does_not_free_the_columns(small):
    """Where the interval reaches far above 0 nobody is told that nothing needs to be done."""
    steps = " ".join(next_steps(small))
    assert ("No column needs to be coarsened" in steps) == (small.verdict.margin is not None)


# Rates below 0


def test_a_rate_below_zero_reads_so_everywhere_and_stays_a_number_in_json():
    """A fifth of the originals and 70% of the control are linked: -168% is attributable."""
    rate = {"estimate": -1.68, "low": -2.1, "high": -1.3, "method": "people", "basis": "control"}
    power = [{"false_rate": 0.05, "power": 0.01, "low": 0.0, "high": 0.02, "method": "people"}]
    row = STORED["attackers"][0] | {"attributable_rate": rate, "power": power}
    result = AuditResult.model_validate(
        STORED
        | {
            "linkage_rate": STORED["linkage_rate"] | {"estimate": 0.2},
            "control": STORED["control"] | {"rate": 0.7015},
            "attributable_rate": rate,
            "power": power,
            "attackers": [row, row | {"name": "another"}],
        }
    )
    for name, text in outputs(result).items():
        assert "below 0" in text, name
        assert not re.search(r"-\s?\d+(\.\d+)?%", text), name
    assert "attributable rate below 0 below 0 to below 0" in outputs(result)["terminal"]
    assert "the attributable rate, below 0" in outputs(result)["html"]
    data = json.loads(result.to_json())
    assert data["attributable_rate"]["estimate"] == -1.68
    assert data["attackers"][0]["attributable_rate"]["estimate"] == -1.68
    assert data["risk"]["estimate"] < 0


def strangers(seed):
    """A release of other penguins, which are more like the control than like the originals."""
    rng = np.random.default_rng(seed)
    original, control, released = penguins(rng, 200), penguins(rng, 200, 0.4), penguins(rng, 200, 0.4)
    policy = {"figure": "attributable_rate", "bound": "high", "max": 0.9}
    attackers = {"paper": ATTACKERS["paper"]}
    return audited(original, released, control, attackers=attackers, threshold=0.98, policy=policy)


def test_error_below_zero_contradicts_nothing_in_releases_of_strangers():
    results = [strangers(seed) for seed in range(0, 8, examples_apart(2))]
    assert all(result.attributable_rate.estimate < -0.1 for result in results)
    for result in results:
        rules = {warning.rule for warning in result.warnings}
        assert not rules & {"power_above_attributable", "top1_above_attributable"}
        assert result.policy.met, result.policy.reasons


@pytest.mark.parametrize("attributable", [-1.68, -0.3, 0.0])
def test_an_attributable_rate_below_zero_counts_as_zero(attributable):
    figures = {
        "records": 200, "linkage_rate": 0.2, "linkage_rate_of_matched": 0.2, "blocking_recall": 1.0,
        "basis": "control", "attributable_rate": attributable,
    }  # fmt: skip
    assert not power_unexplained(CheckedFigures(**figures, top1_hit_rate=None, power=0.06))
    assert not top1_unexplained(CheckedFigures(**figures, top1_hit_rate=0.05))
    assert power_unexplained(CheckedFigures(**figures, top1_hit_rate=None, power=0.3))
    assert top1_unexplained(CheckedFigures(**figures, top1_hit_rate=0.5))


# The gate beside the figures


@pytest.mark.parametrize("bound", ["high", "estimate"])
def test_a_rate_that_is_printed_is_known_to_its_policy(bound):
    """Without control and truth some attackers have no threshold, and so no rate; those that have one are read."""
    rng = np.random.default_rng(3)
    original = penguins(rng, 200)
    policy = {"figure": "linkage_rate", "bound": bound, "max": 0.0}
    result = audited(original, noisy(rng, original, 0.3), policy=policy)
    assert [row.name for row in result.attackers if row.linkage_rate.estimate is None]
    words = {row.name: row.linkage_rate for row in result.attackers if row.linkage_rate.estimate is not None}
    assert result.policy.attacker in words
    assert result.policy.value == max(getattr(rate, bound) for rate in words.values())
    for name, text in outputs(result).items():
        assert "linkage rate at the threshold is not known" not in text, name


RISKS = {
    "linkable": (0.3, 0.2, 0.4),
    "nothing shows": (0.0, -0.02, 0.02),
    "a wide interval": (0.1, -0.02, 0.3),
    "no interval": (0.1, None, None),
}
UNMET = {"figure": "risk", "bound": "high", "max": 0.01, "value": 0.4, "met": False, "reasons": ["a reason"]}
CLOSING = {"check": "direct_identifier", "closes_gate": True, "message": "column 'name' names people", "column": "name"}


@pytest.mark.parametrize("ends", RISKS.values(), ids=RISKS)
@pytest.mark.parametrize("met", [True, False], ids=["met", "not met"])
@pytest.mark.parametrize("findings", [[], [CLOSING]], ids=["no finding", "a closing finding"])
def test_next_steps_never_hold_back_a_release_and_free_its_columns_at_once(ends, met, findings):
    estimate, low, high = ends
    risk = Risk(
        estimate=estimate, low=low, high=high, power=0.1, false_rate=0.05, basis="control", attacker="main"
    )  # fmt: skip
    result = changed(
        AuditResult.model_validate(STORED),
        verdict=verdict_of(VerdictFigures(risk=risk)).model_dump(),
        risk=risk.model_dump(),
        policies=[UNMET | {"met": met}],
        preflight=findings,
    )
    text = " ".join(next_steps(result))
    held_back = "Do not release" in text
    freed = "No column needs to be coarsened" in text
    assert held_back == (not met)
    assert not (held_back and freed)
    assert freed == (met and not findings and ends == RISKS["nothing shows"])


def test_ids_that_nobody_shares_are_not_called_known_matches():
    """A synthetic release has ids of its own: they are declared, and match nobody."""
    rng = np.random.default_rng(4)
    original, released, control = (penguins(rng, 200).assign(who=np.arange(200) + at) for at in (0, 1_000, 2_000))
    result = audited(original, released, control, columns=COLUMNS | {"who": {"role": "id"}})
    assert result.best_candidate is None
    for name, text in outputs(result).items():
        assert "the true matches are known" not in text, name
        assert "true matches are known, but" not in text, name
        assert "the best candidate is the right person" not in text, name
    assert "identities are declared, but no original has a match in the release" in outputs(result)["html"]


@pytest.mark.parametrize("written", ["{max: yes}", "{max: true}", "{max: 'yes'}", "[{max: no}]"])
def test_a_limit_that_is_no_number_is_refused_with_words_that_ask_for_one(tmp_path, written):
    columns = json.dumps({"mass": {"role": "attribute", "type": "numeric"}})
    (tmp_path / "audit.yaml").write_text(f"columns: {columns}\npolicy: {written}\n")
    table = pd.DataFrame({"mass": [1.0, 2.0, 3.0]})
    with pytest.raises(cvpl.InputError) as error:
        cvpl.audit(table, table, tmp_path / "audit.yaml")
    assert "max`: write a number from 0 to 1" in str(error.value)


# What is not there


def lone_dashes(text):
    """Lines of a summary in which a dash alone stands for a figure; the dash before a sentence is none."""
    cells = [[cell for cell in re.split(r"\s{2,}", line.strip()) if cell] for line in text.splitlines()]
    return [row for row in cells if "-" in row or any(cell.endswith(" -") for cell in row)]


@pytest.mark.parametrize("with_control", [True, False], ids=["control", "no control"])
@pytest.mark.parametrize("with_truth", [True, False], ids=["truth", "no truth"])
def test_no_dash_stands_for_what_is_hidden_not_run_or_does_not_apply(with_control, with_truth):
    rng = np.random.default_rng(6)
    original, control = (penguins(rng, 150).assign(who=np.arange(150) + at) for at in (0, 1_000))
    released = noisy(rng, original, 0.3)
    columns = COLUMNS | ({"who": {"role": "id"}} if with_truth else {"who": {"role": "ignore"}})
    result = audited(
        original,
        released,
        control if with_control else None,
        columns=columns,
        sensitivity=with_control,
        report={"subgroups": ["species", "sex"]},
    )
    assert lone_dashes(printed(result)) == []


def test_no_dash_stands_for_a_missing_figure_of_an_earlier_result():
    result = AuditResult.model_validate(STORED | {"control": None, "attributable_rate": None, "truth": None})
    assert lone_dashes(printed(result)) == []
