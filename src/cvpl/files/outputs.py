"""Which files a run may write: no output is an input, and an existing file is replaced only if that is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from cvpl.errors import UsageError

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
