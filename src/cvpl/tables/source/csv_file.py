"""Load a CSV file as the text in it: no type is sniffed, and every field that is not CSV is a problem.

CSV files that are not UTF-8, decoded and parsed in Python. DuckDB reads Latin-1 only without the letters that Windows
adds to it, and other encodings only with an extension that has to be downloaded. Records are therefore passed to it
from memory, some at a time; no cell is written to disk here.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np

from cvpl.errors import InputError, Problem
from cvpl.tables.source.connection import identifier, literal, only_file
from cvpl.tables.source.reading_settings import (
    BLANKS,
    UNDEFINED,
    Encoding,
    Limits,
    Reading,
    checked_names,
    chunks_of,
    disk_trouble,
    encoding_of,
    likely_encoding,
    text_of,
)
from cvpl.wording import count_phrase

if TYPE_CHECKING:
    import duckdb

_MARK = b"\xef\xbb\xbf"


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
            rejected = load_decoded(con, path, identifier(role), len(names), delimiter, encoding)
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except duckdb.IOException:
        if path.suffix.lower() == ".gz":
            raise InputError([_damage_problem(name)]) from None
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
                _encoding_problem(path) if kind == "INVALID ENCODING" else cure,
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
    read = int(con.execute(f"SELECT count(*) FROM {identifier(role)}").fetchall()[0][0])
    if read == found.records:
        return
    if not is_exact:
        found = exact_count(path, delimiter)
        if read == found.records:
            return
    if found.too_long:
        what = f"{_REJECTS['LINE SIZE OVER MAXIMUM']}: {found.records:,} records are in the file, {read:,} can be read"
        raise InputError([Problem(name, what, _row_cure(path), row=found.too_long)])
    what = f"{count_phrase(read, 'record')} can be read, but the file has {found.records:,}"
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
        con.execute(f"CREATE TABLE {identifier(role)} AS SELECT * FROM read_csv({only_file(path)}, {options})")
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


def _encoding_problem(path: Path) -> str:
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
        raise InputError([_damage_problem(name)]) from None
    except UnicodeEncodeError:
        raise InputError([Problem(name, "the header cannot be read as UTF-8 text", _encoding_problem(path))]) from None
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


def _damage_problem(name: str) -> Problem:
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


LONGEST = 2_000_000
"""The longest record that DuckDB reads, in bytes: its `max_line_size`, which is not changed here."""
_CLOSED = re.compile(r'(?:[^"]++|"")*+"')
"""The rest of a quoted field."""
"""The byte order mark that some programs write before UTF-8."""
_LINE_END, _QUOTE = ord("\n"), ord('"')


@dataclass(frozen=True)
class RecordCount:
    """The records of a file without its header, and the first, counted from 1, that is too long to be read.

    `spaced` and `padded` are the first with one blank before the quote that opens a field, and with more than one.
    """

    records: int
    too_long: int | None = None
    spaced: int | None = None
    padded: int | None = None


class LongRecordError(Exception):
    """A line or a record is too long. `record` is its number, counted from 1, and 0 for the header."""

    def __init__(self, record: int) -> None:
        self.record = record
        super().__init__(f"record {record} is too long")


class ZeroByteError(Exception):
    """The file has a zero byte, in this line, counted from 1."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line} has a zero byte")


def quick_count(path: Path, delimiter: str, limits: Limits | None = None, name: str = "") -> int | None:
    """Count the records without the header; blank lines are no records, as in reading.

    None if a quote is in an odd place, neither at an end of a field nor one of two: then only `exact_count` can tell.
    Reads a compressed file to its checksum. Raises OSError, EOFError or zlib.error if it cannot be read,
    LongRecordError if a line or a record is too long, ZeroByteError if it is no text, and LimitError, which calls the
    file `name`, if it expands to more than the `limits` allow.
    """
    opens_after, closes_before = np.zeros(256, dtype=np.bool_), np.zeros(256, dtype=np.bool_)
    opens_after[[delimiter.encode()[-1], _LINE_END, _QUOTE]] = True
    closes_before[[delimiter.encode()[0], _LINE_END, _QUOTE]] = True
    lines, inside, regular, before, ends_before = 0, False, True, _LINE_END, 0
    length = record = 0  # bytes since the last line end, and since the last one that is not quoted
    for chunk in _parts_with_plain_ends(path, limits or Limits(), name or path.name):
        if (zero := chunk.find(b"\0")) >= 0:
            raise ZeroByteError(1 + ends_before + chunk.count(b"\n", 0, zero))
        ends_before += chunk.count(b"\n")
        # A part is shorter than a record may be, so only the line that goes on from the part before can be too long.
        length += len(chunk) if (first := chunk.find(b"\n")) < 0 else first
        if length > LONGEST:
            raise LongRecordError(lines)
        if first >= 0:
            length = len(chunk) - chunk.rfind(b"\n") - 1
        at_start = before == _LINE_END and not inside
        has_quotes = inside or b'"' in chunk
        if not has_quotes and before != _QUOTE and chunk[:1] != b"\n" and b"\n\n" not in chunk:
            lines += chunk.count(b"\n")
            before, record = chunk[-1], length
            continue
        signs = np.frombuffer(chunk, dtype=np.uint8)
        ends = signs == _LINE_END
        if before == _QUOTE and not inside:
            regular = regular and bool(closes_before[signs[0]])
        if has_quotes:
            quotes = signs == _QUOTE
            quoted = np.bitwise_xor.accumulate(quotes) ^ inside
            opened = np.flatnonzero(quotes & quoted)
            closed = np.flatnonzero(quotes & ~quoted) + 1
            first_opens = len(opened) > 0 and opened[0] == 0
            regular = regular and (
                (not first_opens or bool(opens_after[before]))
                and bool(opens_after[signs[opened[int(first_opens) :] - 1]].all())
                and bool(closes_before[signs[closed[closed < len(signs)]]].all())
            )
            inside = bool(quoted[-1])
            ends &= ~quoted
        if regular:
            places = np.flatnonzero(ends)
            record += len(chunk) if not places.size else int(places[0])
            if record > LONGEST:
                raise LongRecordError(lines)
            record = record if not places.size else len(chunk) - int(places[-1]) - 1
        lines += int(np.count_nonzero(ends[1:] & ~ends[:-1])) + int(ends[0] and not at_start)
        before = chunk[-1]
    at_start = before == _LINE_END and not inside
    return max(0, lines + (not at_start) - 1) if regular and not inside else None


def exact_count(path: Path, delimiter: str) -> RecordCount:
    """Count the records without the header as DuckDB reads them, line by line, and find the first that is too long.

    Only a quote at the start of a field, after optional spaces, opens it; inside, two quotes mean one.
    """
    records, size, inside, too_long = 0, 0, False, None
    blanks: dict[int, int] = {}
    fields, spaced = quoted_fields(delimiter), _spaced_fields(delimiter)
    with text_of(path) as lines:
        for line in lines:
            if not size and not line.strip("\r\n"):
                continue
            size += len(line.encode("utf-8", "surrogateescape"))
            if inside or '"' in line:
                if ' "' in line:
                    found = spaced.findall(line, _end_of_open(line, inside))
                    blanks.setdefault(max(map(len, found), default=0), records)
                inside = is_open(line, fields, inside)
            if not inside:
                if size > LONGEST and too_long is None:
                    too_long = records
                records, size = records + 1, 0
    padded = min((record for length, record in blanks.items() if length > 1), default=None)
    spaced_first = min((record for length, record in blanks.items() if length > 0), default=None)
    return RecordCount(max(0, records + bool(size) - 1), too_long, spaced_first, padded)


def is_open(line: str, fields: re.Pattern[str], inside: bool) -> bool:
    """Whether a quoted field is not closed at the end of a line, so that the record goes on.

    `fields` are the `quoted_fields`, and `inside` says whether a field was open before the line.
    """
    at = _end_of_open(line, inside)
    if at > len(line):
        return True
    found = fields.findall(line, at)
    return bool(found) and not found[-1]


def _end_of_open(line: str, inside: bool) -> int:
    """Where the field ends that was open before the line; behind the line if it goes on."""
    if not inside:
        return 0
    closed = _CLOSED.match(line)
    return len(line) + 1 if closed is None else closed.end()


def quoted_fields(delimiter: str) -> re.Pattern[str]:
    """The pattern of a quoted field, whose only group is its closing quote, or empty where the line ends before it."""
    return re.compile(rf'(?:^|{re.escape(delimiter)}) *"(?:[^"]++|"")*+("?)')


def _spaced_fields(delimiter: str) -> re.Pattern[str]:
    """The pattern of a quoted field, whose only group is the blanks before it."""
    return re.compile(rf'(?:^|{re.escape(delimiter)})( *)"(?:[^"]++|"")*+"?')


def _parts_with_plain_ends(path: Path, limits: Limits, name: str) -> Iterator[bytes]:
    """The bytes of the file in parts, none empty, with every line end as one line feed."""
    held, is_first = b"", True
    for read in chunks_of(path, limits, name):
        chunk = held + (read.removeprefix(_MARK) if is_first else read)
        is_first = False
        held = b"\r" if chunk.endswith(b"\r") else b""
        chunk = chunk[: len(chunk) - len(held)]
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if chunk:
            yield chunk
    if held:
        yield b"\n"


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


"""The byte order mark that some programs write before UTF-8."""


def raw_records(path: Path, delimiter: str) -> Iterator[bytes]:
    """Yield the header and the records, each with its line end; blank lines are skipped, as in reading."""
    with _open_file(path) as file:
        record, inside = list[bytes](), False
        fields = quoted_fields(delimiter)
        for line in file:
            if not record and not line.strip(b"\r\n"):
                continue
            record.append(line)
            if inside or b'"' in line:
                inside = is_open(line.removeprefix(_MARK).decode("utf-8", "surrogateescape"), fields, inside)
            if not inside:
                yield b"".join(record)
                record.clear()
        if record:
            yield b"".join(record)


def _open_file(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")
