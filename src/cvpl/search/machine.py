"""What a search may use of the machine: memory, cores, and threads that end with their work.

A container, a batch job or a system service often may use less than the machine has. Linux keeps such limits in
control groups: in files of one tree (version 2), or of a tree for each resource (version 1). A group is also bound by
the groups around it, so all of them are read. Inside a container the path of a group may lead outside of what can be
seen there: groups that are not there are passed over, and the outermost that can be seen is the container's own.

Matrix products on one core each: results then never depend on the number of BLAS threads. A BLAS with threads of its
own, such as that of NumPy's wheels, has one number of threads for the whole process. Two audits in two Python threads
that each set it and put it back would disturb each other: the first to end would lift the limit of the other, and the
last would put back the 1 that it found. So the first holder sets the limit, and the last to leave puts back what was
there before the first. A BLAS on OpenMP and MKL have a number for each Python thread: there every thread limits itself.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from threadpoolctl import LibController, OpenBLASController, ThreadpoolController

ROOT = Path("/")
_OWN_GROUPS = "proc/self/cgroup"
_GROUPS = "sys/fs/cgroup"
_UNLIMITED = "max"


def usable_memory(root: Path = ROOT) -> int | None:
    """Bytes that this process may use: those of the machine, or of the tightest limit; None where nothing says.

    `root` is the folder under which `proc` and `sys` are looked for.
    """
    limits = [limit for limit in _memory_limits(root) if limit > 0]
    machine = _physical_memory()
    return min(limits if machine is None else [machine, *limits], default=None)


@cache
def usable_cores(root: Path = ROOT) -> int:
    """Cores that this process may use, at least one; a limit on a part of a core counts as the whole of it."""
    try:
        # Missing on macOS and Windows.
        allowed = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        allowed = os.cpu_count() or 1
    return max(1, min(allowed, *(ceil(limit) for limit in _core_limits(root)), os.cpu_count() or allowed))


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _memory_limits(root: Path) -> Iterator[int]:
    for folder in _groups(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            if (limit := _numbers(folder / name)) is not None:
                yield limit[0]


def _core_limits(root: Path) -> Iterator[float]:
    """Microseconds of work allowed in a period, over the microseconds of the period."""
    for folder in _groups(root, "cpu"):
        both = _numbers(folder / "cpu.max")
        if both is None:
            quota, period = _numbers(folder / "cpu.cfs_quota_us"), _numbers(folder / "cpu.cfs_period_us")
            both = None if quota is None or period is None else [*quota, *period]
        # Version 1 says -1 where there is no limit.
        if both is not None and len(both) == 2 and min(both) > 0:
            yield both[0] / both[1]


def _groups(root: Path, resource: str) -> Iterator[Path]:
    """The folders of this process's groups for a resource in both versions, each with those around it."""
    try:
        lines = (root / _OWN_GROUPS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, _, rest = line.partition(":")
        resources, _, path = rest.partition(":")
        if resources and resource not in resources.split(","):
            continue
        top = root / _GROUPS / resources
        if resources and not top.is_dir():
            # Two resources of one tree, such as "cpu,cpuacct", may have a folder for each.
            top = root / _GROUPS / resource
        inner = top / path.strip().lstrip("/")
        yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(top))


def _numbers(file: Path) -> list[int] | None:
    """The whole numbers in a file; None where it is not there, sets no limit, or cannot be understood."""
    try:
        words = file.read_text(encoding="utf-8").split()
        return [int(word) for word in words] if words and _UNLIMITED not in words else None
    except (OSError, ValueError):
        return None


IN_PROCESS = "in_process"
"""The name of the engine that searches in this process."""
TILE_BYTES = 4 << 20
_GROUP_SHARE = 4
GROUP_BYTES = 1 << 30
_ALIVE = 6
"""The approximate number of tile-sized arrays that a task holds."""


def usual_memory() -> int:
    """Three quarters of what this process may use; 4 GiB where nothing says how much that is."""
    usable = usable_memory()
    return 4 << 30 if usable is None else usable * 3 // 4


@dataclass(frozen=True)
class Budget:
    """Bytes for the whole audit, threads (by default one for each core that may be used), and the engine that searches.

    What is found never depends on any of them; see `cvpl.search.engine`.
    """

    memory: int = field(default_factory=usual_memory)
    threads: int | None = None
    engine: str = IN_PROCESS

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self.threads or usable_cores()

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile of scores."""
        return max(1 << 14, min(TILE_BYTES, self.memory // (_GROUP_SHARE * _ALIVE * self.workers)))

    @property
    def group_bytes(self) -> int:
        """Bytes for the vectors and trees of the blocks searched at a time."""
        return max(1 << 16, min(GROUP_BYTES, self.memory // _GROUP_SHARE))


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
    return [library for library in _blas_libraries(hash(tuple(sys.modules))) if _is_of_process(library) == of_process]


@lru_cache(maxsize=1)
def _blas_libraries(modules: int) -> list[LibController]:
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
