"""Guesses about who was in a round: how they are made from scores, and how the way is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cvpl.evaluation.trials.rounds_error import Bools, Floats, Ints

Direction = Literal["high", "low"]
"""Which scores are guessed in: the highest, or the lowest."""

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
"""The shares of the units that are guessed in, and out, from which a plan is chosen.

Not a half: the number of units that are in varies by chance, and guessing half would be wrong at the edge."""
FEWEST_GUESSES = 10
"""Fewer guesses in a round are not tried: some of many small sets would be right by luck."""
_LUCK = 0.001
"""Plans are compared by a bound at this error, since the best of hundreds of plans is chosen."""


@dataclass(frozen=True)
class Plan:
    """How to guess: the attacker, the direction, and how many units are guessed in and out."""

    attacker: str
    direction: Direction
    guessed_in: int
    guessed_out: int

    @property
    def guesses(self) -> int:
        """The number of guesses in a round."""
        return self.guessed_in + self.guessed_out


def ranked_units(scores: Floats, order: Ints) -> Ints:
    """The scored units from the highest score to the lowest; tied scores stand as in `order`."""
    known = order[~np.isnan(scores[order])]
    ranked: Ints = known[np.argsort(-scores[known], kind="stable")]
    return ranked


def right_guesses(ranked: Ints, inside: Bools, plan: Plan) -> int:
    """How many guesses of a plan are right in a round: `ranked` units, and whether each unit is `inside`."""
    ends = inside[ranked if plan.direction == "high" else ranked[::-1]]
    return int(ends[: plan.guessed_in].sum()) + int((~ends[len(ends) - plan.guessed_out :]).sum())


def best_plan(ranked: Mapping[str, Sequence[Ints]], inside: Bools, scored: int) -> Plan:
    """The plan with the largest lower bound on the share of right guesses, in the rounds that choose.

    `ranked` has the ranked units of these rounds for every attacker, `inside` is units x rounds, and `scored` is the
    number of units that have a score in every round. The bound is Clopper-Pearson's; a tie goes to the first plan.
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - loaded when a bound is made

    plans = [plan for name in ranked for plan in guess_plans(name, scored)]
    right = np.array(
        [
            sum(right_guesses(units, inside[:, number], plan) for number, units in enumerate(ranked[plan.attacker]))
            for plan in plans
        ]
    )
    guesses = inside.shape[1] * np.array([plan.guesses for plan in plans])
    lowest = np.where(right > 0, betaincinv(np.maximum(right, 1), guesses - right + 1, _LUCK), 0.0)
    return plans[int(np.argmax(lowest))]


def guess_plans(attacker: str, scored: int) -> Iterator[Plan]:
    """Every plan of an attacker that makes enough guesses."""
    directions: tuple[Direction, ...] = ("high", "low")
    for direction in directions:
        for first in SHARES:
            for last in SHARES:
                plan = Plan(attacker, direction, int(first * scored), int(last * scored))
                if plan.guesses >= FEWEST_GUESSES:
                    yield plan
