"""Temporary files: all of them are made here, and none stays behind.

A file that needs no name has none: the system frees it when the process ends, however it ends. What needs a name is in
a private folder, which only this user may enter. The process that made the folder holds a lock on it until it ends. A
folder whose lock is free has lost its owner, to a kill or a power cut, and whoever looks next removes it.

On Windows, and in file systems without locks, an abandoned folder cannot be told from one in use, and stays.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
    folder, lock = _made(temporary_place() if place is None else place)
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
            lock = _locked(Path(entry.path))
        except OSError:
            continue
        if lock is not None:
            shutil.rmtree(entry.path, ignore_errors=True)
            os.close(lock)


def _made(place: Path) -> tuple[Path, int | None]:
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
            return folder, _locked(folder)
        except (BlockingIOError, FileNotFoundError):
            _OPEN.discard(folder)


def _locked(folder: Path) -> int | None:
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
