"""Unexpected errors that are no fault of this program: a full or failing disk."""

from __future__ import annotations

import errno
import sys

from cvpl.errors import CvplError

_FULL = ("no space left", "disk quota exceeded", "disk full")


def disk_failure(error: BaseException) -> CvplError | None:
    """The failure of a disk that DuckDB met, as an error with its place; None if the error is another."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(error, duckdb.IOException):
        return None
    from cvpl.tables.source.file_problems import disk_full, disk_trouble  # noqa: PLC0415 - only if needed

    text = str(error).lower()
    return disk_full() if any(words in text for words in _FULL) else disk_trouble("DuckDB")


def is_full(error: OSError) -> bool:
    """Whether the system refused because a disk, a quota or a file is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
