"""A column of numbers and intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.kinds.column import Array, ColumnData, Floats, Make, Rows


@dataclass(frozen=True, eq=False)
class Numbers(ColumnData):
    """A numeric column. A missing value is NaN; an interval stands at its midpoint, with its ends beside it.

    `low` and `high` are the smallest and the largest value a cell allows, both included; for a plain number they
    are the number itself.
    """

    values: Floats
    low: Floats
    high: Floats

    @property
    def plain(self) -> bool:
        """Whether no cell is an interval, so that one array serves for all three."""
        return self.low is self.values and self.high is self.values

    def take(self, rows: Rows) -> Numbers:
        """The same column for some of the rows."""
        values = self.values[rows]
        if self.plain:
            return Numbers(values, values, values)
        return Numbers(values, self.low[rows], self.high[rows])

    def joined(self, other: Numbers) -> Numbers:
        """The records of this column, then those of another."""
        values = np.concatenate([self.values, other.values])
        if self.plain and other.plain:
            return Numbers(values, values, values)
        return Numbers(values, np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high]))

    def known(self) -> NDArray[np.bool_]:
        """Which records have a value."""
        return ~np.isnan(self.values)

    def ends(self) -> tuple[Floats, Floats]:
        """The smallest and the largest number of each cell."""
        return self.low, self.high

    def bounds(self) -> tuple[Floats, Floats]:
        """The same."""
        return self.low, self.high

    def ordinal(self) -> Floats:
        """The numbers, an interval at its midpoint."""
        return self.values

    def keys(self, *, plain: bool) -> Array:
        """The smallest number, or both ends as a complex one, which sorts by the first and then by the second."""
        return self.low if plain else np.asarray(self.low + 1j * self.high)

    def bits(self) -> list[NDArray[np.uint64]]:
        """-0.0 is 0.0, and every missing number the same."""
        return [np.where(np.isnan(end), np.nan, end + 0.0).view(np.uint64) for end in (self.low, self.high)]

    def distances(self, other: Numbers) -> Floats:
        """The absolute differences, intervals at their midpoints."""
        apart: Floats = np.abs(self.values - other.values)
        return apart

    def parts(self) -> tuple[Make, Mapping[str, Array]]:
        """The three arrays, which are one and the same where the column is plain."""
        return Numbers, {"values": self.values, "low": self.low, "high": self.high}
