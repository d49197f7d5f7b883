"""Compiled loops of vectorization and similarity: the same operations in the same order, so the same bits.

Used only for many records, since Numba takes a second to load; see `compiling`.
"""

from __future__ import annotations

from typing import Any

from numba import njit

Array = Any


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
