"""Open a file or a dataframe as a DuckDB table without guessing anything.

CSV fields are read as the text in the file: no type is sniffed, "NA" stays "NA", "007" stays "007", an empty field is
an empty text. The `Reading` in the configuration decides later what counts as missing.

Inside DuckDB the columns are called c0, c1, ...: DuckDB would treat "Age" and "age" as one column, silently rename
duplicates, and reject a column without a name.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cvpl.errors import CvplError, InputError, Problem
from cvpl.files.reading import FileState, not_a_file
from cvpl.tables.source.connection import identifier, only_file
from cvpl.tables.source.csv_file import is_csv, load_csv
from cvpl.tables.source.other_formats import load_database, read_workbook
from cvpl.tables.source.reading_settings import (
    BLANKS,
    Limits,
    Reading,
    checked_names,
    damaged_parquet,
    disk_trouble,
    is_unicode,
)

if TYPE_CHECKING:
    import duckdb


_PART = re.compile(r"(.+\.(?:xlsx|duckdb))#(.+)", re.IGNORECASE | re.DOTALL)
"""A file of several tables, and the name of one of them."""

POSITION = "place_in_file"
"""The DuckDB name of a record's position in a Parquet file."""

_EXACT = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
    | {"FLOAT", "DOUBLE", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
)
"""DuckDB's types whose values are equal if and only if their texts are."""


@dataclass(frozen=True)
class Source:
    """An opened table: its name for messages, its DuckDB table, its columns with their DuckDB types, its rows.

    `position` is the SQL name of a record's position in the table, counted from 0.
    """

    name: str
    table: str
    types: dict[str, str]
    rows: int
    fingerprint: str | None
    position: str = "rowid"
    state: FileState | None = None
    """The file before it was read; None for a dataframe."""

    def field(self, column: str) -> str:
        """The column's SQL name."""
        return self._fields[column]

    @cached_property
    def _fields(self) -> dict[str, str]:
        return {column: f"c{number}" for number, column in enumerate(self.types)}

    def check_unchanged(self) -> None:
        """Raise InputError if the file has changed since it was opened.

        To be called when everything is read: the columns of Parquet are read late, and the fingerprint is of the file
        as it was opened.
        """
        if self.state is not None:
            self.state.check()


def has_one_type(sources: Sequence[Source], column: str) -> bool:
    """Whether all tables with this column hold it as numbers or times of one type, so that equal values are equal."""
    types = {source.types[column] for source in sources if column in source.types}
    return len(types) == 1 and types < _EXACT


def display_name(data: object, fallback: str) -> str:
    """Return the name of a table in messages: the file name, or for a dataframe its role in the audit."""
    if isinstance(data, OwnParquet):
        return data.name
    return Path(data).name if isinstance(data, str | Path) else fallback


def open_source(
    con: duckdb.DuckDBPyConnection, data: object, role: str, reading: Reading, name: str | None = None
) -> Source:
    """Load `data` (a path or any object with an Arrow interface) into the connection as the table `role`.

    Raises InputError with every problem of the file itself.
    """
    name = name or display_name(data, role)
    fingerprint = state = None
    if isinstance(data, str | Path):
        path, part = locate(data)
        problem = not_a_file(path, name)
        if not is_unicode(str(data)):
            what = "the name of the file or of its folder is not valid UTF-8"
            problem = Problem(name, what, "Give it a name in UTF-8.")
        if problem is not None:
            raise InputError([problem])
        reading.limits.check_bytes(path.stat().st_size, name)
        state = FileState.of(path, name)
        try:
            columns = _load_file(con, path, part, role, reading, name)
            fingerprint = file_sha256(path, part)
        except CvplError:
            # Half of one file and half of another is no table; that the file changed is what there is to say.
            state.check()
            raise
        state.check()
    elif isinstance(data, OwnParquet):
        columns = _load_parquet(con, data.files, role, reading.limits, name)
    else:
        columns = _load_frame(con, data, role, reading.limits, name)
    described, count = _describe_table(con, role, name)
    reading.limits.check_rows(count, name)
    if not count:
        raise InputError([Problem(name, "the table has no rows", "A rate needs at least one record in each table.")])
    types = {column: str(row[1]) for column, row in zip(columns, described[: len(columns)], strict=True)}
    position = POSITION if len(described) > len(columns) else "rowid"
    return Source(name, role, types, count, fingerprint, position, state)


def _describe_table(con: duckdb.DuckDBPyConnection, role: str, name: str) -> tuple[list[tuple[str, ...]], int]:
    """The columns of a loaded table as DuckDB describes them, and its number of rows."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    try:
        described = con.execute(f"DESCRIBE {identifier(role)}").fetchall()
        return described, int(con.execute(f"SELECT count(*) FROM {identifier(role)}").fetchall()[0][0])
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.Error:
        # Only Parquet is read here; everything else was loaded before.
        raise InputError([damaged_parquet(name)]) from None


def locate(data: str | Path) -> tuple[Path, str | None]:
    """Return the file, and the name of its sheet or table in `file.xlsx#Sheet` or `file.duckdb#table`."""
    match = _PART.fullmatch(str(data))
    return (Path(data), None) if match is None or Path(data).is_file() else (Path(match[1]), match[2])


def is_parquet(path: Path) -> bool:
    """Whether the file is read as Parquet, by its file extension."""
    return path.name.lower().endswith((".parquet", ".pq"))


def _load_file(
    con: duckdb.DuckDBPyConnection, path: Path, part: str | None, role: str, reading: Reading, name: str
) -> Sequence[str]:
    if is_parquet(path):
        _check_expansion(con, path, reading.limits, name)
        return _load_parquet(con, [path], role, reading.limits, name)
    if is_csv(path):
        return load_csv(con, path, role, reading, name)
    if path.suffix.lower() == ".duckdb":
        return load_database(con, path, part, role, reading.limits, name)
    if path.suffix.lower() == ".xlsx":
        return _load_workbook(con, path, part, role, reading, name)
    cure = (
        "Name a .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .xlsx file, or a table of a DuckDB file as file.duckdb#table."
    )
    raise InputError([Problem(name, "the file extension is not supported", cure)])


def _load_workbook(
    con: duckdb.DuckDBPyConnection, path: Path, part: str | None, role: str, reading: Reading, name: str
) -> Sequence[str]:
    header, cells = read_workbook(path, part, reading.decimal, reading.limits, name)
    names = checked_names([field.strip(BLANKS) for field in header] if reading.strip else header, name, "columns")
    view = f"{role} cells"
    con.execute("SET pandas_analyze_sample = 0")
    con.register(view, dict(cells))
    con.execute(f"CREATE TABLE {identifier(role)} AS SELECT * FROM {identifier(view)}")
    con.unregister(view)
    return names


def _aliases(columns: Sequence[str]) -> str:
    return ", ".join(f"c{number}" for number in range(len(columns)))


def _load_parquet(
    con: duckdb.DuckDBPyConnection, files: Sequence[Path], role: str, limits: Limits, name: str
) -> Sequence[str]:
    """Show Parquet files of one schema as a table. Of several, each is named by the number of its first record."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    listed = ", ".join(only_file(file) for file in files)
    several = len(files) > 1
    try:
        schema = con.execute(f"SELECT name, num_children FROM parquet_schema({only_file(files[0])})").fetchall()
        outermost = _outermost(schema)
        limits.check_columns(len(outermost), name)
        columns = checked_names(outermost, name, "columns")
        if taken := [column for column in columns if column.lower() == "file_row_number"]:
            what = "DuckDB, which reads the file, uses this name itself"
            raise InputError([Problem(name, what, "Give the column another name.", taken[0])])
        # A view: each column is read from the files on demand, so they may be larger than memory.
        which = ", filename='the file of a record'" if several else ""
        table = f"read_parquet([{listed}], hive_partitioning=false, file_row_number=true{which})"
        fields = f"{_aliases(columns)}, place" + (", file" if several else "")
        position = "CAST(parse_filename(file, true) AS BIGINT) + place" if several else "place"
        con.execute(
            f"CREATE VIEW {identifier(role)} AS SELECT {_aliases(columns)}, {position} AS {POSITION} "
            f"FROM {table} AS t({fields})"
        )
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.Error:
        raise InputError([damaged_parquet(name)]) from None
    return columns


def _check_expansion(con: duckdb.DuckDBPyConnection, path: Path, limits: Limits, name: str) -> None:
    """Refuse a Parquet file whose columns say that they are far larger when they are decompressed."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    query = f"SELECT coalesce(sum(total_uncompressed_size), 0) FROM parquet_metadata({only_file(path)})"
    try:
        expanded = int(con.execute(query).fetchall()[0][0])
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.Error:
        raise InputError([damaged_parquet(name)]) from None
    limits.check_expansion(path.stat().st_size, expanded, name)


def is_whole(con: duckdb.DuckDBPyConnection, source: Source) -> bool:
    """Whether every cell of an opened table can be read: Parquet is read late, so damage may show itself only then."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    if source.position != POSITION:
        return True
    cells = ", ".join(f"bit_xor(hash({source.field(column)}))" for column in source.types)
    try:
        con.execute(f"SELECT {cells} FROM {identifier(source.table)}").fetchall()
    except duckdb.OutOfMemoryException:
        return True
    except duckdb.Error:
        return False
    return True


def _outermost(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """Return the column names from Parquet's list of all nodes, in which children follow their parent."""
    names, below = [], 0
    for column, children in schema[1:]:
        if not below:
            names.append(column)
        below = max(0, below - 1) + (children or 0)
    return names


def _load_frame(con: duckdb.DuckDBPyConnection, data: object, role: str, limits: Limits, name: str) -> Sequence[str]:
    import duckdb  # noqa: PLC0415 - loaded when a table is

    what = f"a {type(data).__name__} cannot be read as a table"
    refused = Problem(name, what, "Pass a path, or a dataframe of pandas, Polars, pyarrow or DuckDB.")
    if not hasattr(type(data), "__arrow_c_stream__"):
        raise InputError([refused])
    columns = column_names(data)
    if columns is not None:
        limits.check_columns(len(columns), name)
        checked_names(columns, name, "columns")
    view = f"{role} frame"
    try:
        # Cells of a mixed column are read as their text, not as a type guessed from a sample.
        con.execute("SET pandas_analyze_sample = 0")
        # pandas is passed directly: its own Arrow export needs pyarrow, which nothing else here does.
        con.register(view, readable(data) if is_pandas(data) else ArrowStream(data))
        if columns is None:
            columns = [str(row[0]) for row in con.execute(f"DESCRIBE {identifier(view)}").fetchall()]
            limits.check_columns(len(columns), name)
        con.execute(f"CREATE TABLE {identifier(role)} AS SELECT * FROM {identifier(view)} AS t({_aliases(columns)})")
        con.unregister(view)
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.IOException:
        raise disk_trouble(name) from None
    except (duckdb.Error, AttributeError, TypeError):
        raise InputError([refused]) from None
    return columns


def file_sha256(path: Path, part: str | None) -> str:
    """Return the hash of a file; the name of one of its tables is hashed with it."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    if part is not None:
        digest.update(b"#" + part.encode())
    return digest.hexdigest()


_AS_IT_IS = ("string", "integer", "date", "datetime", "datetime64", "empty")
"""Kinds of uniform columns whose cells DuckDB writes as a file would."""


class ArrowStream:
    """The Arrow interface of a dataframe and nothing else, so that DuckDB reads all kinds the same way."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def is_pandas(data: object) -> bool:
    """Whether `data` is a pandas dataframe, without importing pandas."""
    kind = type(data)
    return kind.__module__.split(".")[0] == "pandas" and kind.__name__ == "DataFrame"


def is_spark_frame(data: object) -> bool:
    """Whether `data` is a DataFrame of Spark, classic or through Spark Connect, without importing Spark."""
    return any(
        kind.__module__.startswith("pyspark.sql") and kind.__name__ == "DataFrame" for kind in type(data).__mro__
    )


def column_names(data: Any) -> list[str] | None:
    """Return the column names if the dataframe has them, else None: DuckDB renames columns that it sees as duplicates.

    Polars, pandas and DuckDB have them in `columns`; a pyarrow table holds its data there, and the names in its schema.
    """
    names = getattr(getattr(data, "schema", None), "names", None)
    if not isinstance(names, list):
        names = getattr(data, "columns", None)
    if names is None or callable(names):
        return None
    return [str(name) for name in names]


def readable(frame: Any) -> Any:
    """Return a pandas frame in which columns of mixed cells, intervals and periods are text.

    A numeric column in which a protection tool has written labels ("30-39", "*") holds cells of several kinds.
    """
    copy = frame.copy(deep=False)
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if _is_mixed(column):
            missing = column.isna()
            cells = [None if gone else _text(cell) for cell, gone in zip(column, missing, strict=True)]
            copy[name] = type(column)(cells, index=frame.index, dtype="string")
    return copy


def _is_mixed(column: Any) -> bool:
    pandas = sys.modules["pandas"]  # already loaded: the caller has a pandas frame
    kinds = getattr(column.dtype, "categories", column).dtype
    if str(kinds.name).startswith(("interval", "period")):
        return True
    return bool(column.dtype == object) and pandas.api.types.infer_dtype(column, skipna=True) not in _AS_IT_IS


def _text(cell: Any) -> str:
    """Return a cell's text as DuckDB writes a column of its kind; a whole float is written like an integer."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell)


@dataclass(frozen=True)
class OwnParquet:
    """A folder of files, and the name of its table in messages and results.

    A file is named by the number of its first record in the table: 0.parquet, 122880.parquet and so on. It has no
    fingerprint, since its bytes are of no interest, and the order of its records means nothing.
    """

    folder: Path
    name: str

    @property
    def files(self) -> list[Path]:
        """The files in the order of their records."""
        return sorted(self.folder.glob("*.parquet"), key=lambda file: int(file.stem))
