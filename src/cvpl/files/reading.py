"""Files that are read: what a path leads to, how much of it is read, and the one place where DuckDB is opened."""

from __future__ import annotations

import errno
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cvpl.errors import InputError, Problem

if TYPE_CHECKING:
    import duckdb


_KINDS = (
    (stat.S_ISDIR, "this is a folder, not a file", "Name a file in it."),
    (stat.S_ISFIFO, "this is a pipe, not a file", "Write its content to a file, and name that."),
    (stat.S_ISSOCK, "this is a socket, not a file", "Name a file."),
    (stat.S_ISCHR, "this is a device, not a file", "Name a file."),
    (stat.S_ISBLK, "this is a device, not a file", "Name a file."),
)


def not_a_file(path: Path, name: str, cure: str = "Check the path.") -> Problem | None:
    """Why a path is not a regular file or a link to one; None if it is. `cure` is for a path that leads nowhere."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        if error.errno == errno.ELOOP:
            return Problem(name, "this is a link that leads back to itself", "Name the file itself.")
        if isinstance(error, PermissionError):
            return Problem(name, "the file cannot be opened: no permission", "Give yourself the right to read it.")
        if error.errno == errno.ENOENT and path.is_symlink():
            return Problem(name, "this is a link to a file that does not exist", cure)
        return Problem(name, "there is no such file", cure)
    except ValueError:
        return Problem(name, "there is no such file", cure)
    return next((Problem(name, what, advice) for is_kind, what, advice in _KINDS if is_kind(mode)), None)


def read_bounded(path: Path, name: str, called: str, most: int, cure: str = "Check the path.") -> bytes:
    """The content of a regular file of at most `most` megabytes. Raises InputError for anything else.

    Messages call the file `name`, and what it should be `called`.
    """
    problem = not_a_file(path, name, cure)
    if problem is not None:
        raise InputError([replace(problem, what=f"the {called} cannot be opened: {problem.what}")])
    try:
        with path.open("rb") as file:
            content = file.read((most << 20) + 1)
    except OSError:
        what = f"the {called} cannot be opened"
        raise InputError([Problem(name, what, "Check the path, and that you may read it.")]) from None
    if len(content) > most << 20:
        what = f"the {called} is larger than {most:,} MB, which is the most that is read"
        raise InputError([Problem(name, what, "Check that it is the right file.")])
    return content


@dataclass(frozen=True)
class FileState:
    """A file at the moment before it is read, so that a change while it is read is found."""

    path: Path
    name: str
    identity: tuple[int, int, int, int] | None

    @classmethod
    def of(cls, path: Path, name: str) -> FileState:
        """The file as it is now; `name` is what messages call it."""
        return cls(path, name, _identity(path))

    def changed(self) -> Problem | None:
        """The problem that the file was replaced, removed or written to since; None if it was not."""
        if self.identity is not None and _identity(self.path) == self.identity:
            return None
        return Problem(self.name, "the file changed while it was read", "Run again when it is complete.")

    def check(self) -> None:
        """Raise InputError if the file has changed."""
        problem = self.changed()
        if problem is not None:
            raise InputError([problem])


def _identity(path: Path) -> tuple[int, int, int, int] | None:
    """The device and number of a file, its size and the time of its last change; None if it is not there."""
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns


_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "temp_directory": "",  # what does not fit the memory is refused: on disk a kill would leave it readable
    "autoinstall_known_extensions": False,  # or a name in a file of somebody else would start a download
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,  # no password that the user keeps for DuckDB is ever needed
}


def new_instance() -> duckdb.DuckDBPyConnection:
    """Open an empty DuckDB in memory, which loads no extension and never asks the network.

    Local files can be read, since Parquet is read late. So nothing that others have written may run in it: no SQL, and
    no view or generated column of a database file.
    """
    import duckdb  # noqa: PLC0415 - loaded when a table is

    return duckdb.connect(config=_SETTINGS)
