"""DuckDB, opened so that it keeps all cells in memory.

What DuckDB puts aside on disk when the memory is full is readable there after a kill. It can encrypt these files only
with an extension that has to be downloaded, or with random numbers that it calls unsafe itself. So it puts nothing
aside, and a table that does not fit is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from cvpl.errors import LimitError

if TYPE_CHECKING:
    import duckdb

_Arguments = ParamSpec("_Arguments")
_Found = TypeVar("_Found")


def connect() -> duckdb.DuckDBPyConnection:
    """Open DuckDB in memory: it writes nothing to disk, keeps the order of rows, shows no progress and is in UTC."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    return _set(duckdb.connect(config={"temp_directory": ""}))


def connect_again(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Open a second connection to the same tables, for another thread; it does not see what is temporary."""
    return _set(con.cursor())


def _set(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    con.execute("SET preserve_insertion_order = true")
    con.execute("SET enable_progress_bar = false")
    con.execute("SET TimeZone = 'UTC'")  # or the text of an instant, and so a record's key, would hang on the machine
    return con


def within_memory(function: Callable[_Arguments, _Found]) -> Callable[_Arguments, _Found]:
    """Have a function that reads tables raise LimitError if DuckDB runs out of memory."""

    @wraps(function)
    def refusing(*arguments: _Arguments.args, **more: _Arguments.kwargs) -> _Found:
        import duckdb  # noqa: PLC0415 - loaded when a table is

        try:
            return function(*arguments, **more)
        except duckdb.OutOfMemoryException:
            raise LimitError(
                "not enough memory to read the tables: no cell is put aside on disk, where a kill would leave it. "
                "Write the tables as Parquet, which is read column by column, or allow an audit more memory with "
                "--memory or `search.memory`."
            ) from None

    return refusing
