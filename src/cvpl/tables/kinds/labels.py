"""A column of categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.kinds.column import Array, ColumnData, Floats, Make, Rows

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
