"""Ctrl-C, SIGTERM and SIGHUP: a run stops within a few seconds, whatever it is doing.

The first signal raises KeyboardInterrupt in the main thread, so that files are cleaned up on the way out. Python does
that only between two of its own steps: not while compiled code runs, nor while threads are waited for. So a second
thread waits for signals too. If the run has not ended some seconds after one, this thread removes the temporary files,
says what is to be said, and ends the process with exit code 5. Outputs are whole or not there at any moment, so nothing
is torn.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from cvpl.errors import ExitCode
from cvpl.interruption import ending_signals

_GRACE = 2.5
"""Seconds that a run has to end by itself after a signal."""
_SHOW_CURSOR = "\x1b[?25h"
"""A progress bar hides the cursor of the terminal."""


class Stopping:
    """The signals that end a run, and what is said when they do."""

    def __init__(self) -> None:
        self.requested = False
        """Whether a signal has asked the run to end."""
        self._tell: Callable[[], object] = lambda: sys.stderr.write("Interrupted; nothing was done.\n")
        self._listening = False
        self._said = threading.Lock()

    def listen(self) -> None:
        """Have signals that end a process end the run; to be called in the main thread, once or more.

        A signal that was ignored from the start, as SIGHUP is under `nohup`, stays ignored.
        """
        if self._listening:
            return
        self._listening = True
        read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(read,), daemon=True, name="stopping").start()
        for number in ending_signals():
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self._interrupt)

    def says(self, tell: Callable[[], object]) -> None:
        """Have a stopped run say this; a new run begins with it."""
        self._tell, self._said = tell, threading.Lock()

    def say(self) -> None:
        """Say once that the run was stopped, whoever comes first to it."""
        if self._said.acquire(blocking=False):
            self._tell()

    def over(self) -> None:
        """The run has ended: later signals change nothing any more."""
        if self._listening:
            for number in ending_signals():
                signal.signal(number, signal.SIG_IGN)

    def _interrupt(self, *_: object) -> None:
        # Some senders, such as `timeout`, send a signal twice: the second must not cut the cleaning short.
        if not self.requested:
            self.requested = True
            raise KeyboardInterrupt

    def _watch(self, signals: int) -> None:
        """Wait for a signal, then for the run to end by itself, and end it if it does not."""
        while os.read(signals, 1)[0] not in ending_signals():
            pass
        time.sleep(_GRACE)
        from cvpl.files.writing import remove_own  # noqa: PLC0415 - only if needed

        with suppress(Exception):
            remove_own()
        with suppress(Exception):
            if sys.stderr.isatty():
                sys.stderr.write(_SHOW_CURSOR)
            self.say()
            sys.stderr.flush()
        os._exit(ExitCode.INTERRUPTED)


STOPPING = Stopping()
"""The signals of this process."""
