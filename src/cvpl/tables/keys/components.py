"""Things that are bound to each other by pairs: who belongs together, over any number of steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def components(one: Ints, other: Ints, count: int) -> Ints:
    """For each of `count` things the number of its component, where one[i] is bound to other[i].

    Components are numbered from 0 in the order of their first members, so numbers depend on nothing but who belongs
    together.
    """
    from scipy.sparse import coo_array  # noqa: PLC0415 - only where something is bound
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    bound = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(count, count))
    found = connected_components(bound, directed=False)[1]
    # SciPy does not promise an order.
    first, inverse = np.unique(found, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(first))[inverse.reshape(-1)].astype(np.int64)
