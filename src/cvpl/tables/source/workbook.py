"""A sheet of an Excel workbook as columns (extra `excel`). Cells stay in memory; nothing is written to disk.

A column whose cells are all numbers is read as numbers. Any other column is read as the text that a CSV file would
have: a whole number without decimals, a day as 2024-12-31, an empty cell as an empty text. Blank rows are skipped.
The size is checked before anything is read: cells are kept in memory, gaps included.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.tables.meaning.local_spellings import Decimal
from cvpl.tables.source.limits import Limits

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
            what, cure = "the workbook has no such sheet", f"Name one of its sheets: {listed(sheets)}."
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


def listed(names: Sequence[str]) -> str:
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
