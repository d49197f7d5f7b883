"""Find overlapping boxes: an interval join in several dimensions.

Few boxes are compared one by one. For many, the candidates' boxes go into trees (`box_tree`), so that the work grows
with the pairs that overlap, not with the product of both sides. Both ways find the same pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TREE_PAIRS = 20_000_000
"""From this number of pairs of boxes on, the trees repay loading the compiler."""
_AT_ONCE = 1 << 20
"""Pairs compared at a time."""


def meeting_boxes(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Every pair of a box (low, high) and another box that overlap on all axes, ends included, once, by their rows.

    Yields some pairs at a time, in no particular order.
    """
    if len(low) * len(other_low) < TREE_PAIRS:
        return _one_by_one(low, high, other_low, other_high)
    from cvpl.search.compatible.box_tree import meeting_in_trees  # noqa: PLC0415 - loads the compiler

    return meeting_in_trees(low, high, other_low, other_high)


def _one_by_one(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Iterator[tuple[Ints, Ints]]:
    height = max(1, _AT_ONCE // max(1, len(other_low)))
    for start in range(0, len(low), height):
        some = slice(start, start + height)
        meets = np.ones((len(low[some]), len(other_low)), dtype=bool)
        for axis in range(low.shape[1]):
            meets &= low[some, axis, None] <= other_high[:, axis]
            meets &= other_low[:, axis] <= high[some, axis, None]
        query, other = np.nonzero(meets)
        yield query + start, other
