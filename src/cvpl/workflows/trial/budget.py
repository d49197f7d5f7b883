"""The privacy budget of a trial: a lower bound on epsilon, and the power beside what the stated budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from cvpl import result as out
from cvpl.errors import UsageError
from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.trials.budget import allowed_powers, largest_gaussian_power, largest_power
from cvpl.evaluation.trials.one_run import audit_budget, epsilon_bound
from cvpl.evaluation.trials.rounds import PowerOverRounds
from cvpl.randomness import stream
from cvpl.result.publishing import Disclosure
from cvpl.workflows.trial.readings import Rounds
from cvpl.workflows.trial.rounds import Trial

LARGEST = 100.0
"""The largest epsilon that can be stated; far above any that promises anything."""


REGION = (0.0, 0.01, *(round(0.025 * step, 3) for step in range(1, 21)))
"""The false-positive rates at which a chart shows what the budget allows."""


@dataclass(frozen=True)
class GaussianNoise:
    """A mechanism that adds normal noise: `multiplier` times the sensitivity, in `steps` steps on Poisson samples."""

    multiplier: float
    steps: int = 1
    sampling: float = 1.0

    def __post_init__(self) -> None:
        """Refuse noise that is none."""
        if not 0 < self.multiplier <= LARGEST:
            raise UsageError(
                f"the noise multiplier is {self.multiplier:g}; allowed is a number above 0 and up to {LARGEST:g}."
            )
        if self.steps < 1:
            raise UsageError(f"the number of noise steps is {self.steps}; allowed is a whole number from 1.")
        if not 0 < self.sampling <= 1:
            raise UsageError(f"the sampling rate is {self.sampling:g}; allowed is a number above 0 and up to 1.")


@dataclass(frozen=True)
class StatedBudget:
    """The stated budget: an epsilon, or the noise of a Gaussian mechanism; neither if only a bound is asked for."""

    epsilon: float | None
    delta: float = 0.0
    noise: GaussianNoise | None = None

    def __post_init__(self) -> None:
        """Refuse a budget that is none."""
        if self.epsilon is not None and self.noise is not None:
            raise UsageError("both epsilon and a noise multiplier are stated. Keep one of them.")
        if self.epsilon is not None and not 0 < self.epsilon <= LARGEST:
            raise UsageError(f"epsilon is {self.epsilon:g}; allowed is a number above 0 and up to {LARGEST:g}.")
        if not 0 <= self.delta < 1:
            raise UsageError(f"delta is {self.delta:g}; allowed is a number from 0 to below 1, such as 1e-5.")

    def largest_power(self, false_rate: float) -> float | None:
        """The largest power at a false-positive rate that the budget allows; None if none is stated."""
        if self.noise is not None:
            noise = self.noise
            return largest_gaussian_power(noise.multiplier, false_rate, steps=noise.steps, sampling=noise.sampling)
        return None if self.epsilon is None else largest_power(self.epsilon, false_rate, self.delta)


def budget_section(
    stated: StatedBudget, trial: Trial, rounds: Rounds, powers: Sequence[PowerOverRounds], disclosure: Disclosure
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
        clusters = rounds.people.cluster[real] if rounds.people.grouped else None
        found = audit_budget(
            scores, rounds.inside[real], stream(trial.seed, "trial guesses"), delta=stated.delta, clusters=clusters
        )
        right, guesses, examples = disclosure.count(found.right), found.guesses, found.examples
        bound = epsilon_bound(right, guesses, examples, delta=stated.delta)
    allowed = allowed_powers(powers, stated.largest_power)
    raised = None
    if stated.epsilon is not None or stated.noise is not None:
        above = bound is not None and stated.epsilon is not None and bound > stated.epsilon
        raised = above or any(item.exceeded for item in allowed)
    return out.TrialBudget(
        epsilon=stated.epsilon,
        delta=stated.delta,
        lower_bound=bound,
        confidence=CONFIDENCE,
        right=right,
        guesses=guesses,
        examples=examples,
        unit="group" if trial.people.grouped else "row",
        noise=None if stated.noise is None else out.StatedNoise(**asdict(stated.noise)),
        allowed=allowed,
        region=[
            out.AllowedPoint(false_rate=rate, allowed=largest)
            for rate in REGION
            if (largest := stated.largest_power(rate)) is not None
        ],
        alarm=raised,
    )
