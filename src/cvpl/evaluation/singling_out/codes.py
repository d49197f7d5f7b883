"""The cells of two tables as numbers, and counts of the records that are unique by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria import combined_codes
from cvpl.tables.columns import Table

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SharedCodes:
    """The codes of each column (rows of the arrays) of originals and released records; -1 is missing or suppressed.

    A generalized cell is equal to the same generalized cell only, so it differs from every exact value.
    """

    names: tuple[str, ...]
    original: Codes
    released: Codes

    @classmethod
    def of(cls, original: Table, released: Table) -> SharedCodes:
        """Code every column that the two tables have in common."""
        names = tuple(spec.name for spec in original.specs if spec.name in released.columns)
        mine = np.empty((len(names), original.rows), dtype=np.int32)
        theirs = np.empty((len(names), released.rows), dtype=np.int32)
        for at, name in enumerate(names):
            column = original.columns[name].joined(released.columns[name])
            codes = column.distinct(plain=column.plain)[1]
            mine[at], theirs[at] = codes[: original.rows], codes[original.rows :]
        return cls(names, mine, theirs)

    def only(self, names: tuple[str, ...]) -> SharedCodes:
        """Some of the columns, in their order."""
        kept = [at for at, name in enumerate(self.names) if name in names]
        return SharedCodes(tuple(self.names[at] for at in kept), self.original[kept], self.released[kept])


@dataclass(frozen=True)
class Uniques:
    """How many records are unique: among the originals, in the release, and in both by the same values."""

    original: int
    released: int
    both: int


def uniques(codes: SharedCodes) -> Uniques:
    """Count records that no other record of their table equals in all columns.

    `both` counts originals that are unique and whose values one released record has, and no second one. Without
    columns all records are equal.
    """
    rows = codes.original.shape[1]
    columns = [np.concatenate([mine, theirs]) for mine, theirs in zip(codes.original, codes.released, strict=True)]
    keys = combined_codes(columns, rows + codes.released.shape[1])
    values = int(keys.max(initial=-1)) + 1
    mine, theirs = (np.bincount(part, minlength=values) for part in (keys[:rows], keys[rows:]))
    one, other = mine == 1, theirs == 1
    return Uniques(int(one.sum()), int(other.sum()), int((one & other).sum()))


Flags = NDArray[np.uint8]
Ints = NDArray[np.int64]


class Tally:
    """Counts the records that are unique by one set of columns, with NumPy."""

    def __init__(self, codes: SharedCodes) -> None:
        self.original, self.released = codes.original, codes.released
        tables = codes.original, codes.released
        self.values = [max(int(table[at].max(initial=-1)) for table in tables) + 2 for at in range(len(codes.names))]

    def __call__(self, columns: tuple[int, ...]) -> tuple[Flags, Uniques]:
        """Which originals are unique by the columns, packed as bits, and the counts."""
        mine, theirs = self.keys(self.original, columns), self.keys(self.released, columns)
        keys, places = np.unique(np.concatenate([mine, theirs]), return_inverse=True)
        places = places.reshape(len(mine) + len(theirs))
        own = np.bincount(places[: len(mine)], minlength=len(keys))
        other = np.bincount(places[len(mine) :], minlength=len(keys))
        counts = Uniques(int((own == 1).sum()), int((other == 1).sum()), int(((own == 1) & (other == 1)).sum()))
        return np.packbits(own[places[: len(mine)]] == 1), counts

    def extended(self, first: tuple[int, ...], last: Sequence[int]) -> tuple[Flags, Ints]:
        """Which originals are unique by some columns with each of the last ones, and the counts: a row for each set."""
        found = [self((*first, at)) for at in last]
        counts = [(counted.original, counted.released, counted.both) for _, counted in found]
        return np.stack([flags for flags, _ in found]), np.array(counts, dtype=np.int64)

    def keys(self, table: NDArray[np.int32], columns: tuple[int, ...]) -> Ints:
        """A number for each record, equal for records that are equal in the columns: exact up to 2^63 combinations."""
        keys = np.zeros(table.shape[1], dtype=np.int64)
        for at in columns:
            keys = keys * self.values[at] + (table[at] + 1)
        return keys
