"""The ranks of a column's values among those of a table: the same for numbers in any unit, logged or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData

Floats = NDArray[np.float64]
SPREAD = np.sqrt(12.0)
"""One over the standard deviation of a number that is uniform between 0 and 1."""
BESIDE = 0.02
"""Values count as equal up to this many standard deviations where distributions are compared."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """The sorted known values of a column, a range at its midpoint, and the sorted ends of the ranges."""

    values: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, column: ColumnData) -> Ranks:
        """The values of a column."""
        known = column.known()
        low, high = (np.sort(end[known]) for end in column.bounds())
        return cls(np.sort(column.ordinal()[known]), low, high)

    @property
    def distinct(self) -> int:
        """The number of distinct values."""
        return 0 if not len(self.values) else 1 + int((np.diff(self.values) > 0).sum())

    def distance(self, other: Ranks) -> float:
        """The Kolmogorov-Smirnov distance, at least: a value may be anywhere in its range, or a little beside it.

        So a synthesizer that spreads the zeros of a column a little keeps its scale.
        """
        beside = BESIDE * float(self.values.std()) if len(self.values) else 0.0
        low, high = self.low - beside, self.high + beside
        at = np.concatenate([low, high, other.low, other.high])
        mine_least, mine_most, least, most = (
            np.searchsorted(part, at, side="right") / max(1, len(part)) for part in (high, low, other.high, other.low)
        )
        return float(np.maximum(mine_least - most, least - mine_most).max(initial=0.0))

    def sampling_error(self, other: Ranks) -> float:
        """The size of the Kolmogorov-Smirnov distance of two samples of one population: sqrt(1 / n + 1 / m)."""
        return float(np.sqrt(1 / max(1, len(self.values)) + 1 / max(1, len(other.values))))

    def shares(self, values: Floats) -> Floats:
        """The share of the values below each value, and half of those equal to it; NaN for a missing one."""
        below = np.searchsorted(self.values, values, side="left")
        reached = np.searchsorted(self.values, values, side="right")
        return np.where(np.isnan(values), np.nan, (below + reached) / (2 * max(1, len(self.values))))

    def scores(self, values: Floats, direction: int = 1) -> Floats:
        """The shares about 0, with the spread of a standard normal; turned around if `direction` is -1."""
        return np.asarray(direction * SPREAD * (self.shares(values) - 0.5))

    def at(self, shares: Floats) -> Floats:
        """The value at each share: between two values where most differ, otherwise the nearest."""
        if not len(self.values):
            return np.full(len(shares), np.nan)
        place = np.clip(shares * len(self.values) - 0.5, 0, len(self.values) - 1)
        if self.distinct < len(self.values) / 2:
            return self.values[np.nan_to_num(np.rint(place)).astype(np.int64)]
        return np.interp(place, np.arange(len(self.values)), self.values)
