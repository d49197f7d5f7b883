"""Unexpected errors that are no fault of this program: an interruption inside DuckDB, a full or failing disk."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator

from cvpl.errors import CvplError

_INTERRUPTED = "Query interrupted"
"""What DuckDB says in a RuntimeError if Ctrl-C ends a query."""
_FULL = ("no space left", "disk quota exceeded", "disk full")


def is_interruption(error: BaseException) -> bool:
    """Whether an error is, or was caused by, an interruption: DuckDB turns it into an error of its own."""
    duckdb = sys.modules.get("duckdb")
    stopped: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
    if duckdb is not None:
        stopped = (KeyboardInterrupt, duckdb.InterruptException)
    return any(isinstance(one, stopped) or _is_stopped_query(one) for one in _chain(error))


def _is_stopped_query(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and str(error) == _INTERRUPTED


def disk_failure(error: BaseException) -> CvplError | None:
    """The failure of a disk that DuckDB met, as an error with its place; None if the error is another."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(error, duckdb.IOException):
        return None
    from cvpl.tables.file_problems import disk_full, disk_trouble  # noqa: PLC0415 - only if needed

    text = str(error).lower()
    return disk_full() if any(words in text for words in _FULL) else disk_trouble("DuckDB")


def is_full(error: OSError) -> bool:
    """Whether the system refused because a disk, a quota or a file is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what caused it, and what was being handled when it came up."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__]
