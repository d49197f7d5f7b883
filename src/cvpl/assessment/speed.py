"""How fast this machine is, measured in a few tens of milliseconds.

Two measurements tell apart what processors differ in: a matrix product in single precision, which uses wide registers,
and a sort, which stands for all plain work. Both are short and repeated, and the fastest counts: other programs only
slow them down.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cvpl.search.blas_threads import one_blas_thread

_REPEATS = 15
_SIDE = 256
_SORTED = 20_000
_PRODUCT_SECONDS = 1.0e-3
"""The time of the product on the reference core, ..."""
_SORT_SECONDS = 0.63e-3
"""... and that of the sort."""


@dataclass(frozen=True)
class Speed:
    """How many times as long as the reference core one core takes for matrix products, and for plain work."""

    product: float = 1.0
    plain: float = 1.0


REFERENCE = Speed()


def measure_speed() -> Speed:
    """Measure this machine."""
    rng = np.random.default_rng(0)
    matrix, numbers = rng.random((_SIDE, _SIDE), dtype=np.float32), rng.random(_SORTED)
    with one_blas_thread():
        product = _fastest(lambda: matrix @ matrix)
    return Speed(product / _PRODUCT_SECONDS, _fastest(lambda: np.sort(numbers)) / _SORT_SECONDS)


def _fastest(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)
