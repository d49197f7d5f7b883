"""Find CSV files that are separated by another character than the configuration says."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from cvpl.errors import Problem
from cvpl.tables.source.csv_file import is_csv, is_tsv
from cvpl.tables.source.encoding import text_of
from cvpl.tables.source.reading_settings import BLANKS, Reading
from cvpl.tables.source.record_count import LONGEST
from cvpl.tables.source.source import display_name

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
        what = f"the fields are separated by {_shown(separator)}, but read as separated by {_shown(reading.delimiter)}"
        cure = f"Set `reading.delimiter: {_WRITTEN.get(separator, repr(separator))}`."
        if len(set(used.values())) > 1:
            cure = "Write all tables with the same separator: `reading.delimiter` applies to every table."
        found[role] = Problem(name, what, cure)
    return found


def _shown(separator: str) -> str:
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
    if _declared(header, reading.delimiter, wanted):
        return reading.delimiter
    best = max(_SEPARATORS, key=lambda separator: _declared(header, separator, wanted))
    return best if _declared(header, best, wanted) else None


def _declared(header: str, separator: str, wanted: frozenset[str]) -> int:
    """How many declared columns the header names with this separator."""
    try:
        fields = next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
    except (csv.Error, TypeError, ValueError):
        return 0
    return len(wanted & {field.strip(BLANKS) for field in fields})
