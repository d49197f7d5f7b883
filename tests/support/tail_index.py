"""The tail index, a measure of how heavy the upper tail of a column is."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TailIndex:
    """Hill's estimate from the `largest` values, and its standard error for independent draws."""

    index: float
    error: float
    largest: int


def tail_index(values: NDArray[Any], largest: int) -> TailIndex:
    """Hill's estimate of the tail index a, where P(X > x) falls like x ** -a.

    1 / a = (1/k) sum over i = 1 ... k of log(X_(i) / X_(k+1)),   error = a / sqrt(k)

    with k = `largest` and X_(1) >= X_(2) >= ... A smaller index means a heavier tail; the mean exists above 1, the
    variance above 2. The estimate converges, as k becomes small relative to the number of values, only under a power
    law. A log-normal column has every moment, and its estimate keeps rising: there it only describes the tail at that
    depth.

    Missing values (NaN) are left out. If the k + 1 largest values are all equal, the index is infinite. Raises
    ValueError if k is below 1, or if fewer than k + 1 values are above 0.
    """
    known = np.asarray(values, dtype=np.float64)
    known = np.sort(known[~np.isnan(known)])[::-1]
    if not 1 <= largest < len(known) or known[largest] <= 0:
        raise ValueError(
            f"tail_index: largest is {largest}, and {int((known > 0).sum())} values are above 0. "
            "Choose at least 1, and fewer than these."
        )
    excess = float(np.log(known[:largest] / known[largest]).mean())
    index = 1.0 / excess if excess > 0 else inf
    return TailIndex(index, index / sqrt(largest), largest)
