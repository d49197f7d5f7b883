"""The order in which records are kept: by a hash of the whole record.

Samples, splits and sums follow the order of records. Kept in an order of their own content, the same records give the
same figures, in whatever order a file lists them. Only equal records can change places, which changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.source import Source
from cvpl.tables.sql_text import quoted

if TYPE_CHECKING:
    import duckdb

Ints = NDArray[np.int64]

_BETWEEN, _NOTHING = "chr(31)", "chr(30)"
"""What stands between two cells, and in place of one that is missing."""


def record_order(con: duckdb.DuckDBPyConnection, source: Source) -> Ints:
    """The row numbers of a table in the order in which its records are kept.

    The hash is MD5 over the texts of all columns, which is the same in every version of DuckDB and on every machine.
    """
    cells = ", ".join(f"coalesce(CAST({source.field(name)} AS VARCHAR), {_NOTHING})" for name in source.types)
    query = f"SELECT md5_number_lower(concat_ws({_BETWEEN}, {cells})) AS key FROM {quoted(source.table)}"
    found = np.ma.getdata(con.execute(query).fetchnumpy()["key"])
    return np.argsort(np.asarray(found, dtype=np.uint64), kind="stable").astype(np.int64)


def places(order: Ints) -> Ints:
    """Where each row of the file is kept: the inverse of `record_order`."""
    found = np.empty_like(order)
    found[order] = np.arange(len(order), dtype=np.int64)
    return found
