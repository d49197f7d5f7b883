"""Two-sample tests: distances between two samples, and their p-values.

Each distance here is at most the total variation, which bounds the difference in the share of any event: a limit on it
limits the harm. p-values are asymptotic.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST_EXPECTED = 10
"""Labels are pooled until each class has this expected count in the smaller sample: below it, the χ² law fails."""


def kolmogorov_smirnov(first: Floats, second: Floats) -> tuple[float, float]:
    """The largest distance between two distribution functions, and its p-value.

    D = max |F1 - F2|;  p = 2 Σ (-1)^(k-1) exp(-2 k² λ²) with λ = D √(nm / (n + m)). With ties p is too large, never too
    small. (0, 1) if a sample is empty.
    """
    n, m = len(first), len(second)
    if not n or not m:
        return 0.0, 1.0
    points = np.unique(np.concatenate([first, second]))
    shares = [np.searchsorted(np.sort(item), points, side="right") / len(item) for item in (first, second)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    scaled = distance * math.sqrt(n * m / (n + m))
    if scaled < 0.2:  # the series converges slowly there, and its value is 1 to twelve digits
        return distance, 1.0
    terms = [(-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, 101)]
    return distance, min(1.0, max(0.0, 2 * sum(terms)))


def total_variation(first: Ints, second: Ints) -> tuple[float, float]:
    """Half the summed difference of the class shares, and the p-value of the χ² test of no difference.

    `first` and `second` are the counts of the same classes. Classes that are too rare for the test are pooled into one,
    for both figures. (0, 1) if a sample is empty or one class is left.
    """
    n, m = int(first.sum()), int(second.sum())
    if not n or not m:
        return 0.0, 1.0
    together = first + second
    rare = together * min(n, m) / (n + m) < FEWEST_EXPECTED
    a, b = (np.append(item[~rare], item[rare].sum()) for item in (first, second))
    kept = a + b > 0
    a, b = a[kept], b[kept]
    if len(a) < 2:
        return 0.0, 1.0
    distance = float(np.abs(a / n - b / m).sum() / 2)
    pooled = (a + b) / (n + m)
    statistic = float(((a - n * pooled) ** 2 / (n * pooled) + (b - m * pooled) ** 2 / (m * pooled)).sum())
    return distance, chi_square_tail(statistic, len(a) - 1)


def chi_square_tail(statistic: float, freedom: int) -> float:
    """P(χ² >= statistic): the regularized upper incomplete gamma function at (freedom / 2, statistic / 2)."""
    a, x = freedom / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:  # the lower function, by its series
        term = total = 1 / a
        step = a
        while term > total * 1e-16:
            step += 1
            term *= x / step
            total += term
        return max(0.0, 1 - scale * total)
    tiny = 1e-300  # the upper function, by Lentz's continued fraction
    b = x + 1 - a
    c, d = 1 / tiny, 1 / b
    fraction = d
    for step in range(1, 100_000):
        factor = -step * (step - a)
        b += 2
        d = factor * d + b
        d = 1 / (d if abs(d) > tiny else tiny)
        c = b + factor / c
        c = c if abs(c) > tiny else tiny
        fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return scale * fraction
