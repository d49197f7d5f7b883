"""A key for every record of a table, from all its columns, the same on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.source.source import Source
from cvpl.tables.source.sql_text import quoted

if TYPE_CHECKING:
    import duckdb

_BETWEEN, _NOTHING = "chr(31)", "chr(30)"
"""What stands between two cells, and in place of one that is missing."""


def record_keys(con: duckdb.DuckDBPyConnection, source: Source) -> NDArray[np.uint64]:
    """Return the key of each record, in the order of the file.

    It is half of an MD5 sum over the texts of all columns: unlike DuckDB's own hash, that is the same in every version.
    """
    cells = ", ".join(f"coalesce(CAST({source.field(name)} AS VARCHAR), {_NOTHING})" for name in source.types)
    query = f"SELECT md5_number_lower(concat_ws({_BETWEEN}, {cells})) AS key FROM {quoted(source.table)}"
    found = np.ma.getdata(con.execute(query).fetchnumpy()["key"])
    return np.asarray(found, dtype=np.uint64)
