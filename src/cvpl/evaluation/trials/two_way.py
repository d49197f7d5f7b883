"""The power of an attacker over the rounds of a trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvpl.evaluation.control import power_at
from cvpl.evaluation.intervals.shares import CONFIDENCE
from cvpl.evaluation.trials.rounds_error import (
    FEWEST_ROUNDS,
    Bools,
    Floats,
    Ints,
    TrialEstimate,
    TwoWayError,
    equal_units,
    jackknife_groups,
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
    are out is linked, as `cvpl.evaluation.control.power_at` reads it.

    `scores` and `inside` have a row for each person and a column for each round; a score is NaN if the person was not
    scored. `units` has a number for each person; people with the same number are drawn together (None: each alone).

    The estimand is the expected power for a fresh draw of the people and of the mechanism, for a release made from half
    of the people. The variance over people is that of a jackknife that leaves out groups of units, each in all rounds
    and in both roles, so that the error of the threshold counts too; see `TwoWayError` for the interval.

    Refused with a ValueError: fewer than 2 rounds, or fewer than 20 units in or out in a round.
    """
    if scores.shape != inside.shape or scores.ndim != 2:
        raise ValueError(f"scores {scores.shape} and inside {inside.shape} must both be people x rounds")
    rounds = scores.shape[1]
    if rounds < FEWEST_ROUNDS:
        raise ValueError(f"{rounds} round: the spread over draws needs at least {FEWEST_ROUNDS} rounds")
    unit = np.arange(len(scores)) if units is None else np.asarray(units)
    scored = ~np.isnan(scores)
    for number in range(rounds):
        sides = [unit[scored[:, number] & (inside[:, number] == side)] for side in (True, False)]
        fewest = min(len(np.unique(side)) for side in sides)
        if fewest < FEWEST_UNITS:
            raise ValueError(
                f"round {number + 1}: {fewest} units are in or out; at least {FEWEST_UNITS} are needed on each side"
            )
    group = jackknife_groups(unit)
    kept = np.ones(len(scores), dtype=bool)
    by_round = _powers(scores, inside, scored, false_rate, kept)
    without = np.array([_powers(scores, inside, scored, false_rate, group != left) for left in range(group.max() + 1)])
    error = two_way_error(by_round, without, equal_units(unit[(scored & inside).any(axis=1)]))
    power = TrialEstimate(float(by_round.mean()), *error.ends(float(by_round.mean()), confidence))
    risk = TrialEstimate(*(_attributable(figure, false_rate) for figure in (power.estimate, power.low, power.high)))
    return TrialPower(false_rate, power, risk, tuple(map(float, by_round)), error, confidence)


def _powers(scores: Floats, inside: Bools, scored: Bools, false_rate: float, kept: Bools) -> Floats:
    """The power of every round, of the kept people alone."""
    found = []
    for score, is_in, known in zip(scores.T, inside.T, scored.T, strict=True):
        read = known & kept
        found.append(power_at(score[read & is_in], score[read & ~is_in], false_rate))
    return np.array(found)


def _attributable(power: float, false_rate: float) -> float:
    return (power - false_rate) / (1 - false_rate)
