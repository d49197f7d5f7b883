"""Counting records that are unique by a set of columns, compiled: one pass over each table, without sorting.

The count of a combination of values, of originals and of released records, is kept in one byte, each up to 2. Where
there are many possible combinations, those that occur are numbered by a hash table first.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numba import njit

from cvpl.evaluation.singling_out.shared_codes import Uniques
from cvpl.evaluation.singling_out.tally import Flags, Tally

Array = Any

DIRECT = 1 << 25
"""The most combinations that have a place of their own."""
_LARGEST = 1 << 62


class CompiledTally(Tally):
    """The same counts as with NumPy."""

    def __call__(self, columns: tuple[int, ...]) -> tuple[Flags, Uniques]:
        """Which originals are unique by the columns, packed as bits, and the counts."""
        values = [self.values[at] for at in columns]
        combinations = prod(values)
        if combinations > _LARGEST:
            return super().__call__(columns)
        mine, theirs = (table[columns[0]].astype(np.int64) + 1 for table in (self.original, self.released))
        for at in columns[1:]:
            extend(mine, self.original[at], self.values[at])
            extend(theirs, self.released[at], self.values[at])
        if combinations > DIRECT:
            bits = int(np.ceil(np.log2(max(8, len(mine) + len(theirs))))) + 1
            seen = np.full(1 << bits, -1, dtype=np.int64)
            enter(seen, mine)
            enter(seen, theirs)
            combinations = 1 << bits
        unique = np.zeros((len(mine) + 7) // 8, dtype=np.uint8)
        return unique, Uniques(*count(mine, theirs, np.zeros(combinations, dtype=np.uint8), unique))


@njit(nogil=True, cache=True)
def extend(keys: Array, codes: Array, values: int) -> None:
    """Add a column with so many values, missing ones included, to the numbers of the combinations."""
    for row in range(len(keys)):
        keys[row] = keys[row] * values + codes[row] + 1


@njit(nogil=True, cache=True)
def enter(seen: Array, keys: Array) -> None:
    """Replace each combination by its place in a hash table of a power of two places, -1 where a place is free."""
    mask = np.uint64(len(seen) - 1)
    for row in range(len(keys)):
        key = keys[row]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        at = (mixed ^ (mixed >> np.uint64(29))) & mask
        while seen[at] != key and seen[at] >= 0:
            at = (at + np.uint64(1)) & mask
        seen[at] = key
        keys[row] = at


@njit(nogil=True, cache=True)
def count(mine: Array, theirs: Array, table: Array, unique: Array) -> tuple[int, int, int]:
    """Count unique originals, unique released records, and both; `unique` gets the bits of the unique originals.

    `table` has a byte for each combination: up to 2 originals in its first two bits, up to 2 released records above.
    """
    for key in mine:
        if table[key] & 3 < 2:
            table[key] += 1
    for key in theirs:
        if table[key] >> 2 < 2:
            table[key] += 4
    original = released = both = 0
    for row in range(len(mine)):
        seen = table[mine[row]]
        if seen & 3 == 1:
            original += 1
            unique[row >> 3] |= 128 >> (row & 7)
            if seen >> 2 == 1:
                both += 1
    for key in theirs:
        if table[key] >> 2 == 1:
            released += 1
    return original, released, both
