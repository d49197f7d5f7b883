"""Counting records that are unique by a set of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.singling_out.shared_codes import SharedCodes, Uniques

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
        """The same for the sets of some columns with each of the last ones: a row for each set."""
        found = [self((*first, at)) for at in last]
        counts = [(counted.original, counted.released, counted.both) for _, counted in found]
        return np.stack([flags for flags, _ in found]), np.array(counts, dtype=np.int64)

    def keys(self, table: NDArray[np.int32], columns: tuple[int, ...]) -> Ints:
        """A number for each record, equal for records that are equal in the columns: exact up to 2^63 combinations."""
        keys = np.zeros(table.shape[1], dtype=np.int64)
        for at in columns:
            keys = keys * self.values[at] + (table[at] + 1)
        return keys
