"""The records of a CSV file as raw bytes, so that they can be copied without parsing."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

_MARK = b"\xef\xbb\xbf"
"""The byte order mark that some programs write before UTF-8."""


def raw_records(path: Path, delimiter: str) -> Iterator[bytes]:
    """Yield the header and the records, each with its line end; blank lines are skipped, as in reading."""
    with _opened(path) as file:
        record, is_open, cut = b"", False, delimiter.encode()
        for line in file:
            if not record and not line.strip(b"\r\n"):
                continue
            record += line
            if b'"' in line:
                is_open = _is_open(record.removeprefix(_MARK), cut)
            if not is_open:
                yield record
                record = b""
        if record:
            yield record


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def _is_open(record: bytes, delimiter: bytes) -> bool:
    """Whether a quoted field is not closed yet, so that the record continues on the next line.

    Only a quote at the start of a field, after optional spaces, opens it; inside, two quotes mean one.
    """
    at = 0
    while True:
        while record[at : at + 1] == b" ":
            at += 1
        if record[at : at + 1] == b'"':
            at = record.find(b'"', at + 1)
            while at >= 0 and record[at + 1 : at + 2] == b'"':
                at = record.find(b'"', at + 2)
            if at < 0:
                return True
        at = record.find(delimiter, max(at, 0))
        if at < 0:
            return False
        at += len(delimiter)
