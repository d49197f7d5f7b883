"""The verdict: one sentence of four kinds, made in one place, and the same in every output."""

from __future__ import annotations

import json
import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import cvpl
from cvpl.reports.page import report_page
from cvpl.reports.terminal import show
from cvpl.result import AuditResult, BestCandidate, Risk, VerdictFigures, verdict_of
from cvpl.wording import BELOW_ZERO, count_in, percent, share_in


def risk(estimate=0.12, low=0.05, high=0.20, false_rate=0.05, basis="control", attacker="rarity", **more):
    power = None if basis != "control" else false_rate + (1 - false_rate) * estimate
    rate = false_rate if basis == "control" else None
    return Risk(
        estimate=estimate, low=low, high=high, power=power, false_rate=rate, basis=basis, attacker=attacker, **more
    )


def best(estimate=0.45, low=0.43, high=0.47):
    return BestCandidate(estimate=estimate, low=low, high=high, attacker="rarity")


@pytest.mark.parametrize(
    ("figures", "kind", "sentence"),
    [
        (
            {"risk": risk()},
            "linkable",
            "About 12 in 100 people (5 to 20) can be linked because of this release.",
        ),
        (
            {"risk": risk(), "best_candidate": best(0.09, 0.07, 0.11)},
            "linkable",
            "About 12 in 100 people (5 to 20) can be linked because of this release; the best candidate is the right "
            "person for 9 in 100 people in it (7 to 11).",
        ),
        (
            {"risk": risk(0.01, -0.02, 0.035)},
            "indistinguishable_from_zero",
            "The risk of this release cannot be told from 0 (at most 4 in 100): nothing shows above a margin of 5 in "
            "100.",
        ),
        (
            {"risk": risk(0.01, -0.02, 0.08)},
            "indistinguishable_from_zero",
            "The risk of this release cannot be told from 0 (at most 8 in 100).",
        ),
        (
            {"risk": risk(0.45, 0.43, 0.47, basis="true_matches"), "best_candidate": best()},
            "undetermined",
            "The risk of this release cannot be told: there is no control; by the true matches the best candidate is "
            "right for 45 in 100 people in it (43 to 47).",
        ),
        (
            {
                "risk": risk(0.3, None, None),
                "missing": "there are too few controls (12; an interval needs at least 20)",
            },
            "undetermined",
            "The risk of this release cannot be told: there are too few controls (12; an interval needs at least 20); "
            "no true match is known either.",
        ),
        (
            {"reasons": ["every vector is zero"], "risk": risk()},
            "not_assessable",
            "The risk of this release is not assessable: every vector is zero.",
        ),
    ],
)
def test_there_are_four_kinds_of_sentence(figures, kind, sentence):
    found = verdict_of(VerdictFigures(**figures))
    assert (found.kind, found.sentence) == (kind, sentence)


def test_nothing_shows_is_said_only_below_the_margin_and_never_over_copies():
    for high in (0.049, 0.051, 0.2):
        found = verdict_of(VerdictFigures(risk=risk(0.0, -0.01, high)))
        assert ("nothing shows" in found.sentence) == (high < 0.05) == (found.margin is not None)
    copied = verdict_of(VerdictFigures(risk=risk(0.0, -0.01, 0.02), copies="the rows of 25 people are in it unchanged"))
    assert "nothing shows" not in copied.sentence
    assert copied.margin is None
    assert "25 people" in copied.sentence


def test_few_certain_people_bar_the_sentence_that_nothing_is_reported():
    certain = risk(0.02, 0.008, 0.035, false_rate=0.01)
    found = verdict_of(VerdictFigures(risk=risk(0.01, -0.02, 0.04), certain=certain))
    assert found.kind == "linkable"
    assert found.sentence.startswith(
        "About 2 in 100 people (<1 to 4) can be linked because of this release, read where 1%"
    )
    assert "cannot tell the risk from 0 (at most 4 in 100)" in found.sentence


def test_a_search_that_skipped_pairs_never_says_zero():
    found = verdict_of(VerdictFigures(risk=risk(0.0, -0.02, 0.03), lower_bound=True))
    assert found.kind == "undetermined"
    assert verdict_of(VerdictFigures(risk=risk(), lower_bound=True)).sentence.startswith("At least about 12 in 100")


def test_a_control_that_is_no_base_rate_shows_neither_risk_nor_its_absence():
    found = verdict_of(
        VerdictFigures(risk=risk(-0.01, -0.04, 0.03), control_fault="the control is unlike the originals")
    )
    assert found.kind == "undetermined"
    assert "the control is unlike the originals" in found.sentence
    below = verdict_of(VerdictFigures(risk=risk(-0.2, -0.3, -0.1)))
    assert below.kind == "undetermined"
    fault, copies = "the control is unlike the originals", "the rows of 25 people are in it unchanged"
    alarm = verdict_of(VerdictFigures(risk=risk(), control_fault=fault, copies=copies))
    assert alarm.kind == "undetermined"
    assert alarm.sentence.startswith(f"The risk of this release cannot be told: {fault}; {copies}")


def test_people_are_counted_cautiously():
    assert count_in(0.123, 0.058, 0.201) == "12 in 100 people (5 to 21)"
    assert count_in(1.0, 0.99, 1.0) == "100 in 100 people (99 to 100)"
    assert count_in(0.004, 0.0021, 0.0069) == "4 in 1,000 people (2 to 7)"
    assert count_in(-0.2, -0.3, 0.05) == "0 in 100 people (0 to 5)"
    assert share_in(0.0301) == "4 in 100"
    assert percent(-1.68) == BELOW_ZERO
    assert percent(-0.0001) == "0.0%"


# Audits on small tables.


def people(rng, rows):
    """Ten correlated numbers a person."""
    core = rng.normal(size=(rows, 3))
    values = (
        core @ rng.normal(size=(3, 8)) * 0.0 + np.repeat(core, [3, 3, 2], axis=1) + 0.5 * rng.normal(size=(rows, 8))
    )
    return pd.DataFrame(np.round(values, 3), columns=[f"x{at}" for at in range(8)])


CONFIG = {
    "columns": {f"x{at}": {"role": "attribute", "type": "numeric"} for at in range(8)},
    "attackers": {
        "paper": {"preset": "paper"},
        "nearest": {"blocking": "none", "similarity": "euclidean", "threshold": "false_rate"},
    },
    "seed": 1,
}


def released(rng, originals, share, rows, noise=0.01):
    """A release of strangers, into which a share of the originals is planted with a little noise."""
    planted = originals.iloc[: round(share * len(originals))]
    changed = np.round(planted + rng.normal(size=planted.shape) * noise, 3)
    strangers = people(rng, rows - len(planted))
    return pd.concat([changed, strangers]).sample(frac=1, random_state=3).reset_index(drop=True)


def audited(share, *, controls=600, originals=600, noise=0.01, **settings):
    rng = np.random.default_rng(7)
    table = people(rng, originals)
    release = released(rng, table, share, 600, noise)
    control = people(rng, controls) if controls else None
    more = {key: settings.pop(key) for key in ("fail_above",) if key in settings}
    return cvpl.audit(table, release, CONFIG | settings, control=control, **more)


def printed(result):
    page = StringIO()
    show(result, Console(file=page, width=400))
    return page.getvalue()


@pytest.fixture(scope="module")
def planted():
    return audited(0.15, fail_above=0.05)


def test_every_output_has_the_same_sentence_figures_and_interval(planted):
    """Terminal, page, Markdown, JSON and notebook are parsed, and say the same."""
    outputs = {
        "terminal": printed(planted),
        "html": report_page(planted),
        "markdown": planted.to_markdown().replace("\\", ""),
        "notebook": planted._repr_html_(),
        "json": planted.to_json(),
    }
    data = json.loads(outputs["json"])
    assert data["schema"] == "cvpl/audit/2"
    sentence = data["verdict"]["sentence"]
    assert sentence == planted.verdict.sentence
    value, low, high = (percent(data["risk"][key]) for key in ("estimate", "low", "high"))
    counted = [
        round(100 * data["risk"]["estimate"]),
        int(100 * data["risk"]["low"]),
        -int(-100 * data["risk"]["high"] // 1),
    ]
    assert re.findall(r"\d+", sentence)[0] == str(counted[0])
    assert f"({counted[1]} to {counted[2]})" in sentence
    for name in ("terminal", "html", "markdown", "notebook"):
        text = re.sub(r"\s+", " ", outputs[name].replace("&#39;", "'").replace("&#x27;", "'"))
        assert sentence in text, name
        assert value in text, name
        assert f"{low} to {high}" in text, name
        others = set(re.findall(r"About \d+ in 100 people \(\d+ to \d+\) can be linked", text))
        assert len(others) == 1, name


def test_the_gate_reads_the_same_figure(planted):
    assert planted.policy.figure == "risk"
    assert not planted.policy.met
    highs = [row.risk.high for row in planted.attackers if not row.disqualified]
    assert planted.policy.value == max(highs)
    assert any(percent(max(highs)) in reason and "5.0%" in reason for reason in planted.policy.reasons)
    assert not any(re.search(r"0\.\d{3}", reason) for reason in planted.policy.reasons)


@pytest.fixture(scope="module")
def exact():
    return audited(0.15, fail_above=0.05, report={"suppress_below": 1})


def test_risk_is_the_power_beyond_chance_of_the_strongest(exact):
    powers = {row.name: next(p.power for p in row.power if p.false_rate == 0.05) for row in exact.attackers}
    strongest = max(powers, key=lambda name: powers[name])
    assert exact.risk.attacker == exact.attacker == strongest
    assert exact.risk.power == powers[strongest]
    assert exact.risk.estimate == pytest.approx((powers[strongest] - 0.05) / 0.95)
    assert exact.risk.confidence == pytest.approx(1 - 0.05 / exact.risk.among)
    assert exact.verdict.kind == "linkable"


def test_strangers_are_not_distinguished_from_zero():
    result = audited(0.0, fail_above=0.10)
    assert result.verdict.kind == "indistinguishable_from_zero"
    assert result.policy.met, result.policy.reasons
    assert not [finding for finding in result.preflight if finding.closes_gate]


def test_without_control_and_truth_the_gate_never_passes():
    result = audited(0.0, controls=0, fail_above=1.0)
    assert result.verdict.kind == "undetermined"
    assert result.risk is None
    assert not result.policy.met
    assert "there is no control" in result.policy.reasons[-1]


def test_without_control_the_true_matches_take_its_place():
    rng = np.random.default_rng(5)
    table = people(rng, 300).assign(id=np.arange(300))
    release = table.copy()
    release[[f"x{at}" for at in range(8)]] += rng.normal(size=(300, 8)) * 0.01
    release = release.sample(frac=1, random_state=1)
    config = CONFIG | {"columns": CONFIG["columns"] | {"id": {"role": "id"}}}
    result = cvpl.audit(table, release, config, fail_above=0.5)
    assert result.verdict.kind == "undetermined"
    assert "by the true matches the best candidate is right for" in result.verdict.sentence
    assert result.risk.basis == "true_matches"
    assert result.risk.estimate == pytest.approx((result.best_candidate.estimate - 1 / 300) / (1 - 1 / 300))
    assert not result.policy.met
    assert result.policy.value == result.risk.high
    assert any(finding.check == "evaluation_key" and not finding.closes_gate for finding in result.preflight)


@pytest.mark.parametrize(("controls", "rate"), [(109, 0.10), (110, 0.05), (54, 0.20), (27, 0.30), (20, 0.30)])
def test_small_controls_are_read_at_a_larger_false_rate(controls, rate):
    result = audited(0.3, controls=controls)
    assert result.risk.false_rate == rate
    assert result.risk.low is not None
    assert any(power.false_rate == rate and power.low is not None for power in result.power)


def test_too_few_controls_give_no_risk():
    result = audited(0.3, controls=12, fail_above=1.0)
    assert result.verdict.kind == "undetermined"
    assert "too few controls (12; an interval needs at least 20)" in result.verdict.sentence
    assert not result.policy.met


def test_few_certain_people_show_at_one_percent():
    """Copies of 18 in 1,000 people hardly show at 5%, and show at 1%."""
    found = [_certain(seed) for seed in range(4)]
    spoken = [result for result in found if result.certain is not None]
    assert spoken
    for result in spoken:
        assert result.verdict.kind == "linkable"
        assert result.certain.low > 0
        assert result.risk.low <= 0


def _certain(seed):
    rng = np.random.default_rng(seed)
    table = people(rng, 1500)
    release = released(rng, table, 0.018, 1500, 0.002)
    config = CONFIG | {"seed": seed, "attackers": {"nearest": CONFIG["attackers"]["nearest"]}}
    return cvpl.audit(table, release, config, control=people(rng, 1500))


def test_a_result_of_version_one_gets_its_verdict_when_it_is_read(exact):
    data = json.loads(exact.to_json())
    for key in ("verdict", "risk", "certain", "best_candidate", "preflight"):
        data.pop(key)
    data["schema"] = "cvpl/audit/1"
    found = AuditResult.from_json(json.dumps(data))
    assert found.schema_ == "cvpl/audit/2"
    assert found.risk.estimate == exact.risk.estimate
    assert found.verdict.kind == "linkable"
    assert report_page(found)
