"""How much one draw of a mechanism differs from the next."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cvpl.evaluation.trials.two_way import TrialPower


@dataclass(frozen=True)
class DrawSpread:
    """The spread of the power over draws.

    `deviation` is the standard deviation of a round's power that the choice of people does not explain, `people` the
    part that it does explain, `smallest` and `largest` the power of the weakest and the strongest round.
    """

    deviation: float
    people: float
    smallest: float
    largest: float


def spread_over_draws(power: TrialPower) -> DrawSpread:
    """The spread between rounds beyond what sampling people explains.

    deviation = sqrt(max(0, S² - between_people²))

    S² is the variance between rounds, between_people² the part that follows from other people being in
    (`cvpl.evaluation.trials.rounds_error.two_way_error`). 0 if people explain all of it.
    """
    error = power.error
    between = error.draws**2 * error.rounds
    deviation = math.sqrt(max(0.0, between - error.between_people**2))
    return DrawSpread(deviation, error.between_people, min(power.by_round), max(power.by_round))
