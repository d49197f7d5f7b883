"""The rounds of a trial, one after the other or several at a time, with the same result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextvars import copy_context
from typing import TypeVar

from cvpl.search.threads import threads

T = TypeVar("T")


def run_rounds(
    numbers: list[int], work: Callable[[int], T], jobs: int, stop: threading.Event
) -> Iterator[tuple[int, T]]:
    """Yield each round's number with its outcome, as rounds end; at most `jobs` run at the same time.

    Rounds run in threads: a mechanism is mostly a process of its own, and searching lets other threads run. If the
    caller leaves, `stop` is set, which ends commands and attacks that still run.
    """
    if jobs == 1 or len(numbers) < 2:
        for number in numbers:
            yield number, work(number)
        return
    with threads(min(jobs, len(numbers))) as pool:
        try:
            # Each thread has the record of written files that this one has.
            running: dict[Future[T], int] = {pool.submit(copy_context().run, work, at): at for at in numbers}
            while running:
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()
        except BaseException:
            stop.set()
            raise
