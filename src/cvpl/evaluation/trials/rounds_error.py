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

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

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

        Wilson's interval is that of units / 1.1 people at the same t, as if all rounds had shown the same people again.
        So a share of 0 or 1 in all rounds has an interval with a width too. Both are clipped to [0, 1].
        """
        t = quantile(confidence, self.degrees)
        half = t * math.sqrt(self.variance)
        low, high = wilson_bounds(share, self.units / LEAST_EFFECT, t)
        return max(0.0, min(low, share - half)), min(1.0, max(high, share + half))


def two_way_error(by_round: Floats, deviations: Floats, unit: Ints, counted: Bools) -> TwoWayError:
    """The errors of the mean of `by_round`, from each person's part in each round's deviation from its expectation.

        C = U / (U - 1) Σ_u D_u D_u'        the covariance of the rounds' figures over people

        people² = 1'C1 / R²        draws² = S² / R        between_people² = mean of C's diagonal - mean of the rest

    D_u are the sums of `deviations` (people x rounds) over the people of unit u, S² is the variance between rounds. Its
    expectation is between_people² plus the variance of the draws: so much do rounds with other people in them differ.
    `counted` marks the people x rounds of whom the figure is a share; `units` is (Σ n_u)² / Σ n_u² of these people.
    """
    rounds, count = len(by_round), int(unit.max()) + 1
    sums = np.stack([np.bincount(unit, column, minlength=count) for column in deviations.T], axis=1)
    covariance = count / max(1, count - 1) * (sums.T @ sums)
    own, total = float(np.trace(covariance)) / rounds, float(covariance.sum())
    shared = (total - own * rounds) / (rounds * (rounds - 1))
    sizes = np.bincount(unit[np.any(counted, axis=1)]).astype(np.float64)
    return TwoWayError(
        people=math.sqrt(max(0.0, total)) / rounds,
        draws=math.sqrt(float(np.var(by_round, ddof=1)) / rounds),
        between_people=math.sqrt(max(0.0, own - shared)),
        units=float(sizes.sum() ** 2 / (sizes @ sizes)),
        rounds=rounds,
    )


def numbered(units: Ints | None, people: int) -> Ints:
    """The unit of each person, numbered from 0; each person alone if there are no units."""
    if units is None:
        return np.arange(people, dtype=np.int64)
    return np.unique(units, return_inverse=True)[1].reshape(-1).astype(np.int64)
