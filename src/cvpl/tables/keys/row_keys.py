"""Hash keys of a table's rows: equal for equal rows; equal for different rows with a chance of about 1 in 10^19."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cvpl.tables.columns import ColumnData, Table
from cvpl.tables.keys.row_hash import Keys, hash_columns


def row_keys(table: Table) -> Keys:
    """Return the sum of the column keys modulo 2^64, over all columns of the table."""
    keys = np.zeros(table.rows, dtype=np.uint64)
    for number, spec in enumerate(table.specs):
        keys += column_keys(table.columns[spec.name], number)
    return keys


def keys_without_one(table: Table, whole: Keys) -> Iterator[Keys]:
    """Yield the row keys with one column left out, column by column; `whole` are the keys of the whole rows."""
    for number, spec in enumerate(table.specs):
        yield whole - column_keys(table.columns[spec.name], number)


def column_keys(column: ColumnData, number: int) -> Keys:
    """A number for each value of the column that stands at place `number`."""
    return hash_columns(column.bits(), len(column.known()), number + 1)
