"""The bench of rows that belong together: its worlds are what it says, and some of its draws are audited."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from examples import TIMES

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("households")
        sys.modules.pop("households", None)


def test_the_design_is_fixed_and_has_every_kind_of_draw(bench):
    whole = bench.draws(None)
    assert len(whole) == len({draw.key for draw in whole}) == 300
    null = [draw for draw in whole if not draw.planted]
    assert {(draw.world, draw.declared, draw.people) for draw in null} == {
        (world, declared, people) for world in bench.WORLDS for declared in (True, False) for people in bench.PEOPLE
    }
    assert {draw.same_sites for draw in null if draw.world == "sites"} == {True, False}
    again = [bench.tables_of(null[3]), bench.tables_of(null[3])]
    assert all(one.equals(other) for one, other in zip(*again, strict=True))


def test_nobody_is_in_a_null_release_and_groups_are_whole(bench):
    for draw in bench.draws(18)[:18]:
        original, released, control = bench.tables_of(draw)
        assert bench.GROUP not in released and len(control) == 2 * len(original) == 2 * len(released)
        shared = set(original[bench.GROUP]) & set(control[bench.GROUP])
        assert bool(shared) == draw.same_sites


def test_a_quarter_of_the_originals_is_planted(bench):
    draw = bench.Draw(0, planted=True)
    original, released, _ = bench.tables_of(draw)
    null = bench.Draw(0, planted=False)
    names = ["sex", "education", "occupation", "region", "income_class", "origin"]

    def found(tables):
        return original[names].apply(tuple, axis=1).isin(set(tables[names].apply(tuple, axis=1))).sum()

    assert len(released) == 300
    # Six labels stay together with 0.9^6 = 0.53, so about 40 of the 75 planted rows are found.
    assert found(released) > 25
    assert found(bench.tables_of(null)[1]) < 10


def test_households_of_others_raise_no_alarm_declared_or_not(bench):
    """Some null draws of the bench, of the smallest tables; with rows as units nearly all of them were alarms."""
    numbers = [0, 3, 18, 21, 36, 39] if TIMES > 1 else [0, 3]
    for number in numbers:
        line = bench.run(bench.Draw(number, planted=False))
        assert line["verdict"] != "linkable", line
        assert line["declared"] or "related_rows" in line["closing"]


def test_declared_households_with_planted_people_are_still_linkable(bench):
    assert bench.run(bench.Draw(0, planted=True))["verdict"] == "linkable"


def test_single_people_are_not_taken_for_households(bench):
    line = bench.run(bench.Draw(3, planted=True))
    assert line["single"] and line["verdict"] == "linkable"
    assert set(line["closing"]) <= {"near_copies", "exact_copies"}


def test_the_summary_counts_alarms_and_reasons(bench, tmp_path, capsys):
    line = {"world": "households", "declared": True, "single": False, "same_sites": False, "people": 300}
    line |= {"attacker": "rarity", "estimate": 0.2, "low": 0.1, "high": 0.3}
    quiet = {"verdict": "undetermined", "sentence": "It cannot be told: there is no control; no true match is known."}
    bench.add_line(tmp_path / "x.jsonl", line | {"draw": "null-000", "planted": False, "verdict": "linkable"})
    bench.add_line(tmp_path / "x.jsonl", line | {"draw": "planted-000", "planted": True, **quiet})
    assert bench.main([str(tmp_path / "x.jsonl"), "summary"]) == 1
    said = capsys.readouterr().out
    assert "linkable: 1 of 1" in said and "planted: there is no control (1)" in said and "`null-000`" in said
