"""A number for each row of a table: equal for equal rows; for different ones with a chance of about 1 in 10^19."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cvpl.tables.columns import ColumnData, Table
from cvpl.tables.row_hash import Keys, hash_columns


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
    return hash_columns(column.bits(), len(column.known()), number + 1)
