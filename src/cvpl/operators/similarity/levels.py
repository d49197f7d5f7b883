"""Levels of agreement: equal values count for more than values that are only within the tolerance.

For a match whose values are within the tolerance, `m` is the probability that they are equal; for any other such pair
it is `u`, the share of the people within the tolerance who have the very value. Agreement then weighs

    agree + log(m / u)                if the values are equal
    agree + log((1 - m) / (1 - u))    if they are only near

u counts as at most m: equality never counts against a pair. Near values weigh no less than values that differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CERTAIN = 1e-6
"""The smallest distance of m and u from 0 and 1."""


def split_levels(agree: Floats, u: Floats, m: float, differ: float) -> tuple[Floats, Floats]:
    """The weight of near values, and what equal ones add to it."""
    m = float(np.clip(m, _CERTAIN, 1 - _CERTAIN))
    u = np.minimum(np.clip(u, _CERTAIN, 1 - _CERTAIN), m)
    near = np.maximum(agree + np.log((1 - m) / (1 - u)), np.minimum(agree, differ))
    return near, agree + np.log(m / u) - near
