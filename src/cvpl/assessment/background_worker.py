"""Work beside the main thread, so that a second core is busy while the first one evaluates."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")


class BackgroundWorker:
    """Runs pieces of work one after the other in a second thread; with a single worker, when their result is needed."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(1) if workers > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def start(self, work: Callable[[], T]) -> Callable[[], T]:
        """Start a piece of work; call what is returned for its result."""
        return work if self._pool is None else self._pool.submit(work).result
