"""Threads that share work and end with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads(count: int, initializer: Callable[[], object] | None = None) -> Iterator[ThreadPoolExecutor]:
    """A pool of so many threads for the block.

    If the block is left early, as by an interruption, it waits for the tasks that run, and drops those that have not
    begun.
    """
    pool = ThreadPoolExecutor(count, initializer=initializer)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
