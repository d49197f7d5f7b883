"""How fast this machine is, measured in some tens of milliseconds.

Two measurements tell apart what processors differ in: a matrix product in single precision, which uses wide registers,
and a stable sort, which stands for all plain work; other sorts use wide registers where there are any. Both are short
and repeated, and the fastest counts. How much of the time this process had a core to itself tells how busy the machine
is with other programs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cvpl.search.machine import one_blas_thread

_REPEATS = 25
_SIDE = 256
_SORTED = 20_000
_PRODUCT_SECONDS = 1.0e-3
"""The time of the product on the reference core, ..."""
_SORT_SECONDS = 1.25e-3
"""... and that of the sort."""
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Speed:
    """How many times as long as the reference core one core takes for matrix products, and for plain work.

    `share` is the part of a core that other programs leave to a thread.
    """

    product: float = 1.0
    plain: float = 1.0
    share: float = 1.0


REFERENCE = Speed()


def measure_speed() -> Speed:
    """Measure this machine."""
    rng = np.random.default_rng(0)
    matrix, numbers = rng.random((_SIDE, _SIDE), dtype=np.float32), rng.random(_SORTED)
    with one_blas_thread():
        began, used = time.perf_counter(), time.thread_time()
        product, sort = _fastest(lambda: matrix @ matrix), _fastest(lambda: np.sort(numbers, kind="stable"))
        share = (time.thread_time() - used) / max(time.perf_counter() - began, 1e-9)
    return Speed(product / _PRODUCT_SECONDS, sort / _SORT_SECONDS, min(1.0, max(_LEAST_SHARE, share)))


def _fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)
