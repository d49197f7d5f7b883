"""What the noise of a Gaussian mechanism allows, by Google's accountant (extra `budget`)."""

from __future__ import annotations

import numpy as np

from cvpl.errors import UsageError
from cvpl.evaluation.trials.budget import check_false_rate

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
