"""Equal vectors in a block, which are searched once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.search.blocks import ranges
from cvpl.search.tree import tree_layout

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MANY_COPIES = 0.2
"""Copies are searched for if more than this share of neighbouring vectors equal another of them."""


@dataclass(frozen=True, eq=False)
class Copies:
    """Equal vectors: `first` is one row of each; rows[starts[v] : starts[v + 1]] are all rows of the v-th."""

    first: Ints
    starts: Ints
    rows: Ints

    def of(self, vectors: Ints) -> tuple[Ints, Ints]:
        """The number of rows of each of some vectors, and these rows, one after the other."""
        amounts = self.starts[vectors + 1] - self.starts[vectors]
        return amounts, self.rows[ranges(self.starts[vectors], amounts)]


def find_copies(vectors: Floats) -> Copies:
    """Find rows with bitwise equal vectors."""
    bits = np.ascontiguousarray(vectors).view(np.uint64)
    hashed = tree_layout.hash_rows(bits)
    order = np.argsort(hashed, kind="stable")
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (hashed[order[1:]] != hashed[order[:-1]]) | (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    starts = np.append(np.flatnonzero(fresh), len(order)).astype(np.int64)
    return Copies(order[starts[:-1]].astype(np.int64), starts, order.astype(np.int64))
