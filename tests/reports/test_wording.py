"""How counts and names are put into words: nouns agree with their counts, and a misspelt name finds the one meant."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cvpl.errors import Problem
from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms import Mondrian
from cvpl.reports.sections.attackers import block_words
from cvpl.reports.sections.benchmark import benchmark_headline
from cvpl.reports.sections.exposure import people_section, sample_words
from cvpl.reports.sections.top import setting
from cvpl.reports.sections.warnings import pointer_section
from cvpl.result import AuditResult, BenchmarkResult
from cvpl.wording import count_phrase, did_you_mean, nearest_name, unknown_names

STORED = json.loads((Path(__file__).parents[1] / "fixtures" / "result-0.1.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("count", "nouns", "expected"),
    [
        (0, ("record",), "0 records"),
        (1, ("record",), "1 record"),
        (2, ("record",), "2 records"),
        (1, ("person", "people"), "1 person"),
        (12_345, ("person", "people"), "12,345 people"),
    ],
)
def test_a_noun_agrees_with_its_count(count, nouns, expected):
    assert count_phrase(count, *nouns) == expected


def stored(**sections) -> AuditResult:
    return AuditResult.model_validate(STORED | sections)


def sized(original: int, protected: int, control: int) -> AuditResult:
    rows = {"original": original, "protected": protected, "control": control}
    one = next(iter(STORED["inputs"].values()))
    return stored(inputs={role: one | {"rows": count} for role, count in rows.items()})


def blocks(count: int) -> str:
    """Two blocks, so that they are told; `count` pairs, and as many originals without a candidate."""
    return block_words(stored(blocks=STORED["blocks"] | {"count": 2, "pairs": count, "without_candidates": count}))


def pointer(count: int) -> str:
    return pointer_section(stored().warnings, count).sentences[0].text


def pooled(groups: int) -> str:
    row = dict.fromkeys(("linked", "at_most", "at_least", "low", "high", "control", "attributable"))
    row |= {"label": None, "groups": groups, "records": 30}
    most = {"estimate": None, "low": None, "high": None, "table": None, "label": None, "rows": 1, "untold": 1}
    tables = [{"name": "sex", "rows": [row]}]
    risk = {"average": 0.5, "maximum": most, "maximum_attributable": None, "suppress_below": 10, "tables": tables}
    return people_section(stored(at_risk=risk)).tables[0].rows[0][0]


def unprotectable(rows: int) -> str:
    frame = Frame(people=np.arange(rows), numbers={"x": np.arange(float(rows))}, times={}, categories={}, order=("x",))
    with pytest.raises(ValueError, match="the table has") as refused:
        Mondrian(5, ("x",)).protect(frame, np.random.default_rng(1))
    return str(refused.value)


def nothing_audited() -> str:
    result = {"schema": "cvpl/benchmark/1", "false_rate": 0.05, "groups": [], "rows": [], "versions": {}}
    return benchmark_headline(BenchmarkResult.model_validate(result))


def problem(count: int) -> str:
    return str(Problem("a.csv", "found text", "Mend it.", row=1, count=count))


SENTENCES = {
    "problem, one more": (lambda: problem(2), "(and 1 more row)"),
    "problem, two more": (lambda: problem(3), "(and 2 more rows)"),
    "setting, one each": (lambda: setting(sized(1, 1, 1)), "1 original, 1 released record, 1 person in the control"),
    "setting, two each": (
        lambda: setting(sized(2, 2, 2)),
        "2 originals, 2 released records, 2 people in the control",
    ),
    "one pair": (lambda: blocks(1), "1 pair shares one of 2 blocks"),
    "two pairs": (lambda: blocks(2), "2 pairs share one of 2 blocks"),
    "one without a candidate": (lambda: blocks(1), " 1 original has no candidate"),
    "two without a candidate": (lambda: blocks(2), " 2 originals have no candidate"),
    "one warning": (lambda: pointer(1), "1 warning ("),
    "two warnings": (lambda: pointer(2), "2 warnings ("),
    "one small group": (lambda: pooled(1), "1 small group"),
    "two small groups": (lambda: pooled(2), "2 small groups"),
    "one row": (lambda: unprotectable(1), "the table has 1 row."),
    "two rows": (lambda: unprotectable(2), "the table has 2 rows."),
    "sample of one": (lambda: sample_words(1, sized(9, 9, 9)), "(sample of 1 original)"),
    "no release": (nothing_audited, "0 releases of 0 data sets."),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_agree_with_their_counts(name):
    make, expected = SENTENCES[name]
    found = make()
    assert expected in found if not expected.endswith("group") else found == expected


def test_the_nearest_name_ignores_case_and_separators():
    assert nearest_name("Suppress-Below", ["subgroups", "suppress_below"]) == "suppress_below"
    assert nearest_name("sede", ["threshold", "seed"]) == "seed"
    assert nearest_name("colour", ["columns", "control"]) is None
    assert nearest_name("x", []) is None
    assert did_you_mean("agee", ["age", "gender"]) == "Did you mean `age`?"
    assert did_you_mean("zzz", ["age"]) == ""


def test_unknown_names_are_listed_with_what_may_be_meant():
    assert unknown_names("attacker", ["papr", "q"], ["paper", "rarity"]) == (
        "there is no attacker 'papr' (did you mean 'paper'?), 'q'; choose among paper, rarity"
    )
    assert unknown_names("release", [], ["a", "b"]) == "no release is named; choose among a, b"
