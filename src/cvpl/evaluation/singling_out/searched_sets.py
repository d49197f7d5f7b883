"""The sets of columns that were searched, with their counts: in arrays, since a wide table has a million of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.singling_out.shared_codes import Uniques

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SetUniques:
    """A set of columns, by their place, and the records that are unique by it."""

    columns: tuple[int, ...]
    found: Uniques


@dataclass(frozen=True, eq=False)
class SizedSets:
    """All searched sets of one size, in ascending order.

    `columns` has a row for each set. `counts` has its unique originals, unique released records, and both.
    """

    columns: Ints
    counts: Ints

    def __len__(self) -> int:
        return len(self.columns)

    def at(self, place: int) -> SetUniques:
        """The set at a place of the order."""
        original, released, both = self.counts[place].tolist()
        return SetUniques(tuple(self.columns[place].tolist()), Uniques(original, released, both))


@dataclass(frozen=True, eq=False)
class SearchedSets:
    """All searched sets, the smallest first."""

    by_size: tuple[SizedSets, ...]

    def __len__(self) -> int:
        return sum(map(len, self.by_size))

    def __iter__(self) -> Iterator[SetUniques]:
        return (sets.at(place) for sets in self.by_size for place in range(len(sets)))

    def strongest(self, size: int, most: int) -> Sequence[SetUniques]:
        """At most so many sets of a size: those with the most records unique in both tables, then in the originals."""
        if size > len(self.by_size):
            return []
        sets = self.by_size[size - 1]
        order = np.lexsort((-sets.counts[:, 0], -sets.counts[:, 2]))
        return [sets.at(int(place)) for place in order[:most]]
