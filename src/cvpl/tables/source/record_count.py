"""The records of a CSV file, counted without DuckDB: its reader can leave out a record and say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cvpl.tables.source.encoding import chunks_of, text_of
from cvpl.tables.source.limits import Limits

LONGEST = 2_000_000
"""The longest record that DuckDB reads, in bytes: its `max_line_size`, which is not changed here."""
_CLOSED = re.compile(r'(?:[^"]++|"")*+"')
"""The rest of a quoted field."""
_MARK = b"\xef\xbb\xbf"
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
    for chunk in _with_plain_ends(path, limits or Limits(), name or path.name):
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


def _with_plain_ends(path: Path, limits: Limits, name: str) -> Iterator[bytes]:
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
