"""A column of numbers and intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.kinds.column import Array, ColumnData, Floats, Make, Rows


@dataclass(frozen=True, eq=False)
class Numbers(ColumnData):
    """A numeric column. A missing value is NaN; `values` holds an interval's midpoint.

    `low` and `high` are the smallest and the largest value that a cell allows, both included; for a plain number they
    are the number itself.
    """

    values: Floats
    low: Floats
    high: Floats

    @property
    def plain(self) -> bool:
        """Whether no cell is an interval, so that one array is used for all three."""
        return self.low is self.values and self.high is self.values

    def take(self, rows: Rows) -> Numbers:
        """Return the column for some of the rows."""
        values = self.values[rows]
        if self.plain:
            return Numbers(values, values, values)
        return Numbers(values, self.low[rows], self.high[rows])

    def joined(self, other: Numbers) -> Numbers:
        """Return the records of this column followed by those of another."""
        values = np.concatenate([self.values, other.values])
        if self.plain and other.plain:
            return Numbers(values, values, values)
        return Numbers(values, np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high]))

    def known(self) -> NDArray[np.bool_]:
        """Return which records have a value."""
        return ~np.isnan(self.values)

    def ends(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest number of each cell."""
        return self.low, self.high

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the same as `ends`."""
        return self.low, self.high

    def ordinal(self) -> Floats:
        """Return the numbers, with intervals at their midpoints."""
        return self.values

    def keys(self, *, plain: bool) -> Array:
        """Return the smallest number, or both ends as a complex number, which sorts by the first, then the second."""
        return self.low if plain else np.asarray(self.low + 1j * self.high)

    def bits(self) -> list[NDArray[np.uint64]]:
        """Return both ends as bits; -0.0 counts as 0.0, and all missing numbers are equal."""
        return [np.where(np.isnan(end), np.nan, end + 0.0).view(np.uint64) for end in (self.low, self.high)]

    def distances(self, other: Numbers) -> Floats:
        """Return the absolute differences, with intervals at their midpoints."""
        apart: Floats = np.abs(self.values - other.values)
        return apart

    def parts(self) -> tuple[Make, Mapping[str, Array]]:
        """Return the three arrays, which are the same object in a plain column."""
        return Numbers, {"values": self.values, "low": self.low, "high": self.high}
