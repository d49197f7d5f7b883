"""What all commands share: option values, output that is whole or not there, the summary, and the progress bar."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

import typer

from cvpl.errors import UsageError
from cvpl.wording import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from cvpl.result import AuditResult
    from cvpl.workflows.proposal import Proposal


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


def show_assumptions(guessed: Proposal, *, details: bool) -> int:
    """Show what is assumed without a configuration, with the reasons if `details`; return the number of lines."""
    from cvpl.reports.sections.section import TERMINAL  # noqa: PLC0415
    from cvpl.reports.sections.top import assumptions_section, brief_assumptions  # noqa: PLC0415
    from cvpl.reports.terminal import show_sections  # noqa: PLC0415

    console, found = page(), guessed.assumptions
    with reader_may_leave(), console.capture() as shown:
        show_sections([assumptions_section(found, TERMINAL) if details else brief_assumptions(found)], console)
    text = shown.get().removeprefix("\n")
    with reader_may_leave():
        typer.echo(text, nl=False)
    return text.count("\n")


def show_result(result: AuditResult, lines: list[str], *, details: bool, used: int) -> None:
    """Print the summary and what else is told in the lines that are left of a screen, or everything."""
    from cvpl.reports.terminal import LINES, show  # noqa: PLC0415 - only if needed

    console = page()
    after = sum(max(1, -(-len(line) // console.width)) for text in lines for line in text.split("\n"))
    console.print()
    show(result, console, details=details, most=LINES - used - after - 1)
    for text in lines:
        say(text)


DELAY = 1.0
"""Seconds before the bar is shown."""


class TimeLeft:
    """The time left of a work, from the share that was done at a time; it counts down until the next report."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._ends = clock()
        self._known = False

    def report(self, share: float | None) -> None:
        """Report the share that is done."""
        now = self._clock()
        self._known = bool(share)
        if share:
            self._ends = now + (now - self._began) * (1 - share) / share

    def seconds(self) -> float | None:
        """The seconds left; None as long as they are not known."""
        return max(0.0, self._ends - self._clock()) if self._known else None

    def __str__(self) -> str:
        """The time left as people say it."""
        left = self.seconds()
        return "" if left is None else f"{time_left_in_words(left)} left"


def time_left_in_words(seconds: float) -> str:
    """A time left, as exactly as it can be known: `about 40 s`, `about 3 min`, `about 2 h 10 min`."""
    if seconds < 5:
        return "a few seconds"
    if seconds < 55:
        return f"about {5 * round(seconds / 5)} s"
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"about {minutes} min"
    tens = 10 * round(minutes / 10)
    return f"about {tens // 60} h" + (f" {tens % 60} min" if tens % 60 else "")


class Progress:
    """Collects progress reports; shows them on standard error after one second, if that is a terminal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phase = "starting"
        self._share: float | None = None
        self._left = TimeLeft()
        self._over = False
        self._bar: Bar | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._timer = threading.Timer(DELAY, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            # The timer may have just fired and be waiting for the lock: it must not start a bar any more.
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def __call__(self, phase: str, share: float | None) -> None:
        """Report what is being done, and the share of the whole work that is done."""
        with self._lock:
            self._phase, self._share = phase, share
            self._left.report(share)
            if self._bar is not None:
                self._update(self._bar)

    def note(self, text: str) -> None:
        """Print permanent lines on standard error, above the bar if there is one."""
        with self._lock:
            for line in text.splitlines():
                if self._bar is None:
                    tell(line)
                else:
                    from rich.text import Text  # noqa: PLC0415 - loaded with the bar

                    self._bar.console.print(Text(printable(line)))

    def _show(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - only for long work
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
        from rich.progress import Progress as Bar  # noqa: PLC0415

        with self._lock:
            if self._over:
                return
            # A phase may contain the name of an attacker: it is shown verbatim.
            text = TextColumn("{task.description}", markup=False)
            left = TextColumn("{task.fields[left]}", markup=False)
            columns = (text, BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), left)
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            # The bar is drawn again several times a second, and each time it asks for the text of the time left.
            self._bar.add_task(self._phase, total=None, left=self._left)
            self._bar.start()
            self._update(self._bar)

    def _update(self, bar: Bar) -> None:
        total = None if self._share is None else 1.0
        bar.update(bar.task_ids[0], description=self._phase, total=total, completed=self._share or 0.0)


READ_FORMATS = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet, .xlsx, FILE.duckdb#TABLE"
"""The tables that every command reads, for help texts."""
SPLIT_FORMATS = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet"
"""The tables that can be written back as they are."""
OVERWRITE = typer.Option(False, "--overwrite", help="Replace existing files.")
"""The option of every command that writes."""
DETAILS = typer.Option(
    False, "--details", help="Print everything that the page shows, not only a summary of at most 40 lines."
)
"""The option of the commands that print the summary of an audit."""
LIMITS = typer.Option(
    None,
    "--limits",
    metavar="LIMITS",
    help="Larger limits for a table, such as rows=2000000000,bytes=200GB; bytes, rows, columns, labels, expansion.",
)
"""The option of every command that reads tables without a configuration."""
ORIGINAL_HELP = f"The table before protection ({READ_FORMATS})."


def finite_rate(value: float | None) -> float | None:
    """Check a rate, if given; Typer itself would accept NaN."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("a number from 0 to 1 is needed, such as 0.05.")
    return value


def given_limits(text: str | None) -> dict[str, int | str] | None:
    """The limits of `--limits`; None if it is not given."""
    if text is None:
        return None
    from cvpl.config.loading import parse_limits  # noqa: PLC0415 - only if needed

    return parse_limits(text)


def memory_bytes(size: str | None) -> int | None:
    """The bytes of `--memory`; None if it is not given."""
    if size is None:
        return None
    from cvpl.config.written import parse_size  # noqa: PLC0415 - only if needed

    try:
        return parse_size(size)
    except ValueError as error:
        raise UsageError(f"--memory {size}: {error}.") from None


DATE = typer.Option(
    None,
    "--date",
    metavar="YYYY-MM-DD",
    help="The date on the report's first page; by default today, or that of SOURCE_DATE_EPOCH. result.json holds none.",
)
"""The option of the commands that write the report of an audit."""
VARIABLE = "SOURCE_DATE_EPOCH"
"""Seconds since 1970 in UTC: the variable by which builds that are reproducible fix their date."""


def report_date(given: str | None) -> date:
    """The day of `--date`, else that of SOURCE_DATE_EPOCH, else today."""
    if given is not None:
        try:
            return date.fromisoformat(given)
        except ValueError:
            raise UsageError(f"--date {printable(given)}: not a day. Write it as 2026-05-31.") from None
    seconds = os.environ.get(VARIABLE)
    if not seconds:
        return datetime.now().astimezone().date()
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{VARIABLE}: seconds since 1970 are needed. Unset it, or pass --date.") from None
