"""What a privacy budget allows: the largest power, and an alarm where the measured power lies above it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from cvpl.errors import UsageError
from cvpl.evaluation.trials.rounds import PowerOverRounds
from cvpl.result import AllowedPower


def largest_power(epsilon: float, false_rate: float, delta: float = 0.0) -> float:
    """The largest true-positive rate at a false-positive rate a that (ε, δ)-differential privacy allows.

        power <= min(e^ε a + δ, 1 - e^-ε (1 - δ - a)),        at least a, at most 1

    An attacker who tests whether a person is in has a false-positive rate a and a false-negative rate b = 1 - power.
    The hypothesis-testing region of (ε, δ) is  1 - b <= e^ε a + δ  and  1 - a <= e^ε b + δ  (Wasserman and Zhou 2010;
    Kairouz, Oh and Viswanath 2015). Pure ε = 1 allows 13.6% at 5%, ε = 2 allows 36.9%.

    ε compares one person in with the same person out, everybody else unchanged. An infinite ε allows a power of 1
    at any false-positive rate above 0.
    """
    _check_budget(epsilon, delta)
    check_false_rate(false_rate)
    # Beyond 700 the exponential overflows, and the bound is 1 unless the false-positive rate is 0.
    factor = math.exp(min(epsilon, 700.0))
    return min(1.0, max(false_rate, min(factor * false_rate + delta, 1 - (1 - delta - false_rate) / factor)))


def allowed_powers(powers: Sequence[PowerOverRounds], largest: Callable[[float], float | None]) -> list[AllowedPower]:
    """Each measured power beside the `largest` that the budget allows there, with lower ends that hold together.

    `powers` are all figures that are looked at: one for each false-positive rate (and attacker). Each interval is taken
    at confidence 1 - (1 - confidence) / len(powers) (Bonferroni). A single draw can exceed the bound by chance; the
    lower end over rounds exceeds it in at most 1 - confidence of the trials of a mechanism that keeps its budget.

    If the rounds are balanced (a fixed number of people is in), a person who is out has been replaced by another: ε is
    then that for replacing a person, up to twice that for adding or removing one.
    """
    found = []
    for power in powers:
        rate = power.figures.false_rate
        allowed = largest(rate)
        if allowed is None:
            continue
        low = power.low_at(1 - (1 - power.confidence) / len(powers))
        found.append(
            AllowedPower(false_rate=rate, allowed=allowed, power=power.figures.power, low=low, exceeded=low > allowed)
        )
    return found


def check_false_rate(false_rate: float) -> None:
    """Refuse a false-positive rate that is not from 0 to 1 with a ValueError."""
    if not 0 <= false_rate <= 1:
        raise ValueError(f"false_rate is {false_rate}; allowed are 0 to 1")


def _check_budget(epsilon: float, delta: float) -> None:
    if not epsilon >= 0:
        raise ValueError(f"epsilon is {epsilon}; allowed are 0 and more")
    if not 0 <= delta <= 1:
        raise ValueError(f"delta is {delta}; allowed are 0 to 1")


_EPSILONS = np.linspace(0, 20, 401)
"""Each ε of the curve gives a bound that holds; the smallest of them is within 0.0002 of the exact one."""
_DISCRETIZATION = 1e-3
"""The width of the accountant's steps of privacy loss; it rounds up, so that a coarse one is safe."""


def largest_gaussian_power(
    noise_multiplier: float, false_rate: float, *, steps: int = 1, sampling: float = 1.0
) -> float:
    """The largest power at a false-positive rate that a Gaussian mechanism allows.

        power <= min over ε of min(e^ε a + δ(ε), 1 - e^-ε (1 - δ(ε) - a)),        at least a, at most 1

    δ(ε) is the accountant's curve for `steps` releases, each with normal noise of `noise_multiplier` times the
    sensitivity, on a Poisson sample with the probability `sampling`. It covers adding and removing a person. μ-Gaussian
    differential privacy is one release with the noise multiplier 1 / μ: then the power is Φ(Φ⁻¹(a) + μ).
    """
    check_false_rate(false_rate)
    if not noise_multiplier > 0 or steps < 1 or not 0 < sampling <= 1:
        raise ValueError("allowed are noise_multiplier above 0, steps from 1 on, sampling above 0 and at most 1")
    try:
        from dp_accounting.pld import privacy_loss_distribution  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise UsageError("a Gaussian budget needs an extra: install cvpl[budget], or state ε and δ") from None
    loss = privacy_loss_distribution.from_gaussian_mechanism(
        noise_multiplier, value_discretization_interval=_DISCRETIZATION, sampling_prob=sampling
    )
    loss = loss.self_compose(steps) if steps > 1 else loss
    deltas = np.asarray(loss.get_delta_for_epsilon(_EPSILONS), dtype=np.float64)
    factor = np.exp(_EPSILONS)
    bounds = np.minimum(factor * false_rate + deltas, 1 - (1 - deltas - false_rate) / factor)
    return float(min(1.0, max(false_rate, bounds.min())))
