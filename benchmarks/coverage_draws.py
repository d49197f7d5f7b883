"""The study `draws` of `coverage_bench.py`: a power over draws of a mechanism, and its difference to another.

Each run draws people, controls, and several releases of two mechanisms, as scores: a person's own effect, which all
draws of both mechanisms share, the draw's effect, and that of the person in the draw. The first mechanism has half of
its people's effect in common with the second. Read are the power of the first mechanism, its difference to the second,
and its difference to one release of the second that is held fixed, each at a false-positive rate of 5%. The truth is
the mean over fresh runs; that of a fixed release follows from its draw's effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from coverage_bench import Reading, Row, Study, lowest, markdown
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import Uncertainty
from cvpl.evaluation.intervals.paired import FigureEstimate, SearchedRows, difference, power_estimate
from cvpl.evaluation.rates import power_at
from cvpl.evaluation.trials.rounds import power_over_draws
from cvpl.randomness import stream

FRESH, RATE = 200, 0.05
EFFECTS = {"cells": (0.0, 0.0, 1.0), "people": (1.0, 0.0, 0.3), "draws": (0.0, 0.5, 1.0), "both": (0.8, 0.4, 0.6)}
"""Standard deviations of a score over people, draws, and people in a draw."""
POWERS = ((0.05, 0.05), (0.3, 0.3), (0.3, 0.6), (0.9, 0.98))
CONFIDENCES = (0.95, 0.999)
Floats = NDArray[np.float64]
Scores = tuple[Floats, Floats]


@dataclass(frozen=True)
class World:
    """What varies, the powers of the two mechanisms, and the sizes."""

    effects: str
    powers: tuple[float, float]
    people: int
    draws: int

    @property
    def name(self) -> str:
        """What varies, the sizes, and the powers."""
        return f"{self.effects}, {self.people} people, {self.draws} draws, {self.powers[0]} and {self.powers[1]}"


def worlds() -> Iterator[World]:
    """All worlds."""
    for effects, people, draws in product(EFFECTS, (120, 600), (2, 5, 10)):
        yield from (World(effects, powers, people, draws) for powers in POWERS)


def draw(world: World, rng: np.random.Generator) -> tuple[list[Scores], float]:
    """The scores of originals and controls under both mechanisms, and the true power of the second's first draw."""
    person, shared, cell = EFFECTS[world.effects]
    own, spread = float(np.hypot(person, cell)), float(np.sqrt(person**2 + shared**2 + cell**2))
    common, found, fixed = rng.normal(size=(2, world.people)), [], 0.0
    for power in world.powers:
        mixed = (common + rng.normal(size=common.shape)) / np.sqrt(2)
        aim = spread * float(ndtri(1 - RATE) + ndtri(power))
        by_draw = shared * rng.normal(size=(2, world.draws))
        noise = cell * rng.normal(size=(2, world.people, world.draws))
        mine, base = (person * mixed[side][:, None] + by_draw[side] + noise[side] for side in range(2))
        found.append((mine + aim, base))
        fixed = float(ndtr((aim + by_draw[0, 0] - by_draw[1, 0]) / own - ndtri(1 - RATE)))
    return found, fixed


def release(scores: Scores) -> FigureEstimate:
    """The power of one release."""
    mine, base = (side[:, 0] for side in scores)
    rows = SearchedRows(np.arange(len(mine)), np.arange(len(base)), (len(mine), len(base)))
    return power_estimate(Uncertainty(Sample(mine), Sample(base), "control"), rows, RATE)


def truth(world: World) -> list[float]:
    """The expected powers."""
    rng = stream(1, f"fresh runs {world}")
    found = [
        [power_at(one, other, RATE) for one, other in zip(mine.T, base.T, strict=True)]
        for _ in range(FRESH)
        for mine, base in draw(world, rng)[0]
    ]
    return [float(np.mean(found[0::2])), float(np.mean(found[1::2]))]


def begin(world: World) -> Callable[[int], Iterator[Reading]]:
    """The expected powers; runs follow each other in one stream."""
    expected, rng = truth(world), stream(0, f"runs {world}")

    def read(_: int) -> Iterator[Reading]:
        scores, fixed = draw(world, rng)
        first, second = (power_over_draws(*item, RATE).power for item in scores)
        pairs = (("difference", second, expected[1]), ("to one release", release(scores[1]), fixed))
        for level in CONFIDENCES:
            alone = first.interval(level)
            ends = alone.low, alone.high
            yield Reading("power", RATE, "draws", level, first.estimate, ends, truth=expected[0])
            for name, other, true in pairs:
                found = difference(first, other, level).estimate
                value, ends = first.estimate - other.estimate, (found.low, found.high)
                yield Reading(name, RATE, "draws", level, value, ends, truth=expected[0] - true)

    return read


def show(rows: Sequence[Row]) -> None:
    """Print the lowest coverage over powers for each kind of world, and over all of them."""
    there = {row["world"] for row in rows}
    figures = [(name, level) for level in CONFIDENCES for name in ("power", "difference", "to one release")]
    lines = []
    for key, group in groupby(worlds(), key=lambda world: (world.effects, world.people, world.draws)):
        names = {world.name for world in group}
        if names <= there:
            mine = [row for row in rows if row["world"] in names]
            lines.append([*key, *(f"{lowest(mine, figure=name, level=level):.3f}" for name, level in figures)])
    markdown(("what varies", "people", "draws", *(f"{name}, {level:.1%}" for name, level in figures)), lines)
    print("\nOVER_DRAWS: lowest", [lowest(rows, level=level) for level in CONFIDENCES])


STUDY = Study({world.name: world for world in worlds()}, begin, show, runs=200)
