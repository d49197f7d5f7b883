"""Powers of several attacks on the same people, and of their differences, with an interval over people.

Members and control people are drawn anew, each with replacement; all attacks see the same draws, so that a difference
of two powers is paired. What a replicate gives equals `power_at` on the records repeated as often as they were drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cvpl.evaluation.control import FALSE_RATES, power_at

REPLICATES = 1000
Scores = tuple[np.ndarray, np.ndarray]
"""An attack's scores of the members, and of the control people."""
Counts = tuple[np.ndarray, np.ndarray]
"""How often each member, and each control person, counts."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The scores of an attack as places in the order of all of them, the highest first."""

    members: np.ndarray
    controls: np.ndarray
    places: int

    @classmethod
    def of(cls, scores: Scores) -> Ranked:
        """Equal scores have one place."""
        values, place = np.unique(-np.concatenate(scores), return_inverse=True)
        return cls(place[: len(scores[0])], place[len(scores[0]) :], len(values))

    def powers(self, counts: Counts) -> np.ndarray:
        """The power at every false rate, linear between attainable points."""
        true, false = (
            np.concatenate([[0.0], np.cumsum(np.bincount(place, count, self.places))]) / count.sum()
            for place, count in zip((self.members, self.controls), counts, strict=True)
        )
        found = []
        for rate in FALSE_RATES:
            after = int(np.searchsorted(false, rate, side="right"))
            weight = (rate - false[after - 1]) / (false[after] - false[after - 1])
            found.append(true[after - 1] + weight * (true[after] - true[after - 1]))
        return np.array(found)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """The strongest of several attacks, each half of the people judged by the one that is strongest on the other half.

    The strongest on all people would owe part of its power to having been picked on them; here nobody who is counted
    has a say in the pick. The power is the mean over the two halves.
    """

    ranked: Mapping[str, Ranked]
    halves: tuple[Counts, Counts]
    at: int

    @classmethod
    def of(cls, attacks: Mapping[str, Scores], false_rate: float, rng: np.random.Generator) -> CrossFitted:
        """Draw the halves; picked is by the power at `false_rate`."""
        sizes = [len(side) for side in next(iter(attacks.values()))]
        first = tuple((rng.permutation(size) < size // 2).astype(np.float64) for size in sizes)
        ranked = {name: Ranked.of(scores) for name, scores in attacks.items()}
        return cls(ranked, (first, tuple(1 - it for it in first)), FALSE_RATES.index(false_rate))

    def on_halves(self, counts: Counts) -> np.ndarray:
        """The power of every attack (half x attack x false rate)."""
        return np.array(
            [
                [ranked.powers((counts[0] * half[0], counts[1] * half[1])) for ranked in self.ranked.values()]
                for half in self.halves
            ]
        )

    def picks(self, powers: np.ndarray) -> tuple[int, int]:
        """The attack for each half, which is the strongest on the other."""
        return int(powers[1, :, self.at].argmax()), int(powers[0, :, self.at].argmax())


def picked_power(powers: np.ndarray, picks: tuple[int, int]) -> np.ndarray:
    """The mean over the halves of the power of the attack that was picked for each."""
    return (powers[0, picks[0]] + powers[1, picks[1]]) / 2


def once(scores: Scores) -> Counts:
    """Everybody counts once."""
    return np.ones(len(scores[0])), np.ones(len(scores[1]))


def draws(scores: Scores, rng: np.random.Generator) -> Iterator[Counts]:
    """Members and control people drawn anew, each as many as there are."""
    for _ in range(REPLICATES):
        yield tuple(np.bincount(rng.integers(len(it), size=len(it)), minlength=len(it)) for it in scores)


def ranked_and_checked(scores: Scores) -> Ranked:
    """The ranked scores, after their powers were held against the package's own."""
    ranked = Ranked.of(scores)
    expected = [power_at(*scores, rate) for rate in FALSE_RATES]
    if not np.allclose(ranked.powers(once(scores)), expected, rtol=0, atol=1e-12):
        raise ArithmeticError("the powers of the replicates and those of cvpl.evaluation.control differ")
    return ranked


def interval(replicates: np.ndarray) -> list[float]:
    """The middle 95% of the replicates."""
    return [float(end) for end in np.quantile(replicates, (0.025, 0.975))]
