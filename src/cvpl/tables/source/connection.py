"""DuckDB, opened so that it keeps all cells in memory, and names and texts as its SQL writes them.

What DuckDB puts aside on disk when the memory is full is readable
there after a kill. It can encrypt these files only with an extension that has to be downloaded, or with random numbers
that it calls unsafe itself. So it puts nothing aside, and a table that does not fit is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from cvpl.errors import InputError, LimitError
from cvpl.files.reading import new_instance

if TYPE_CHECKING:
    import duckdb


_Arguments = ParamSpec("_Arguments")
_Found = TypeVar("_Found")


IDLE: list[duckdb.DuckDBPyConnection] = []
"""Instances of DuckDB that nobody uses: to open one takes as long as to read a small table."""
_of_a_parent: list[duckdb.DuckDBPyConnection] = []
"""Instances of the process that this one was forked from. Their threads are not here: they are never used or closed."""
NUMBERS = count()


def _after_fork() -> None:
    _of_a_parent.extend(IDLE)
    IDLE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def connect() -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to tables of one's own in DuckDB, which are gone at the end.

    They are in memory; nothing is written to disk. The order of rows is kept, no progress is shown, and the time zone
    is UTC. An instance of DuckDB has one user at a time; after an error it is not used again, unless it is the tables
    that are at fault.
    """
    import duckdb  # noqa: PLC0415 - loaded when a table is

    try:
        home = IDLE.pop()
    except IndexError:
        home = new_instance()
    tables = f"tables_{next(NUMBERS)}"
    con = home.cursor()
    try:
        con.execute(f"ATTACH ':memory:' AS {tables}")
        yield _set(con, tables)
    except InputError:
        con.close()
        with suppress(duckdb.Error):
            _put_back(home, tables)
        raise
    except BaseException:
        con.close()
        home.close()
        raise
    con.close()
    _put_back(home, tables)


def _put_back(home: duckdb.DuckDBPyConnection, tables: str) -> None:
    """Leave an instance to the next user without tables and settings; one that cannot forget them is closed."""
    try:
        for setting in ("memory_limit", "threads"):
            home.execute(f"RESET {setting}")
        home.execute(f"DETACH {tables}")
    except BaseException:
        home.close()
        raise
    IDLE.append(home)


def connect_again(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Open a second connection to the same tables, for another thread; it does not see what is temporary."""
    ((tables,),) = con.execute("SELECT current_database()").fetchall()
    return _set(con.cursor(), str(tables))


def _set(con: duckdb.DuckDBPyConnection, tables: str) -> duckdb.DuckDBPyConnection:
    con.execute(f"USE {tables}")
    con.execute("SET preserve_insertion_order = true")
    con.execute("SET enable_progress_bar = false")
    con.execute("SET python_enable_replacements = false")  # a table is never a Python variable of its name
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


def identifier(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def only_file(path: Path) -> str:
    """Return the path as an SQL string that names only this file: DuckDB would treat "[1]" or "*" as a pattern."""
    return literal("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))
