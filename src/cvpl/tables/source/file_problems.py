"""Problems of a file that several formats share."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from cvpl.errors import InputError, LimitError, Problem


def checked_names(columns: Sequence[str], name: str, what: str) -> Sequence[str]:
    """Return the column names, or raise InputError with a problem for every duplicate name.

    Messages give positions, not names: if a file lacks a header, the "names" are the first record.
    """
    places: dict[str, list[str]] = {}
    for number, column in enumerate(columns, start=1):
        places.setdefault(column, []).append(str(number))
    if odd := [str(number) for number, column in enumerate(columns, start=1) if not is_unicode(column)]:
        what = f"the name of column {odd[0]} is not valid Unicode"
        raise InputError([Problem(name, what, "Give it a name in UTF-8.")])
    cure = "Give each its own name, and add a header if there is none."
    problems = [
        Problem(name, f"{what} {', '.join(numbers[:-1])} and {numbers[-1]} have the same name", cure)
        for numbers in places.values()
        if len(numbers) > 1
    ]
    if problems:
        raise InputError(problems)
    return columns


def is_unicode(text: str) -> bool:
    """Whether a text can be written in UTF-8: names of files may hold bytes that are not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def damaged_parquet(name: str) -> Problem:
    """A file that is called Parquet and cannot be read so."""
    cure = "Write it again, or check that the ending of its name is right."
    return Problem(name, "the file is damaged, or cannot be read as Parquet", cure)


def disk_full() -> LimitError:
    """The folder for temporary files has no space left for what does not fit the memory."""
    return LimitError(
        f"{_temporary()}: there is no space left for what does not fit the memory. Make space there, name another "
        "folder in the environment variable TMPDIR, or allow more memory with --memory or `search.memory`."
    )


def _temporary() -> str:
    try:
        return f"the folder for temporary files, {tempfile.gettempdir()}"
    except OSError:
        return "the folder for temporary files"


def disk_trouble(what: str) -> LimitError:
    """The system failed to read a file that it had opened."""
    return LimitError(f"{what}: the system could not read from the disk. Check it, or copy the file to another one.")
