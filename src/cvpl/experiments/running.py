"""Parallel execution of cells, with a journal."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, Protocol

from cvpl.experiments.journal import Figures, Journal
from cvpl.search.machine import usable_cores

Progress = Callable[[int, int], None]


class Work(Protocol):
    """A unit of work that depends only on its own settings."""

    @property
    def key(self) -> str:
        """The identifier within its run."""
        ...

    def run(self) -> dict[str, Any]:
        """Compute its figures; the same on every call, whatever the number of cores."""
        ...


def run_all(
    cells: Sequence[Work], journal: Journal, *, workers: int | None = None, progress: Progress | None = None
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
        # Fresh processes: a forked one would share the locks of threads that it does not have.
        with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
            waiting = {pool.submit(_timed, cell): cell for cell in left}
            try:
                for number, future in enumerate(as_completed(waiting), start=1):
                    journal.add(waiting[future].key, *future.result())
                    tell(len(cells) - len(left) + number, len(cells))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return {cell.key: journal.finished[cell.key] for cell in cells}


def _timed(cell: Work) -> tuple[dict[str, Any], float]:
    start = time.perf_counter()
    return cell.run(), time.perf_counter() - start
