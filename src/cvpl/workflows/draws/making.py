"""Making one release: the copy of the table that a mechanism gets, and what is left if it makes none."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cvpl.errors import LimitError, UsageError
from cvpl.files import write_whole
from cvpl.randomness import stream
from cvpl.tables.making.staged_table import stage
from cvpl.tables.source.reading_settings import Reading

STDOUT, STDERR = "stdout.txt", "stderr.txt"
"""The files in a draw's folder with what a command printed."""
FAILED = "failed"
"""The folder beside a result for what failed commands printed."""


class ReleaseNotMade(Exception):  # noqa: N818 - reported with its draw; the run may go on
    """A mechanism made no release, or one that cannot be used. The message says why, without a cell of the table."""

    def __init__(self, reason: str, *, exit_code: int | None = None, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.exit_code, self.timed_out = exit_code, timed_out

    def error(self, text: str) -> UsageError | LimitError:
        """The error that ends the run with this text."""
        return LimitError(text) if self.timed_out else UsageError(text)


@dataclass(frozen=True)
class Draw:
    """One run of a mechanism: its table, a private folder for its files, and a seed."""

    table: Path
    folder: Path
    seed: int
    stop: threading.Event


def mechanism_seed(seed: int, draw: str) -> int:
    """The seed of the mechanism in a draw of this name: those of other draws, and other mechanisms, change nothing."""
    return int(stream(seed, draw).integers(2**31 - 1))


def copied_table(original: object, reading: Reading, folder: Path) -> Path:
    """A copy of the table in a new folder, so that the mechanism cannot change the original."""
    folder.mkdir(parents=True, mode=0o700)
    table = stage(original, reading, folder)
    return table if table.parent == folder else Path(shutil.copyfile(table, folder / table.name))


def changed_columns(first: Collection[str], other: Collection[str]) -> tuple[int, int] | None:
    """How many columns a release has more, and how many fewer, than that of the first draw; None if it has the same.

    Releases with other columns cannot be read together.
    """
    more, fewer = len(set(other) - set(first)), len(set(first) - set(other))
    return (more, fewer) if more or fewer else None


@contextmanager
def keeping_output(folder: Path, into: Path | None) -> Iterator[None]:
    """If no release is made, keep what a command printed in `folder` in the folder `into`, for this user only.

    Nothing is kept if it is None. What an earlier run kept there is removed: it says nothing about this one.
    """
    if into is not None:
        shutil.rmtree(into, ignore_errors=True)
    try:
        yield
    except ReleaseNotMade:
        for name in (STDOUT, STDERR):
            if into is not None and (folder / name).is_file() and (folder / name).stat().st_size:
                into.mkdir(parents=True, exist_ok=True, mode=0o700)
                write_whole(into / name, (folder / name).read_bytes(), owner_only=True)
        raise


def where_output_is(kept: Path | None, argument: str) -> str:
    """A sentence on what a failed command printed: where it is, or how to keep it; empty if it printed nothing.

    `argument` is the argument of the Python call that names the folder.
    """
    if kept is None:
        return f" To keep what the command prints, name a folder with --out (in Python {argument}=...)."
    return f" What the command printed is in {kept}; it may contain cells of the table." if kept.is_dir() else ""
