"""Files that are whole or not there, and a record of those that were written.

Every output is written in a private folder beside its target, flushed to disk, and then put in place in one step. A run
that is killed leaves the old file or the new one; what it leaves in the private folder is removed by the next one that
writes there.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from cvpl.files.temporary import is_private, private_folder, remove_abandoned

_FULL = ("no space left", "disk quota exceeded", "disk full")
"""What DuckDB says if a disk is full."""
_FAILURES = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
"""What a disk that fails answers; other answers come from systems that cannot flush a folder."""


@dataclass
class Record:
    """What a run has done so far: the files that are complete, and where finished parts of its work are kept."""

    files: list[Path] = field(default_factory=list)
    kept: Path | None = None


_RECORD: ContextVar[Record | None] = ContextVar("files written", default=None)


@contextmanager
def recorded_files() -> Iterator[Record]:
    """A record of what is written inside the block, so that a run cut short can tell of it."""
    record = Record()
    token = _RECORD.set(record)
    try:
        yield record
    finally:
        _RECORD.reset(token)


def record_file(file: Path) -> None:
    """Put a file that is complete on the record, if there is one; once, however often it is written.

    A file in a private folder is not put there: it is gone when the run ends.
    """
    record = _RECORD.get()
    if record is not None and file not in record.files and not is_private(file):
        record.files.append(file)


def record_kept(place: Path) -> None:
    """Put on the record that finished parts of the work are in this file or folder, from which a run resumes."""
    record = _RECORD.get()
    if record is not None:
        record.kept = place


@contextmanager
def whole_files(first: Path, *others: Path) -> Iterator[list[Path]]:
    """Where to write what is to become these files of one folder; they are put in place at the end of the block.

    The files are one set: at no moment, even if the process is killed, are files of an old set and of a new one in
    place together. All but the first of an old set are removed before the new first one replaces the old. So `first` is
    the file that must not get lost, and `others` are those that mean nothing without it; one of them that the block
    does not write is not there afterwards. If the block fails, the old set stays.
    """
    files, folder = (first, *others), first.parent
    if any(file.parent != folder for file in others):
        raise ValueError("the files of one set must be in one folder")
    remove_abandoned(folder)
    with naming(first), private_folder(folder) as drafts, _named_by_the_system(first, drafts):
        written = [drafts / file.name for file in files]
        yield written
        made = [(draft, file) for draft, file in zip(written, files, strict=True) if file == first or draft.exists()]
        for draft, file in made:
            with naming(file):
                _flush(draft)
        if any(file.exists() for file in others):
            for file in reversed(others):
                file.unlink(missing_ok=True)
            _flush_folder(folder)
        for draft, file in made:
            with naming(file):
                os.replace(draft, file)  # noqa: PTH105 - one name for what puts a file in place
                _flush_folder(folder)
            record_file(file)


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Have an error of the system name the file: it names a draft, or nothing if the disk is full."""
    try:
        yield
    except OSError as error:
        # A draft is in a folder of its own beside the file, which may be what cannot be made.
        named = None if error.filename is None else Path(os.fsdecode(error.filename))
        if error.errno is not None and (named is None or is_private(named)):
            error.filename, error.filename2 = str(file), None
        raise


@contextmanager
def _named_by_the_system(file: Path, drafts: Path) -> Iterator[None]:
    """Have DuckDB's failure to write a draft be one of the system, which names the file."""
    try:
        yield
    except Exception as error:
        duckdb = sys.modules.get("duckdb")
        text = str(error)
        if duckdb is None or not isinstance(error, duckdb.IOException) or drafts.name not in text:
            raise
        number = errno.ENOSPC if any(words in text.lower() for words in _FULL) else errno.EIO
        raise OSError(number, os.strerror(number), str(file)) from None


def write_whole(file: Path, content: str | bytes, *, owner_only: bool = False) -> None:
    """Write a file whole or not at all; text in UTF-8 with plain line ends, whatever the system.

    Of two writers at the same time each writes a draft of its own, and the file is that of the last to finish. With
    `owner_only` nobody but this user may read it.
    """
    with whole_files(file) as (draft,):
        if owner_only:
            draft.touch(mode=0o600)
        draft.write_bytes(content if isinstance(content, bytes) else content.encode())


def _flush(file: Path) -> None:
    """Have the system write a file to the disk."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def _flush_folder(folder: Path) -> None:
    """Have the system write the names in a folder to the disk, where it can; raises OSError if the disk fails."""
    try:
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
    except OSError as error:
        if error.errno in _FAILURES:
            raise
