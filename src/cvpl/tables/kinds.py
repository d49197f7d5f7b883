"""Column kinds (numbers, labels and times), and the interface that they share.

Callers need not check the kind. A cell is a range of values on the
column's own axis: a number or an interval, a time or a time span, the index of a label. Where an operation depends on
the kind (blocking has bins for numbers and units for times), its module has one function per kind, registered with
`functools.singledispatch`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


__all__ = ["ColumnData", "Labels", "Numbers", "Times"]


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


Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Labels(ColumnData):
    """A category column: a code into `labels` for each record, -1 where the value is missing.

    All tables of one pair share the same sorted `labels`, so equal codes mean equal values.
    """

    codes: Codes
    labels: tuple[str, ...]
    ordered: ClassVar[bool] = False

    @property
    def plain(self) -> bool:
        """Always True: a label is one value, even if its text names a group."""
        return True

    @property
    def label_count(self) -> int:
        """The number of labels in all tables of the pair."""
        return len(self.labels)

    def label_texts(self) -> tuple[str, ...]:
        """Return the labels of all tables of the pair."""
        return self.labels

    def take(self, rows: Rows) -> Labels:
        """Return the column for some of the rows."""
        return Labels(self.codes[rows], self.labels)

    def joined(self, other: Labels) -> Labels:
        """Return the records of this column followed by those of another with the same labels."""
        return Labels(np.concatenate([self.codes, other.codes]), self.labels)

    def known(self) -> NDArray[np.bool_]:
        """Return which records have a value."""
        return self.codes >= 0

    def counts(self) -> NDArray[np.int64]:
        """Count the records of each label."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.labels)).astype(np.int64)

    def ends(self) -> tuple[Codes, Codes]:
        """Return the codes, twice."""
        return self.codes, self.codes

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the codes as numbers, twice."""
        return self.ordinal(), self.ordinal()

    def ordinal(self) -> Floats:
        """Return the codes as numbers."""
        return np.where(self.codes >= 0, self.codes.astype(np.float64), np.nan)

    def keys(self, *, plain: bool) -> Array:
        """Return the codes."""
        return self.codes

    def _distinct(self, *, plain: bool) -> tuple[Array, Codes]:
        used = np.flatnonzero(self.counts()).astype(np.int32)
        place = np.full(len(self.labels) + 1, -1, dtype=np.int32)  # the last one is for missing values, coded -1
        place[used] = np.arange(len(used), dtype=np.int32)
        return used, place[self.codes]

    def bits(self) -> list[NDArray[np.uint64]]:
        """Return the codes as bits."""
        return [self.codes.astype(np.int64).view(np.uint64)]

    def distances(self, other: Labels) -> Floats:
        """Return 0 for equal labels and 1 for different ones."""
        known = self.known() & other.known()
        return np.where(known, (self.codes != other.codes).astype(np.float64), np.nan)

    def generalized(self) -> bool:
        """Whether some record has a label that ends in a star."""
        used = np.unique(self.codes[self.codes >= 0])
        return any(self.labels[code].endswith("*") for code in used)

    def parts(self) -> tuple[Make, Mapping[str, Array]]:
        """Return the codes; the function that rebuilds the column holds the labels."""
        return partial(Labels, labels=self.labels), {"codes": self.codes}


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


Places = NDArray[np.int32]

FEW_ENTRIES = 50_000
"""With fewer entries, sorting is quick enough."""


def distinct(keys: Array) -> tuple[Array, Places]:
    """Return the sorted distinct values of an array, and the place of each entry among them.

    Whole numbers, which ages and amounts often are, are counted rather than sorted if their range is small.
    """
    if keys.dtype == np.float64 and len(keys) >= FEW_ENTRIES:
        first, last = float(keys.min()), float(keys.max())
        if last - first < len(keys) and bool((keys == np.floor(keys)).all()):
            offsets = (keys - first).astype(np.int32)
            occurs = np.bincount(offsets) > 0
            return np.flatnonzero(occurs) + first, (np.cumsum(occurs, dtype=np.int32) - 1)[offsets]
    values, places = np.unique(keys, return_inverse=True)
    return values, places.astype(np.int32)
