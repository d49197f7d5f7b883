"""A progress bar on the terminal for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cvpl.cli.output import tell
from cvpl.wording import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

DELAY = 1.0
"""Seconds before the bar is shown."""


class Progress:
    """Collects progress reports; shows them on standard error after one second, if that is a terminal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phase = "starting"
        self._share: float | None = None
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
        """Report the start of a phase, or the share of it that is done."""
        with self._lock:
            self._phase, self._share = phase, share
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
            columns = (text, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.add_task(self._phase, total=None)
            self._bar.start()
            self._update(self._bar)

    def _update(self, bar: Bar) -> None:
        total = None if self._share is None else 1.0
        bar.update(bar.task_ids[0], description=self._phase, total=total, completed=self._share or 0.0)
