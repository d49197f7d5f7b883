"""How often the interval of the combined attacker's power holds the expected power.

    python benchmarks/combined_coverage.py scores [RUNS]
    python benchmarks/combined_coverage.py audits [RUNS]

scores    The evidence of seventeen members is drawn from a normal distribution, for originals and for controls, and
          joined as in an audit. The truth is the power of models that are fitted on four fifths of as many people, read
          on 20,000 fresh originals and controls.
audits    Whole audits by the family: 600 simulated people and 600 others as control are drawn anew, and released with
          new noise. The truth is the mean over all runs: the interval is for the expected power of a new draw of as
          many people.

"Too low" counts the intervals that lie below the truth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

import cvpl
from cvpl.evaluation.combined_evidence import (
    FOLDS,
    Standardization,
    assign_folds,
    cross_fitted,
    logistic_regression,
)
from cvpl.evaluation.control import power_at
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.uncertainty import Uncertainty
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.randomness import stream
from cvpl.workflows.simulate import CONFIG

MEMBERS, RATE, FRESH, MODELS = 17, 0.05, 20_000, 60
RUNS = {"scores": 300, "audits": 100}
SIZES = ((200, 200), (600, 600), (600, 300))
PEOPLE = 600
EXACT = {"report": {"suppress_below": 1}, "canaries": False, "sensitivity": False}
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """How far each member's evidence separates originals from controls, and how much members have in common."""

    name: str
    lifts: tuple[float, ...]
    common: float

    def draw(self, people: int, rng: np.random.Generator, *, released: bool) -> Floats:
        """The evidence of so many originals, or of controls, about each."""
        alike = rng.normal(size=(people, 1))
        own = rng.normal(size=(people, MEMBERS))
        evidence = np.sqrt(self.common) * alike + np.sqrt(1 - self.common) * own
        return evidence + np.array(self.lifts) if released else evidence


def _world(name: str, common: float, *lifts: float, rest: float = 0.0) -> World:
    return World(name, (*lifts, *[rest] * (MEMBERS - len(lifts))), common)


WORLDS = (
    _world("nothing to find", 0.3),
    _world("all weak", 0.5, rest=0.3),
    _world("one strong", 0.3, 2.0),
    _world("two strong", 0.3, 1.2, 1.2),
    _world("all strong", 0.3, rest=1.0),
    _world("one nearly certain", 0.3, 4.0),
)


def expected_power(world: World, people: int, controls: int) -> float:
    """The mean power of models fitted on four fifths of the people, on fresh people."""
    rng, found = stream(1, f"fresh people {world.name} {people} {controls}"), []
    for _ in range(MODELS):
        sizes = [count - count // FOLDS for count in (people, controls)]
        mine, base = (world.draw(size, rng, released=side) for size, side in zip(sizes, (True, False), strict=True))
        model = Standardization.of(np.vstack([mine, base]))
        weights = logistic_regression(model(np.vstack([mine, base])), np.repeat([1.0, 0.0], sizes))
        scores = [model(world.draw(FRESH, rng, released=side)) @ weights[1:] for side in (True, False)]
        found.append(power_at(*scores, RATE))
    return float(np.mean(found))


def by_scores(runs: int) -> None:
    """A row for each world and size."""
    _head("world", "originals", "controls")
    for world in WORLDS:
        for people, controls in SIZES:
            rng, found = stream(0, f"runs {world.name} {people} {controls}"), []
            for _ in range(runs):
                mine, base = (world.draw(people, rng, released=True), world.draw(controls, rng, released=False))
                scores = cross_fitted(mine, base, assign_folds(people, controls, rng))
                intervals = Uncertainty(Sample(scores[0]), Sample(scores[1]), "control").powers([RATE])
                found.append((power_at(*scores, RATE), intervals[0].low, intervals[0].high))
            _row((world.name, people, controls), found, expected_power(world, people, controls))


def by_audits(runs: int) -> None:
    """One row."""
    _head("release", "originals", "controls")
    found = []
    for number in range(runs):
        rng = stream(0, f"audit {number}")
        people, others = (Touchpoints(records=PEOPLE).draw(rng) for _ in range(2))
        released = Perturbation("high").protect(people, rng)
        tables = [pd.DataFrame(item.to_columns()) for item in (people, released, others)]
        settings = yaml.safe_load(CONFIG) | EXACT | {"seed": number}
        result = cvpl.audit(tables[0], tables[1], settings, control=tables[2], quick=True)
        row = next(item for item in result.attackers if item.name == "combined")
        at = next(item for item in row.power if item.false_rate == RATE)
        found.append((at.power, at.low, at.high))
        print(f"{number}: {found[-1]}", file=sys.stderr, flush=True)
    _row(("high noise", PEOPLE, PEOPLE), found, float(np.mean([power for power, _, _ in found])))


def _head(*names: str) -> None:
    heads = (*names, "expected power", "mean estimate", "mean half-width", "covered", "too low", "too high")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")


def _row(names: Iterable[object], found: list[tuple[float, float, float]], truth: float) -> None:
    power, low, high = np.array(found).T
    below, above = float((high < truth).mean()), float((low > truth).mean())
    cells = (truth, power.mean(), (high - low).mean() / 2, 1 - below - above, below, above)
    print(f"| {' | '.join([*map(str, names), *(f'{cell:.3f}' for cell in cells)])} |", flush=True)


def main(kind: str, runs: int | None) -> None:
    """Print the table."""
    {"scores": by_scores, "audits": by_audits}[kind](runs or RUNS[kind])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
