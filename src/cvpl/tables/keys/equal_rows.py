"""Hash keys of rows over some columns, by which rows are equal if every cell is the same number or the same text.

A file that writes 1.0 and one that writes 1 mean the same number, so these rows are equal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.source.source import Source, has_one_type
from cvpl.tables.source.sql_text import quoted

if TYPE_CHECKING:
    import duckdb

Keys = NDArray[np.uint64]


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
