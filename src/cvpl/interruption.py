"""What interrupts a run: the signals, and the errors of their own that some libraries turn Ctrl-C into."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

_INTERRUPTED = "Query interrupted"
"""What DuckDB says in a RuntimeError if Ctrl-C ends a query."""


def ending_signals() -> list[signal.Signals]:
    """The signals that end a process and let it clean up; Windows has fewer."""
    return [item for item in signal.Signals if item.name in ("SIGINT", "SIGTERM", "SIGHUP")]


def is_interruption(error: BaseException) -> bool:
    """Whether an error is, or was caused by, an interruption: DuckDB turns it into an error of its own."""
    duckdb = sys.modules.get("duckdb")
    stopped: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
    if duckdb is not None:
        stopped = (KeyboardInterrupt, duckdb.InterruptException)
    return any(isinstance(one, stopped) or _is_stopped_query(one) for one in _chain(error))


def _is_stopped_query(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and str(error) == _INTERRUPTED


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
