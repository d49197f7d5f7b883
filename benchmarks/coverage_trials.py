"""The study `trials` of `coverage_bench.py`: the power of a trial.

Each world says what varies (people, draws of the mechanism, both, or single scores only), the expected power, and the
numbers of people and rounds. One run draws the people, their effects and the effects of the draws anew. The truth is
the mean power of 1,000 more trials. Rounds are balanced, as `cvpl trial` makes them; a few worlds have coins,
households, or a mechanism that fails in some draws only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np

from coverage_bench import Reading, Row, Study, lowest, markdown
from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.intervals.bounds import quantile
from cvpl.evaluation.rates import power_at
from cvpl.evaluation.trials.rounds import Bools, Floats, Ints, power_over_rounds
from cvpl.randomness import stream

FRESH = 1_000
FALSE_RATE = 0.05
POWERS = (0.002, 0.05, 0.3, 0.7, 0.998)
EFFECTS = {"cells": (0.0, 0.0, 1.0), "people": (1.0, 0.0, 0.3), "draws": (0.0, 0.5, 1.0), "both": (0.8, 0.4, 0.6)}
"""Standard deviations of a score over people, draws, and people in a draw."""


@dataclass(frozen=True)
class World:
    """What varies, the power that is aimed at, and the size of the trial."""

    effects: str
    power: float
    people: int
    rounds: int
    coins: bool = False
    household: int = 1
    failing: float = 0.0
    """The share of draws that leak everybody."""

    @property
    def name(self) -> str:
        """What varies, the sizes, and the power."""
        return f"{self.kind}, {self.people} people, {self.rounds} rounds, {self.power}"

    @property
    def kind(self) -> str:
        """What varies, and what is unusual about the world."""
        unusual = ["coins"] if self.coins else []
        unusual += [f"households of {self.household}"] if self.household > 1 else []
        unusual += [f"beyond: {self.failing:.0%} of the draws leak everybody"] if self.failing else []
        return ", ".join([self.effects, *unusual])


def worlds() -> Iterator[World]:
    """The rows of the table, each with its powers."""
    for effects, people, rounds in product(EFFECTS, (200, 1000), (4, 8)):
        yield from (World(effects, power, people, rounds) for power in POWERS)
    for rounds in (4, 8):
        yield from (World("both", power, 500, rounds, coins=True) for power in POWERS)
    for rounds in (4, 8):
        yield from (World("both", power, 500, rounds, household=4) for power in POWERS)
    for rounds in (4, 8):
        yield World("both", 0.05, 500, rounds, failing=0.1)


def membership(world: World, rng: np.random.Generator) -> Bools:
    """Who is in: every cluster in half of the rounds and half of the clusters in each, or by a coin."""
    clusters, rounds = world.people // world.household, world.rounds
    if world.coins:
        inside = rng.random((clusters, rounds)) < 0.5
    else:
        halves = [rng.permutation(clusters) < clusters // 2 for _ in range(rounds // 2)]
        inside = np.stack([side for half in halves for side in (half, ~half)], axis=1)
    return np.repeat(inside, world.household, axis=0)


def draw(world: World, rng: np.random.Generator) -> tuple[Floats, Bools, Ints]:
    """Scores, memberships and clusters of one trial."""
    person, shared, cell = EFFECTS[world.effects]
    spread = float(np.sqrt(person**2 + shared**2 + cell**2))
    inside = membership(world, rng)
    cluster = np.arange(world.people) // world.household
    effects = rng.normal(size=(2, cluster.max() + 1))[:, cluster]
    # A household's people have most of their effect in common.
    effects = (effects + rng.normal(size=effects.shape) / 2) / np.sqrt(1.25) if world.household > 1 else effects
    draws = rng.normal(size=(2, world.rounds))
    noise = rng.normal(size=inside.shape)
    out, base = (person * effect[:, None] + shared * row for effect, row in zip(effects, draws, strict=True))
    aim = spread * float(normal_quantile(1 - FALSE_RATE) + normal_quantile(world.power))
    scores = np.where(inside, aim + base, out) + cell * noise
    leaking = rng.random(world.rounds) < world.failing
    return scores + 20 * spread * (inside & leaking), inside, cluster


def normal_quantile(share: float) -> float:
    """The quantile of the standard normal distribution."""
    from scipy.special import ndtri  # noqa: PLC0415

    return float(ndtri(share))


def expected_power(world: World, rng: np.random.Generator) -> float:
    """The mean power over fresh trials."""
    found = []
    for _ in range(FRESH):
        scores, inside, _ = draw(world, rng)
        found += [power_at(score[own], score[~own], FALSE_RATE) for score, own in zip(scores.T, inside.T, strict=True)]
    return float(np.mean(found))


def begin(world: World) -> Callable[[int], Iterator[Reading]]:
    """The expected power; runs follow each other in one stream. Student's interval alone stands beside ours."""
    truth, rng = expected_power(world, stream(1, f"fresh trials {world}")), stream(0, f"trials {world}")

    def read(_: int) -> Iterator[Reading]:
        scores, inside, cluster = draw(world, rng)
        whole = power_over_rounds(scores, inside, FALSE_RATE, clusters=cluster, confidence=CONFIDENCE)
        found, half = whole.figures, quantile(CONFIDENCE, whole.figures.degrees) * whole.error.variance**0.5
        for method, low, high in (
            ("trial", found.low, found.high),
            ("Student's alone", found.power - half, found.power + half),
        ):
            yield Reading("power", FALSE_RATE, method, CONFIDENCE, found.power, (low, high), truth=truth)

    return read


def show(rows: Sequence[Row]) -> None:
    """Print a row for each kind of world, with a cell for each power: the coverage, and the intervals that are too low.

    The last column has the lowest coverage of Student's interval alone, over the powers.
    """
    found = {(row["world"], row["method"]): row for row in rows}
    lines = []
    for key, group in groupby(worlds(), key=lambda world: (world.kind, world.people, world.rounds)):
        cells, width, names = dict.fromkeys(POWERS, ""), "", []
        for world in group:
            row = found.get((world.name, "trial"))
            if row is not None:
                names.append(world.name)
                cells[world.power] = f"{float(row['coverage']):.3f} ({float(row['above']):.3f})"
                width = f"{float(row['width']):.2f}" if world.power == 0.3 else width
        if names:
            alone = lowest([row for row in rows if row["world"] in names], method="Student's alone")
            lines.append([*key, *cells.values(), width, f"{alone:.3f}"])
    markdown(("what varies", "people", "rounds", *POWERS, "mean width at 0.3", "Student's alone"), lines)


STUDY = Study({world.name: world for world in worlds()}, begin, show, runs=200)
