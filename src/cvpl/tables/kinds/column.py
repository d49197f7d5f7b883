"""The interface of every kind of column, so that callers need not check the kind.

A cell is a range of values on the column's own axis: a number or an interval, a time or a time span, the index of a
label. Where an operation depends on the kind (blocking has bins for numbers and units for times), its module has one
function per kind, registered with `functools.singledispatch`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.kinds.distinct import distinct

Array = NDArray[Any]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Make = Callable[..., "ColumnData"]
"""Builds a column from its arrays, passed by name."""


class ColumnData(ABC):
    """The data of a column; a missing value is missing in every view of it.

    `ordered` says whether the order of the values is meaningful: it is for numbers and times, not for labels.
    """

    ordered: ClassVar[bool] = True

    @property
    @abstractmethod
    def plain(self) -> bool:
        """Whether every cell is a single value, not a range."""

    @property
    def label_count(self) -> int:
        """The number of labels that the column stores as texts."""
        return 0

    def label_texts(self) -> tuple[str, ...]:
        """Return the labels of the column, in the order of their codes; empty if it has none."""
        return ()

    def counts(self) -> NDArray[np.int64]:
        """Count the records of each label; empty if the column has none."""
        return np.zeros(0, dtype=np.int64)

    @abstractmethod
    def take(self, rows: Rows) -> ColumnData:
        """Return the column for some of the rows."""

    @abstractmethod
    def joined(self, other: Self) -> ColumnData:
        """Return the records of this column followed by those of another of the same kind."""

    @abstractmethod
    def known(self) -> NDArray[np.bool_]:
        """Return which records have a value."""

    @abstractmethod
    def ends(self) -> tuple[Array, Array]:
        """Return the first and the last value that each cell allows, in the column's own type."""

    @abstractmethod
    def bounds(self) -> tuple[Floats, Floats]:
        """Return `ends` as numbers, NaN where the value is missing."""

    @abstractmethod
    def ordinal(self) -> Floats:
        """Return the midpoint of each cell as a number, NaN where the value is missing."""

    @abstractmethod
    def keys(self, *, plain: bool) -> Array:
        """Return a sortable key for each value, equal for equal values; a range uses both ends unless `plain`."""

    def distinct(self, *, plain: bool) -> tuple[Array, NDArray[np.int32]]:
        """Return the sorted distinct keys of the known values, and the place of each record's among them.

        The place is -1 where the value is missing. Computed once.
        """
        return self._distinct_points if plain else self._distinct_ranges

    @cached_property
    def _distinct_points(self) -> tuple[Array, NDArray[np.int32]]:
        return self._distinct(plain=True)

    @cached_property
    def _distinct_ranges(self) -> tuple[Array, NDArray[np.int32]]:
        return self._distinct(plain=False)

    def _distinct(self, *, plain: bool) -> tuple[Array, NDArray[np.int32]]:
        known = self.known()
        keys, places = distinct(self.keys(plain=plain)[known])
        codes = np.full(len(known), -1, dtype=np.int32)
        codes[known] = places
        return keys, codes

    @abstractmethod
    def bits(self) -> list[NDArray[np.uint64]]:
        """Return the values as bits: equal bits for equal values, and for two missing values."""

    @abstractmethod
    def distances(self, other: Self) -> Floats:
        """Return the distance of each cell to the other column's cell in the same row; NaN where either is missing."""

    @abstractmethod
    def parts(self) -> tuple[Make, Mapping[str, Array]]:
        """Return the column's arrays, and a function that rebuilds the column from such arrays."""

    def equals(self, other: Self) -> NDArray[np.bool_]:
        """Return whether each cell equals the other column's cell in the same row."""
        (low, high), (first, last) = self.ends(), other.ends()
        return np.asarray((low == first) & (high == last))

    def generalized(self) -> bool:
        """Whether some cell allows several values."""
        low, high = self.ends()
        return not self.plain and bool(np.any(low < high))
