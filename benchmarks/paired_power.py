"""Powers of several attacks on the same people, and of their differences, with an interval over people.

Members and control people are drawn anew, each with replacement; all attacks see the same draws, so that a difference
of two powers is paired. What a replicate gives equals `power_at` on the records repeated as often as they were drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cvpl.estimates import FALSE_RATES
from cvpl.evaluation.rates import comparable, power_at

REPLICATES = 1000
FOLDS = 5
Scores = tuple[np.ndarray, np.ndarray]
"""An attack's scores of the members, and of the control people."""
Counts = tuple[np.ndarray, np.ndarray]
"""How often each member, and each control person, counts."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The scores of an attack as places in the order of all of them, the highest first."""

    members: np.ndarray
    controls: np.ndarray
    places: int

    @classmethod
    def of(cls, scores: Scores) -> Ranking:
        """Scores that are equal up to the decimals in which the package compares them have one place."""
        values, place = np.unique(-comparable(np.concatenate(scores)), return_inverse=True)
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
    """The strongest of several attacks, each fifth of the people judged by the one that is strongest on the others.

    The strongest on all people would owe part of its power to having been picked on them; here nobody who is counted
    has a say in the pick. The power is the mean over the fifths.
    """

    ranked: Mapping[str, Ranking]
    folds: tuple[Counts, ...]
    at: int

    @classmethod
    def of(cls, attacks: Mapping[str, Scores], false_rate: float, rng: np.random.Generator) -> CrossFitted:
        """Draw the folds; picked is by the power at `false_rate`."""
        sizes = [len(side) for side in next(iter(attacks.values()))]
        fold_of = [rng.permutation(size) % FOLDS for size in sizes]
        folds = tuple(tuple((item == fold).astype(np.float64) for item in fold_of) for fold in range(FOLDS))
        ranked = {name: Ranking.of(scores) for name, scores in attacks.items()}
        return cls(ranked, folds, FALSE_RATES.index(false_rate))

    def inside(self, counts: Counts, picks: Sequence[int]) -> np.ndarray:
        """The mean over the folds of the power that each one's pick has in it (one for every false rate)."""
        attacks = list(self.ranked.values())
        parts = [(counts[0] * fold[0], counts[1] * fold[1]) for fold in self.folds]
        return np.mean([attacks[pick].powers(part) for pick, part in zip(picks, parts, strict=True)], axis=0)

    def picks(self, counts: Counts) -> list[int]:
        """For each fold, the attack that is strongest outside of it."""
        parts = [(counts[0] * (1 - fold[0]), counts[1] * (1 - fold[1])) for fold in self.folds]
        return [int(np.argmax([item.powers(part)[self.at] for item in self.ranked.values()])) for part in parts]


def once(scores: Scores) -> Counts:
    """Everybody counts once."""
    return np.ones(len(scores[0])), np.ones(len(scores[1]))


def draws(scores: Scores, rng: np.random.Generator) -> Iterator[Counts]:
    """Members and control people drawn anew, each as many as there are."""
    for _ in range(REPLICATES):
        yield tuple(np.bincount(rng.integers(len(score), size=len(score)), minlength=len(score)) for score in scores)


def ranked_and_checked(scores: Scores) -> Ranking:
    """The ranked scores, after their powers were held against the package's own."""
    ranked = Ranking.of(scores)
    expected = [power_at(*scores, rate) for rate in FALSE_RATES]
    if not np.allclose(ranked.powers(once(scores)), expected, rtol=0, atol=1e-12):
        raise ArithmeticError("the powers of the replicates and those of cvpl.evaluation.rates differ")
    return ranked


def interval(replicates: np.ndarray) -> list[float]:
    """The middle 95% of the replicates."""
    return [float(end) for end in np.quantile(replicates, (0.025, 0.975))]
