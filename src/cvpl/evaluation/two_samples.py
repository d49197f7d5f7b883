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

    D = max |F1 - F2|;  p = P(K >= D √(nm / (n + m))) under Kolmogorov's law. With ties p is too large, never too small.
    (0, 1) where a sample is empty.
    """
    from scipy.special import kolmogorov  # noqa: PLC0415 - loaded when a test is made

    n, m = len(first), len(second)
    if not n or not m:
        return 0.0, 1.0
    points = np.unique(np.concatenate([first, second]))
    shares = [np.searchsorted(np.sort(item), points, side="right") / len(item) for item in (first, second)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    return distance, float(kolmogorov(distance * math.sqrt(n * m / (n + m))))


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
    """P(χ² >= statistic)."""
    # scipy.stats has the same, and takes seconds to load where scipy.special takes tenths of one.
    from scipy.special import chdtrc  # noqa: PLC0415 - loaded when a test is made

    return float(chdtrc(freedom, statistic))
