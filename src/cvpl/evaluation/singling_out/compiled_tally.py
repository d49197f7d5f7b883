"""Counting records that are unique by a set of columns, compiled: one pass over each table, without sorting.

The count of a combination of values, of originals and of released records, is kept in one byte, each up to 2. Where
there are many possible combinations, those that occur are numbered by a hash table first. In a table of few records and
many columns, sets that differ in their last column only share the numbers of their first columns: a record that these
single out in both tables together is counted once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numba import njit

from cvpl.evaluation.singling_out.codes import Flags, Ints, Tally, Uniques

Array = Any

DIRECT = 1 << 25
"""The most combinations that have a place of their own."""
SHARED = 1 << 14
"""The most records of both tables whose first columns are numbered once for many sets: numbering sorts them."""
_LARGEST = 1 << 62


class CompiledTally(Tally):
    """Counts the records that are unique by one set of columns, in compiled loops."""

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

    def extended(self, first: tuple[int, ...], last: Sequence[int]) -> tuple[Flags, Ints]:
        """Which originals are unique by some columns with each of the last ones, and the counts: a row for each set."""
        rows, records = self.original.shape[1], self.original.shape[1] + self.released.shape[1]
        if records > SHARED or not first:
            return super().extended(first, last)
        keys = np.concatenate([self.keys(self.original, first), self.keys(self.released, first)])
        _, classes, sizes = np.unique(keys, return_inverse=True, return_counts=True)
        classes = classes.reshape(records)
        # Without the records that have no other record of their class, classes are numbered anew.
        kept = sizes > 1
        numbers = np.cumsum(kept) - 1
        known = kept[classes]
        mine, theirs = np.flatnonzero(known[:rows]), np.flatnonzero(known[rows:])
        values = np.array([self.values[at] for at in last], dtype=np.int64)
        combinations = int(kept.sum()) * int(values.max())
        if combinations > DIRECT:
            return super().extended(first, last)
        alone = ~known
        unique = np.repeat(np.packbits(alone[:rows])[None], len(last), axis=0)
        counts = np.zeros((len(last), 3), dtype=np.int64)
        counts[:, 0], counts[:, 1] = alone[:rows].sum(), alone[rows:].sum()
        count_each(
            numbers[classes[:rows][mine]],
            numbers[classes[rows:][theirs]],
            mine,
            self.original,
            theirs,
            self.released,
            np.array(last, dtype=np.int64),
            values,
            np.zeros(max(1, combinations), dtype=np.uint8),
            unique,
            counts,
        )
        return unique, counts


@njit(nogil=True, cache=True)
def count_each(
    mine: Array,
    theirs: Array,
    rows: Array,
    original: Array,
    other_rows: Array,
    released: Array,
    last: Array,
    values: Array,
    table: Array,
    unique: Array,
    counts: Array,
) -> None:
    """Add the counts of each last column to `counts`, and the unique originals to the bits of `unique`.

    `mine` and `theirs` are the classes by the first columns, of the originals at `rows` and the released records at
    `other_rows`. `table` is empty, and is left so.
    """
    keys, other_keys = np.empty(len(mine), dtype=np.int64), np.empty(len(theirs), dtype=np.int64)
    for place in range(len(last)):
        codes, other_codes, width = original[last[place]], released[last[place]], values[place]
        for at in range(len(mine)):
            key = mine[at] * width + codes[rows[at]] + 1
            keys[at] = key
            table[key] += table[key] & 3 < 2
        for at in range(len(theirs)):
            key = theirs[at] * width + other_codes[other_rows[at]] + 1
            other_keys[at] = key
            table[key] += 4 * (table[key] >> 2 < 2)
        # Read and cleared in one pass: only a record whose combination was counted once needs to find the count.
        for at in range(len(mine)):
            seen = table[keys[at]]
            table[keys[at]] = seen & 12
            if seen & 3 == 1:
                counts[place, 0] += 1
                unique[place, rows[at] >> 3] |= np.uint8(128 >> (rows[at] & 7))
                if seen >> 2 == 1:
                    counts[place, 2] += 1
        for at in range(len(theirs)):
            if table[other_keys[at]] >> 2 == 1:
                counts[place, 1] += 1
            table[other_keys[at]] = 0


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
