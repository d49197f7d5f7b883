"""The records of a CSV file as raw bytes, so that they can be copied without parsing."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from cvpl.tables.source.record_count import is_open, quoted_fields

_MARK = b"\xef\xbb\xbf"
"""The byte order mark that some programs write before UTF-8."""


def raw_records(path: Path, delimiter: str) -> Iterator[bytes]:
    """Yield the header and the records, each with its line end; blank lines are skipped, as in reading."""
    with _opened(path) as file:
        record, inside = list[bytes](), False
        fields = quoted_fields(delimiter)
        for line in file:
            if not record and not line.strip(b"\r\n"):
                continue
            record.append(line)
            if inside or b'"' in line:
                inside = is_open(line.removeprefix(_MARK).decode("utf-8", "surrogateescape"), fields, inside)
            if not inside:
                yield b"".join(record)
                record.clear()
        if record:
            yield b"".join(record)


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")
