"""Load a CSV file into DuckDB as the text in it: no type is sniffed, and every field that is not CSV is a problem."""

from __future__ import annotations

import csv
import zlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cvpl.errors import InputError, Problem
from cvpl.tables.source.decoded_csv import load_decoded
from cvpl.tables.source.encoding import UNDEFINED, Encoding, encoding_of, likely_encoding, text_of
from cvpl.tables.source.file_problems import checked_names, disk_trouble
from cvpl.tables.source.reading_settings import BLANKS, Reading
from cvpl.tables.source.record_count import (
    LONGEST,
    LongRecordError,
    RecordCount,
    ZeroByteError,
    exact_count,
    quick_count,
)
from cvpl.tables.source.sql_text import literal, only_file, quoted
from cvpl.wording import counted

if TYPE_CHECKING:
    import duckdb
import re

_NO_NULL = "chr(0) || 'no field'"
"""SQL for a text that stands for NULL and that no file has, since a zero byte is refused."""

_REJECTS = {
    "MISSING COLUMNS": "found fewer fields than the header has",
    "TOO MANY COLUMNS": "found more fields than the header has",
    "UNQUOTED VALUE": "found a quote that is not closed, or text after a closing quote",
    "LINE SIZE OVER MAXIMUM": "found a record longer than two megabytes",
    "INVALID ENCODING": "found bytes that are not UTF-8",
    "UNDEFINED": "found bytes that windows-1252 does not define",
}


def is_csv(path: Path) -> bool:
    """Whether the file is read as CSV, by its file extension."""
    return path.name.lower().endswith((".csv", ".csv.gz")) or is_tsv(path)


def is_tsv(path: Path) -> bool:
    """Whether tabs separate the file's fields, by its file extension."""
    return path.name.lower().endswith((".tsv", ".tsv.gz"))


def delimiter_of(path: Path, reading: Reading) -> str:
    """Return the character between the fields of a CSV file."""
    return "\t" if is_tsv(path) else reading.delimiter


def load_csv(con: duckdb.DuckDBPyConnection, path: Path, role: str, reading: Reading, name: str) -> Sequence[str]:
    """Load the file as the table `role`, and return its column names. Raises InputError with every problem of it."""
    import duckdb  # noqa: PLC0415 - loaded when a table is

    delimiter = delimiter_of(path, reading)
    encoding, names, expected = _header(path, delimiter, reading, name)
    found = RecordCount(expected) if expected is not None else exact_count(path, delimiter)
    reading.limits.check_rows(found.records, name)
    # DuckDB takes a quote behind two blanks for a part of the field, and the csv module also one behind one.
    if unclear := found.padded if encoding == "utf-8" else found.spaced:
        cure = "Remove the blanks."
        raise InputError([Problem(name, "found blanks before the quote that opens a field", cure, row=unclear)])
    try:
        if encoding == "utf-8":
            rejected = read_records(con, path, role, len(names), delimiter)
        else:
            rejected = load_decoded(con, path, quoted(role), len(names), delimiter, encoding)
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.IOException:
        if path.suffix.lower() == ".gz":
            raise InputError([_damaged(name)]) from None
        # The file was opened and its header read before: the trouble is with the disk.
        raise disk_trouble(name) from None
    except duckdb.Error:
        cure = (
            "Check that it is a UTF-8 text with one record per line and the same line ending throughout, and that "
            "`reading.delimiter` is right."
        )
        raise InputError([Problem(name, "the file cannot be read as CSV", cure)]) from None
    if rejected:
        cure = _row_cure(path)
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
    if encoding == "utf-8":
        _check_count(con, path, role, delimiter, found, expected is None, name)
    return names


def _check_count(
    con: duckdb.DuckDBPyConnection, path: Path, role: str, delimiter: str, found: RecordCount, is_exact: bool, name: str
) -> None:
    """Raise InputError if the table has another number of records than the file."""
    read = int(con.execute(f"SELECT count(*) FROM {quoted(role)}").fetchall()[0][0])
    if read == found.records:
        return
    if not is_exact:
        found = exact_count(path, delimiter)
        if read == found.records:
            return
    if found.too_long:
        what = f"{_REJECTS['LINE SIZE OVER MAXIMUM']}: {found.records:,} records are in the file, {read:,} can be read"
        raise InputError([Problem(name, what, _row_cure(path), row=found.too_long)])
    what = f"{counted(read, 'record')} can be read, but the file has {found.records:,}"
    cure = "Write it with one record per line, the same line end throughout, and every quote closed."
    raise InputError([Problem(name, what, cure)])


def read_records(
    con: duckdb.DuckDBPyConnection, path: Path, role: str, width: int, delimiter: str
) -> list[tuple[str, int, int]]:
    """Load a UTF-8 file, and return each kind of fault with its first record and the number of records."""
    columns = ", ".join(f"'c{number}': 'VARCHAR'" for number in range(width))
    compression = "gzip" if path.suffix.lower() == ".gz" else "none"
    options = (
        f"columns={{{columns}}}, header=true, auto_detect=false, delim={literal(delimiter)}, quote='\"', "
        f"escape='\"', nullstr={_NO_NULL}, strict_mode=true, null_padding=false, store_rejects=true, "
        f"encoding='utf-8', compression='{compression}', hive_partitioning=false"
    )
    try:
        con.execute(f"CREATE TABLE {quoted(role)} AS SELECT * FROM read_csv({only_file(path)}, {options})")
        found = con.execute(
            "SELECT error_type::VARCHAR, min(line), count(DISTINCT line) FROM reject_errors GROUP BY 1 ORDER BY 2"
        ).fetchall()
    finally:
        con.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
    return [(kind, _record(path, delimiter, line), count) for kind, line, count in found]


def _row_cure(path: Path) -> str:
    if is_tsv(path):
        return "Correct the row; the fields of a .tsv file are separated by tabs."
    return "Correct the row, or set `reading.delimiter` if the fields are not separated by commas."


def _not_utf8(path: Path) -> str:
    """Say what to do with a file that is not UTF-8, by the encoding that its bytes suggest."""
    likely = likely_encoding(path)
    if likely is None or likely == "utf-8":
        return "Write it as UTF-8, plain or compressed with gzip."
    shown = {"latin-1": "Latin-1", "windows-1252": "Windows-1252"}[likely]
    return f"It is {shown}, most likely: set `reading.encoding` to {likely}, or write the file as UTF-8."


def _header(path: Path, delimiter: str, reading: Reading, name: str) -> tuple[Encoding, Sequence[str], int | None]:
    """The encoding of a CSV file, its column names, checked, and its number of records if easily counted."""
    if delimiter in '"\r\n':
        cure = "Name the character between the fields, such as a comma or a semicolon."
        raise InputError([Problem("configuration", "`reading.delimiter` cannot separate fields", cure)])
    try:
        # This reads a compressed file to its checksum, too: DuckDB may read a truncated file as a shorter table.
        expected = quick_count(path, delimiter, reading.limits, name)
        encoding = encoding_of(path, reading.encoding)
        with text_of(path, encoding) as file:
            start = file.read(LONGEST)
        header = header_of(start, delimiter)
        "".join(header or ()).encode()
    except LongRecordError as error:
        what = f"{_REJECTS['LINE SIZE OVER MAXIMUM']}, or a quote that is not closed"
        if not error.record:
            raise InputError([Problem(name, "the header is longer than two megabytes", _row_cure(path))]) from None
        raise InputError([Problem(name, what, _row_cure(path), row=error.record)]) from None
    except ZeroByteError as error:
        what = f"found a zero byte in line {error.line:,}, which no text in UTF-8 has"
        if error.line == 1:
            what = "the header cannot be read as UTF-8 text: it has a zero byte"
        raise InputError([Problem(name, what, "Write it as UTF-8, plain or compressed with gzip.")]) from None
    except (OSError, EOFError, zlib.error):
        raise InputError([_damaged(name)]) from None
    except UnicodeEncodeError:
        raise InputError([Problem(name, "the header cannot be read as UTF-8 text", _not_utf8(path))]) from None
    except ValueError:
        what = "the header has a quote that is not closed, text behind a closing quote, or blanks before an opening one"
        raise InputError([Problem(name, what, "Correct the first line.")]) from None
    if header is None:
        raise InputError([Problem(name, "the file is empty", "It needs a header and at least one record.")])
    if not header:
        raise InputError([Problem(name, "the first line is empty", "It needs to be the header.")])
    if encoding != "utf-8" and UNDEFINED in "".join(header):
        what = f"the header has bytes that {encoding} does not define"
        raise InputError([Problem(name, what, "Write the file as UTF-8.")])
    reading.limits.check_columns(len(header), name)
    names = [field.strip(BLANKS) for field in header] if reading.strip else header
    return encoding, checked_names(names, name, "fields"), expected


def _damaged(name: str) -> Problem:
    cure = "Write or copy it again; a name that ends in .gz is read as gzip."
    return Problem(name, "the file cannot be opened, or is cut off or damaged", cure)


def _record(path: Path, delimiter: str, line: int) -> int:
    """Return the number of the record that DuckDB found in its `line`: DuckDB counts the header and blank lines."""
    try:
        with text_of(path) as file:
            records = csv.reader(file, delimiter=delimiter)
            return sum(bool(record) for record in islice(records, 1, line))
    except csv.Error:
        return line - 1


def header_of(text: str, delimiter: str) -> list[str] | None:
    """The fields of the first record; none if the first line is empty, and None if the text is.

    A quote opens a field at its start, after at most one blank; inside, two quotes mean one. Blanks behind a closing
    quote are no part of the field. Python's csv module strips blanks from every field or from none.
    Raises ValueError if a quote is not closed, has text behind it, or more than one blank before it.
    """
    if not text:
        return None
    if text[0] in "\r\n":
        return []
    sign = re.escape(delimiter)
    quoted = re.compile(rf' ?"((?:[^"]++|"")*+)" *(?=[{sign}\r\n]|\Z)')
    plain = re.compile(rf"[^{sign}\r\n]*+")
    fields, at = list[str](), 0
    while True:
        if (match := quoted.match(text, at)) is not None:
            fields.append(match[1].replace('""', '"'))
            at = match.end()
        else:
            end = at if (match := plain.match(text, at)) is None else match.end()
            fields.append(text[at:end])
            at = end
            if fields[-1].lstrip(" ").startswith('"'):
                raise ValueError("a quote is not closed, or has text behind it")
        if text[at : at + 1] != delimiter:
            return fields
        at += 1
