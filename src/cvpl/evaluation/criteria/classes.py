"""Equivalence classes: records that are equal in a set of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.blocking import compressed

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]

_LARGEST = 1 << 62


def combined_codes(columns: Sequence[Codes], rows: int) -> Ints:
    """A number from 0 on for each record, equal for records that are equal in all columns.

    A code of -1 is a missing or suppressed value, and counts as a value of its own. Without columns all records are
    equal.
    """
    keys, size = np.zeros(rows, dtype=np.int64), 1
    for codes in columns:
        values = int(codes.max(initial=-1)) + 2
        if size * values > _LARGEST:
            keys, size = compressed(keys, size)
        keys *= values
        keys += codes
        keys += 1
        size *= values
    return compressed(keys, size)[0]


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The class of each record, numbered from 0, and the number of records of each class."""

    of: Ints
    sizes: Ints

    @classmethod
    def by(cls, columns: Sequence[Codes], rows: int) -> EquivalenceClasses:
        """The classes of records that are equal in all columns; see `combined_codes`."""
        of = combined_codes(columns, rows)
        return cls(of, np.bincount(of).astype(np.int64))

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.of)

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.sizes)

    @property
    def k(self) -> int | None:
        """The size of the smallest class, k of k-anonymity; None without records."""
        return int(self.sizes.min()) if self.count else None

    @cached_property
    def size_of_record(self) -> Ints:
        """The size of each record's class."""
        return self.sizes[self.of]

    @property
    def average_size(self) -> float | None:
        """Records per class, n / J; None without records."""
        return self.records / self.count if self.count else None

    @property
    def largest(self) -> int | None:
        """The size of the largest class; None without records."""
        return int(self.sizes.max()) if self.count else None

    def share_in_sizes(self, first: int, last: int | None) -> float | None:
        """The share of records in classes of `first` to `last` records, both included; None without records."""
        if not self.records:
            return None
        inside = (self.sizes >= first) & (True if last is None else self.sizes <= last)
        return float(self.sizes[inside].sum()) / self.records
