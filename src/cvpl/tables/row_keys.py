"""A number for each row of a table: equal for equal rows; for different ones with a chance of about 1 in 10^19."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, Table

Keys = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)


def row_keys(table: Table) -> Keys:
    """The sum of the columns' numbers, modulo 2^64; all columns of the table count."""
    keys = np.zeros(table.rows, dtype=np.uint64)
    for number, spec in enumerate(table.specs):
        keys += column_keys(table.columns[spec.name], number)
    return keys


def keys_without_one(table: Table, whole: Keys) -> Iterator[Keys]:
    """The rows' numbers with one column left out, column by column; `whole` are those of the whole rows."""
    for number, spec in enumerate(table.specs):
        yield whole - column_keys(table.columns[spec.name], number)


def column_keys(column: ColumnData, number: int) -> Keys:
    """A number for each value of the column that stands at place `number`."""
    keys = np.full(len(column.known()), np.uint64((number + 1) * int(_STEP) % (1 << 64)), dtype=np.uint64)
    for part in column.bits():
        keys = _mixed(keys ^ _mixed(part))
    return keys


def _mixed(bits: Keys) -> Keys:
    """The finalizer of SplitMix64, a bijection that spreads every bit over all."""
    bits = bits + _STEP
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
