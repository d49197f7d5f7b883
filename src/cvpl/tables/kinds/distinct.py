"""The distinct values of an array, and the place of each entry among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Places = NDArray[np.int32]

FEW = 50_000
"""With fewer entries, sorting is quick enough."""


def distinct(keys: Array) -> tuple[Array, Places]:
    """Return the sorted distinct values of an array, and the place of each entry among them.

    Whole numbers, which ages and amounts often are, are counted rather than sorted if their range is small.
    """
    if keys.dtype == np.float64 and len(keys) >= FEW:
        first, last = float(keys.min()), float(keys.max())
        if last - first < len(keys) and bool((keys == np.floor(keys)).all()):
            offsets = (keys - first).astype(np.int32)
            occurs = np.bincount(offsets) > 0
            return np.flatnonzero(occurs) + first, (np.cumsum(occurs, dtype=np.int32) - 1)[offsets]
    values, places = np.unique(keys, return_inverse=True)
    return values, places.astype(np.int32)
