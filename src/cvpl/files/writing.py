"""Files that are whole or not there, temporary files that leave nothing behind, and what may be replaced.

Every output is written in a private folder beside its target, flushed to disk, and then put in place in one step. A run
that is killed leaves the old file or the new one; what it leaves in the private folder is removed by the next one that
writes there.

Temporary files: all of them are made here, and none stays behind. A file that needs no name has none: the system frees
it when the process ends, however it ends. What needs a name is in a private folder, which only this user may enter. The
process that made the folder holds a lock on it until it ends. A folder whose lock is free has lost its owner, to a kill
or a power cut, and whoever looks next removes it.

On Windows, and in file systems without locks, an abandoned folder cannot be told from one in use, and stays.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cvpl.errors import UsageError

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


_PART = re.compile(r"(.+?)#.+", re.DOTALL)
_SHOWN = 6


def check_outputs(outputs: Iterable[Path], inputs: Iterable[object] = (), *, overwrite: bool) -> None:
    """Refuse a run before any work if one of the files it would write is an input, is named twice, or exists.

    With `overwrite` existing files may be replaced; an input never may, by whatever name or link it is reached. Inputs
    that are not files, such as dataframes and None, are passed over. Raises UsageError.
    """
    written = list(outputs)
    read = [file for given in inputs for file in _files(given)]
    for number, file in enumerate(written):
        if source := next((source for source in read if _same(file, source)), None):
            other = "" if str(file) == str(source) else f" (as {source})"
            raise UsageError(f"{file} is an input of this run{other} and would be replaced. Name another output.")
        if any(_same(file, other) for other in written[:number]):
            raise UsageError(f"{file} would be written twice. Name each output differently.")
    there = [str(file) for file in written if os.path.lexists(file)]
    if there and not overwrite:
        more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
        verb, them = ("exists", "it") if len(there) == 1 else ("exist", "them")
        raise UsageError(
            f"{', '.join(there[:_SHOWN])}{more} already {verb}. Name another output, or replace {them} with "
            "--overwrite (in Python overwrite=True)."
        )


def _files(given: object) -> Iterator[Path]:
    """The file that an input names, if it names one; also that of `file.xlsx#Sheet`."""
    if not isinstance(given, str | Path):
        return
    part = _PART.fullmatch(str(given))
    for path in (Path(given), *([] if part is None else [Path(part[1])])):
        if path.is_file():
            yield path
            return


def _same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, also through links; a file that is not there is known by its path."""
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 - follows links on both sides
    except OSError:
        return one.resolve() == other.resolve()


if sys.platform != "win32":
    import fcntl

_PREFIX = ".cvpl-"
_OURS = re.compile(r"\.cvpl-[0-9a-f]{16}")
_OPEN: set[Path] = set()
"""The private folders of this process."""


def temporary_place() -> Path:
    """The folder for temporary files, which TMPDIR names; raises OSError if there is none."""
    return Path(tempfile.gettempdir())


def unnamed_file(place: Path | None = None) -> IO[bytes]:
    """Open a file without a name, in `place` or in the folder for temporary files; it is gone when it is closed."""
    return tempfile.TemporaryFile(dir=place, prefix="cvpl-")


@contextmanager
def private_folder(place: Path | None = None) -> Iterator[Path]:
    """A folder that only this user may enter, in `place` or in the folder for temporary files; removed at the end."""
    folder, lock = _make_folder(temporary_place() if place is None else place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _OPEN.discard(folder)
        if lock is not None:
            os.close(lock)


def is_private(path: Path) -> bool:
    """Whether a path is a private folder or in one, by its name."""
    return any(_OURS.fullmatch(part) for part in path.parts)


def remove_own() -> None:
    """Remove the private folders of this process, which is about to end without leaving their blocks."""
    for folder in list(_OPEN):
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(place: Path | None = None) -> None:
    """Remove the private folders in `place`, or among the temporary files, whose process is gone."""
    try:
        found = list(os.scandir(temporary_place() if place is None else place))
    except OSError:
        return
    for entry in found:
        if not _OURS.fullmatch(entry.name) or not entry.is_dir(follow_symlinks=False):
            continue
        try:
            lock = _lock_folder(Path(entry.path))
        except OSError:
            continue
        if lock is not None:
            shutil.rmtree(entry.path, ignore_errors=True)
            os.close(lock)


def _make_folder(place: Path) -> tuple[Path, int | None]:
    """A new folder and its lock. Another process may find it before it is locked, and remove it: then make another."""
    while True:
        folder = place / f"{_PREFIX}{secrets.token_hex(8)}"
        _OPEN.add(folder)
        try:
            folder.mkdir(mode=0o700)
        except OSError:
            _OPEN.discard(folder)
            raise
        try:
            return folder, _lock_folder(folder)
        except (BlockingIOError, FileNotFoundError):
            _OPEN.discard(folder)


def _lock_folder(folder: Path) -> int | None:
    """Lock a folder for as long as the returned descriptor is open; None where folders cannot be locked.

    Raises BlockingIOError if another process has the lock, and FileNotFoundError if the folder is gone.
    """
    if sys.platform == "win32":
        return None
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.stat()
    except OSError as error:
        os.close(lock)
        if isinstance(error, BlockingIOError | FileNotFoundError):
            raise
        return None
    return lock


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
