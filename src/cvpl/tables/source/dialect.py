"""Guess how a CSV file is encoded, and how it separates and pads its fields, from its first lines.

Used by `cvpl init`, and to check files without a configuration; an audit uses only what is declared.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cvpl.tables.source.csv_file import is_csv, is_tsv
from cvpl.tables.source.encoding import Encoding, likely_encoding, text_of
from cvpl.tables.source.limits import Limits
from cvpl.tables.source.reading_settings import BLANKS, Reading
from cvpl.tables.source.record_count import LONGEST

_LINES = 1000
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_ENCODINGS: dict[Encoding, str] = {"latin-1": "Latin-1", "windows-1252": "Windows-1252"}


@dataclass(frozen=True)
class Dialect:
    """The guessed reading of one table, the reasons if it is not the default, and whether it needs a delimiter."""

    reading: Reading
    reasons: tuple[str, ...] = ()
    delimited: bool = False


def guess_dialect(data: object, limits: Limits | None = None) -> Dialect:
    """Guess the encoding, the separator, the most frequent one in the header, and stripping, if 1% of lines are padded.

    Returns the default for a dataframe, a file of another kind, or a file that cannot be opened. Raises LimitError if a
    compressed file expands to more than the limit. The reading has the `limits`, by default the usual ones.
    """
    limits = limits or Limits()
    path = Path(data) if isinstance(data, str | Path) else None
    if path is None or not is_csv(path) or not path.is_file():
        return Dialect(Reading(limits=limits))
    try:
        encoding = likely_encoding(path, limits) or "utf-8"
        with text_of(path, encoding) as file:
            lines = list(islice(io.StringIO(file.read(LONGEST), newline=""), _LINES))
    except (OSError, EOFError, zlib.error):
        return Dialect(Reading(limits=limits))
    reasons = []
    if encoding in _ENCODINGS:
        reasons.append(f"{path.name} is not UTF-8, and is read as {_ENCODINGS[encoding]}: are all letters right?")
    found = _delimiter(lines[0]) if lines else ","
    delimiter = "," if is_tsv(path) else found
    if delimiter != ",":
        reasons.append(f"the header of {path.name} is separated by {_DELIMITERS[delimiter]}")
    padded = _padded(lines, "\t" if is_tsv(path) else delimiter)
    if padded:
        reasons.append(f"lines of {path.name} have blanks around fields")
    reading = Reading(strip=bool(padded), delimiter=delimiter, encoding=encoding, limits=limits)
    return Dialect(reading, tuple(reasons), delimited=not is_tsv(path))


def _delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)


def _padded(lines: Sequence[str], delimiter: str) -> int:
    """Count the lines with a padded field; 0 if they are too few to matter."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return 0
    padded = [any(field != field.strip(BLANKS) for field in row) for row in rows]
    return sum(padded) if padded and (padded[0] or sum(padded) >= len(rows) / 100) else 0
