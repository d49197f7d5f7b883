"""Guess how a CSV file is encoded, and how it separates and pads its fields, from its first lines.

Used by `cvpl init`, and to check files without a configuration; an audit uses only what is declared.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cvpl.errors import Problem
from cvpl.tables.source.csv_file import LONGEST, is_csv, is_tsv
from cvpl.tables.source.reading_settings import BLANKS, Encoding, Limits, Reading, likely_encoding, text_of
from cvpl.tables.source.source import display_name

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
    padded = _count_padded_lines(lines, "\t" if is_tsv(path) else delimiter)
    if padded:
        reasons.append(f"lines of {path.name} have blanks around fields")
    reading = Reading(strip=bool(padded), delimiter=delimiter, encoding=encoding, limits=limits)
    return Dialect(reading, tuple(reasons), delimited=not is_tsv(path))


def _delimiter(header: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    return max(_DELIMITERS, key=bare.count)


def _count_padded_lines(lines: Sequence[str], delimiter: str) -> int:
    """Count the lines with a padded field; 0 if they are too few to matter."""
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return 0
    padded = [any(field != field.strip(BLANKS) for field in row) for row in rows]
    return sum(padded) if padded and (padded[0] or sum(padded) >= len(rows) / 100) else 0


_SEPARATORS = ",;\t|"
_SHOWN = {"\t": "a tab"}
_WRITTEN = {"\t": '"\\t"'}


def other_separators(tables: Mapping[str, object], reading: Reading, declared: Sequence[str]) -> dict[str, Problem]:
    """A problem for each table whose header names declared columns only if another character separates its fields."""
    if reading.delimiter in '"\r\n':
        return {}
    wanted = frozenset(declared)
    used = {role: used for role, data in tables.items() if (used := _separator(data, reading, wanted)) is not None}
    others = {role: used for role, used in used.items() if used != reading.delimiter}
    found = {}
    for role, separator in others.items():
        name = display_name(tables[role], role)
        what = (
            f"the fields are separated by {_separator_name(separator)}, but read as separated by "
            f"{_separator_name(reading.delimiter)}"
        )
        cure = f"Set `reading.delimiter: {_WRITTEN.get(separator, repr(separator))}`."
        if len(set(used.values())) > 1:
            cure = "Write all tables with the same separator: `reading.delimiter` applies to every table."
        found[role] = Problem(name, what, cure)
    return found


def _separator_name(separator: str) -> str:
    return _SHOWN.get(separator, f"`{separator}`")


def _separator(data: object, reading: Reading, wanted: frozenset[str]) -> str | None:
    """The character that splits the header into the most declared columns; the configured one if it gives any.

    None if the table is no file or no CSV file, if it is a .tsv file, or if no character gives a declared column.
    """
    path = Path(data) if isinstance(data, str | Path) else None
    if path is None or not is_csv(path) or is_tsv(path) or not path.is_file():
        return None
    try:
        with text_of(path, reading.encoding) as file:
            header = file.readline(LONGEST)
    except (OSError, EOFError, zlib.error):
        return None
    if _count_declared(header, reading.delimiter, wanted):
        return reading.delimiter
    best = max(_SEPARATORS, key=lambda separator: _count_declared(header, separator, wanted))
    return best if _count_declared(header, best, wanted) else None


def _count_declared(header: str, separator: str, wanted: frozenset[str]) -> int:
    """How many declared columns the header names with this separator."""
    try:
        fields = next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
    except (csv.Error, TypeError, ValueError):
        return 0
    return len(wanted & {field.strip(BLANKS) for field in fields})
