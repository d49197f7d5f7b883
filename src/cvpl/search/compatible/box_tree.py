"""Boxes in trees, so that a query is compared with few of them.

The boxes are sorted along a space-filling curve, so that neighbours are adjacent, and grouped into nodes of four, these
again into nodes of four, and so on, each with the box around its members. A query enters a node only if it overlaps
that box on every axis.

Boxes that span a whole axis (a suppressed value) would make every node do so. They are grouped by the axes they leave
open, each group in a tree over the other axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Array = Any

FAN = 4
"""Members of a node."""
_CURVE_BITS = 62
_PAIRS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class BoxTree:
    """Some boxes over some axes: the nodes of all levels, the top first, and the start of each level.

    The last level holds the boxes themselves, and `rows` their rows.
    """

    axes: Ints
    rows: Ints
    low: Floats
    high: Floats
    levels: Ints

    @classmethod
    def of(cls, low: Floats, high: Floats, rows: Ints, axes: Ints) -> BoxTree:
        """The tree of some of the boxes over some of the axes."""
        low, high = low[np.ix_(rows, axes)], high[np.ix_(rows, axes)]
        order = np.argsort(_along_the_curve(low, high), kind="stable")
        nodes = [(low[order], high[order])]
        while len(nodes[0][0]) > FAN:
            starts = np.arange(0, len(nodes[0][0]), FAN)
            below, above = nodes[0]
            nodes.insert(0, (np.minimum.reduceat(below, starts), np.maximum.reduceat(above, starts)))
        levels = np.cumsum([0, *(len(level) for level, _ in nodes)])
        below, above = (np.concatenate([level[side] for level in nodes]) for side in (0, 1))
        return cls(axes, rows[order], below, above, levels)

    def meeting(self, low: Floats, high: Floats) -> Iterator[tuple[Ints, Ints]]:
        """Every overlapping pair of a query, a row of `low` and `high`, and a box; some at a time."""
        low, high = (np.ascontiguousarray(side[:, self.axes]) for side in (low, high))
        many = np.zeros(len(low), dtype=np.int64)
        nothing = np.zeros(0, dtype=np.int64)
        _descend(low, high, 0, len(low), self.low, self.high, self.levels, many, nothing)
        lots = np.cumsum(many) // _PAIRS_AT_ONCE
        for lot in np.split(np.arange(len(low)), np.flatnonzero(np.diff(lots)) + 1):
            if not lot.size:
                continue
            first, last = int(lot[0]), int(lot[-1]) + 1
            found = np.empty(int(many[first:last].sum()), dtype=np.int64)
            _descend(low, high, first, last, self.low, self.high, self.levels, many, found)
            yield np.repeat(lot, many[first:last]), self.rows[found]


def meeting_in_trees(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Every pair of a box (low, high) and another box that overlap on all axes, ends included, by rows."""
    bounded = ~(np.isneginf(other_low) & np.isposinf(other_high))
    pattern = bounded @ (np.int64(1) << np.arange(bounded.shape[1]))
    for number in np.unique(pattern):
        rows = np.flatnonzero(pattern == number)
        yield from BoxTree.of(other_low, other_high, rows, np.flatnonzero(bounded[rows[0]])).meeting(low, high)


def _along_the_curve(low: Floats, high: Floats) -> Ints:
    """The position of each box's centre on a space-filling curve: the bits of its ranks, interleaved."""
    axes = low.shape[1]
    curve = np.zeros(len(low), dtype=np.int64)
    bits = min(20, _CURVE_BITS // max(1, axes))
    for axis in range(axes):
        values, rank = np.unique(low[:, axis] / 2 + high[:, axis] / 2, return_inverse=True)
        place = rank.reshape(-1) * ((1 << bits) - 1) // max(1, len(values) - 1)
        for bit in range(bits):
            curve |= ((place >> bit) & 1) << (bit * axes + axis)
    return curve


@njit(nogil=True, cache=True)
def _descend(
    low: Array,
    high: Array,
    first: int,
    last: int,
    node_low: Array,
    node_high: Array,
    levels: Array,
    many: Array,
    found: Array,
) -> None:
    """Count the boxes that each query from `first` to `last` overlaps; if `found` is not empty, list them instead."""
    axes, bottom = low.shape[1], len(levels) - 2
    listing = len(found) > 0
    written = 0
    waiting = np.empty((FAN * len(levels), 2), dtype=np.int64)
    for query in range(first, last):
        met, top = 0, 0
        for node in range(levels[1]):
            waiting[top, 0], waiting[top, 1] = 0, node
            top += 1
        while top:
            top -= 1
            level, node = waiting[top, 0], waiting[top, 1]
            at = levels[level] + node
            meets = True
            for axis in range(axes):
                if low[query, axis] > node_high[at, axis] or high[query, axis] < node_low[at, axis]:
                    meets = False
                    break
            if not meets:
                continue
            if level < bottom:
                for child in range(node * FAN, min((node + 1) * FAN, levels[level + 2] - levels[level + 1])):
                    waiting[top, 0], waiting[top, 1] = level + 1, child
                    top += 1
                continue
            if listing:
                found[written] = node
                written += 1
            met += 1
        if not listing:
            many[query] = met
