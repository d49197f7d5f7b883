"""How often each value of a column occurs, and how many are near a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Counted:
    """Distinct values in ascending order; `before` has the number of records with a lower value, and in the end all."""

    keys: Keys
    before: Ints

    @classmethod
    def of(cls, parts: Sequence[tuple[Keys, NDArray[np.int32]]]) -> Counted:
        """Count the known values of several tables, from the distinct values of each and their places."""
        counts = [np.bincount(places[places >= 0], minlength=len(keys)) for keys, places in parts]
        keys, total = parts[0][0], counts[0]
        if len(parts) > 1:
            keys, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
            total = np.bincount(place.reshape(-1), np.concatenate(counts), len(keys)).astype(np.int64)
        return cls(keys, np.concatenate([[0], np.cumsum(total)]).astype(np.int64))

    @property
    def records(self) -> int:
        """The number of records with a value."""
        return int(self.before[-1])

    def between(self, low: Keys, high: Keys) -> Ints:
        """The number of records with a value from `low` to `high`."""
        first, last = np.searchsorted(self.keys, low, side="left"), np.searchsorted(self.keys, high, side="right")
        return np.asarray(self.before[last] - self.before[first])


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The known values of a column in the counted tables, as points and, if some are ranges, as ranges."""

    values: Counted
    ranges: Counted | None

    @classmethod
    def of(cls, name: str, tables: Sequence[Table]) -> ValueCounts:
        """Count the values of a column."""
        columns = [table.columns[name] for table in tables]
        values = Counted.of([column.distinct(plain=True) for column in columns])
        if all(column.plain for column in columns):
            return cls(values, None)
        return cls(values, Counted.of([column.distinct(plain=False) for column in columns]))

    def shares(self, asked: Keys, tolerance: float) -> Floats:
        """(count + 1) / (all + 1), where count is the number of values within `tolerance` of each value."""
        counted = self.values
        if np.iscomplexobj(asked):
            points = Counted(np.asarray(counted.keys + 1j * counted.keys), counted.before)
            counted = points if self.ranges is None else self.ranges
        low, high = (asked - tolerance, asked + tolerance) if tolerance else (asked, asked)
        return np.asarray((counted.between(low, high) + 1.0) / (counted.records + 1.0))
