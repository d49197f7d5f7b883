"""Agreement patterns: the columns on which a pair agrees, and how often each pattern occurs.

A pattern states for every column whether the pair agrees, differs, or lacks a value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns that occur, one per row, with their number of pairs: which columns agree, and which are known."""

    agree: NDArray[np.bool_]
    known: NDArray[np.bool_]
    counts: Ints

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return int(self.counts.sum())

    def only(self, columns: NDArray[np.bool_]) -> Patterns:
        """The patterns of some of the columns; patterns that are equal on them are merged."""
        width = int(columns.sum())
        both = np.hstack([self.agree[:, columns], self.known[:, columns]])
        distinct, place = np.unique(both, axis=0, return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, place.ravel(), self.counts)
        return Patterns(distinct[:, :width], distinct[:, width:], counts)
