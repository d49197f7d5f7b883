"""Guess how a CSV file separates and pads its fields, from its first lines.

Used by `cvpl init`, and to check files without a configuration; an audit uses only what is declared.
"""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cvpl.tables.source import BLANKS, Reading, is_csv, text_of

_LINES = 1000
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class Dialect:
    """The guessed reading of one table, the reasons if it is not the default, and whether the table is a CSV file."""

    reading: Reading
    reasons: tuple[str, ...] = ()
    is_csv: bool = False


def guess_dialect(data: object) -> Dialect:
    """Guess the separator, the most frequent one in the header, and stripping, if 1% of the lines have padded fields.

    Returns the default for a dataframe, a Parquet file, or a file that cannot be opened.
    """
    path = Path(data) if isinstance(data, str | Path) else None
    if path is None or not is_csv(path) or not path.is_file():
        return Dialect(Reading())
    try:
        with text_of(path) as file:
            lines = list(islice(file, _LINES))
    except (OSError, EOFError, zlib.error):
        return Dialect(Reading())
    reasons = []
    delimiter = _delimiter(lines[0]) if lines else ","
    if delimiter != ",":
        reasons.append(f"the header of {path.name} is not separated by commas")
    padded = _padded(lines, delimiter)
    if padded:
        reasons.append(f"{padded:,} of the first {len(lines):,} lines of {path.name} have blanks around fields")
    return Dialect(Reading(strip=bool(padded), delimiter=delimiter), tuple(reasons), is_csv=True)


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
