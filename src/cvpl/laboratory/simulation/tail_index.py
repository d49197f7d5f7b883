"""The tail index: how heavy the upper tail of a column is."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class TailIndex:
    """Hill's estimate from the `largest` values, and its standard error where they are independent draws."""

    index: float
    error: float
    largest: int


def tail_index(values: NDArray[Any], largest: int) -> TailIndex:
    """Hill's estimate of the tail index a, where P(X > x) falls like x ** -a.

    1 / a = (1/k) sum over i = 1 ... k of log(X_(i) / X_(k+1)),   error = a / sqrt(k)

    with k = `largest` and X_(1) >= X_(2) >= ... A smaller index is a heavier tail; the mean exists above 1, the
    variance above 2. Only under a power law does the estimate settle as k shrinks beside the number of values. A
    log-normal column has every moment, and its estimate keeps rising: there it tells how heavy the tail is at that
    depth, no more.

    A missing value (NaN) is left out. Where the k + 1 largest are all equal the index is infinite. k must be at least 1
    and leave one more value above 0 below it, else it is refused.
    """
    known = np.asarray(values, dtype=np.float64)
    known = np.sort(known[~np.isnan(known)])[::-1]
    if not 1 <= largest < len(known) or known[largest] <= 0:
        raise ValueError(
            f"tail_index: largest is {largest} where {int((known > 0).sum())} values are above 0. "
            "Ask for at least 1, and for fewer than these."
        )
    excess = float(np.log(known[:largest] / known[largest]).mean())
    index = 1.0 / excess if excess > 0 else inf
    return TailIndex(index, index / sqrt(largest), largest)
