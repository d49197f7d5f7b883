"""CSV files that are not UTF-8, decoded and parsed in Python.

DuckDB reads Latin-1 only without the letters that Windows adds to it, and other encodings only with an extension that
has to be downloaded. Records are therefore passed to it from memory, some at a time; no cell is written to disk here.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cvpl.tables.source.encoding import UNDEFINED, Encoding, text_of
from cvpl.tables.source.record_count import LONGEST

if TYPE_CHECKING:
    import duckdb

_BATCH = 50_000
_VIEW = "decoded records"

Reject = tuple[str, int, int]
"""DuckDB's name for a fault, the first record that has it, counted from 1, and the number of such records."""


def load_decoded(
    con: duckdb.DuckDBPyConnection, path: Path, table: str, width: int, delimiter: str, encoding: Encoding
) -> list[Reject]:
    """Load the file's records as the table `table`, an SQL name, and return what is wrong with the others."""
    columns = ", ".join(f"c{number} VARCHAR" for number in range(width))
    con.execute(f"CREATE TABLE {table} ({columns})")
    faults: Counter[str] = Counter()
    first: dict[str, int] = {}

    def refuse(kind: str, record: int) -> None:
        faults[kind] += 1
        first.setdefault(kind, record)

    number, batch = 0, list[list[str]]()
    # Records are as long as in UTF-8; without this the csv module takes a long cell for a fault.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))
    with text_of(path, encoding) as file:
        records = csv.reader(file, delimiter=delimiter, strict=True)
        next(records)
        try:
            for record in records:
                if not record:
                    continue
                number += 1
                if len(record) != width:
                    refuse("MISSING COLUMNS" if len(record) < width else "TOO MANY COLUMNS", number)
                    continue
                if UNDEFINED in "".join(record):
                    refuse("UNDEFINED", number)
                    continue
                batch.append(record)
                if len(batch) == _BATCH:
                    _insert(con, table, batch)
                    batch.clear()
        except csv.Error:
            refuse("UNQUOTED VALUE", number + 1)
    if batch:
        _insert(con, table, batch)
    return [(kind, first[kind], count) for kind, count in faults.items()]


def _insert(con: duckdb.DuckDBPyConnection, table: str, records: Sequence[Sequence[str]]) -> None:
    cells = {f"c{at}": np.array(column, dtype=object) for at, column in enumerate(zip(*records, strict=True))}
    con.execute("SET pandas_analyze_sample = 0")
    con.register(_VIEW, cells)
    con.execute(f'INSERT INTO {table} SELECT * FROM "{_VIEW}"')
    con.unregister(_VIEW)
