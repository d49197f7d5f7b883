"""An exact test of two tables: if their rows are independent people of one population, any exchange is as likely.

    p = (1 + number of exchanges whose statistic is at least the observed one) / (1 + number of exchanges)

A finding needs a statistic that no exchange reaches, so the test stops at the first that does: on independent rows
after about log(number of exchanges) of them. Whatever is computed from the rows without regard to their table, such as
a choice among statistics, leaves the test exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels01 = NDArray[np.int16]

_FIRST, _LARGEST = 16, 256


def never_reached(observed: Floats, exchanged: Callable[[int], Floats], replicates: int) -> NDArray[np.bool_]:
    """Which of the observed statistics none of `replicates` exchanges reaches: p <= 1 / (replicates + 1) for each.

    `exchanged` returns the statistics of so many exchanges, one column each.
    """
    never = np.ones(len(observed), dtype=np.bool_)
    done, batch = 0, _FIRST
    while done < replicates and never.any():
        size = min(batch, replicates - done)
        never &= ~(exchanged(size) >= observed[:, None]).any(axis=1)
        done, batch = done + size, min(4 * batch, _LARGEST)
    return never


def permuted_labels(rows: int, first: int, size: int, rng: np.random.Generator) -> Labels01:
    """Random labels of all rows: 1 for the first table, which has `first` of them; one column an exchange."""
    labels = np.zeros((size, rows), dtype=np.int16)
    labels[:, :first] = 1
    return np.ascontiguousarray(rng.permuted(labels, axis=1).T)
