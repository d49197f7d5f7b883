"""One progress bar on the terminal for work that takes longer than a second, with the time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cvpl.cli.output import tell
from cvpl.wording import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

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
        return "" if left is None else f"{spoken(left)} left"


def spoken(seconds: float) -> str:
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
