"""Parallel execution of cells, with a journal."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any, Protocol

from cvpl.search.machine import usable_cores
from cvpl_paper.journal import Figures, Journal

Progress = Callable[[int, int], None]


class CellWork(Protocol):
    """A unit of work that depends only on its own settings."""

    @property
    def key(self) -> str:
        """The identifier within its run."""
        ...

    def run(self) -> dict[str, Any]:
        """Compute its figures; the same on every call, whatever the number of cores."""
        ...


def run_all(
    cells: Sequence[CellWork], journal: Journal, *, workers: int | None = None, progress: Progress | None = None
) -> Mapping[str, Figures]:
    """The figures of every cell, by key, in the order of `cells`; those in the journal are not run again.

    Cells are independent, so that neither their order nor the number of workers affects the figures.
    """
    tell = progress or (lambda done, total: None)
    left = [cell for cell in cells if cell.key not in journal.finished]
    tell(len(cells) - len(left), len(cells))
    count = max(1, min(workers or usable_cores(), len(left)))
    if count == 1:
        for number, cell in enumerate(left, start=1):
            journal.add(cell.key, *_timed(cell))
            tell(len(cells) - len(left) + number, len(cells))
    else:
        with _workers(count) as pool:
            with _no_interruption_of_new_processes():
                waiting = {pool.submit(_timed, cell): cell for cell in left}
            for number, future in enumerate(as_completed(waiting), start=1):
                journal.add(waiting[future].key, *future.result())
                tell(len(cells) - len(left) + number, len(cells))
    return {cell.key: journal.finished[cell.key] for cell in cells}


@contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block: after their work, at once if the block is left early, or if this one dies.

    Each waits at a pipe whose other end is only here, and ends itself when that is closed. The system closes it for a
    process that is killed.
    """
    # Fresh processes: a forked one would share the locks of threads that it does not have.
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_end_with, initargs=(theirs,))
    try:
        yield pool
    except BaseException:
        ours.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        ours.close()
        theirs.close()


@contextmanager
def _no_interruption_of_new_processes() -> Iterator[None]:
    """Have processes that are started inside the block never see Ctrl-C, not even while they load their modules.

    They inherit what this thread blocks. Here, a signal that is blocked comes when the block is left.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: Connection) -> None:
    """Prepare a worker: Ctrl-C is for the parent, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_wait_for_end, args=(parent,), daemon=True).start()


def _wait_for_end(parent: Connection) -> None:
    with suppress(OSError):
        parent.poll(None)
    os._exit(1)


def _timed(cell: CellWork) -> tuple[dict[str, Any], float]:
    start = time.perf_counter()
    return cell.run(), time.perf_counter() - start
