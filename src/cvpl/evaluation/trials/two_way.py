"""The power of an attacker over the rounds of a trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvpl.estimates import beyond_chance
from cvpl.evaluation.control import Roc
from cvpl.evaluation.intervals.bounds import Sample, power_parts
from cvpl.evaluation.intervals.shares import CONFIDENCE
from cvpl.evaluation.trials.rounds_error import (
    FEWEST_ROUNDS,
    Bools,
    Floats,
    Ints,
    TrialEstimate,
    TwoWayError,
    numbered,
    two_way_error,
)

FEWEST_UNITS = 20
"""The fewest units that must be in, and out, in every round: the smallest tables for which an interval was measured."""


@dataclass(frozen=True)
class TrialPower:
    """The power at a false-positive rate, over the rounds of a trial.

    `risk` is the attributable form, (power - α) / (1 - α): its lower end may be below 0. `by_round` has the power of
    every round, in order.
    """

    false_rate: float
    power: TrialEstimate
    risk: TrialEstimate
    by_round: tuple[float, ...]
    error: TwoWayError
    confidence: float

    @property
    def estimate(self) -> float:
        """The mean power over rounds."""
        return self.power.estimate

    @property
    def people_error(self) -> float:
        """The standard error over people."""
        return self.error.people

    @property
    def draws_error(self) -> float:
        """The standard error over draws of the mechanism."""
        return self.error.draws

    @property
    def degrees(self) -> int:
        """Degrees of freedom of the interval: rounds - 1."""
        return self.error.degrees

    def at(self, confidence: float) -> TrialEstimate:
        """The power with its interval at another confidence."""
        return TrialEstimate(self.power.estimate, *self.error.ends(self.power.estimate, confidence))


def power_over_rounds(
    scores: Floats, inside: Bools, false_rate: float, *, units: Ints | None = None, confidence: float = CONFIDENCE
) -> TrialPower:
    """The mean power over rounds at a false-positive rate α, with an interval over people and draws.

    power of a round = share of the people who are in with a score above the threshold at which a share α of those who
    are out is linked, as `cvpl.evaluation.control.Roc.power` reads it.

    `scores` and `inside` have a row for each person and a column for each round; a score is NaN if the person was not
    scored. `units` has a number for each person; people with the same number are drawn together (None: each alone).

    The estimand is the expected power for a fresh draw of the people and of the mechanism, for a release made from half
    of the people. A unit enters with all its rounds and in both roles: those who are in move the power by being linked,
    those who are out by moving the threshold, weighed by the ROC's slope (`power_parts`). See `TwoWayError` for the
    interval. A jackknife over groups of units in place of the slope takes the jumps of a threshold for variance.

    Refused with a ValueError: fewer than 2 rounds, or fewer than 20 units in or out in a round. Whether enough people
    who are out lie above the threshold is for the caller to ask (`cvpl.evaluation.risk.can_be_read`).
    """
    if scores.shape != inside.shape or scores.ndim != 2:
        raise ValueError(f"scores {scores.shape} and inside {inside.shape} must both be people x rounds")
    rounds = scores.shape[1]
    if rounds < FEWEST_ROUNDS:
        raise ValueError(f"{rounds} round: the spread over draws needs at least {FEWEST_ROUNDS} rounds")
    unit = numbered(units, len(scores))
    by_round, deviations = powers_and_parts(scores, inside, unit, false_rate)
    error = two_way_error(by_round, deviations, unit, ~np.isnan(scores) & inside)
    power = TrialEstimate(float(by_round.mean()), *error.ends(float(by_round.mean()), confidence))
    risk = TrialEstimate(*(beyond_chance(figure, false_rate) for figure in (power.estimate, power.low, power.high)))
    return TrialPower(false_rate, power, risk, tuple(map(float, by_round)), error, confidence)


def powers_and_parts(scores: Floats, inside: Bools, unit: Ints, false_rate: float) -> tuple[Floats, Floats]:
    """The power of every round, and each person's part in its deviation, people x rounds.

    0 for people who were not scored. Raises ValueError if fewer than 20 units are in or out in a round.
    """
    rounds, scored = scores.shape[1], ~np.isnan(scores)
    by_round, deviations = np.empty(rounds), np.zeros(scores.shape)
    for number in range(rounds):
        is_in, is_out = (scored[:, number] & (inside[:, number] == side) for side in (True, False))
        fewest = min(len(np.unique(unit[side])) for side in (is_in, is_out))
        if fewest < FEWEST_UNITS:
            raise ValueError(
                f"round {number + 1}: {fewest} units are in or out; at least {FEWEST_UNITS} are needed on each side"
            )
        mine, base = Sample(scores[is_in, number]), Sample(scores[is_out, number])
        roc = Roc.of(mine.best, base.best)
        by_round[number] = roc.power(false_rate)
        parts = power_parts(mine, base, false_rate, CONFIDENCE, roc)
        deviations[is_in, number], deviations[is_out, number] = (part.deviation for part in parts)
    return by_round, deviations
