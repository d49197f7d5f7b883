"""Output: the page on standard output, messages on standard error, files written atomically."""

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
    """Ignore a closed standard output: a reader such as `head` does not change the outcome."""
    try:
        yield
    except BrokenPipeError:
        # Discard what is still buffered, so that Python does not complain about it at exit.
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)


def page() -> Console:
    """A console on standard output."""
    from rich.console import Console  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    class Page(Console):
        """A console that raises where Rich would exit."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    return Page(highlight=False)


def tell(text: str) -> None:
    """Print a message on standard error; a closed standard error does not change the outcome."""
    with suppress(OSError):
        typer.echo(printable(text), err=True)


def say(text: str) -> None:
    """Print lines on standard output, with every sign of a name or a path visible."""
    typer.echo("\n".join(map(printable, text.split("\n"))))


def check_folder(folder: Path, option: str) -> None:
    """Refuse a folder that cannot be written, before any work is done; it and its parents may not exist yet."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise UsageError(f"{option} {folder}: '{place}' is a file where a folder is needed. Name another folder.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UsageError(f"{option} {folder}: '{place}' is not writable. Name another folder.")


def check_file(file: Path, option: str) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if file.is_dir():
        raise UsageError(f"{option} {file}: this is a folder where a file is needed. Name a file in it.")
    if not file.parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder '{file.parent}'. Create it, or name another file.")
    if not os.access(file.parent, os.W_OK | os.X_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise UsageError(f"{option} {file}: this file, or its folder, is not writable. Name another file.")
