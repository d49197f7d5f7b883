"""Load a table of a DuckDB file, and nothing that a query would have to compute.

A view and a generated column are SQL that whoever wrote the file chose. A view may read other files of this machine or
an address on the network, may never end, and its content is in no hash of the file. So only tables are read, with their
stored columns, from a file that is complete in itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cvpl.errors import InputError, Problem
from cvpl.tables.source.limits import Limits
from cvpl.tables.source.sql_text import literal, quoted
from cvpl.tables.source.workbook import listed

if TYPE_CHECKING:
    import duckdb

_GENERATED = " GENERATED ALWAYS AS("
"""In the statement by which DuckDB would make the table again, if it has a generated column."""
_STORE = "store it as a table (CREATE TABLE ... AS FROM ...)"


def load_database(
    con: duckdb.DuckDBPyConnection, path: Path, part: str | None, role: str, limits: Limits, name: str
) -> Sequence[str]:
    """Copy the table `part` of a DuckDB file into the connection as `role`, and return its column names.

    The file is attached only to read it. Raises InputError for a view, a table with generated columns, and a file whose
    last changes are still in a log beside it.
    """
    import duckdb  # noqa: PLC0415 - loaded when a table is

    if any(Path(f"{file}.wal").exists() for file in (path, path.resolve())):
        what = "its last changes are not in it yet, but in the .wal file beside it"
        cure = "Close the program that writes to it, or run CHECKPOINT there."
        raise InputError([Problem(name, what, cure)])
    file = quoted(f"{role} file")
    try:
        # An absolute path is never taken for an address or the name of an extension.
        con.execute(f"ATTACH {literal(str(path.absolute()))} AS {file} (READ_ONLY, TYPE duckdb)")
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        cure = "Check that it is a DuckDB file, that no program is writing to it, and that DuckDB here is not older."
        raise InputError([Problem(name, "the file cannot be opened as a DuckDB database", cure)]) from None
    try:
        schema, table = _stored_table(con, f"{role} file", part, name)
        source = f"{file}.{quoted(schema)}.{quoted(table)}"
        columns = [str(row[0]) for row in con.execute(f"DESCRIBE {source}").fetchall()]
        limits.check_columns(len(columns), name)
        rows = int(con.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0])
        limits.check_rows(rows, name)
        limits.check_expansion(path.stat().st_size, rows * len(columns), name)  # a cell takes a byte or more
        fields = ", ".join(f"c{number}" for number in range(len(columns)))
        con.execute(f"CREATE TABLE {quoted(role)} AS SELECT * FROM {source} AS t({fields})")
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.Error:
        cure = "Check that the file is whole, and that DuckDB shows the table without an extension."
        raise InputError([Problem(name, "the table cannot be read from the DuckDB file", cure)]) from None
    finally:
        con.execute(f"DETACH {file}")
    return columns


def _stored_table(con: duckdb.DuckDBPyConnection, file: str, part: str | None, name: str) -> tuple[str, str]:
    """The schema and the name of the table `part` of an attached file; InputError unless all of it is stored.

    Tables alone are looked up: DuckDB may bind a view, and so open what it reads, to describe it.
    """
    query = "SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE database_name = ? ORDER BY ALL"
    tables = [(str(schema), str(table), str(sql)) for schema, table, sql in con.execute(query, [file]).fetchall()]
    shown = [table if schema == "main" else f"{schema}.{table}" for schema, table, _ in tables]
    found = [table for label, table in zip(shown, tables, strict=True) if part in (label, f"{table[0]}.{table[1]}")]
    if not found:
        what = "the name of the table is missing" if part is None else "the file has no such table"
        cure = f"Name one of {listed(shown)} after a #, as in file.duckdb#table."
        if not tables:
            cure = "It has none at all: write a table to it."
        views = f"Views are not read, since a view may read other files and never end: {_STORE}."
        raise InputError([Problem(name, what, cure if part is None else f"{cure} {views}")])
    if len(found) > 1:
        raise InputError([Problem(name, "two tables of the file go by this name", "Rename one of them.")])
    schema, table, sql = found[0]
    if _GENERATED in sql:
        what = "the table has generated columns, which are computed when they are read"
        raise InputError([Problem(name, what, f"Only stored columns are read: {_STORE}.")])
    return schema, table
