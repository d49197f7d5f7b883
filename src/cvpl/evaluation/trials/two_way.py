"""The power of an attacker over the rounds of a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cvpl.estimates import CONFIDENCE, beyond_chance
from cvpl.evaluation.control import Roc
from cvpl.evaluation.intervals.bounds import Sample, power_parts
from cvpl.evaluation.trials.rounds_error import (
    FEWEST_ROUNDS,
    Bools,
    Floats,
    Ints,
    TwoWayError,
    numbered,
    two_way_error,
)
from cvpl.result import TrialPower, TrialRisk, TrialSpread

FEWEST_UNITS = 20
"""The fewest units that must be in, and out, in every round: the smallest tables for which an interval was measured."""


@dataclass(frozen=True)
class PowerOverRounds:
    """The power at a false-positive rate, over the rounds of a trial: its figures, and beside them its error.

    `by_round` has the power of every round, in order.
    """

    figures: TrialPower
    by_round: tuple[float, ...]
    error: TwoWayError
    confidence: float

    @property
    def estimate(self) -> float:
        """The mean power over rounds."""
        return self.figures.power

    @property
    def people_error(self) -> float:
        """The standard error over people."""
        return self.error.people

    def risk(self, attacker: str) -> TrialRisk:
        """The attributable form, (power - α) / (1 - α): its lower end may be below 0."""
        found, rate = self.figures, self.figures.false_rate
        return TrialRisk(
            estimate=beyond_chance(found.power, rate),
            low=beyond_chance(found.low, rate),
            high=beyond_chance(found.high, rate),
            power=found.power,
            false_rate=rate,
            attacker=attacker,
        )

    def low_at(self, confidence: float) -> float:
        """The lower end of the power at another confidence."""
        return self.error.ends(self.figures.power, confidence)[0]

    @property
    def spread(self) -> TrialSpread:
        """The spread between rounds beyond what sampling people explains.

        deviation = sqrt(max(0, S² - between_people²))

        S² is the variance between rounds, between_people² the part that follows from other people being in
        (`two_way_error`). 0 if people explain all of it.
        """
        error = self.error
        between = error.draws**2 * error.rounds
        return TrialSpread(
            deviation=math.sqrt(max(0.0, between - error.between_people**2)),
            people=error.between_people,
            smallest=min(self.by_round),
            largest=max(self.by_round),
        )


def power_over_rounds(
    scores: Floats, inside: Bools, false_rate: float, *, units: Ints | None = None, confidence: float = CONFIDENCE
) -> PowerOverRounds:
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
    power = float(by_round.mean())
    low, high = error.ends(power, confidence)
    figures = TrialPower(
        false_rate=false_rate,
        power=power,
        low=low,
        high=high,
        people_error=error.people,
        draws_error=error.draws,
        degrees=error.degrees,
    )
    return PowerOverRounds(figures, tuple(map(float, by_round)), error, confidence)


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
