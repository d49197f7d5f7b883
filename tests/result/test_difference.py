"""What changed between two audits, and when their figures must not be compared."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console

import cvpl
from cvpl.errors import InputError
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.difference import Change, difference, difference_sections
from cvpl.reports.terminal import show_sections
from cvpl.result import AuditResult
from cvpl.result.file import read_result, read_results
from cvpl.workflows.made_tables import CONFIG as DEMO

FIXTURE = Path(__file__).parents[1] / "fixtures" / "result-0.1.json"
STORED = json.loads(FIXTURE.read_text(encoding="utf-8"))


def result(**changes) -> AuditResult:
    """The stored result without warnings, and whatever is changed; a mapping changes only what it names."""
    content = json.loads(json.dumps(STORED)) | {"warnings": []}
    for key, value in changes.items():
        merged = isinstance(value, dict) and isinstance(content[key], dict)
        content[key] = content[key] | value if merged else value
    return AuditResult.model_validate(content)


def provenance(config=None, **changes) -> dict:
    return {"seed": 1, "versions": {"cvpl": "0.1.0"}, "config": config or {}} | changes


def warning(rule, message):
    return {"rule": rule, "message": message}


def rate(estimate, low=None, high=None):
    return {"estimate": estimate, "low": low, "high": high}


def figure(found, name) -> Change:
    (change,) = [item for item in found.changes if item.figure == name]
    return change


def shown(before, after, width=100) -> str:
    page = Console(width=width, file=io.StringIO(), force_terminal=False)
    show_sections(difference_sections(difference(before, after)), page)
    return page.file.getvalue()


@pytest.mark.parametrize(
    ("before", "after", "gap", "beyond"),
    [
        (rate(0.30, 0.25, 0.35), rate(0.40, 0.36, 0.44), 0.10, True),
        (rate(0.40, 0.36, 0.44), rate(0.30, 0.25, 0.35), -0.10, True),
        # sqrt(0.05² + 0.05²) = 0.0707: the intervals meet or overlap, and that of the difference excludes 0.
        (rate(0.30, 0.25, 0.35), rate(0.40, 0.35, 0.45), 0.10, True),
        (rate(0.30, 0.25, 0.35), rate(0.38, 0.33, 0.43), 0.08, True),
        (rate(0.38, 0.33, 0.43), rate(0.30, 0.25, 0.35), -0.08, True),
        (rate(0.30, 0.25, 0.35), rate(0.37, 0.32, 0.42), 0.07, False),
        # Lopsided: the ends that face each other count, sqrt(0.03² + 0.04²) = 0.05.
        (rate(0.30, 0.10, 0.33), rate(0.36, 0.32, 0.60), 0.06, True),
        (rate(0.36, 0.32, 0.60), rate(0.30, 0.10, 0.33), -0.06, True),
        (rate(0.30, 0.27, 0.50), rate(0.36, 0.20, 0.40), 0.06, False),
        (rate(0.30, 0.25, 0.35), rate(0.30, 0.25, 0.35), 0.0, False),
        (rate(0.30, 0.25, 0.35), rate(0.40), 0.10, None),
        (rate(0.30), rate(None), None, None),
    ],
    ids=[
        "apart", "apart, falling", "meeting in one point", "overlapping", "overlapping, falling", "within", "lopsided",
        "lopsided, falling", "lopsided the other way", "the same", "no interval", "no rate",
    ],
)  # fmt: skip
def test_a_difference_is_beyond_error_where_its_own_interval_excludes_0(before, after, gap, beyond):
    change = figure(difference(result(linkage_rate=before), result(linkage_rate=after)), "linkage rate")
    assert change.difference == (None if gap is None else pytest.approx(gap))
    assert change.beyond_error is beyond


def test_figures_stand_in_the_order_of_the_summary():
    names = [change.figure for change in difference(result(), result()).changes]
    assert names == [
        "risk", "linkage rate", "control rate", "attributable rate", "power at 1%", "power at 5%", "power at 10%",
        "rate at the lowest threshold", "mean rate over thresholds", "top-1 hit rate", "precision at 1",
        "blocking recall", "total recall", "false link rate",
    ]  # fmt: skip


def test_a_figure_that_neither_audit_has_is_left_out_and_one_that_only_one_has_is_kept():
    blind = {"truth": None, "control": None, "attributable_rate": None, "power": None}
    names = {change.figure for change in difference(result(**blind), result(**blind)).changes}
    assert names == {"linkage rate", "rate at the lowest threshold", "mean rate over thresholds"}
    change = figure(difference(result(), result(control=None)), "control rate")
    assert change.before is not None and change.after is None and change.difference is None


def test_the_same_result_differs_in_nothing():
    found = difference(result(), result())
    assert not (found.cautions or found.inputs or found.settings or found.new_warnings or found.gone_warnings)
    assert all(change.difference == 0 for change in found.changes)


ATTACKER = STORED["attackers"][0]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            {},
            {"validity": {"assessable": False, "reasons": ["it is dead", "it is shifted"]}},
            "the second audit is not assessable, so its figures do not measure the risk: it is dead; it is shifted",
        ),
        (
            {"validity": {"assessable": False, "reasons": ["it is dead"]}},
            {},
            "the first audit is not assessable, so its figures do not measure the risk: it is dead",
        ),
        ({"lower_bound": True}, {}, "the figures of the first audit are lower bounds"),
        (
            {},
            {"threshold": 0.8},
            "the linkage rates are measured at different points: threshold 0.9 and threshold 0.8; compare by risk",
        ),
        (
            {"threshold": None},
            {},
            "the linkage rates are measured at different points: a false-positive rate of 5% and threshold 0.9; "
            "compare by risk",
        ),
        (
            {},
            {"attackers": [{**ATTACKER, "settings": {**ATTACKER["settings"], "similarity": "jaccard"}}]},
            "the attackers differ: compare by risk, which has the same meaning for each",
        ),
        (
            {},
            {"attributable_rate": {"basis": "own_match_left_out"}},
            "the attributable rates have different bases: a control and the originals without their own match",
        ),
    ],
)
def test_figures_that_mean_different_things_are_not_compared_without_a_word(before, after, words):
    pair = result(**before), result(**after)
    assert difference(*pair).cautions == (words,)
    text = " ".join(shown(*pair).split())
    assert text.startswith(words[0].upper() + words[1:])


def test_another_threshold_alone_does_not_make_another_attacker():
    other = {**ATTACKER, "settings": {**ATTACKER["settings"], "threshold": 0.5}}
    assert difference(result(), result(attackers=[other])).cautions == ()


TABLE = {"name": "original.csv", "rows": 1_000, "columns": 3, "sha256": "a"}


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ({"original": TABLE}, {"original": TABLE}, ()),
        ({"original": TABLE}, {"original": {**TABLE, "name": "elsewhere.csv"}}, ()),
        (
            {"original": TABLE},
            {"original": {**TABLE, "sha256": "b", "rows": 2_000}},
            ("original: different files (1,000 and 2,000 rows)",),
        ),
        ({"original": TABLE}, {"original": TABLE, "control": TABLE}, ("control: only in the second audit",)),
        ({"original": TABLE, "control": TABLE}, {"original": TABLE}, ("control: only in the first audit",)),
        (
            {"original": TABLE},
            {"original": {**TABLE, "sha256": None}},
            ("original: a dataframe without a checksum, so it may differ",),
        ),
    ],
)
def test_inputs_are_compared_by_their_fingerprints(before, after, text):
    sides = [AuditResult.model_validate({**STORED, "inputs": inputs}) for inputs in (before, after)]
    assert difference(*sides).inputs == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ({"threshold": 0.9}, {"threshold": 0.8}, ("threshold: 0.9 before, 0.8 after",)),
        ({}, {"grid": {"lowest": 0.5}}, ("grid.lowest: not set before, 0.5 after",)),
        (
            {"columns": {"age": {"block": {"bin": 10}}}},
            {"columns": {"age": {"block": "exact"}}},
            ("columns.age.block.bin: 10 before, not set after", "columns.age.block: not set before, exact after"),
        ),
        ({"a": ["x"] * 30}, {"a": ["y"]}, ('a: a longer value before, ["y"] after',)),
        ({"a": 1, "b": {"c": None}}, {"b": {"c": None}, "a": 1}, ()),
    ],
)
def test_settings_that_differ_are_listed_with_both_values(before, after, text):
    sides = [result(provenance=provenance(config)) for config in (before, after)]
    assert difference(*sides).settings == text


def test_seeds_and_versions_count_as_settings():
    sides = [result(provenance=provenance(seed=n, versions={"numpy": f"2.{n}"})) for n in (1, 2)]
    assert difference(*sides).settings == (
        "seed: 1 before, 2 after",
        "version of numpy: 2.1 before, 2.2 after",
    )


@pytest.mark.parametrize(
    ("before", "after", "new", "gone"),
    [
        ([], [("few_records", "19 are few")], ("19 are few",), ()),
        ([("few_records", "19 are few")], [], (), ("19 are few",)),
        ([("few_records", "19 are few")], [("few_records", "20 are few")], (), ()),
        (
            [("columns", "column 'a' is absent"), ("columns", "column 'b' is absent")],
            [("columns", "column 'b' is absent"), ("columns", "column 'c' is absent")],
            ("column 'c' is absent",),
            ("column 'a' is absent",),
        ),
    ],
    ids=["new", "gone", "the same with another figure", "one rule, several columns"],
)
def test_warnings_that_came_or_went_are_reported_by_their_sentences(before, after, new, gone):
    found = difference(*(result(warnings=[warning(*item) for item in side]) for side in (before, after)))
    assert (found.new_warnings, found.gone_warnings) == (new, gone)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_shown_difference_is_whole_at_every_width(width):
    before = result(linkage_rate=rate(0.30, 0.25, 0.35), worst_case_risk=0.5)
    after = result(
        linkage_rate=rate(0.40, 0.36, 0.44),
        worst_case_risk=0.5,
        warnings=[warning("columns", "column '[red]x[/red]' is absent")],
        provenance=provenance({"threshold": 0.8}),
    )
    text = shown(before, after, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "linkage rate 30.0% 40.0% +10.0 beyond error" in lines
    assert any(item.startswith("rate at the lowest") and item.endswith(" 50.0% 50.0% 0.0 none") for item in lines)
    assert "- column '[red]x[/red]' is absent" in lines


def test_a_difference_in_points_is_not_called_a_percentage():
    text = shown(result(worst_case_risk=0.5), result(worst_case_risk=0.6))
    (line,) = [line for line in text.splitlines() if line.startswith("rate at the lowest threshold")]
    assert line.split()[5:] == ["50.0%", "60.0%", "+10.0", "no", "interval"]


# Audits of real worlds

PAPER = yaml.safe_load(DEMO) | {"attacker": "paper", "canaries": False, "sensitivity": False}


def table(found) -> pd.DataFrame:
    return pd.DataFrame(found.to_columns())


@pytest.fixture(scope="module")
def tables():
    """Originals, a control of the same kind of people, and two releases, the first of which changes less."""
    rng = np.random.default_rng(31)
    people, others = (Touchpoints(records=300).draw(rng) for _ in range(2))
    levels = ("low", "high")
    releases = {level: table(Perturbation(level).protect(people, np.random.default_rng(7))) for level in levels}
    return table(people), table(others), releases


@pytest.fixture(scope="module")
def audited(tables):
    original, control, releases = tables
    return {name: cvpl.audit(original, release, PAPER, control=control) for name, release in releases.items()}


def rows_shown(before, after) -> dict[str, str]:
    """The word behind each figure, as it is printed; figures are named by what stands before the first share."""
    found = difference(before, after)
    lines = shown(before, after, 160).splitlines()
    text = {}
    for change in found.changes:
        (line,) = [line for line in lines if line.startswith(f"{change.figure} ")]
        text[change.figure] = line.rstrip().split("  ")[-1].strip()
    return text


def test_risk_comes_first_and_every_power_has_a_word_for_its_change(audited):
    found = difference(audited["low"], audited["high"])
    assert found.changes[0].figure == "risk"
    assert found.changes[0].before == audited["low"].risk.estimate
    words = rows_shown(audited["low"], audited["high"])
    powers = [name for name in words if name.startswith("power at")]
    assert len(powers) >= 3
    assert {words[name] for name in powers} <= {"beyond error", "within error", "no interval", "none"}
    assert words["risk"] == words["power at 5%"] == "beyond error"


def test_risks_at_different_false_rates_are_not_compared_and_the_rates_are_named(tables, audited):
    """60 controls are too few for an interval at 5%, so the next larger rate that has one is read."""
    original, control, releases = tables
    small = cvpl.audit(original, releases["low"], PAPER, control=control.iloc[:60])
    assert small.risk.false_rate > audited["high"].risk.false_rate == 0.05
    change = figure(difference(small, audited["high"]), "risk")
    assert (change.difference, change.beyond_error) == (None, None)
    words = f"not compared: different false-positive rates, {small.risk.false_rate:.0%} and 5%"
    assert change.note == words
    text = shown(small, audited["high"], 160)
    (line,) = [line for line in text.splitlines() if line.startswith("risk ")]
    assert words in line and "n/a" in line


def test_a_risk_by_a_control_is_not_compared_with_one_by_the_true_matches(tables, audited):
    original, _, releases = tables
    without = cvpl.audit(original, releases["low"], PAPER)
    assert without.risk.basis == "true_matches"
    change = figure(difference(audited["low"], without), "risk")
    assert change.difference is None
    assert change.note == "not compared: one is based on a control, the other on the true matches"


def test_what_a_comparison_tells_apart_is_never_called_the_same(tables, audited):
    """A comparison pairs people and sees more. Where it sees a difference and two results alone do not, that is said.

    Both name the same sign, and what is beyond error by itself differs in the comparison too.
    """
    original, control, releases = tables
    noisier = releases["high"].copy()
    hit = np.random.default_rng(1).random(len(noisier)) < 0.15
    noisier.loc[hit, "age"] = np.random.default_rng(2).permutation(noisier["age"].to_numpy())[hit]
    every = releases | {"noisier": noisier}
    results = audited | {"noisier": cvpl.audit(original, noisier, PAPER, control=control)}
    compared = cvpl.compare(original, every, PAPER, control=control)
    pairs = [item for item in compared.differences if item.figure == "risk"]
    assert len(pairs) == 3
    for pair in pairs:
        change = figure(difference(results[pair.second], results[pair.first]), "risk")
        assert change.difference == pytest.approx(pair.estimate)
        if change.beyond_error:
            assert not pair.tied
        word = rows_shown(results[pair.second], results[pair.first])["risk"]
        assert word in ({"beyond error", "within error"} if pair.estimate else {"none"})
    text = " ".join(shown(results["high"], results["noisier"]).split())
    assert "Within error: it includes 0, judged by these two results alone; `cvpl compare` pairs people" in text


def test_a_result_is_read_from_its_file_or_its_folder(tmp_path):
    (tmp_path / "result.json").write_bytes(FIXTURE.read_bytes())
    assert read_result(tmp_path) == read_result(tmp_path / "result.json") == AuditResult.model_validate(STORED)


@pytest.mark.parametrize(
    "content",
    [b"", b"not json", b"[]", b"{}", b"\xff\xfe", json.dumps({**STORED, "schema": "cvpl/audit/99"}).encode()],
    ids=["empty", "no JSON", "a list", "nothing in it", "no UTF-8", "another schema"],
)
def test_what_is_no_result_is_refused_by_name(tmp_path, content):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not the result of an audit") as text:
        read_result(path)
    assert str(path) in str(text.value)


def test_two_files_that_cannot_be_read_are_two_problems(tmp_path):
    with pytest.raises(InputError) as text:
        read_results(tmp_path / "one", tmp_path / "other")
    assert [problem.where for problem in text.value.problems] == [str(tmp_path / "one"), str(tmp_path / "other")]
