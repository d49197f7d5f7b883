"""A file that grows by whole lines."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from cvpl.files.whole import naming


def append_line(file: Path, line: bytes) -> None:
    """Append a line to a file, and flush it to disk; if that fails, the file is as it was."""
    with naming(file), file.open("ab", buffering=0) as opened:
        before = opened.tell()
        try:
            left = memoryview(line + b"\n")
            while left:
                left = left[opened.write(left) :]
            os.fsync(opened.fileno())
        except BaseException:
            with suppress(OSError):
                os.truncate(file, before)
            raise


def read_lines(file: Path) -> list[bytes]:
    """The lines of a file, also a last one without its end; none if there is no file."""
    content = file.read_bytes() if file.exists() else b""
    return content.removesuffix(b"\n").split(b"\n") if content else []
