"""What every kind of column can do, so that nobody has to ask which kind it is.

A cell is a range of values on an axis of the column's own: a number or an interval, a time or a span, the place of a
label among all labels. Where one operation treats a kind in a way of its own (blocking has bins for numbers and units
for times), the module of that operation has a function for each kind, registered with `functools.singledispatch`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Make = Callable[..., "ColumnData"]
"""Makes a column of its arrays, which it takes by name."""


class ColumnData(ABC):
    """What a column holds once it is read; a missing value is missing in every view of it.

    `ordered` says whether the order of its values means something: it does for numbers and times, not for labels.
    """

    ordered: ClassVar[bool] = True

    @property
    @abstractmethod
    def plain(self) -> bool:
        """Whether every cell is a single value, none a range."""

    @property
    def label_count(self) -> int:
        """How many labels the column keeps as texts."""
        return 0

    @abstractmethod
    def take(self, rows: Rows) -> ColumnData:
        """The same column for some of the rows."""

    @abstractmethod
    def joined(self, other: Self) -> ColumnData:
        """The records of this column, then those of another of the same kind."""

    @abstractmethod
    def known(self) -> NDArray[np.bool_]:
        """Which records have a value."""

    @abstractmethod
    def ends(self) -> tuple[Array, Array]:
        """The first and the last value that each cell allows, as the column holds them."""

    @abstractmethod
    def bounds(self) -> tuple[Floats, Floats]:
        """The same as numbers, NaN where the value is missing."""

    @abstractmethod
    def ordinal(self) -> Floats:
        """The middle of each cell as a number, NaN where the value is missing."""

    @abstractmethod
    def keys(self, *, plain: bool) -> Array:
        """A sortable stand-in for each value, equal where two values are; a range by both ends unless `plain`."""

    @abstractmethod
    def bits(self) -> list[NDArray[np.uint64]]:
        """The values as bits, one spelling for each value: equal where two values are, and where both are missing."""

    @abstractmethod
    def distances(self, other: Self) -> Floats:
        """How far each cell lies from the other column's in the same place; NaN where either is missing."""

    @abstractmethod
    def parts(self) -> tuple[Make, Mapping[str, Array]]:
        """The arrays that it consists of, and what makes the column again of such arrays."""

    def equals(self, other: Self) -> NDArray[np.bool_]:
        """Whether each cell says the same as the other column's in the same place."""
        (low, high), (first, last) = self.ends(), other.ends()
        return np.asarray((low == first) & (high == last))

    def generalized(self) -> bool:
        """Whether some cell stands for several values."""
        low, high = self.ends()
        return not self.plain and bool(np.any(low < high))
