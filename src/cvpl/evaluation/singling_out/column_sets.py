"""Every set of up to three columns: how many people it singles out, and the smallest sets that single a person out.

A minimal sample unique (MSU) of a record is a set of columns by which it is unique, while it is not by any part of the
set. The score of SUDA2 sums, over the MSUs of a record, the product of ATT - i for i from the size of the MSU to M,
where ATT is the number of key columns and M the largest size (Elliot et al., 2005; Manning et al., 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.singling_out.shared_codes import SharedCodes, Uniques
from cvpl.evaluation.singling_out.tally import Tally
from cvpl.search.threads import threads

Flags = NDArray[np.uint8]
Ints = NDArray[np.int64]

LARGEST = 3
"""The largest sets of columns that are searched."""
MOST_VISITS = 1_000_000_000
"""The most records that are looked at, over all sets. Beyond it sets of three that are not all key columns are left
out, then all other sets of three, then pairs."""
FEW_VISITS = 20_000_000
"""With fewer, NumPy is done before Numba is loaded."""
FEWEST_KEYS = 3
"""The fewest key columns for a score: with fewer all scores are 0, or there is no smaller set."""


@dataclass(frozen=True)
class SetUniques:
    """A set of columns, by their place, and the records that are unique by it."""

    columns: tuple[int, ...]
    found: Uniques


@dataclass(frozen=True, eq=False)
class ColumnSets:
    """What all sets of up to three columns single out.

    `smallest` is the size of the smallest set of columns by which each original is unique, 0 if there is none of up to
    three. `scores` are the SUDA2 scores of the originals over the key columns, None with fewer than three of these.
    `left_out` is the number of sets that were not searched because the tables are too large.
    """

    sets: tuple[SetUniques, ...]
    smallest: Flags
    scores: Ints | None
    left_out: int


def suda_weights(keys: int, largest: int = LARGEST) -> tuple[int, ...]:
    """What an MSU of 1, 2, ... columns adds to the score: Π over i from its size to M of (ATT - i).

    M is `largest`, but at most ATT - 1, since a set of all columns would make every product 0.
    """
    most = min(largest, keys - 1)
    return tuple(prod(keys - i for i in range(size, most + 1)) for size in range(1, most + 1))


def column_sets(
    codes: SharedCodes, keys: Sequence[str], workers: int = 1, most_visits: int = MOST_VISITS
) -> ColumnSets:
    """Count the unique records of every set of up to three columns; `keys` names the key columns of the scores."""
    rows = codes.original.shape[1]
    is_key = [name in keys for name in codes.names]
    asked, left_out = _asked(is_key, rows + codes.released.shape[1], most_visits)
    weights = suda_weights(sum(is_key)) if sum(is_key) >= FEWEST_KEYS else ()
    tally = _tally_of(codes, sum(map(len, asked)))
    smallest, scores = np.zeros(rows, dtype=np.uint8), np.zeros(rows, dtype=np.int64)
    found: list[SetUniques] = []
    bits: dict[tuple[int, ...], Flags] = {}
    for size, sets in enumerate(asked, start=1):
        weight = weights[size - 1] if size <= len(weights) else 0
        with threads(workers) as pool:
            for batch in range(0, len(sets), 2 * workers):
                some = sets[batch : batch + 2 * workers]
                done = list(pool.map(tally, some))
                for columns_of_set, (unique, counts) in zip(some, done, strict=True):
                    parts = combinations(columns_of_set, size - 1) if size > 1 else ()
                    minimal = unique.copy()
                    for part in parts:
                        minimal &= ~bits[part]
                    _settle(minimal, size, weight if all(is_key[at] for at in columns_of_set) else 0, smallest, scores)
                    if size < len(asked):
                        bits[columns_of_set] = unique
                    found.append(SetUniques(columns_of_set, counts))
    return ColumnSets(tuple(found), smallest, scores if weights else None, left_out)


def _settle(minimal: Flags, size: int, weight: int, smallest: Flags, scores: Ints) -> None:
    """Enter a set that is minimal for some records, packed as bits, into their smallest sizes and scores."""
    if not minimal.any():
        return
    rows = np.flatnonzero(np.unpackbits(minimal, count=len(smallest)))
    smallest[rows[smallest[rows] == 0]] = size
    scores[rows] += weight


def _asked(is_key: Sequence[bool], records: int, most_visits: int) -> tuple[list[list[tuple[int, ...]]], int]:
    """The sets of one, two and three columns that are searched, and the number of those left out."""
    columns = len(is_key)
    sizes = range(1, min(LARGEST, columns) + 1)
    asked = [list(combinations(range(columns), size)) for size in sizes]
    whole = sum(comb(columns, size) for size in sizes)
    fits = max(1, most_visits // max(1, records))
    if whole > fits and len(asked) == LARGEST:
        asked[-1] = [item for item in asked[-1] if all(is_key[at] for at in item)]
    while sum(map(len, asked)) > fits and len(asked) > 1:
        asked.pop()
    return asked, whole - sum(map(len, asked))


def _tally_of(codes: SharedCodes, sets: int) -> Tally:
    tally = Tally(codes)
    if sets * (codes.original.shape[1] + codes.released.shape[1]) < FEW_VISITS:
        return tally
    from cvpl.evaluation.singling_out.compiled_tally import CompiledTally  # noqa: PLC0415 - Numba takes a second

    return CompiledTally(codes)
