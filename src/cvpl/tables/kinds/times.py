"""A column of times and time spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.kinds.column import Array, ColumnData, Floats, Make, Rows

Instants = NDArray[np.datetime64]


@dataclass(frozen=True, eq=False)
class Times(ColumnData):
    """A datetime column: the first and the last microsecond that a cell allows, NaT where it is missing."""

    first: Instants
    last: Instants

    @property
    def plain(self) -> bool:
        """Whether no cell is a time span, so that one array is used for both ends."""
        return self.last is self.first

    def take(self, rows: Rows) -> Times:
        """Return the column for some of the rows."""
        first = self.first[rows]
        return Times(first, first if self.plain else self.last[rows])

    def joined(self, other: Times) -> Times:
        """Return the records of this column followed by those of another."""
        first = np.concatenate([self.first, other.first])
        return Times(first, first if self.plain and other.plain else np.concatenate([self.last, other.last]))

    def known(self) -> NDArray[np.bool_]:
        """Return which records have a value."""
        return ~np.isnat(self.first)

    def middle(self) -> Instants:
        """Return the midpoints, which represent generalized times in comparisons."""
        result: Instants = self.first + (self.last - self.first) // 2
        return result

    def ends(self) -> tuple[Instants, Instants]:
        """Return the first and the last microsecond of each cell."""
        return self.first, self.last

    def bounds(self) -> tuple[Floats, Floats]:
        """Return `ends` as microseconds since the start of 1970."""
        return _numbers(self.first), _numbers(self.last)

    def ordinal(self) -> Floats:
        """Return the midpoints as microseconds since the start of 1970."""
        return _numbers(self.middle())

    def keys(self, *, plain: bool) -> Array:
        """Return the first microsecond, or both ends as a complex number, which sorts by the first, then the second."""
        first, last = self.first.astype(np.int64), self.last.astype(np.int64)
        return first if plain else np.asarray(first + 1j * last)

    def bits(self) -> list[NDArray[np.uint64]]:
        """Return both ends in microseconds as bits."""
        return [end.astype("datetime64[us]").astype(np.int64).view(np.uint64) for end in (self.first, self.last)]

    def distances(self, other: Times) -> Floats:
        """Return the microseconds between the midpoints."""
        gap = np.abs(self.middle() - other.middle())
        return np.where(np.isnat(gap), np.nan, gap.astype("timedelta64[us]").astype(np.float64))

    def parts(self) -> tuple[Make, Mapping[str, Array]]:
        """Return the two arrays, which are the same object in a plain column."""
        return Times, {"first": self.first, "last": self.last}


def _numbers(times: Instants) -> Floats:
    """Convert to microseconds since the start of 1970, NaN where the time is missing."""
    count = times.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return np.where(np.isnat(times), np.nan, count)
