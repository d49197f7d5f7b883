"""Hash keys of whole rows, over every column that original and release share, declared or not.

Rows are compared as written. An exact copy in all these columns is found even if the configuration declares few of
them.
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


def shared_row_keys(
    con: duckdb.DuckDBPyConnection, sources: Sequence[Source], compared: Collection[str], left_out: Collection[str]
) -> dict[str, Keys]:
    """Return a key for each row of each table, equal for equal rows; empty if the shared columns are all compared.

    `left_out` are the identity columns. A control that lacks a shared column has no keys.
    """
    original, released = sources[:2]
    shared = [name for name in original.types if name in released.types and name not in left_out]
    if set(shared) <= set(compared):
        return {}
    whole = [source for source in sources if all(name in source.types for name in shared)]
    same = {name for name in shared if has_one_type(whole, name)}
    return {source.table: _keys(con, source, shared, same) for source in whole}


def _keys(con: duckdb.DuckDBPyConnection, source: Source, columns: Sequence[str], same: Collection[str]) -> Keys:
    """Return the keys of a table's rows; the columns in `same` have one type of numbers or times in all tables."""
    fields = {name: source.field(name) for name in columns}
    cells = ", ".join(
        field if name in same else f"trim(coalesce(CAST({field} AS VARCHAR), ''))" for name, field in fields.items()
    )
    query = f"SELECT hash({cells}) AS key FROM {quoted(source.table)}"
    found = con.execute(query).fetchnumpy()["key"]
    return np.asarray(np.ma.getdata(found), dtype=np.uint64)
