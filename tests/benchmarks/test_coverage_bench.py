"""The harness of coverage counts right, and every study still reads its worlds."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SMALL = {
    "intervals": "twenty people",
    "differences": "fifty people",
    "draws": "cells, 120 people, 2 draws, 0.05 and 0.05",
    "trials": "cells, 200 people, 4 rounds, 0.05",
    "questions": "few people",
}


@pytest.fixture
def benchmark_module(monkeypatch):
    """A script of benchmarks/, by its name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in [name for name in sys.modules if name.startswith("coverage_")]:
        sys.modules.pop(name)


def test_coverage_counts_by_hand(benchmark_module):
    """The mean of 1, 2 and 6 is 3: one interval holds it, one lies below it, one above it."""
    bench = benchmark_module("coverage_bench")
    read = [(1.0, (0.0, 2.0)), (2.0, (1.0, 4.0)), (6.0, (5.0, 7.0)), (None, None)]
    study = bench.Study(
        {"here": None},
        lambda world: lambda run: [bench.Reading("figure", 0.5, "people", 0.95, *read[run])],
        print,
        runs=4,
    )
    (row,) = bench.measure(study, "here", 4)
    found = {name: float(row[name]) for name in ("truth", "coverage", "below", "above", "width", "runs", "missing")}
    shares = {"coverage": 0.3333, "below": 0.3333, "above": 0.3333}
    assert found == {"truth": 3.0, **shares, "width": 2.3333, "runs": 3, "missing": 1}


def test_what_was_picked_is_held_against_the_truth_of_what_was_picked(benchmark_module):
    """In every second run another figure is picked; each pick's interval holds its own figure's mean only."""
    bench = benchmark_module("coverage_bench")

    def read(run):
        for name, value in (("a", 0.0), ("b", 1.0)):
            yield bench.Reading("figure", 0.0, name, 0.95, value, (value, value), ("figure", name))
        picked = "ab"[run % 2]
        ends = (0.0, 0.5) if picked == "a" else (0.5, 0.8)
        yield bench.Reading("picked", 0.0, "picked", 0.95, float(run % 2), ends, ("figure", picked))

    rows = bench.measure(bench.Study({"here": None}, lambda world: read, print, runs=40), "here", 40)
    (row,) = (row for row in rows if row["figure"] == "picked")
    assert (row["coverage"], row["above"]) == ("0.5000", "0.5000")


@pytest.mark.parametrize("name", SMALL)
def test_a_study_reads_a_world_and_shows_its_table(benchmark_module, monkeypatch, capsys, name):
    bench, module = benchmark_module("coverage_bench"), benchmark_module(f"coverage_{name}")
    for constant, few in (("FRESH", 2), ("FEWEST", 1)):
        for item in (bench, module):
            if hasattr(item, constant):
                monkeypatch.setattr(item, constant, few)
    assert SMALL[name] in module.STUDY.worlds
    rows = bench.measure(module.STUDY, SMALL[name], 2)
    assert rows
    for row in rows:
        assert float(row["coverage"]) + float(row["below"]) + float(row["above"]) == pytest.approx(1, abs=2e-4)
    module.STUDY.show(rows)
    assert "|---" in capsys.readouterr().out
