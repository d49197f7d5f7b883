"""Ranges that a release writes in place of values, and the mapping of values to them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DistinctRanges:
    """The distinct ranges [low, high] of a release, both ends included, and its unchanged values (`plain`).

    Values are floats, or integers (microseconds). The number line is cut at the ends of all ranges; `starts` are the
    sorted starts of its pieces, and `owner` is the range that a value in the piece is mapped to, -1 for none.
    """

    low: Values
    high: Values
    plain: Values
    starts: Values
    owner: Ints

    @classmethod
    def of(cls, low: Values, high: Values) -> tuple[DistinctRanges, Ints]:
        """Build the ranges from the ends of every released value; also return one row of each range.

        A value in several ranges is mapped to the one with most released records; ties go to the narrowest, then to the
        lowest.
        """
        wide = np.flatnonzero(low < high)
        first, counts, _ = distinct_ranges(low[wide], high[wide])
        ends = low[wide][first], high[wide][first]
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.lexsort((ends[0], ends[1] - ends[0], -counts))] = np.arange(len(first))
        starts, owner = _pieces(ends[0], _next_value(ends[1]), rank)
        return cls(*ends, np.unique(low[low == high]), starts, owner), wide[first]

    def find(self, values: Values) -> Ints:
        """The range that each value is mapped to; -1 for a plain value, a value outside all ranges, and NaN."""
        if not len(self.starts):
            return np.full(len(values), -1, dtype=np.int64)
        piece = np.searchsorted(self.starts, values, side="right") - 1
        found: Ints = np.where(piece >= 0, self.owner[piece], -1)
        found[self.has(values)] = -1
        return found

    def has(self, values: Values) -> NDArray[np.bool_]:
        """Whether the release has each value unchanged."""
        return _is_known(values, self.plain)

    def holds(self, low: Values, high: Values) -> NDArray[np.bool_]:
        """Which of the given ranges the release has."""
        known = set(zip(self.low.tolist(), self.high.tolist(), strict=True))
        first, _, codes = distinct_ranges(low, high)
        distinct = zip(low[first].tolist(), high[first].tolist(), strict=True)
        return np.array([ends in known for ends in distinct], dtype=bool)[codes]


def _is_known(values: Values, known: Values) -> NDArray[np.bool_]:
    """Whether each value is in `known`, which is sorted."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.asarray(known[place] == values)


def _next_value(high: Values) -> Values:
    """The first value beyond each end."""
    return high + 1 if high.dtype.kind == "i" else np.nextafter(high, np.inf)


def distinct_ranges(low: Values, high: Values) -> tuple[Ints, Ints, Ints]:
    """The first row and the count of each distinct pair, and the code of every row."""
    lows, highs = np.unique(low), np.unique(high)
    pairs = np.searchsorted(lows, low) * len(highs) + np.searchsorted(highs, high)
    if len(lows) * len(highs) <= 4 * len(low) + 1024:
        # Counting is faster than sorting if there are not too many possible pairs.
        counts = np.bincount(pairs, minlength=len(lows) * len(highs))
        found = np.flatnonzero(counts)
        codes = (np.cumsum(counts > 0) - 1)[pairs]
    else:
        found, codes = np.unique(pairs, return_inverse=True)
    first = np.empty(len(found), dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first, np.bincount(codes, minlength=len(found)).astype(np.int64), codes.astype(np.int64)


def _pieces(low: Values, after: Values, rank: Ints) -> tuple[Values, Ints]:
    """Sweep over the number line: at each start or end of a range, the best-ranked open range owns the piece."""
    starts = np.unique(np.concatenate([low, after]))
    owner = np.full(len(starts), -1, dtype=np.int64)
    coming = np.argsort(low, kind="stable")
    begins, ends, ranks = low.tolist(), after.tolist(), rank.tolist()
    waiting = [(begins[cell], cell) for cell in reversed(coming.tolist())]
    opened: list[tuple[int, int]] = []
    for piece, start in enumerate(starts.tolist()):
        while waiting and waiting[-1][0] <= start:
            cell = waiting.pop()[1]
            heapq.heappush(opened, (ranks[cell], cell))
        while opened and ends[opened[0][1]] <= start:
            heapq.heappop(opened)
        if opened:
            owner[piece] = opened[0][1]
    return starts, owner
