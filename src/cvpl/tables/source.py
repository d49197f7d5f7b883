"""Opening a file or a dataframe as a DuckDB table in which nothing has been guessed.

CSV fields arrive as the text that was written: no type is sniffed, "NA" stays "NA", "007" stays "007", an empty
field is an empty text. What counts as missing is decided later, by the `Reading` that the configuration states.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cvpl.errors import InputError, Problem

if TYPE_CHECKING:
    import duckdb

_NEVER = "\x01\x02no such field\x02\x01"
"""A spelling of NULL that no file holds, so that DuckDB turns no field into NULL by itself."""

_REJECTS = {
    "MISSING COLUMNS": "found fewer fields than the header has",
    "TOO MANY COLUMNS": "found more fields than the header has",
    "UNQUOTED VALUE": "found a quote that is not closed, or text behind a closing quote",
    "LINE SIZE OVER MAXIMUM": "found a record longer than two megabytes",
    "INVALID ENCODING": "found bytes that are not UTF-8",
}


@dataclass(frozen=True)
class Reading:
    """How fields are read: by default nothing is stripped, and only an empty field is missing.

    `missing` is the whole list of spellings, after stripping: without "" in it an empty field is a value.
    """

    strip: bool = False
    missing: tuple[str, ...] = ("",)
    delimiter: str = ","


@dataclass(frozen=True)
class Source:
    """An opened table: its name for messages, its DuckDB table, its columns with their DuckDB types, its rows."""

    name: str
    table: str
    types: dict[str, str]
    rows: int
    fingerprint: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, as in the header."""
        return tuple(self.types)


def quoted(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def display_name(data: object, fallback: str) -> str:
    """What messages call a table: the file's name, or its part in the audit for a dataframe."""
    return Path(data).name if isinstance(data, str | Path) else fallback


def open_source(con: duckdb.DuckDBPyConnection, data: object, role: str, reading: Reading) -> Source:
    """Load `data` (a path or anything that speaks Arrow) into the connection as the table `role`.

    Raises InputError with everything that is wrong with the file itself.
    """
    name = display_name(data, role)
    if isinstance(data, str | Path):
        path = Path(data)
        if not path.is_file():
            raise InputError([Problem(name, "there is no such file", "Check the path.")])
        _load_file(con, path, role, reading)
        fingerprint = _sha256(path)
    else:
        _load_frame(con, data, role)
        fingerprint = None
    described = con.execute(f"DESCRIBE {quoted(role)}").fetchall()
    count = int(con.execute(f"SELECT count(*) FROM {quoted(role)}").fetchall()[0][0])
    if not count:
        raise InputError([Problem(name, "the table has no rows", "A rate needs at least one record in each table.")])
    return Source(name, role, {str(row[0]): str(row[1]) for row in described}, count, fingerprint)


def _load_file(con: duckdb.DuckDBPyConnection, path: Path, role: str, reading: Reading) -> None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] in ([".parquet"], [".pq"]):
        _load_parquet(con, path, role)
    elif suffixes[-1:] == [".csv"] or suffixes[-2:] == [".csv", ".gz"]:
        _load_csv(con, path, role, reading)
    else:
        cure = "Name a .csv, .csv.gz or .parquet file."
        raise InputError([Problem(path.name, "the ending of the name is not one that is read", cure)])


def _load_parquet(con: duckdb.DuckDBPyConnection, path: Path, role: str) -> None:
    import duckdb  # noqa: PLC0415 - loaded when a table is

    try:
        con.execute(f"CREATE TEMP TABLE {quoted(role)} AS SELECT * FROM read_parquet({literal(str(path))})")
    except duckdb.Error:
        cure = "Write it again, or check that the ending of its name is right."
        raise InputError([Problem(path.name, "the file cannot be read as Parquet", cure)]) from None


def _load_csv(con: duckdb.DuckDBPyConnection, path: Path, role: str, reading: Reading) -> None:
    import duckdb  # noqa: PLC0415 - loaded when a table is

    header = _header(path, reading)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header)
    options = (
        f"columns={{{columns}}}, header=true, auto_detect=false, delim={literal(reading.delimiter)}, quote='\"', "
        f"escape='\"', nullstr={literal(_NEVER)}, strict_mode=true, null_padding=false, store_rejects=true, "
        "encoding='utf-8'"
    )
    try:
        con.execute(f"CREATE TEMP TABLE {quoted(role)} AS SELECT * FROM read_csv({literal(str(path))}, {options})")
        rejected = con.execute(
            "SELECT error_type::VARCHAR, min(line), count(*) FROM reject_errors GROUP BY 1 ORDER BY 2"
        ).fetchall()
        con.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
    except duckdb.Error:
        cure = "Check that it is a UTF-8 text with one record a line, and that `reading.delimiter` is right."
        raise InputError([Problem(path.name, "the file cannot be read as CSV", cure)]) from None
    if rejected:
        cure = "Mend the row, or set `reading.delimiter` if the table is not separated by commas."
        raise InputError(
            Problem(path.name, _REJECTS.get(kind, "found a record that is not CSV"), cure, row=line - 1, count=count)
            for kind, line, count in rejected
        )


def _header(path: Path, reading: Reading) -> list[str]:
    """The column names of a CSV file, checked: DuckDB would rename duplicates without a word."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file, delimiter=reading.delimiter), None)
    except (OSError, UnicodeDecodeError, csv.Error):
        cure = "Write it as UTF-8, plain or compressed with gzip."
        raise InputError([Problem(path.name, "the header cannot be read as UTF-8 text", cure)]) from None
    if not header:
        raise InputError([Problem(path.name, "the file is empty", "It needs a header and at least one record.")])
    names = [name.strip() for name in header] if reading.strip else header
    problems = [
        Problem(path.name, f"the header names the column {names.count(name)} times", "Give each its own name.", name)
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if problems:
        raise InputError(problems)
    return names


def _load_frame(con: duckdb.DuckDBPyConnection, data: object, role: str) -> None:
    import duckdb  # noqa: PLC0415 - loaded when a table is

    view = f"{role} frame"
    # pandas is handed over as it is: its own Arrow export needs pyarrow, which nobody else here does.
    frame = data if type(data).__module__.split(".")[0] == "pandas" else _ArrowStream(data)
    try:
        con.register(view, frame)
        con.execute(f"CREATE TEMP TABLE {quoted(role)} AS SELECT * FROM {quoted(view)}")
        con.unregister(view)
    except (duckdb.Error, AttributeError, TypeError):
        what = f"a {type(data).__name__} cannot be read as a table"
        cure = "Pass a path, or a dataframe of pandas, Polars, pyarrow or DuckDB."
        raise InputError([Problem(role, what, cure)]) from None


class _ArrowStream:
    """Shows DuckDB the Arrow side of a dataframe and nothing else, so that all kinds are read alike."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
