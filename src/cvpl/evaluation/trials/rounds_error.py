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
from cvpl.evaluation.intervals.shares import FEW_UNITS, quantile, wilson_bounds

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

FEWEST_ROUNDS = 2


@dataclass(frozen=True)
class TwoWayError:
    """The variance of a mean over rounds, by its two sources.

    `people` and `draws` are standard errors of the mean. `between_people` is the standard deviation between rounds that
    follows from different people being in, `draw_logit` what is left of it on the logit scale: the standard deviation
    of logit(figure) over draws. `units` is the number of independent units of equal weight.
    """

    people: float
    draws: float
    between_people: float
    draw_logit: float
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
        """The interval of a share: the outer ends of two or three intervals, clipped to [0, 1].

            share ± t sqrt(V)                                                    V the variance
            logit(s) ± t sqrt(V / (s (1 - s))² + draw_logit⁴ / (2 (rounds - 1)))        back from the logit scale

        t is Student's quantile with rounds - 1 degrees of freedom, s = (share · units + t² / 2) / (units + t²). The
        second interval is for draws whose figures are skewed: a few strong draws make most of the mean, and rounds
        without one seem to agree. Its last term is the error of the spread itself, as in Cox's interval for the mean of
        a log-normal.

        If fewer than 10 units are on one side of the share, Wilson's interval for units / 1.1 people at the same t is
        the third, as if all rounds had shown the same people again. So a share of 0 or 1 in all rounds has a width too.
        """
        t = quantile(confidence, self.degrees)
        half = t * math.sqrt(self.variance)
        inner = (share * self.units + t * t / 2) / (self.units + t * t)
        spread = self.draw_logit**4 / (2 * self.degrees)
        skewed = t * math.sqrt(self.variance / (inner * (1 - inner)) ** 2 + spread)
        lows = [share - half, _logistic(_logit(inner) - skewed)]
        highs = [share + half, _logistic(_logit(inner) + skewed)]
        if min(share, 1 - share) * self.units < FEW_UNITS:
            low, high = wilson_bounds(share, self.units / LEAST_EFFECT, t)
            lows.append(low)
            highs.append(high)
        return max(0.0, min(*lows, share)), min(1.0, max(*highs, share))


def two_way_error(by_round: Floats, deviations: Floats, unit: Ints, counted: Bools) -> TwoWayError:
    """The errors of the mean of `by_round`, from each person's part in each round's deviation from its expectation.

        C = U / (U - 1) Σ_u D_u D_u'        the covariance of the rounds' figures over people

        people² = 1'C1 / R²        draws² = S² / R        between_people² = mean of C's diagonal - mean of the rest

    D_u are the sums of `deviations` (people x rounds) over the people of unit u, S² is the variance between rounds. Its
    expectation is between_people² plus the variance of the draws: so much do rounds with other people in them differ.
    `counted` marks the people x rounds of whom the figure is a share; `units` is (Σ n_u)² / Σ n_u² of these people.

        draw_logit² = variance of logit((n f + 1/2) / (n + 1)) over rounds - between_people² / (s (1 - s))²

    f and n are a round's figure and the number of people in it, s the mean of (n f + 1/2) / (n + 1); never below 0.
    """
    rounds, count = len(by_round), int(unit.max()) + 1
    sums = np.stack([np.bincount(unit, column, minlength=count) for column in deviations.T], axis=1)
    covariance = count / max(1, count - 1) * (sums.T @ sums)
    own, total = float(np.trace(covariance)) / rounds, float(covariance.sum())
    shared = (total - own * rounds) / (rounds * (rounds - 1))
    between = max(0.0, own - shared)
    read = counted.sum(axis=0)
    inner = (read * by_round + 0.5) / (read + 1)
    mean = float(inner.mean())
    logits = np.var(np.log(inner / (1 - inner)), ddof=1)
    sizes = np.bincount(unit[np.any(counted, axis=1)]).astype(np.float64)
    return TwoWayError(
        people=math.sqrt(max(0.0, total)) / rounds,
        draws=math.sqrt(float(np.var(by_round, ddof=1)) / rounds),
        between_people=math.sqrt(between),
        draw_logit=math.sqrt(max(0.0, float(logits) - between / (mean * (1 - mean)) ** 2)),
        units=float(sizes.sum() ** 2 / (sizes @ sizes)),
        rounds=rounds,
    )


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _logistic(logit: float) -> float:
    # Written with tanh, which does not overflow.
    return (1 + math.tanh(logit / 2)) / 2


def numbered(units: Ints | None, people: int) -> Ints:
    """The unit of each person, numbered from 0; each person alone if there are no units."""
    if units is None:
        return np.arange(people, dtype=np.int64)
    return np.unique(units, return_inverse=True)[1].reshape(-1).astype(np.int64)
