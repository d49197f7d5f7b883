"""Matrix products on one core each: results then never depend on the number of BLAS threads.

A BLAS with threads of its own, such as that of NumPy's wheels, has one number of threads for the whole process. Two
audits in two Python threads that each set it and put it back would disturb each other: the first to end would lift the
limit of the other, and the last would put back the 1 that it found. So the first holder sets the limit, and the last to
leave puts back what was there before the first. A BLAS on OpenMP and MKL have a number for each Python thread: there
every thread limits itself.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import LibController, OpenBLASController, ThreadpoolController


class _ProcessLimit:
    """One thread for the BLAS libraries that all Python threads share, and what they had before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._before: dict[str, tuple[Any, int]] = {}

    def take(self) -> None:
        """Limit those of the loaded libraries that are not limited yet: some are loaded only during an audit."""
        with self._lock:
            self._holders += 1
            for library in _blas(of_process=True):
                if library.filepath not in self._before:
                    self._before[library.filepath] = library, library.num_threads
                    _set_for_process(library, 1)

    def give_back(self) -> None:
        """Leave the limit to the other holders, or lift it if there are none."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                for library, threads in self._before.values():
                    _set_for_process(library, threads)
                self._before.clear()


_LIMIT = _ProcessLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread for this Python thread and, where they share it, for all; at the end, what was before."""
    own = [(library, library.num_threads) for library in _blas(of_process=False)]
    limit_own_blas()
    _LIMIT.take()
    try:
        yield
    finally:
        _LIMIT.give_back()
        for library, threads in own:
            library.set_num_threads(threads)


def limit_own_blas() -> None:
    """One BLAS thread for this Python thread, where it has a number of its own: for workers that end with the work."""
    for library in _blas(of_process=False):
        library.set_num_threads(1)


def _blas(*, of_process: bool) -> list[LibController]:
    """The loaded BLAS libraries whose number of threads is the whole process's, or those where it is a thread's."""
    return [library for library in _loaded(hash(tuple(sys.modules))) if _is_of_process(library) == of_process]


@lru_cache(maxsize=1)
def _loaded(modules: int) -> list[LibController]:
    """The loaded BLAS libraries; they are looked for again when other modules have been imported."""
    found: list[LibController] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


def _is_of_process(library: LibController) -> bool:
    return isinstance(library, OpenBLASController) and library.threading_layer != "openmp"


def _set_for_process(library: LibController, threads: int) -> None:
    """Set the number from whichever thread: threadpoolctl lets only the thread that set it last, and ignores others."""
    library.clear_controlling_thread(force=True)
    library.set_num_threads(threads)
    library.clear_controlling_thread(force=True)
