"""Split one table into two files of the same format, with every cell unchanged.

For a CSV file the bytes of each record are copied: "007", "NA", `""` and a line break inside quotes stay as they are.
Parquet is copied by DuckDB, and the types are checked to be the same afterwards. Rows keep their order.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.files.reading import FileState
from cvpl.tables.source.connection import connect, identifier, literal, within_memory
from cvpl.tables.source.csv_file import delimiter_of, is_csv, raw_records
from cvpl.tables.source.dialect import guess_dialect
from cvpl.tables.source.reading_settings import BLANKS, Limits, Reading
from cvpl.tables.source.source import POSITION, Source, is_parquet, open_source

_COLUMN = "Name a column of the table, with the exact spelling."


@dataclass(frozen=True, eq=False)
class PeopleOfTable:
    """The people of a table: each row's person number, by first appearance, and the SHA-256 of the file.

    `state` is the file as it was read.
    """

    person: NDArray[np.int64]
    people: int
    reading: Reading
    sha256: str | None
    state: FileState | None


@within_memory
def read_people(path: Path, by: str | None, limits: Limits | None = None) -> PeopleOfTable:
    """Read the person of each row: rows with equal `by` are one person; without `by` every row is one person.

    Raises InputError if `by` is empty in any row.
    """
    if not is_csv(path) and not is_parquet(path):
        cure = "Name a .csv, .tsv, .csv.gz, .tsv.gz or .parquet file; write the table as one of them."
        raise InputError([Problem(path.name, "a table of this file format cannot be split", cure)])
    reading = guess_dialect(path, limits).reading
    with connect() as con:
        source = open_source(con, path, "people", reading)
        if by is None:
            return PeopleOfTable(np.arange(source.rows), source.rows, reading, source.fingerprint, source.state)
        key = _key(source, by, reading)
        where = f"FROM {identifier(source.table)} WHERE {key} IS NULL OR {key} = ''"
        first, count = con.execute(f"SELECT min({source.position}), count(*) {where}").fetchall()[0]
        if count:
            cure = "Fill it in, or remove these rows: they cannot be assigned to a person."
            raise InputError([Problem(source.name, "the id is empty", cure, by, int(first) + 1, int(count))])
        con.execute(
            f"CREATE TEMP TABLE persons AS SELECT k, row_number() OVER (ORDER BY first) - 1 AS person FROM "
            f"(SELECT {key} AS k, min({source.position}) AS first FROM {identifier(source.table)} GROUP BY 1)"
        )
        found = con.execute(
            f"SELECT person FROM (SELECT {key} AS k, {source.position} AS place FROM {identifier(source.table)}) "
            "JOIN persons USING (k) ORDER BY place"
        ).fetchnumpy()
        person = np.asarray(found["person"], dtype=np.int64)
        return PeopleOfTable(person, int(person.max()) + 1, reading, source.fingerprint, source.state)


@within_memory
def part(path: Path, reading: Reading, second: NDArray[np.bool_], into: tuple[Path, Path]) -> None:
    """Write the rows outside `second` to the first file, those inside to the second."""
    if is_csv(path):
        _part_csv(path, reading, second, into)
    else:
        _part_parquet(path, second, into)


@within_memory
def check_parts(paths: tuple[Path, Path], reading: Reading, rows: tuple[int, int], by: str | None) -> None:
    """Read the written files again. Raises RuntimeError if a row count is wrong or a person is in both files."""
    with connect() as con:
        one, two = (open_source(con, path, f"part {number}", reading) for number, path in enumerate(paths))
        if (one.rows, two.rows) != rows:
            raise RuntimeError("the written files do not have the expected number of rows")
        if by is None:
            return
        shared = con.execute(
            f"SELECT count(*) FROM {identifier(one.table)} WHERE {_key(one, by, reading)} IN "
            f"(SELECT {_key(two, by, reading)} FROM {identifier(two.table)})"
        ).fetchall()
        if shared[0][0]:
            raise RuntimeError("a person is in both of the written files")


def _key(source: Source, by: str, reading: Reading) -> str:
    if by not in source.types:
        raise InputError([Problem(source.name, "the table lacks this column", _COLUMN, by)])
    text = f"{source.field(by)}::VARCHAR"
    return f"trim({text}, {literal(BLANKS)})" if reading.strip else text


def _part_csv(path: Path, reading: Reading, second: NDArray[np.bool_], into: tuple[Path, Path]) -> None:
    records = raw_records(path, delimiter_of(path, reading))
    header = next(records)
    with ExitStack() as stack:
        files = [stack.enter_context(written_csv(target)) for target in into]
        for file in files:
            file.write(header)
        count = 0
        for count, record in enumerate(records, start=1):
            if count > len(second):
                break
            files[int(second[count - 1])].write(record)
    if count != len(second):
        cure = "Write it with one record per line, the same line end throughout, and every quote closed."
        raise InputError([Problem(path.name, "the ends of its records are not clear", cure)])


@contextmanager
def written_csv(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to write, compressed if its name ends in .gz, without a timestamp."""
    with path.open("wb") as plain:
        if path.suffix.lower() != ".gz":
            yield plain
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def _part_parquet(path: Path, second: NDArray[np.bool_], into: tuple[Path, Path]) -> None:
    with connect() as con:
        source = open_source(con, path, "people", Reading())
        _check_names(source)
        named = ", ".join(f"{source.field(name)} AS {identifier(name)}" for name in source.types)
        for number, side in enumerate((~second, second)):
            target, rows = into[number], np.flatnonzero(side)
            con.register("chosen", {"place": rows})
            con.execute(
                f"COPY (SELECT {named} FROM {identifier(source.table)} WHERE {POSITION} IN (SELECT place FROM chosen) "
                f"ORDER BY {POSITION}) TO {literal(str(target))} (FORMAT parquet)"
            )
            con.unregister("chosen")
            written = open_source(con, target, f"part {number}", Reading())
            differ = [name for name, kind in source.types.items() if written.types.get(name) != kind]
            if differ:
                cure = "Write the column in a common type, such as text, or the table as CSV."
                what = "the type of this column cannot be written back unchanged"
                raise InputError(Problem(path.name, what, cure, name) for name in differ)


def _check_names(source: Source) -> None:
    names = [name.lower() for name in source.types]
    twice = [name for name in source.types if names.count(name.lower()) > 1]
    cure = "Give each a name of its own, or write the table as CSV."
    if twice:
        what = "the name differs from another column's only in upper and lower case"
        raise InputError(Problem(source.name, what, cure, name) for name in twice)
