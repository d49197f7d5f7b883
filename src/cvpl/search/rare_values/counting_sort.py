"""A stable sort of records by the code of one column, in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any


@njit(nogil=True, cache=True)
def code_starts(codes: Array) -> Array:
    """Where each code begins among the sorted codes, from -1 on: code c at entry c + 1, and the end at the last."""
    starts = np.zeros(codes.max() + 3, dtype=np.int64) if len(codes) else np.zeros(2, dtype=np.int64)
    for code in codes:
        starts[code + 2] += 1
    for code in range(1, len(starts)):
        starts[code] += starts[code - 1]
    return starts


@njit(nogil=True, cache=True)
def stable_order(codes: Array, order: Array) -> Array:
    """The places in `order`, sorted by their codes, from -1 on; equal codes keep their order."""
    starts = code_starts(codes)
    found = np.empty_like(order)
    for place in order:
        code = codes[place] + 1
        found[starts[code]] = place
        starts[code] += 1
    return found
