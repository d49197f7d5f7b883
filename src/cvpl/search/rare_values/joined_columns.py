"""Columns with few values, joined: one number per candidate for each group of them.

A query has a factor for each value of a column. For a group of columns it looks the product of these factors up in one
table, with one entry for every combination of their values. A column that stands there twice, for near values and for
equal ones, is one column here, with the factors of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = Any
Words = NDArray[np.int32]

TABLE = 4_096
"""The most entries of a query's table of factors."""


@dataclass(frozen=True, eq=False)
class JoinedColumns:
    """A block's candidates.

    `joined` has one row per group of columns with few values, `members` the columns of each group, filled up with -1,
    and `sizes` the number of codes of every column, with -1 for a missing value. `codes` are the codes of the columns
    with many values, `others`. `twins` has for each column the one with the same codes that it is joined with, or -1.
    """

    joined: Words
    members: Words
    sizes: NDArray[np.int64]
    codes: Words
    others: NDArray[np.int64]
    twins: NDArray[np.int64]

    @classmethod
    def of(cls, b: Words, names: Sequence[str] = ()) -> JoinedColumns:
        """Build from the candidates' codes, one row per record; columns of one name have the same codes."""
        first = [names.index(name) for name in names] or list(range(b.shape[1]))
        twins = np.full(b.shape[1], -1, dtype=np.int64)
        for column, original in enumerate(first):
            if column != original:
                twins[original] = column
        single = [column for column, original in enumerate(first) if column == original]
        sizes = b.max(axis=0, initial=-1).astype(np.int64) + 2
        groups = [[single[place] for place in group] for group in _groups(sizes[single])]
        members = np.full((len(groups), max(map(len, groups), default=0)), -1, dtype=np.int32)
        joined = np.zeros((len(groups), len(b)), dtype=np.int32)
        for number, columns in enumerate(groups):
            members[number, : len(columns)] = columns
            for column in columns:
                joined[number] = joined[number] * sizes[column] + b[:, column] + 1
        grouped = {column for columns in groups for column in columns}
        others = np.array([column for column in single if column not in grouped], dtype=np.int64)
        return cls(joined, members, sizes, np.ascontiguousarray(b[:, others].T), others, twins)


def _groups(sizes: NDArray[np.int64]) -> list[list[int]]:
    """Columns to join, those with the fewest values first, so that no table is larger than `TABLE`."""
    groups: list[list[int]] = []
    entries = 0
    for column in map(int, np.argsort(sizes, kind="stable")):
        if sizes[column] > TABLE:
            break
        if not groups or entries * sizes[column] > TABLE:
            groups.append([])
            entries = 1
        groups[-1].append(column)
        entries *= int(sizes[column])
    return groups


@njit(nogil=True, cache=True)
def _factor(code: int, other: int, low: int, high: int, gain: float, loss: float) -> float:
    if code < 0:
        return 1.0
    if (other >= low) & (other <= high):
        return gain
    return loss if other >= 0 else 1.0


@njit(nogil=True, cache=True)
def fill_table(
    query: Array,
    start: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
    columns: Array,
    sizes: Array,
    twins: Array,
    table: Array,
) -> None:
    """The product of the factors of a group's columns, for every combination of their values."""
    table[0] = 1.0
    entries = 1
    for column in columns:
        if column < 0:
            break
        code, size = query[column], sizes[column]
        at, twin = start[column] + max(code, 0), twins[column]
        same = start[twin] + max(code, 0) if twin >= 0 else 0
        for entry in range(entries - 1, -1, -1):
            known = table[entry]
            for other in range(size - 1, -1, -1):
                factor = _factor(code, other - 1, first[at], last[at], agree[at], differ[column])
                if twin >= 0:
                    factor *= _factor(code, other - 1, first[same], last[same], agree[same], differ[twin])
                table[entry * size + other] = known * factor
        entries *= size
