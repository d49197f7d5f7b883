"""How often intervals hold the true figure, over worlds drawn anew.

    python benchmarks/coverage_bench.py STUDY FILE [WORLD ...] [--runs N]

intervals     every figure of an audit, by every method and kind of sampling unit
differences   a figure between two releases of the same people
draws         a power over several draws of a mechanism, and its difference to another mechanism
trials        the power of a trial
questions     inference, membership and singling out

One run of a world draws people, release and control anew, and reads every figure with its interval. The truth of a
figure is its mean over all runs, unless the study knows it. FILE is a CSV table with a row for each figure, place,
method and confidence level of a world; `below` and `above` are the shares of runs in which the truth lies below the
interval, and above it. Worlds that stand in FILE are not run again, so an interrupted measurement
resumes. At the end the tables of the docs are printed from FILE, and, for what the package holds, the lowest coverage.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

STUDIES = ("intervals", "differences", "draws", "trials", "questions")
FEWEST = 20
"""The truth of a figure that was picked is the mean over no fewer runs."""
ROUNDING = 1e-12
FIELDS = ("world", "figure", "at", "method", "level", "truth", "coverage", "below", "above", "width", "runs", "missing")
Row = dict[str, str]


class Reading(NamedTuple):
    """A figure of one run: where and how it was read, its value and the ends of its interval.

    `of` names the figure whose mean is the truth, if it is not the same figure at the same place. `truth` is set where
    the study knows it.
    """

    figure: str
    at: float
    method: str
    level: float
    value: float | None
    ends: tuple[float, float] | None
    of: Any = None
    truth: float | None = None


@dataclass(frozen=True)
class Study:
    """Worlds by their names, what begins a world and then reads one run of it, and the tables that are printed."""

    worlds: Mapping[str, Any]
    begin: Callable[[Any], Callable[[int], Iterable[Reading]]]
    show: Callable[[Sequence[Row]], None]
    runs: int


def measure(study: Study, name: str, runs: int) -> list[Row]:
    """All runs of one world, and its rows."""
    read = study.begin(study.worlds[name])
    values: dict[Any, dict[int, float]] = defaultdict(dict)
    kept: dict[tuple[str, float, str, float], list[Reading]] = defaultdict(list)
    missing: dict[tuple[str, float, str, float], int] = defaultdict(int)
    for run in range(runs):
        for reading in read(run):
            place = reading.of or reading[:2]
            if reading.value is not None:
                values[place][run] = reading.value
            if reading.value is not None and reading.ends is not None:
                kept[reading[:4]].append(reading)
            elif reading.of is None:
                missing[reading[:4]] += 1
    means = {place: float(np.mean(list(found.values()))) for place, found in values.items()}
    rows = []
    for key, readings in sorted(kept.items()):
        known = [item for item in readings if item.truth is not None or _enough(item, values)]
        if known:
            true = np.array([means[item.of or item[:2]] if item.truth is None else item.truth for item in known])
            low, high = np.array([item.ends for item in known]).T
            under, over = np.mean(high < true - ROUNDING), np.mean(low > true + ROUNDING)
            figures = (true.mean(), 1 - under - over, over, under, np.mean(high - low))
            cells = (name, *key, *(f"{item:.4f}" for item in figures), len(known), missing[key])
            rows.append(dict(zip(FIELDS, map(str, cells), strict=True)))
    return rows


def _enough(reading: Reading, values: Mapping[Any, Mapping[int, float]]) -> bool:
    return reading.of is None or len(values[reading.of]) >= FEWEST


def lowest(rows: Iterable[Row], **wanted: object) -> float | None:
    """The lowest coverage of the rows with these fields; None if there is none."""
    fields = {name: str(value) for name, value in wanted.items()}
    found = [float(row["coverage"]) for row in rows if all(row[name] == value for name, value in fields.items())]
    return min(found, default=None)


def cell(share: float | None) -> str:
    """A coverage in a table."""
    return "" if share is None else f"{share:.3f}"


def markdown(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
    """Print a table."""
    print(f"| {' | '.join(map(str, heads))} |\n{'|---' * len(heads)}|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def main() -> None:
    """Measure what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("file", type=Path)
    parser.add_argument("worlds", nargs="*", metavar="WORLD")
    parser.add_argument("--runs", type=int)
    given = parser.parse_args()
    study: Study = import_module(f"coverage_{given.study}").STUDY
    rows = list(csv.DictReader(given.file.open(encoding="utf-8"))) if given.file.exists() else []
    there = {row["world"] for row in rows}
    with given.file.open("a", newline="", encoding="utf-8") as file, threadpool_limits(limits=1):
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not rows:
            writer.writeheader()
        for name in given.worlds or study.worlds:
            if name not in there:
                began = time.perf_counter()
                rows += (new := measure(study, name, given.runs or study.runs))
                writer.writerows(new)
                file.flush()
                print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    study.show(rows)


if __name__ == "__main__":
    main()
