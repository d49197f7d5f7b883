"""The one hash of rows: 64 bits from any number of 64-bit words, equal for equal rows.

Two different rows share a hash by a chance of about 1 in 10^19. NumPy computes it column by column; compiled code
(`search.tree.tree_layout`) compiles `mixed` and goes row by row. Texts that are still in DuckDB have DuckDB's own hash
(`tables.shared_rows`): they would have to leave the database first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

STEP = np.uint64(0x9E3779B97F4A7C15)
"""The increment of SplitMix64, where every hash begins."""


def mixed(bits: Any) -> Any:
    """The finalizer of SplitMix64, a bijection that spreads every bit over all; of an array, or of a compiled word."""
    bits = bits + STEP
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def hash_columns(columns: Iterable[Keys], rows: int, number: int = 1) -> Keys:
    """A hash for each of so many rows, from their words column by column; another `number` gives another hash."""
    state = np.full(rows, number * int(STEP) % (1 << 64), dtype=np.uint64)
    for column in columns:
        state = mixed(state ^ column)
    return state
