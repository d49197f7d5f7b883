"""The size of an Excel workbook, checked before it is read: its cells are kept in memory, gaps included."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from cvpl.tables.source.limits import Limits

_CHUNK = 1 << 20
_OVERLAP = 64
"""How many bytes of a part are looked at again with the next: more than a cell's place takes."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""The start of a member: a signature, and the lengths of its name and of its extra field."""
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,7})["']""")
"""The place of a row (17) or a cell (C17) in a sheet."""


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
