"""How a file is read: separator and encoding, limits on its size, and the problems that several formats share."""

from __future__ import annotations

import codecs
import gzip
import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, cast

from cvpl.errors import InputError, LimitError, Problem
from cvpl.tables.meaning.protected_values import Dates, Decimal

ALWAYS_EXPANDED = 16 << 20
"""A compressed file may expand to so many bytes whatever its own size: a small table does no harm."""


@dataclass(frozen=True)
class Limits:
    """The most that is read of one table. `labels` are the different labels of one category column.

    `expansion` is how many times larger than a compressed file its content may be, above `ALWAYS_EXPANDED`.
    """

    bytes: int = 100 * 10**9
    rows: int = 1_000_000_000
    columns: int = 10_000
    labels: int = 10_000_000
    expansion: int = 200

    def check_bytes(self, found: int, name: str) -> None:
        """Raise LimitError if a file has too many bytes."""
        _check("bytes", found, self.bytes, name, f"the file has {found:,} bytes")

    def check_rows(self, found: int, name: str) -> None:
        """Raise LimitError if a table has too many rows."""
        _check("rows", found, self.rows, name, f"the table has {found:,} rows")

    def check_columns(self, found: int, name: str) -> None:
        """Raise LimitError if a table has too many columns."""
        _check("columns", found, self.columns, name, f"the table has {found:,} columns")

    def check_labels(self, found: int, name: str, column: str) -> None:
        """Raise LimitError if a category column has too many different labels."""
        _check("labels", found, self.labels, f"{name}, column '{column}'", f"the column has {found:,} different labels")

    def check_expansion(self, packed: int, expanded: int, name: str, what: str = "bytes") -> None:
        """Raise LimitError if the content of a file of `packed` bytes is too large."""
        if expanded <= max(ALWAYS_EXPANDED, packed * self.expansion):
            return
        raise LimitError(
            f"{name}: the file has {packed:,} bytes, and expands to more than {self.expansion:,} times as many {what}, "
            f"which is the limit. Check that it is the right file, or {_cure('expansion', 'NUMBER')}."
        )


def expanding(chunks: Iterable[bytes], packed: int, limits: Limits, name: str) -> Iterator[bytes]:
    """Yield the content of a file of `packed` bytes, and raise LimitError as soon as it is too large."""
    expanded = 0
    for chunk in chunks:
        expanded += len(chunk)
        limits.check_expansion(packed, expanded, name)
        yield chunk


def _check(setting: str, found: int, most: int, where: str, what: str) -> None:
    if found > most:
        raise LimitError(
            f"{where}: {what}, and the limit is {most:,}. Check that it is the right file, or "
            f"{_cure(setting, str(found))}."
        )


def _cure(setting: str, value: str) -> str:
    """How a limit is raised: in the configuration, or by the commands that need none."""
    return (
        f"raise `reading.limits.{setting}` in the configuration; without one, `cvpl audit`, `init` and `split` take "
        f"--limits {setting}={value}"
    )


BLANKS = " \t\r\n\f\v\u00a0"
"""The characters that `reading.strip` removes, from cells and from the header."""


@dataclass(frozen=True)
class Reading:
    """How fields are read: by default nothing is stripped, and only an empty field is missing.

    `missing` is the complete list of texts, after stripping: without "" in it an empty field is a value. `decimal` and
    `dates` say how numbers and days are written in text; `encoding` is that of CSV files that are not UTF-8. `limits`
    bound the size of a table.
    """

    strip: bool = False
    missing: tuple[str, ...] = ("",)
    delimiter: str = ","
    decimal: Decimal = "."
    dates: Dates = "iso"
    encoding: Encoding = "utf-8"
    limits: Limits = field(default_factory=Limits)


Encoding = Literal["utf-8", "latin-1", "windows-1252"]
"""The values of `reading.encoding`: the encoding of files that are not UTF-8."""

CHUNK = 1 << 20
"""How many bytes are read at a time."""
UNDEFINED = "\ufffd"
"""What stands in a decoded text for a byte that the encoding does not define."""
_UNUSED = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D, *range(9), *range(14, 32)])
"""Bytes that a text in Latin-1 or Windows-1252 does not have."""
_ONLY_WINDOWS = bytes(range(0x80, 0xA0))


def likely_encoding(path: Path, limits: Limits | None = None) -> Encoding | None:
    """Return the encoding that the file's bytes suggest, or None if it seems to be neither of them.

    Bytes that are valid UTF-8 are UTF-8. Otherwise it is Windows-1252 if a byte is a letter or sign only there, else
    Latin-1. Reads the file to its end. Raises OSError, EOFError or zlib.error if it cannot be read, and LimitError if
    it expands to more than the `limits` allow.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    valid, odd, windows = True, False, False
    for chunk in chunks_of(path, limits):
        if valid:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                valid = False
        odd = odd or len(chunk.translate(None, _UNUSED)) < len(chunk)
        windows = windows or len(chunk.translate(None, _ONLY_WINDOWS)) < len(chunk)
    if valid and not decoder.getstate()[0]:
        return "utf-8"
    if odd:
        return None
    return "windows-1252" if windows else "latin-1"


def encoding_of(path: Path, wanted: Encoding) -> Encoding:
    """Return the encoding to read the file with: `wanted`, unless the file is UTF-8 anyway."""
    return "utf-8" if wanted == "utf-8" or likely_encoding(path) == "utf-8" else wanted


def text_of(path: Path, encoding: Encoding = "utf-8") -> io.TextIOWrapper:
    """Open the file as text, without a byte-order mark.

    Bytes that are not UTF-8 become lone surrogates, which a later check finds; the few bytes that Windows-1252 does
    not define become `UNDEFINED`, which is refused later.
    """
    if encoding == "utf-8":
        return io.TextIOWrapper(cast("Any", _open_text(path)), "utf-8-sig", "surrogateescape", newline="")
    return io.TextIOWrapper(cast("Any", _open_text(path)), encoding, "replace", newline="")


def _open_text(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def chunks_of(path: Path, limits: Limits | None = None, name: str = "") -> Iterator[bytes]:
    """The bytes of the file in parts, decompressed if its name ends in .gz.

    Raises LimitError, which calls the file `name`, if it expands to more than the `limits` allow.
    """
    with _open_text(path) as file:
        parts = iter(lambda: file.read(CHUNK), b"")
        if limits is not None and path.suffix.lower() == ".gz":
            yield from expanding(parts, path.stat().st_size, limits, name or path.name)
        else:
            yield from parts


def checked_names(columns: Sequence[str], name: str, what: str) -> Sequence[str]:
    """Return the column names, or raise InputError with a problem for every duplicate name.

    Messages give positions, not names: if a file lacks a header, the "names" are the first record.
    """
    places: dict[str, list[str]] = {}
    for number, column in enumerate(columns, start=1):
        places.setdefault(column, []).append(str(number))
    if odd := [str(number) for number, column in enumerate(columns, start=1) if not is_unicode(column)]:
        what = f"the name of column {odd[0]} is not valid Unicode"
        raise InputError([Problem(name, what, "Give it a name in UTF-8.")])
    cure = "Give each its own name, and add a header if there is none."
    problems = [
        Problem(name, f"{what} {', '.join(numbers[:-1])} and {numbers[-1]} have the same name", cure)
        for numbers in places.values()
        if len(numbers) > 1
    ]
    if problems:
        raise InputError(problems)
    return columns


def is_unicode(text: str) -> bool:
    """Whether a text can be written in UTF-8: names of files may hold bytes that are not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def damaged_parquet(name: str) -> Problem:
    """A file that is called Parquet and cannot be read so."""
    cure = "Write it again, or check that the ending of its name is right."
    return Problem(name, "the file is damaged, or cannot be read as Parquet", cure)


def disk_full() -> LimitError:
    """The folder for temporary files has no space left for what does not fit the memory."""
    return LimitError(
        f"{_temporary()}: there is no space left for what does not fit the memory. Make space there, name another "
        "folder in the environment variable TMPDIR, or allow more memory with --memory or `search.memory`."
    )


def _temporary() -> str:
    try:
        return f"the folder for temporary files, {tempfile.gettempdir()}"
    except OSError:
        return "the folder for temporary files"


def disk_trouble(what: str) -> LimitError:
    """The system failed to read a file that it had opened."""
    return LimitError(f"{what}: the system could not read from the disk. Check it, or copy the file to another one.")
