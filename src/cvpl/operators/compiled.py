"""Compiled loops of vectorization and similarity: the same operations in the same order, so the same bits.

Used only for many records, since Numba takes a second to load; see `compiling`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any

_AT_ONCE = 1_024
"""Candidates whose patterns are held at a time, so that they stay in the L1 cache."""


@njit(nogil=True, cache=True)
def add_looked_up(total: Array, table: Array, codes: Array, rows: Array) -> None:
    """total[i] += table[codes[rows[i]]], where code -1 means the last row."""
    last = len(table) - 1
    for record in range(len(rows)):
        row = codes[rows[record]]
        row = row if row >= 0 else last
        for component in range(total.shape[1]):
            total[record, component] += table[row, component]


@njit(nogil=True, cache=True)
def add_scaled(total: Array, numbers: Array, middle: float, loadings: Array, rows: Array) -> None:
    """total[i] += (numbers[rows[i]] - middle) * loadings."""
    for record in range(len(rows)):
        offset = numbers[rows[record]] - middle
        for component in range(total.shape[1]):
            total[record, component] += offset * loadings[component]


@njit(nogil=True, cache=True)
def sum_by_code(sums: Array, codes: Array, starts: Array, values: Array) -> None:
    """sums[starts[c] + codes[c, i]] += values[i], for every column c and every record i in their order."""
    for column in range(len(codes)):
        for record in range(codes.shape[1]):
            row = starts[column] + codes[column, record]
            for place in range(values.shape[1]):
                sums[row, place] += values[record, place]


@njit(nogil=True, cache=True)
def sum_by_codes(tables: Array, codes: Array, sizes: Array, starts: Array, weight: Array) -> None:
    """The contingency tables of all pairs of columns a < b, one after the other, with the sums of the weights.

    Pairs are ordered by b, then by a; a table has a row for each code of a.
    """
    pair = 0
    for b in range(len(codes)):
        for a in range(b):
            for record in range(codes.shape[1]):
                tables[starts[pair] + codes[a, record] * sizes[b] + codes[b, record]] += weight[record]
            pair += 1


@njit(nogil=True, cache=True)
def make_unit(vectors: Array, zero: float) -> None:
    """Scale every vector to unit length in place; a vector of norm up to `zero` becomes 0."""
    for record in range(len(vectors)):
        squares = 0.0
        for component in range(vectors.shape[1]):
            squares += vectors[record, component] * vectors[record, component]
        norm = squares**0.5
        inverse = 1.0 / norm if norm > zero else 0.0
        for component in range(vectors.shape[1]):
            vectors[record, component] *= inverse


@njit(nogil=True, cache=True)
def count_patterns(there: Array, low: Array, high: Array, has: Array, gaps: Array, counts: Array) -> None:
    """Count the candidates by the pattern in which they agree with one original, as a whole number.

    `there` has the code of every candidate, one row per column, -1 without a value. A code from `low` to `high` agrees.
    `has` says whether the original has a value, `gaps` whether the column needs a bit for candidates without one.
    """
    codes = np.empty(_AT_ONCE, np.int32)
    for begin in range(0, there.shape[1], _AT_ONCE):
        size = min(_AT_ONCE, there.shape[1] - begin)
        codes[:] = 0
        for column in range(len(there)):
            values = there[column, begin : begin + size]
            first, last, asks = low[column], high[column], has[column]
            if gaps[column]:
                for place in range(size):
                    codes[place] = 2 * codes[place] + np.int32(asks & (values[place] >= 0))
            for place in range(size):
                agrees = asks & (values[place] >= first) & (values[place] <= last)
                codes[place] = 2 * codes[place] + np.int32(agrees)
        for place in range(size):
            counts[codes[place]] += 1
