"""Tables in files that are not text: sheets of a workbook, and tables of a DuckDB file.

A workbook is read by the extra `excel`. Cells stay in memory; nothing is written to disk. A column
whose cells are all numbers is read as numbers. Any other column is read as the text that a CSV file would have: a whole
number without decimals, a day as 2024-12-31, an empty cell as an empty text. Blank rows are skipped. The size is
checked before anything is read: cells are kept in memory, gaps included.

Load a table of a DuckDB file, and nothing that a query would have to compute. A view and a generated column are SQL
that whoever wrote the file chose. A view may read other files of this machine or an address on the network, may never
end, and its content is in no hash of the file. So only tables are read, with their stored columns, from a file that is
complete in itself.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.tables.meaning.protected_values import Decimal
from cvpl.tables.source.connection import identifier, literal
from cvpl.tables.source.reading_settings import Limits

if TYPE_CHECKING:
    import duckdb


_SHOWN = 10
_CHUNK = 1 << 20
_OVERLAP = 64
"""How many bytes of a part are looked at again with the next: more than a cell's place takes."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""The start of a member: a signature, and the lengths of its name and of its extra field."""
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,7})["']""")
"""The place of a row (17) or a cell (C17) in a sheet."""


def read_workbook(
    path: Path, sheet: str | None, decimal: Decimal, limits: Limits, name: str
) -> tuple[list[str], Mapping[str, NDArray[Any]]]:
    """Return the header of a sheet, the first one by default, and the cells of its columns c0, c1, ..."""
    try:
        import python_calamine  # noqa: PLC0415 - an extra
    except ImportError:
        cure = "Install cvpl[excel], or write the table as .csv or .parquet."
        raise InputError([Problem(name, "an Excel workbook needs an extra to be read", cure)]) from None
    try:
        check_workbook(path, limits, name)
        book = python_calamine.CalamineWorkbook.from_path(str(path))
        sheets = list(book.sheet_names)
        if sheet is not None and sheet not in sheets:
            what, cure = "the workbook has no such sheet", f"Name one of its sheets: {names_in_words(sheets)}."
            raise InputError([Problem(name, what, cure)])
        if not sheets:
            raise InputError([Problem(name, "the workbook has no sheet", "It needs a sheet with a header.")])
        rows = book.get_sheet_by_name(sheets[0] if sheet is None else sheet).to_python(skip_empty_area=False)
    except (python_calamine.CalamineError, OSError, zipfile.BadZipFile, zlib.error, struct.error):
        cure = "Write it again without a password, or write the table as .csv or .parquet."
        raise InputError([Problem(name, "the file cannot be read as an Excel workbook", cure)]) from None
    rows = [row for row in rows if any(cell != "" for cell in row)]
    if not rows:
        raise InputError([Problem(name, "the sheet is empty", "It needs a header and at least one record.")])
    columns = list(zip(*rows, strict=True))
    while columns and all(cell == "" for cell in columns[-1]):
        columns.pop()
    limits.check_rows(len(rows) - 1, name)
    limits.check_columns(len(columns), name)
    header = [_text(column[0], decimal) for column in columns]
    return header, {f"c{at}": _cells(column[1:], decimal) for at, column in enumerate(columns)}


def names_in_words(names: Sequence[str]) -> str:
    """Some names of tables or sheets, for a message."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(f"'{name}'" for name in names[:_SHOWN]) + more


def _cells(cells: Sequence[Any], decimal: Decimal) -> NDArray[Any]:
    known = [cell for cell in cells if cell != ""]
    if known and all(_is_number(cell) for cell in known):
        return np.array([np.nan if cell == "" else float(cell) for cell in cells], dtype=np.float64)
    return np.array([_text(cell, decimal) for cell in cells], dtype=object)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _text(cell: Any, decimal: Decimal) -> str:
    """Return a cell as a CSV file would have it."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        whole = cell.is_integer() and abs(cell) < 1e15
        return str(int(cell)) if whole else repr(cell).replace(".", decimal)
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def check_workbook(path: Path, limits: Limits, name: str) -> None:
    """Raise LimitError if the workbook expands too much, or has cells too far out.

    A sheet with a cell in row 1,048,576 and column XFD has 17 billion cells, nearly all empty, and takes few bytes in
    the file. Raises zipfile.BadZipFile, OSError, zlib.error or struct.error if it is no workbook.
    """
    packed, expanded = path.stat().st_size, 0
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for member in archive.infolist():
            rows = columns = 0
            kept = b""
            for chunk in _content(file, member):
                expanded += len(chunk)
                limits.check_expansion(packed, expanded, name)
                if member.filename.lower().endswith(".xml"):
                    text = kept + chunk
                    for letters, number in _PLACE.findall(text):
                        rows, columns = max(rows, int(number)), max(columns, _column(letters))
                    kept = text[-_OVERLAP:]
            limits.check_expansion(packed, rows * columns, name, "cells")


def _content(file: IO[bytes], member: zipfile.ZipInfo) -> Iterator[bytes]:
    """The decompressed bytes of a member in parts, whatever size it says that it has."""
    file.seek(member.header_offset)
    _, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    file.seek(name + extra, 1)
    left = member.compress_size
    unpacked = zlib.decompressobj(-15) if member.compress_type == zipfile.ZIP_DEFLATED else None
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        left -= len(chunk)
        if unpacked is None:
            yield chunk
            continue
        while chunk:
            yield unpacked.decompress(chunk, _CHUNK)
            chunk = unpacked.unconsumed_tail


def _column(letters: bytes) -> int:
    """The number of a column, from 1: A is 1, XFD is 16,384; 0 without letters."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - ord("A") + 1
    return number


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
    file = identifier(f"{role} file")
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
        source = f"{file}.{identifier(schema)}.{identifier(table)}"
        columns = [str(row[0]) for row in con.execute(f"DESCRIBE {source}").fetchall()]
        limits.check_columns(len(columns), name)
        rows = int(con.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0])
        limits.check_rows(rows, name)
        limits.check_expansion(path.stat().st_size, rows * len(columns), name)  # a cell takes a byte or more
        fields = ", ".join(f"c{number}" for number in range(len(columns)))
        con.execute(f"CREATE TABLE {identifier(role)} AS SELECT * FROM {source} AS t({fields})")
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
        cure = f"Name one of {names_in_words(shown)} after a #, as in file.duckdb#table."
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
