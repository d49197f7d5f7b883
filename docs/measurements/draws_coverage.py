# ruff: noqa: T201 - this script prints its table
"""Coverage of the interval of a mechanism's power over draws, and of differences, for docs/concepts/comparison.md.

    python docs/measurements/draws_coverage.py [RUNS]

Each run draws people, controls, and several releases of two mechanisms, as scores: a person's own effect, which all
draws of both mechanisms share, the draw's effect, and that of the person in the draw. The first mechanism has half of
its people's effect in common with the second. Read are the power of the first mechanism, its difference to the second,
and its difference to one release of the second that is held fixed, each at a false-positive rate of 5%. The truth is
the mean over fresh runs; that of a fixed release follows from its draw's effects.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from cvpl.evaluation.control import power_at
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.paired import FigureEstimate, SearchedRows, difference, power_estimate
from cvpl.evaluation.intervals.uncertainty import Uncertainty
from cvpl.evaluation.trials.over_draws import power_over_draws
from cvpl.randomness import stream

RUNS, FRESH, RATE = 200, 200, 0.05
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


def covered(world: World, runs: int) -> Floats:
    """How often the intervals of the power, and of both differences, hold the truth; a row for each confidence."""
    expected, rng = truth(world), stream(0, f"runs {world}")
    held = np.zeros((len(CONFIDENCES), 3))
    for _ in range(runs):
        scores, fixed = draw(world, rng)
        first, second = (power_over_draws(*item, RATE).power for item in scores)
        one = release(scores[1])
        for at, confidence in enumerate(CONFIDENCES):
            alone = first.interval(confidence)
            pairs = ((second, expected[1]), (one, fixed))
            ends = [(alone.low, alone.high, expected[0])]
            for other, true in pairs:
                found = difference(first, other, confidence).estimate
                ends.append((found.low, found.high, expected[0] - true))
            held[at] += [low <= true <= high for low, high, true in ends]
    return held / runs


def main(runs: int) -> None:
    """Print the lowest coverage over powers for each kind of world, and over all of them."""
    names = ("power", "difference", "to one release")
    heads = [f"{name}, {confidence:.1%}" for confidence in CONFIDENCES for name in names]
    print(f"| what varies | people | draws | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 3)}")
    rows: dict[tuple[str, int, int], list[Floats]] = {}
    for world in worlds():
        key = (world.effects, world.people, world.draws)
        rows.setdefault(key, []).append(covered(world, runs))
        if len(rows[key]) == len(POWERS):
            lowest = np.min(rows[key], axis=0).ravel()
            print(f"| {' | '.join(map(str, key))} | {' | '.join(f'{share:.3f}' for share in lowest)} |", flush=True)
    print("\nLowest:", np.min([np.min(item, axis=(0, 2)) for item in rows.values()], axis=0))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
