"""Files that are whole or not there, and a record of those that were written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_RECORD: ContextVar[list[Path] | None] = ContextVar("files written", default=None)


@contextmanager
def recorded_files() -> Iterator[list[Path]]:
    """A list that grows by every file that is written inside the block, so that a run cut short can tell of them."""
    written: list[Path] = []
    token = _RECORD.set(written)
    try:
        yield written
    finally:
        _RECORD.reset(token)


def record_file(file: Path) -> None:
    """Put a file that is complete on the record, if one is kept; once, however often it is written."""
    written = _RECORD.get()
    if written is not None and file not in written:
        written.append(file)


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; text in UTF-8 with plain line ends, whatever the system."""
    draft = file.with_name(f".{file.name}.part")
    try:
        draft.write_bytes(content if isinstance(content, bytes) else content.encode())
        draft.replace(file)
        record_file(file)
    finally:
        draft.unlink(missing_ok=True)
