"""Where output goes: the page on standard output, messages on standard error, files that are whole or not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from cvpl.errors import UsageError
from cvpl.wording import printable

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """A reader that closes standard output early, such as `head`, does not change the outcome."""
    try:
        yield
    except BrokenPipeError:
        # What is still buffered goes nowhere, so that Python does not complain about it at the end.
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def page() -> Console:
    """A console on standard output."""
    from rich.console import Console  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    class Page(Console):
        """Raises where Rich would end the program."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    return Page(highlight=False)


def tell(text: str) -> None:
    """A message on standard error; nobody there to read it does not change the outcome."""
    with suppress(OSError):
        typer.echo(printable(text), err=True)


def check_folder(folder: Path, option: str) -> None:
    """Refuse a folder that cannot be written, before any work is done; it may be missing, and so may its parents."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise UsageError(f"{option} {folder}: '{place}' is a file where a folder is needed. Name another folder.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UsageError(f"{option} {folder}: nothing may be written in '{place}'. Name another folder.")


def check_file(file: Path, option: str) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if file.is_dir():
        raise UsageError(f"{option} {file}: this is a folder where a file is needed. Name a file in it.")
    if not file.parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder '{file.parent}'. Make it, or name another file.")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UsageError(f"{option} {file}: this file may not be written. Name another file.")
