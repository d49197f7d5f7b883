"""The study `differences` of `coverage_bench.py`: a figure's difference between two releases of the same people.

One run of a world draws people and control anew, makes two releases of them, attacks both, and takes the difference of
every figure. Where each release is attacked by several and the strongest speaks, the truth is that of the two that were
picked. The attributable rate is read at three thresholds, at which about 2%, 50% and 97% of the originals are linked in
the first release. The table for the package is `DIFFERENCES` in `src/cvpl/evaluation/intervals/intervals.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coverage_bench import Reading, Row, Study, cell, lowest, markdown
from coverage_worlds import Found, World, attacked, centres, population, released
from cvpl.evaluation.groups.clusters import FEWEST_BLOCKS
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import FEWEST_BEYOND, Uncertainty
from cvpl.evaluation.intervals.paired import (
    FigureEstimate,
    SearchedRows,
    attributable_estimate,
    confidence_of_picked,
    correlation,
    difference_bounds,
    power_estimate,
)
from cvpl.evaluation.rates import power_at
from cvpl.randomness import stream

LEVELS = (0.95, 0.999)
RATES = (0.02, 0.5, 0.97)
FALSE_RATE = 0.05
ALL = (slice(None),)
FIGURES = ("attributable_rate", "left_out", "power", "power_left_out")


@dataclass(frozen=True)
class Two:
    """A world, what its second release changes, and who attacks: slices of the dimensions that each attacker sees."""

    first: World
    change: dict[str, Any]
    attackers: tuple[slice, ...] = ALL
    second_attackers: tuple[slice, ...] | None = None
    half: bool = False
    """Whether the first release is read against half of the control only, as where the other half is reference."""

    nested: bool = False
    """Whether both releases have the same draws of noise, as where one is a weaker form of the other."""

    @property
    def second(self) -> World:
        """The world as the second release is made."""
        return replace(self.first, **self.change)

    @property
    def others(self) -> tuple[slice, ...]:
        """Who attacks the second release."""
        return self.second_attackers or self.attackers


PARTS = (slice(0, 2), slice(1, 3), slice(2, 4), slice(0, 3))
WORLDS = (
    Two(World("fifty people", 50, 50), {"noise": 0.6}),
    Two(World("few people", 200, 200), {"noise": 0.6}),
    Two(World("few people, strong release", 200, 200, noise=0.05, replaced=0.05), {"noise": 0.3}),
    Two(World("the same twice", 1000, 1000), {}),
    Two(World("almost the same", 1000, 1000), {"noise": 0.35}),
    Two(World("weak and strong", 1000, 1000, noise=0.03, replaced=0.02), {"noise": 0.3, "replaced": 0.3}),
    Two(World("noise and synthetic rows", 1000, 1000), {"replaced": 1.0}),
    Two(World("synthetic rows twice", 1000, 1000, replaced=1.0), {}),
    Two(World("small control", 1000, 200), {"noise": 0.5}),
    Two(World("half of the control", 1000, 400), {"noise": 0.5}, half=True),
    Two(World("another attacker", 1000, 500), {}, (slice(0, 3),), (slice(1, 4),)),
    Two(World("a tenth released", 1000, 500, released=0.1), {"released": 0.5}),
    Two(World("classes of five", 1000, 500, blocks=8), {"classes": 5}),
    Two(World("rounded values", 1000, 500, rounded=1.0, dimensions=5), {"noise": 0.6}),
    Two(World("the same noise", 1000, 1000), {"noise": 0.35}, nested=True),
    Two(World("the same noise, small control", 1000, 200), {"replaced": 0.4}, nested=True),
    Two(World("the same noise, few people", 200, 200, noise=0.1), {"noise": 0.15}, nested=True),
    Two(World("the same noise, strong release", 500, 500, noise=0.03, replaced=0.02), {"noise": 0.05}, nested=True),
    Two(World("the same noise, synthetic rows", 1000, 1000, replaced=1.0), {"noise": 0.4}, nested=True),
    Two(World("the same noise, even blocks", 1000, 1000, blocks=50), {"noise": 0.35}, nested=True),
    Two(World("the same noise, households", 600, 600, household=3.0), {"noise": 0.35}, nested=True),
    Two(World("the same noise, picked of four", 400, 400), {"noise": 0.35}, PARTS, nested=True),
    Two(World("even blocks", 1000, 1000, blocks=50), {"noise": 0.5}),
    Two(World("few people, even blocks", 200, 200, blocks=25), {"noise": 0.5}),
    Two(World("heavy-tailed blocks", 1000, 1000, blocks=60, tail=1.2), {"replaced": 0.4}),
    Two(World("heavy-tailed blocks, small control", 1000, 200, blocks=60, tail=1.2), {"replaced": 0.4}),
    Two(World("households", 600, 600, household=3.0), {"noise": 0.4}),
    Two(World("large households", 600, 600, household=8.0, close=0.05), {"noise": 0.4}),
    Two(World("several rows a person", 600, 400, household=4.0, same_person=True, close=0.1), {"replaced": 0.4}),
    Two(World("households, blocks", 600, 600, blocks=30, household=3.0), {"noise": 0.4}),
    Two(World("picked of four", 400, 400), {"noise": 0.4}, PARTS),
    Two(World("picked of four, the same twice", 400, 400), {}, PARTS),
    Two(World("picked of four, and one", 400, 400), {"noise": 0.4}, PARTS, (slice(0, 3),)),
    Two(World("picked of four, no risk", 400, 400, replaced=1.0), {}, PARTS),
)


def kinds(two: Two) -> list[str]:
    """The clusters of which an interval would be offered in such a world."""
    if two.first.household > 1:
        return ["groups"]
    return ["people", *(["blocks"] if two.first.blocks >= FEWEST_BLOCKS else [])]


def describe(
    found: Found, kind: Any, control: Any, at: list[float]
) -> Iterator[tuple[str, float, FigureEstimate | None]]:
    """Every figure of one attack, with its name and where it is read; `control` are the rows that serve as control."""
    clusters: tuple[Any, Any] = None, None
    if kind == "blocks":
        clusters = found.block, found.control_block[control]
    if kind == "groups":
        clusters = found.group, found.control_group[control] + int(found.group.max()) + 1
    mine = Sample(found.best, clusters[0], kind, found.row, found.second)
    base = Sample(
        found.control_best[control], clusters[1], kind, found.control_row[control], found.control_second[control]
    )
    n, m = len(found.best), len(found.control_best)
    asked = SearchedRows(np.arange(n), control, (n, m))
    with_control = Uncertainty(mine, base, "control")
    left_out = Uncertainty(mine, Sample(found.wrong, mine.cluster, kind), "own_match_left_out")
    for rate, tau in zip(RATES, at, strict=True):
        yield "attributable_rate", rate, attributable_estimate(with_control, asked, tau)
        yield "left_out", rate, attributable_estimate(left_out, asked, tau)
    if FALSE_RATE * len(control) >= FEWEST_BEYOND:
        yield "power", FALSE_RATE, power_estimate(with_control, asked, FALSE_RATE)
    if n * FALSE_RATE >= FEWEST_BEYOND:
        yield "power_left_out", FALSE_RATE, power_estimate(left_out, asked, FALSE_RATE)


def run(two: Two, fixed: Any, at: list[float], number: int) -> Iterator[Reading]:
    """One draw: for every figure, kind of cluster and pair of attackers the difference; for the pair picked, its ends.

    Only the ends of the picked pair are computed; the other differences are there for the truth.
    """
    rng = stream(number, f"paired {two.first.name}")
    drawn = population(two.first, fixed, rng)
    noise = [stream(number, f"noise {0 if two.nested else place} {two.first.name}") for place in range(2)]
    found = [
        [attacked(world, drawn, release, seen) for seen in who]
        for world, release, who in (
            (two.first, released(two.first, drawn, noise[0]), two.attackers),
            (two.second, released(two.second, drawn, noise[1]), two.others),
        )
    ]
    every = np.arange(two.first.controls)
    rows = [every[::2] if two.half else every, every]
    powers = [
        [power_at(item.best, item.control_best[part], FALSE_RATE) for item in side]
        for side, part in zip(found, rows, strict=True)
    ]
    picked = tuple(int(np.argmax(side)) for side in powers)
    counts = tuple(len(side) for side in powers)
    for kind in kinds(two):
        groups = None
        if kind == "groups":
            groups = drawn.group, drawn.control_group + int(drawn.group.max()) + 1
        sides = [
            [list(describe(item, kind, part, at)) for item in side] for side, part in zip(found, rows, strict=True)
        ]
        for i, first in enumerate(sides[0]):
            for j, second in enumerate(sides[1]):
                for (figure, place, a), (_, _, b) in zip(first, second, strict=True):
                    if a is None or b is None:
                        continue
                    value, of = a.estimate - b.estimate, (figure, place, kind, i, j)
                    if (i, j) != picked:
                        yield Reading(figure, place, kind, LEVELS[0], value, None, of)
                        continue
                    for level, method, found_ends in ends(a, b, counts, groups):
                        name = kind if method == "paired" else f"{kind}, {method}"
                        yield Reading(figure, place, name, level, value, found_ends, of)


def ends(a: FigureEstimate, b: FigureEstimate, counts: Any, groups: Any) -> Iterator[Any]:
    """The ends of a difference, paired and as if the two had nothing to do with each other, at every level."""
    together = correlation(a, b, groups)
    for level in LEVELS:
        # What is left for the pair that was picked, at a level other than 95% in the same proportion.
        confidence = confidence_of_picked(*counts, by_this_figure=a.figure.startswith("power"))
        confidence = 1 - (1 - level) * (1 - confidence) / 0.05
        alone = [item.interval(confidence) for item in (a, b)]
        if alone[0].low is None or alone[1].low is None:
            continue
        sides: Any = [(item.estimate, (own.low, own.high)) for item, own in zip((a, b), alone, strict=True)]
        yield level, "paired", difference_bounds(*sides, together)
        yield level, "unpaired", difference_bounds(*sides, 0.0)


def begin(two: Two) -> Callable[[int], Iterator[Reading]]:
    """Fix where the blocks lie and the thresholds; a run is a fresh draw."""
    fixed = centres(two.first, stream(0, f"centres {two.first.name}"))
    rng = stream(0, f"pilot {two.first.name}")
    best = []
    for _ in range(10):
        drawn = population(two.first, fixed, rng)
        best.append(attacked(two.first, drawn, released(two.first, drawn, rng), two.attackers[0]).best)
    at = [float(np.quantile(np.concatenate(best), 1 - rate, method="higher")) for rate in RATES]
    return lambda number: run(two, fixed, at, number)


def show(rows: Sequence[Row]) -> None:
    """Print the docs' table, and what the package holds."""
    there = {row["world"] for row in rows}
    heads = ("world", "originals, controls", "drawn", *FIGURES, "width of power, paired / unpaired")
    markdown(heads, (line for two in WORLDS if two.first.name in there for line in _lines(two, rows)))
    print("\nDIFFERENCES: dict[tuple[Figure, Kind], LowestCoverage] = {")
    for figure in FIGURES:
        for kind in ("people", "blocks", "groups"):
            shares = [lowest(rows, figure=figure, method=kind, level=level) for level in LEVELS]
            if shares[0] is not None:
                low, strict = (math.floor(1000 * (share or 0.0) + 1e-9) / 1000 for share in shares)
                print(f'    ("{figure}", "{kind}"): LowestCoverage({low:.3f}, {strict:.3f}),')
    print("}")


def _lines(two: Two, rows: Sequence[Row]) -> Iterator[list[str]]:
    """A line for each kind of cluster."""
    mine = [row for row in rows if row["world"] == two.first.name and row["level"] == str(LEVELS[0])]
    for kind in kinds(two):
        cells = [cell(lowest(mine, figure=figure, method=kind)) for figure in FIGURES]
        widths = [
            next((float(row["width"]) for row in mine if row["figure"] == "power" and row["method"] == method), None)
            for method in (kind, f"{kind}, unpaired")
        ]
        ratio = "" if widths[0] is None or widths[1] is None else f"{widths[0] / widths[1]:.2f}"
        size = f"{two.first.originals:,}, {two.first.controls:,}"
        yield [two.first.name, size, kind, *cells, ratio]


STUDY = Study({two.first.name: two for two in WORLDS}, begin, show, runs=1000)
