"""The encoding of a CSV file: UTF-8, or one of the two that old Western files have."""

from __future__ import annotations

import codecs
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal, cast

from cvpl.tables.source.limits import Limits, expanding

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
        return io.TextIOWrapper(cast("Any", _opened(path)), "utf-8-sig", "surrogateescape", newline="")
    return io.TextIOWrapper(cast("Any", _opened(path)), encoding, "replace", newline="")


def _opened(path: Path) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def chunks_of(path: Path, limits: Limits | None = None, name: str = "") -> Iterator[bytes]:
    """The bytes of the file in parts, decompressed if its name ends in .gz.

    Raises LimitError, which calls the file `name`, if it expands to more than the `limits` allow.
    """
    with _opened(path) as file:
        parts = iter(lambda: file.read(CHUNK), b"")
        if limits is not None and path.suffix.lower() == ".gz":
            yield from expanding(parts, path.stat().st_size, limits, name or path.name)
        else:
            yield from parts
