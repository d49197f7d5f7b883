"""A figure read in every round of a trial: its mean, and an interval over people and draws.

Each round splits the people into in and out and runs the mechanism once. Two things vary: the people (they are the same
in all rounds) and the draws of the mechanism (one in each round).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.intervals.bounds import LEAST_EFFECT
from cvpl.evaluation.intervals.shares import quantile, wilson_bounds
from cvpl.randomness import stream

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

GROUPS = 25
"""Groups of units that the jackknife leaves out one at a time."""
FEWEST_ROUNDS = 2


@dataclass(frozen=True)
class TrialEstimate:
    """A figure and the two ends of its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class TwoWayError:
    """The variance of a mean over rounds, by its two sources.

    `people` and `draws` are standard errors of the mean. `between_people` is the standard deviation between rounds that
    follows from different people being in, `units` the number of independent units of equal weight, `rounds` the number
    of rounds.
    """

    people: float
    draws: float
    between_people: float
    units: float
    rounds: int

    @property
    def degrees(self) -> int:
        """Degrees of freedom: rounds - 1."""
        return self.rounds - 1

    @property
    def variance(self) -> float:
        """people² + draws² - both²; not below the larger of people² and draws².

        both² = between_people² / rounds is what both contain: rounds differ because other people are in.
        """
        people, draws = self.people**2, self.draws**2
        return max(people + draws - self.between_people**2 / self.rounds, people, draws)

    def ends(self, share: float, confidence: float) -> tuple[float, float]:
        """The interval of a share: Student's, or Wilson's where that reaches further.

            share ± t sqrt(variance),        t with rounds - 1 degrees of freedom

        Wilson's interval is taken at the same t, for share (1 - share) / variance records, and never for more than the
        number of units / 1.1. So a share of 0 or 1 in all rounds has an interval too. Both are clipped to [0, 1].
        """
        t = quantile(confidence, self.degrees)
        half = t * math.sqrt(self.variance)
        count = self.units / LEAST_EFFECT
        if self.variance > 0:
            count = max(1.0, min(count, share * (1 - share) / self.variance))
        low, high = wilson_bounds(share, count, t)
        return max(0.0, min(low, share - half)), min(1.0, max(high, share + half))


def two_way_error(by_round: Floats, without: Floats, units: float) -> TwoWayError:
    """The errors of the mean of `by_round`; row g of `without` has the same figures with group g of the units left out.

        C = (G - 1) / G Σ_g (w_g - w̄)(w_g - w̄)'        the covariance of the rounds' figures over people (jackknife)

        people² = 1'C1 / R²        draws² = S² / R        between_people² = mean of C's diagonal - mean of the rest

    S² is the variance between rounds. Its expectation is between_people² plus the variance of the draws, since that is
    how much two rounds with different people differ.
    """
    rounds, groups = len(by_round), len(without)
    apart = without - without.mean(axis=0)
    covariance = (groups - 1) / groups * (apart.T @ apart)
    own, total = float(np.trace(covariance)) / rounds, float(covariance.sum())
    shared = (total - own * rounds) / (rounds * (rounds - 1))
    return TwoWayError(
        people=math.sqrt(max(0.0, total)) / rounds,
        draws=math.sqrt(float(np.var(by_round, ddof=1)) / rounds),
        between_people=math.sqrt(max(0.0, own - shared)),
        units=units,
        rounds=rounds,
    )


def jackknife_groups(units: Ints) -> Ints:
    """The group of every person: units are dealt at random, the same way every time, into 25 groups of equal size.

    A unit is never split. Fewer than 25 units are each a group.
    """
    known, unit = np.unique(units, return_inverse=True)
    order = stream(0, "groups of a trial's jackknife").permutation(len(known))
    return (order % min(GROUPS, len(known)))[unit.reshape(-1)].astype(np.int64)


def equal_units(units: Ints) -> float:
    """The number of units of equal size with the same weight: (Σ n_u)² / Σ n_u²."""
    sizes = np.unique(units, return_counts=True)[1].astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes))
