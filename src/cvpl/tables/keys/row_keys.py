"""Hash keys of a table's rows: equal for equal rows; equal for different rows with a chance of about 1 in 10^19.

Keys over some columns of several files count a number as equal however it is written: 1.0 in one file, 1 in another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cvpl.tables.columns import ColumnData, Table
from cvpl.tables.keys.row_hash import Keys, hash_columns
from cvpl.tables.source.source import Source, has_one_type
from cvpl.tables.source.sql_text import quoted

if TYPE_CHECKING:
    import duckdb


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


def equal_row_keys(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], columns: Sequence[str]
) -> dict[str, Keys]:
    """Return a key for each row of each table, over those of the columns that original and release share.

    Empty if they share none. A control that lacks one of them has no keys.
    """
    original, released = sources[:2]
    shared = [name for name in dict.fromkeys(columns) if name in original.types and name in released.types]
    if not shared:
        return {}
    whole = [source for source in sources if all(name in source.types for name in shared)]
    same = {name for name in shared if has_one_type(whole, name)}
    return {source.table: _keys(con, source, shared, same) for source in whole}


def _keys(con: duckdb.DuckDBPyConnection, source: Source, columns: Sequence[str], same: Collection[str]) -> Keys:
    """Return the keys of a table's rows; the columns in `same` have one type of numbers or times in all tables."""
    fields = {name: source.field(name) for name in columns}
    cells = ", ".join(field if name in same else _cell(field) for name, field in fields.items())
    found = con.execute(f"SELECT hash({cells}) AS key FROM {quoted(source.table)}").fetchnumpy()["key"]
    return np.asarray(np.ma.getdata(found), dtype=np.uint64)


def _cell(field: str) -> str:
    """SQL for the text of a cell: that of its number, if it is one."""
    text = f"trim(CAST({field} AS VARCHAR))"
    return f"coalesce(CAST(TRY_CAST({text} AS DOUBLE) + 0.0 AS VARCHAR), {text}, '')"
