"""Open a file or a dataframe as a DuckDB table without guessing anything.

CSV fields are read as the text in the file: no type is sniffed, "NA" stays "NA", "007" stays "007", an empty field is
an empty text. The `Reading` in the configuration decides later what counts as missing.

Inside DuckDB the columns are called c0, c1, ...: DuckDB would treat "Age" and "age" as one column, silently rename
duplicates, and reject a column without a name.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cvpl.errors import InputError, LimitError, Problem
from cvpl.tables.decoded_csv import load_decoded
from cvpl.tables.encoding import Encoding, encoding_of, likely_encoding, text_of
from cvpl.tables.frames import ArrowStream, column_names, is_pandas, readable
from cvpl.tables.local_spellings import Dates, Decimal
from cvpl.tables.workbook import listed, read_workbook

if TYPE_CHECKING:
    import duckdb

BLANKS = " \t\r\n\f\v\u00a0"
"""The characters that `reading.strip` removes, from cells and from the header."""

_PART = re.compile(r"(.+\.(?:xlsx|duckdb))#(.+)", re.IGNORECASE | re.DOTALL)
"""A file of several tables, and the name of one of them."""

POSITION = "place_in_file"
"""The DuckDB name of a record's position in a Parquet file."""

_NEVER = "\x01\x02no such field\x02\x01"
"""A text for NULL that no file contains, so that DuckDB turns no field into NULL by itself."""

_REJECTS = {
    "MISSING COLUMNS": "found fewer fields than the header has",
    "TOO MANY COLUMNS": "found more fields than the header has",
    "UNQUOTED VALUE": "found a quote that is not closed, or text after a closing quote",
    "LINE SIZE OVER MAXIMUM": "found a record longer than two megabytes",
    "INVALID ENCODING": "found bytes that are not UTF-8",
}


@dataclass(frozen=True)
class Reading:
    """How fields are read: by default nothing is stripped, and only an empty field is missing.

    `missing` is the complete list of texts, after stripping: without "" in it an empty field is a value. `decimal` and
    `dates` say how numbers and days are written in text; `encoding` is that of CSV files that are not UTF-8.
    """

    strip: bool = False
    missing: tuple[str, ...] = ("",)
    delimiter: str = ","
    decimal: Decimal = "."
    dates: Dates = "iso"
    encoding: Encoding = "utf-8"


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

    def field(self, column: str) -> str:
        """The column's SQL name."""
        return f"c{list(self.types).index(column)}"


def quoted(name: str) -> str:
    """`name` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def display_name(data: object, fallback: str) -> str:
    """Return the name of a table in messages: the file name, or for a dataframe its role in the audit."""
    return Path(data).name if isinstance(data, str | Path) else fallback


def open_source(
    con: duckdb.DuckDBPyConnection, data: object, role: str, reading: Reading, name: str | None = None
) -> Source:
    """Load `data` (a path or any object with an Arrow interface) into the connection as the table `role`.

    Raises InputError with every problem of the file itself.
    """
    name = name or display_name(data, role)
    fingerprint = None
    if isinstance(data, str | Path):
        path, part = located(data)
        if not path.is_file():
            raise InputError([Problem(name, "there is no such file", "Check the path.")])
        columns = _load_file(con, path, part, role, reading, name)
        fingerprint = _sha256(path, part)
    else:
        columns = _load_frame(con, data, role, name)
    described = con.execute(f"DESCRIBE {quoted(role)}").fetchall()
    count = int(con.execute(f"SELECT count(*) FROM {quoted(role)}").fetchall()[0][0])
    if not count:
        raise InputError([Problem(name, "the table has no rows", "A rate needs at least one record in each table.")])
    types = {column: str(row[1]) for column, row in zip(columns, described[: len(columns)], strict=True)}
    position = POSITION if len(described) > len(columns) else "rowid"
    return Source(name, role, types, count, fingerprint, position)


def located(data: str | Path) -> tuple[Path, str | None]:
    """Return the file, and the name of its sheet or table in `file.xlsx#Sheet` or `file.duckdb#table`."""
    match = _PART.fullmatch(str(data))
    return (Path(data), None) if match is None or Path(data).is_file() else (Path(match[1]), match[2])


def is_parquet(path: Path) -> bool:
    """Whether the file is read as Parquet, by its file extension."""
    return path.name.lower().endswith((".parquet", ".pq"))


def is_csv(path: Path) -> bool:
    """Whether the file is read as CSV, by its file extension."""
    return path.name.lower().endswith((".csv", ".csv.gz")) or is_tsv(path)


def is_tsv(path: Path) -> bool:
    """Whether tabs separate the file's fields, by its file extension."""
    return path.name.lower().endswith((".tsv", ".tsv.gz"))


def delimiter_of(path: Path, reading: Reading) -> str:
    """Return the character between the fields of a CSV file."""
    return "\t" if is_tsv(path) else reading.delimiter


def _load_file(
    con: duckdb.DuckDBPyConnection, path: Path, part: str | None, role: str, reading: Reading, name: str
) -> Sequence[str]:
    if is_parquet(path):
        return _load_parquet(con, path, role, name)
    if is_csv(path):
        return _load_csv(con, path, role, reading, name)
    if path.suffix.lower() == ".duckdb":
        return _load_database(con, path, part, role, name)
    if path.suffix.lower() == ".xlsx":
        return _load_workbook(con, path, part, role, reading, name)
    cure = (
        "Name a .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .xlsx file, or a table of a DuckDB file as file.duckdb#table."
    )
    raise InputError([Problem(name, "the file extension is not supported", cure)])


def _load_database(con: duckdb.DuckDBPyConnection, path: Path, part: str | None, role: str, name: str) -> Sequence[str]:
    """Copy a table or view of a DuckDB file, attached only to read it."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    file = quoted(f"{role} file")
    try:
        con.execute(f"ATTACH {literal(str(path))} AS {file} (READ_ONLY, TYPE duckdb)")
    except duckdb.Error:
        cure = "Check that it is a DuckDB file, that no program is writing to it, and that DuckDB here is not older."
        raise InputError([Problem(name, "the file cannot be opened as a DuckDB database", cure)]) from None
    try:
        found = con.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ? ORDER BY ALL",
            [f"{role} file"],
        ).fetchall()
        tables = {table if schema == "main" else f"{schema}.{table}": (schema, table) for schema, table in found}
        wanted = tables.get((part or "").removeprefix("main."))
        if wanted is None:
            what = "the name of the table is missing" if part is None else "the file has no such table or view"
            cure = f"Name one of {listed(list(tables))} after a #, as in file.duckdb#table."
            if not tables:
                cure = "It has none at all: write a table to it."
            raise InputError([Problem(name, what, cure)])
        table = f"{file}.{quoted(wanted[0])}.{quoted(wanted[1])}"
        columns = [str(row[0]) for row in con.execute(f"DESCRIBE {table}").fetchall()]
        con.execute(f"CREATE TEMP TABLE {quoted(role)} AS SELECT * FROM {table} AS t({_aliases(columns)})")
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        cure = "Check that the file is whole and that DuckDB can show the table; a view may need other files."
        raise InputError([Problem(name, "the table cannot be read from the DuckDB file", cure)]) from None
    finally:
        con.execute(f"DETACH {file}")
    return columns


def _load_workbook(
    con: duckdb.DuckDBPyConnection, path: Path, part: str | None, role: str, reading: Reading, name: str
) -> Sequence[str]:
    header, cells = read_workbook(path, part, reading.decimal, name)
    names = _checked([field.strip(BLANKS) for field in header] if reading.strip else header, name, "columns")
    view = f"{role} cells"
    con.execute("SET pandas_analyze_sample = 0")
    con.register(view, dict(cells))
    con.execute(f"CREATE TEMP TABLE {quoted(role)} AS SELECT * FROM {quoted(view)}")
    con.unregister(view)
    return names


def _only(path: Path) -> str:
    """Return the path as an SQL string that names only this file: DuckDB would treat "[1]" or "*" as a pattern."""
    return literal("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))


def _checked(columns: Sequence[str], name: str, what: str) -> Sequence[str]:
    """Return the column names, or raise InputError with a problem for every duplicate name.

    Messages give positions, not names: if a file lacks a header, the "names" are the first record.
    """
    places: dict[str, list[str]] = {}
    for number, column in enumerate(columns, start=1):
        places.setdefault(column, []).append(str(number))
    cure = "Give each its own name, and add a header if there is none."
    problems = [
        Problem(name, f"{what} {', '.join(numbers[:-1])} and {numbers[-1]} have the same name", cure)
        for numbers in places.values()
        if len(numbers) > 1
    ]
    if problems:
        raise InputError(problems)
    return columns


def _aliases(columns: Sequence[str]) -> str:
    return ", ".join(f"c{number}" for number in range(len(columns)))


def _load_parquet(con: duckdb.DuckDBPyConnection, path: Path, role: str, name: str) -> Sequence[str]:
    import duckdb  # noqa: PLC0415 - loaded when a table is

    try:
        schema = con.execute(f"SELECT name, num_children FROM parquet_schema({_only(path)})").fetchall()
        columns = _checked(_outermost(schema), name, "columns")
        # A view: each column is read from the file on demand, so the file may be larger than memory.
        table = f"read_parquet({_only(path)}, hive_partitioning=false, file_row_number=true)"
        aliases = f"{_aliases(columns)}, {POSITION}"
        con.execute(f"CREATE TEMP VIEW {quoted(role)} AS SELECT * FROM {table} AS t({aliases})")
    except duckdb.Error:
        raise InputError([damaged_parquet(name)]) from None
    return columns


def damaged_parquet(name: str) -> Problem:
    """A file that is called Parquet and cannot be read so."""
    cure = "Write it again, or check that the ending of its name is right."
    return Problem(name, "the file cannot be read as Parquet", cure)


def is_whole(con: duckdb.DuckDBPyConnection, source: Source) -> bool:
    """Whether every cell of an opened table can be read: Parquet is read late, so damage may show itself only then."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    if source.position != POSITION:
        return True
    cells = ", ".join(f"bit_xor(hash({source.field(column)}))" for column in source.types)
    try:
        con.execute(f"SELECT {cells} FROM {quoted(source.table)}").fetchall()
    except duckdb.OutOfMemoryException:
        return True
    except duckdb.Error:
        return False
    return True


def disk_trouble(what: str) -> LimitError:
    """The system failed to read a file, or to keep aside what does not fit the memory."""
    return LimitError(
        f"{what}: the system could not read from the disk, or could not write to the folder for temporary files. Check "
        "both, name another folder in the environment variable TMPDIR, or allow more memory with --memory or "
        "`search.memory`."
    )


def _outermost(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """Return the column names from Parquet's list of all nodes, in which children follow their parent."""
    names, below = [], 0
    for column, children in schema[1:]:
        if not below:
            names.append(column)
        below = max(0, below - 1) + (children or 0)
    return names


def _load_csv(con: duckdb.DuckDBPyConnection, path: Path, role: str, reading: Reading, name: str) -> Sequence[str]:
    import duckdb  # noqa: PLC0415 - loaded when a table is

    delimiter = delimiter_of(path, reading)
    encoding, names = _header(path, delimiter, reading, name)
    try:
        if encoding == "utf-8":
            rejected = _read_csv(con, path, role, len(names), delimiter)
        else:
            rejected = load_decoded(con, path, quoted(role), len(names), delimiter, encoding)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.IOException:
        # The file was opened and its header read before: the trouble is with the disk, or with what is put aside there.
        raise disk_trouble(name) from None
    except duckdb.Error:
        cure = (
            "Check that it is a UTF-8 text with one record per line and the same line ending throughout, and that "
            "`reading.delimiter` is right."
        )
        raise InputError([Problem(name, "the file cannot be read as CSV", cure)]) from None
    if rejected:
        cure = "Correct the row, or set `reading.delimiter` if the fields are not separated by commas."
        if is_tsv(path):
            cure = "Correct the row; the fields of a .tsv file are separated by tabs."
        raise InputError(
            Problem(
                name,
                _REJECTS.get(kind, "found a record that is not CSV"),
                _not_utf8(path) if kind == "INVALID ENCODING" else cure,
                row=record,
                count=count,
            )
            for kind, record, count in rejected
        )
    return names


def _read_csv(
    con: duckdb.DuckDBPyConnection, path: Path, role: str, width: int, delimiter: str
) -> list[tuple[str, int, int]]:
    """Load a UTF-8 file, and return each kind of fault with its first record and the number of records."""
    columns = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(width))
    compression = "gzip" if path.suffix.lower() == ".gz" else "none"
    options = (
        f"columns={{{columns}}}, header=true, auto_detect=false, delim={literal(delimiter)}, quote='\"', "
        f"escape='\"', nullstr={literal(_NEVER)}, strict_mode=true, null_padding=false, store_rejects=true, "
        f"encoding='utf-8', compression='{compression}', hive_partitioning=false"
    )
    try:
        con.execute(f"CREATE TEMP TABLE {quoted(role)} AS SELECT * FROM read_csv({_only(path)}, {options})")
        found = con.execute(
            "SELECT error_type::VARCHAR, min(line), count(*) FROM reject_errors GROUP BY 1 ORDER BY 2"
        ).fetchall()
    finally:
        con.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    return [(kind, _record(path, delimiter, line), count) for kind, line, count in found]


def _not_utf8(path: Path) -> str:
    """Say what to do with a file that is not UTF-8, by the encoding that its bytes suggest."""
    likely = likely_encoding(path)
    if likely is None or likely == "utf-8":
        return "Write it as UTF-8, plain or compressed with gzip."
    shown = {"latin-1": "Latin-1", "windows-1252": "Windows-1252"}[likely]
    return f"It is {shown}, most likely: set `reading.encoding` to {likely}, or write the file as UTF-8."


def _header(path: Path, delimiter: str, reading: Reading, name: str) -> tuple[Encoding, Sequence[str]]:
    """The encoding of a CSV file, and its column names, checked."""
    if delimiter in '"\r\n':
        cure = "Name the character between the fields, such as a comma or a semicolon."
        raise InputError([Problem("configuration", "`reading.delimiter` cannot separate fields", cure)])
    try:
        if path.suffix.lower() == ".gz":
            _check_whole(path)
        encoding = encoding_of(path, reading.encoding)
        header = _first_record(path, delimiter, encoding)
        # DuckDB allows spaces before a quoted field, so the header may have them too.
        if header and any(field.lstrip(" ").startswith('"') for field in header):
            header = _first_record(path, delimiter, encoding, skip_blanks=True)
        "".join(header or ()).encode()
    except (OSError, EOFError, zlib.error):
        cure = "Write or copy it again; a name that ends in .gz is read as gzip."
        raise InputError([Problem(name, "the file cannot be opened, or is cut off or damaged", cure)]) from None
    except (UnicodeEncodeError, csv.Error):
        raise InputError([Problem(name, "the header cannot be read as UTF-8 text", _not_utf8(path))]) from None
    if header is None:
        raise InputError([Problem(name, "the file is empty", "It needs a header and at least one record.")])
    if not header:
        raise InputError([Problem(name, "the first line is empty", "It needs to be the header.")])
    names = [field.strip(BLANKS) for field in header] if reading.strip else header
    return encoding, _checked(names, name, "fields")


def _first_record(path: Path, delimiter: str, encoding: Encoding, *, skip_blanks: bool = False) -> list[str] | None:
    with text_of(path, encoding) as file:
        return next(csv.reader(file, delimiter=delimiter, skipinitialspace=skip_blanks), None)


def _check_whole(path: Path) -> None:
    """Read a compressed file to its end and its checksum: DuckDB may read a truncated file as a shorter table."""
    with gzip.open(path) as file:
        while file.read(1 << 20):
            pass


def _record(path: Path, delimiter: str, line: int) -> int:
    """Return the number of the record that DuckDB found in its `line`: DuckDB counts the header and blank lines."""
    try:
        with text_of(path) as file:
            records = csv.reader(file, delimiter=delimiter)
            return sum(bool(record) for record in islice(records, 1, line))
    except csv.Error:
        return line - 1


def _load_frame(con: duckdb.DuckDBPyConnection, data: object, role: str, name: str) -> Sequence[str]:
    import duckdb  # noqa: PLC0415 - loaded when a table is

    what = f"a {type(data).__name__} cannot be read as a table"
    refused = Problem(name, what, "Pass a path, or a dataframe of pandas, Polars, pyarrow or DuckDB.")
    if not hasattr(type(data), "__arrow_c_stream__"):
        raise InputError([refused])
    columns = column_names(data)
    if columns is not None:
        _checked(columns, name, "columns")
    view = f"{role} frame"
    try:
        # Cells of a mixed column are read as their text, not as a type guessed from a sample.
        con.execute("SET pandas_analyze_sample = 0")
        # pandas is passed directly: its own Arrow export needs pyarrow, which nothing else here does.
        con.register(view, readable(data) if is_pandas(data) else ArrowStream(data))
        if columns is None:
            columns = [str(row[0]) for row in con.execute(f"DESCRIBE {quoted(view)}").fetchall()]
        con.execute(f"CREATE TEMP TABLE {quoted(role)} AS SELECT * FROM {quoted(view)} AS t({_aliases(columns)})")
        con.unregister(view)
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.IOException:
        raise disk_trouble(name) from None
    except (duckdb.Error, AttributeError, TypeError):
        raise InputError([refused]) from None
    return columns


def _sha256(path: Path, part: str | None) -> str:
    """Return the hash of a file; the name of one of its tables is hashed with it."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    if part is not None:
        digest.update(b"#" + part.encode())
    return digest.hexdigest()
