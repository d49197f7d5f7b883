"""The privacy budget of a trial: a lower bound on epsilon, and the power beside what the stated budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cvpl import result as out
from cvpl.errors import UsageError
from cvpl.evaluation.intervals.shares import CONFIDENCE
from cvpl.evaluation.trials.budget import alarm
from cvpl.evaluation.trials.one_run import audit_budget, epsilon_bound
from cvpl.evaluation.trials.two_way import TrialPower
from cvpl.randomness import stream
from cvpl.result.published import Disclosure
from cvpl.workflows.trial.readings import Rounds
from cvpl.workflows.trial.rounds import Trial

LARGEST = 100.0
"""The largest epsilon that can be stated; far above any that promises anything."""


@dataclass(frozen=True)
class StatedBudget:
    """The stated budget: epsilon is None if only a bound is asked for."""

    epsilon: float | None
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a budget that is none."""
        if self.epsilon is not None and not 0 < self.epsilon <= LARGEST:
            raise UsageError(f"epsilon is {self.epsilon:g}; allowed is a number above 0 and up to {LARGEST:g}.")
        if not 0 <= self.delta < 1:
            raise UsageError(f"delta is {self.delta:g}; allowed is a number from 0 to below 1, such as 1e-5.")


def budget_section(
    stated: StatedBudget, trial: Trial, rounds: Rounds, powers: Sequence[TrialPower], disclosure: Disclosure
) -> out.TrialBudget:
    """The bound and the comparison, as they may leave.

    The bound is computed from the published number of right guesses, which is rounded down. It needs every round, since
    a round that failed may have failed because of who was in: without one of them there is no bound. The lower ends of
    the powers hold together over all attackers that the headline was picked from, and all rates.
    """
    right = guesses = examples = 0
    bound = None
    if len(rounds.found) == trial.rounds:
        # Planted people are real to the mechanism, but they are no sample of the people, so they have no coins here.
        real = rounds.real
        names = [name for name in rounds.found[0].blind if all(name in item.blind for item in rounds.found)]
        scores = {name: np.stack([item.blind[name] for item in rounds.found], axis=1)[real] for name in names}
        units = trial.people.unit[real] if trial.people.grouped else None
        found = audit_budget(
            scores, rounds.inside[real], stream(trial.seed, "trial guesses"), delta=stated.delta, units=units
        )
        right, guesses, examples = disclosure.count(found.right), found.guesses, found.examples
        bound = epsilon_bound(right, guesses, examples, delta=stated.delta)
    allowed, raised = [], None
    if stated.epsilon is not None:
        confidence = powers[0].confidence if powers else CONFIDENCE
        compared = alarm(powers, stated.epsilon, stated.delta, confidence=confidence)
        allowed = [
            out.AllowedPower(
                false_rate=item.false_rate,
                allowed=item.allowed,
                power=item.estimate,
                low=item.low,
                exceeded=item.exceeded,
            )
            for item in compared
        ]
        raised = any(item.exceeded for item in compared) or (bound is not None and bound > stated.epsilon)
    return out.TrialBudget(
        epsilon=stated.epsilon,
        delta=stated.delta,
        lower_bound=bound,
        confidence=CONFIDENCE,
        right=right,
        guesses=guesses,
        examples=examples,
        unit="group" if trial.people.grouped else "row",
        allowed=allowed,
        alarm=raised,
    )
