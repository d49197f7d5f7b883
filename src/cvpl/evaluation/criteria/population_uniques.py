"""How many people of the population are unique in it, estimated from the class sizes of a sample.

Both estimators take the records for a simple random sample of the population. They are those of ARX.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEPS, _ACCURACY = 300, 1e-9


def zayatz_uniques(sizes: Ints, population: int) -> float | None:
    """Zayatz's estimate (1991) of the number of population uniques.

        E_1 N / n · (E_1 / J) P(1 | 1) / Σ_j (E_j / J) P(1 | j)        P(1 | j): hypergeometric, one of j is drawn

    E_j is the number of classes of j records, J of all classes, n of records, N of people in the population. None
    without records, and 0 without a unique record.
    """
    if not len(sizes):
        return None
    records = int(sizes.sum())
    size, classes = np.unique(sizes, return_counts=True)
    if size[0] != 1:
        return 0.0
    one = np.array([_one_drawn(int(j), records, population) for j in size])
    given = classes[0] * one[0] / float((classes * one).sum())
    return float(classes[0] * given * population / records)


def _one_drawn(j: int, records: int, population: int) -> float:
    """The probability that exactly one of j people is among `records` drawn of the population."""
    others = records - 1
    if population - j < others:
        return 0.0
    logs = math.log(j) + _log_choose(population - j, others) - _log_choose(population, records)
    return math.exp(logs)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def pitman_uniques(sizes: Ints, population: int) -> float | None:
    """The estimate of the number of population uniques under Pitman's model (Hoshino, 2001).

        Γ(θ + 1) / Γ(θ + α) N^α

    θ and α are the maximum likelihood estimates from the sizes. None if they do not exist (no unique record, or no
    class of several records), or if the estimate is above the population.
    """
    records, classes = int(sizes.sum()), len(sizes)
    if not classes or classes == records or int(sizes.min()) > 1:
        return None
    found = pitman_parameters(sizes, records, classes)
    if found is None:
        return None
    theta, alpha = found
    estimate = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + alpha * math.log(population))
    return estimate if estimate <= population else None


def pitman_parameters(sizes: Ints, records: int, classes: int) -> tuple[float, float] | None:
    """θ > 0 and 0 < α < 1 of the largest likelihood.

        log L = Σ_{i=1}^{J-1} log(θ + i α) - Σ_{i=1}^{n-1} log(θ + i) + Σ_j Σ_{i=1}^{f_j-1} log(i - α)

    It is maximized over θ for each α, and over α by golden sections; both curves have one top.
    """
    from scipy.special import gammaln  # noqa: PLC0415 - loaded when an estimate is made

    size, times = np.unique(sizes, return_counts=True)

    def likelihood(theta: float, alpha: float) -> float:
        chosen = classes - 1
        first = chosen * math.log(alpha) + gammaln(theta / alpha + classes) - gammaln(theta / alpha + 1)
        second = gammaln(theta + records) - gammaln(theta + 1)
        third = float((times * (gammaln(size - alpha) - gammaln(1 - alpha))).sum())
        return float(first - second + third)

    def best_theta(alpha: float) -> float:
        return math.exp(_top(lambda log: likelihood(math.exp(log), alpha), math.log(1e-6), math.log(1e6 * records)))

    alpha = _top(lambda value: likelihood(best_theta(value), value), 1e-6, 1 - 1e-6)
    theta = best_theta(alpha)
    at_an_end = alpha < 1e-5 or alpha > 1 - 1e-5 or theta > 1e5 * records
    return None if at_an_end else (theta, alpha)


def _top(curve: Callable[[float], float], low: float, high: float) -> float:
    """Where a curve with one top is largest, by golden sections."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = curve(left), curve(right)
    for _ in range(_STEPS):
        if high - low < _ACCURACY * max(1.0, abs(low)):
            break
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = curve(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = curve(left)
    return (low + high) / 2
