"""Made-up people with unusual values, added to a table: those whom a mechanism protects worst, if any.

Each column is drawn on its own: of a category one of the rarest tenth of its labels, of a number or a time one of the
lowest or highest twentieth of its values. Every cell is one that the table has, so that a mechanism can read it; only
the columns that name people or units get values of their own.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec
from cvpl.tables.making.parting import written_csv
from cvpl.tables.making.staged_table import named_fields
from cvpl.tables.source.connection import connect, identifier, literal, within_memory
from cvpl.tables.source.csv_file import delimiter_of, is_csv, raw_records
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import Source, open_source

if TYPE_CHECKING:
    import duckdb

Ints = NDArray[np.int64]
RAREST = 10
"""Of the labels of a category, the rarest one in so many."""
EXTREME = 20
"""Of the values of a number or a time, one in so many at each end."""
_NAMES = ("VARCHAR", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT", "HUGEINT")
"""The types of columns that can have new names; other columns that name people get the cells of others."""
_ORDERED = {"numeric": "DOUBLE", "datetime": "TIMESTAMP"}


@within_memory
def plant(
    table: Path,
    count: int,
    specs: Sequence[ColumnSpec],
    naming: Collection[str],
    reading: Reading,
    rng: np.random.Generator,
    folder: Path,
) -> Path:
    """Write the table with `count` made-up rows at its end to a file of the same name below `folder`, and return it.

    `naming` are the columns that name people or units: there each made-up row has a value that no other row has.
    """
    target = folder / "with_planted" / table.name
    target.parent.mkdir(mode=0o700)
    with connect() as con:
        source = open_source(con, table, "original", reading)
        kinds = {spec.name: spec.type for spec in specs}
        places = {
            name: _unusual(con, source, name, _ORDERED.get(kinds.get(name, "category")), count, rng)
            for name in source.types
        }
        chosen = {f"p{at}": where for at, where in enumerate(places.values())}
        con.register("numbered", {"made_up": np.arange(count), **chosen})
        names = _fresh(con, source, naming, count)
        if is_csv(table):
            _append(table, target, _cells(con, source, names), delimiter_of(table, reading), reading.encoding)
        else:
            con.execute(
                f"COPY ({_all_rows(source)} UNION ALL BY NAME SELECT * EXCLUDE (made_up) FROM "
                f"({_made_up(source, names)})) TO {literal(str(target))} (FORMAT parquet)"
            )
        source.check_unchanged()
    return target


def _unusual(
    con: duckdb.DuckDBPyConnection, source: Source, name: str, ordered: str | None, count: int, rng: np.random.Generator
) -> Ints:
    """For each made-up row, the place of the record whose cell it gets."""
    field, place = source.field(name), source.position
    if ordered is not None:
        value = f"TRY_CAST(CAST({field} AS VARCHAR) AS {ordered})"
        query = (
            f"SELECT min({place}) AS place FROM {identifier(source.table)} WHERE {value} IS NOT NULL GROUP BY {value}"
        )
        found = _places(con, f"{query} ORDER BY {value}")
        if len(found):
            few = max(1, len(found) // EXTREME)
            return rng.choice(np.unique(np.concatenate([found[:few], found[-few:]])), size=count)
    text = f"CAST({field} AS VARCHAR)"
    query = f"SELECT min({place}) AS place FROM {identifier(source.table)} WHERE {text} <> '' GROUP BY {text}"
    found = _places(con, f"{query} ORDER BY count(*), {text}")
    if not len(found):
        return np.zeros(count, dtype=np.int64)
    return rng.choice(found[: max(1, len(found) // RAREST)], size=count)


def _places(con: duckdb.DuckDBPyConnection, query: str) -> Ints:
    return np.asarray(con.execute(query).fetchnumpy()["place"], dtype=np.int64)


def _fresh(con: duckdb.DuckDBPyConnection, source: Source, naming: Collection[str], count: int) -> dict[str, list[str]]:
    """New values for the columns that name people or units: numbers above all others, or words of no other row."""
    found = {}
    for name in naming:
        if name not in source.types or source.types[name] not in _NAMES:
            continue
        text = f"CAST({source.field(name)} AS VARCHAR)"
        whole = f"regexp_full_match({text}, '[0-9]{{1,17}}')"
        query = f"SELECT bool_and({whole}), max(TRY_CAST({text} AS BIGINT)) FROM {identifier(source.table)}"
        numbers, largest = con.execute(query).fetchall()[0]
        first = int(largest or 0) + 1
        found[name] = [str(first + at) if numbers else f"made up {at + 1}" for at in range(count)]
    return found


def _all_rows(source: Source) -> str:
    return f"SELECT {named_fields(source)} FROM {identifier(source.table)}"


def _made_up(source: Source, names: dict[str, list[str]]) -> str:
    """SQL for the made-up rows, in their order: each column from the record that was drawn for it."""
    parts, joins = [], []
    for at, name in enumerate(source.types):
        field, kind = source.field(name), source.types[name]
        if name in names:
            listed = ", ".join(literal(value) for value in names[name])
            parts.append(f"CAST(([{listed}])[drawn.made_up + 1] AS {kind}) AS {identifier(name)}")
        else:
            parts.append(f"t{at}.{field} AS {identifier(name)}")
            joins.append(f"JOIN {identifier(source.table)} AS t{at} ON t{at}.{source.position} = drawn.p{at}")
    return f"SELECT {', '.join(parts)}, drawn.made_up FROM numbered AS drawn {' '.join(joins)} ORDER BY drawn.made_up"


def _cells(con: duckdb.DuckDBPyConnection, source: Source, names: dict[str, list[str]]) -> list[tuple[str, ...]]:
    rows = con.execute(_made_up(source, names)).fetchall()
    return [tuple("" if cell is None else str(cell) for cell in row[:-1]) for row in rows]


def _append(table: Path, target: Path, rows: Sequence[Sequence[str]], delimiter: str, encoding: str) -> None:
    """Copy the records of a CSV file, and append rows."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    with written_csv(target) as file:
        for record in raw_records(table, delimiter):
            file.write(record if record.endswith((b"\n", b"\r")) else record + b"\n")
        file.write(text.getvalue().encode(encoding, "replace"))
