"""Files that are whole or not there, and a record of those that were written."""

from __future__ import annotations

import secrets
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


def draft_of(file: Path) -> Path:
    """Where to write what is to become `file`: beside it, with its ending, under a name that no other writer has.

    The name does not hold the whole name of the file, which may be as long as names can be.
    """
    ending = "".join(file.suffixes[-2:])[-20:]
    return file.with_name(f".part_{secrets.token_hex(8)}{ending}")


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; text in UTF-8 with plain line ends, whatever the system.

    Of two writers at the same time each writes a draft of its own, and the file is that of the last to finish.
    """
    draft = draft_of(file)
    try:
        draft.write_bytes(content if isinstance(content, bytes) else content.encode())
        draft.replace(file)
        record_file(file)
    except OSError as error:
        # A full disk is met while writing, when the system no longer tells the name; the draft's name tells nobody.
        if error.errno is not None:
            error.filename = str(file)
        raise
    finally:
        draft.unlink(missing_ok=True)
