"""Compatible keys: the boxes that meet, and the sets of classes in which a query's candidates are.

Queries with the same classes form one block, even if their keys differ: their candidates are laid out once.

Find overlapping boxes: an interval join in several dimensions. Few boxes are compared one by one. For many, the
candidates' boxes go into trees (`box_tree`), so that the work grows with the pairs that overlap, not with the product
of both sides. Both ways find the same pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import LimitError
from cvpl.tables.keys import STEP, Keys, mix_bits

Ints = NDArray[np.int64]


MOST_MEMBERSHIPS = 200_000_000
"""The limit on pairs of a query kind and a class: each takes 16 bytes while they are sorted."""


@dataclass(frozen=True, eq=False)
class ClassSets:
    """Sets of candidate classes: set s holds classes[starts[s] : starts[s + 1]], sorted."""

    starts: Ints
    classes: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def totals(self, values: Ints) -> Ints:
        """For each set, the sum of `values` over its classes."""
        return np.diff(np.append(0, np.cumsum(values[self.classes]))[self.starts])

    @cached_property
    def span(self) -> int:
        """An upper bound on the class numbers (exclusive)."""
        return int(self.classes.max(initial=-1)) + 1

    @cached_property
    def keys(self) -> Ints:
        """Set * span + class of every membership, sorted."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts)) * self.span + self.classes

    def hold(self, sets: Ints, classes: Ints) -> NDArray[np.bool_]:
        """Whether sets[i] holds classes[i]."""
        if not len(self.classes):
            return np.zeros(np.broadcast_shapes(sets.shape, classes.shape), dtype=bool)
        wanted = sets * self.span + classes
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.asarray((self.keys[place] == wanted) & (classes < self.span))

    @classmethod
    def gathered(cls, pairs: Iterable[tuple[Ints, Ints]], kinds: int, classes: int) -> tuple[Ints, ClassSets]:
        """Collect the sets that occur, and the number of each kind's set, from pairs of kind and class in any order.

        A pair may occur more than once; kinds without a pair have an empty set.
        """
        parts: list[Ints] = []
        total = 0
        for kind, there in pairs:
            parts.append(_without_repeats(kind * classes + there))
            total += len(parts[-1])
            if total > MOST_MEMBERSHIPS:
                raise LimitError(
                    "blocking by compatible keys leaves too many pairs of an original key and a released key; "
                    "block by fewer suppressed columns, or add a key that the release keeps"
                )
        keys = _without_repeats(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)
        kind, member = keys // max(1, classes), keys % max(1, classes)
        starts = np.searchsorted(kind, np.arange(kinds + 1))
        marks = [_sums(_hash_values(member, salt), starts) for salt in (1, 2)]
        order = np.lexsort([*marks, np.diff(starts)])
        new = np.ones(kinds, dtype=bool)
        for mark in (*marks, np.diff(starts)):
            ordered = mark[order]
            new[1:] &= ordered[1:] == ordered[:-1]
        new[1:] = ~new[1:]
        number = np.empty(kinds, dtype=np.int64)
        number[order] = np.cumsum(new) - 1
        example = order[new] if kinds else order
        lengths = (starts[1:] - starts[:-1])[example]
        ends = np.append(0, np.cumsum(lengths))
        places = np.repeat(starts[:-1][example] - ends[:-1], lengths) + np.arange(int(lengths.sum()))
        return number, cls(ends, member[places])


def _without_repeats(keys: Ints) -> Ints:
    """The keys, sorted and without repeats."""
    if np.any(keys[1:] < keys[:-1]):
        keys = np.sort(keys)
    first = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    result: Ints = keys[first]
    return result


def _hash_values(values: Ints, salt: int) -> Keys:
    """A number of 64 bits for each value, with nothing of the order left; two of them tell sets apart for certain."""
    marks: Keys = mix_bits(values.astype(np.uint64) + np.uint64((salt - 1) * int(STEP) % (1 << 64)))
    return marks


def _sums(values: Keys, starts: Ints) -> Keys:
    """The sum over each range, modulo 2^64."""
    sums = np.append(np.uint64(0), np.cumsum(values, dtype=np.uint64))
    return sums[starts[1:]] - sums[starts[:-1]]


Floats = NDArray[np.float64]

TREE_PAIRS = 20_000_000
"""From this number of pairs of boxes on, the trees repay loading the compiler."""
_AT_ONCE = 1 << 20
"""Pairs compared at a time."""


def meeting_boxes(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Every pair of a box (low, high) and another box that overlap on all axes, ends included, once, by their rows.

    Yields some pairs at a time, in no particular order.
    """
    if len(low) * len(other_low) < TREE_PAIRS:
        return _one_by_one(low, high, other_low, other_high)
    from cvpl.search.compatible.box_tree import meeting_in_trees  # noqa: PLC0415 - loads the compiler

    return meeting_in_trees(low, high, other_low, other_high)


def _one_by_one(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Iterator[tuple[Ints, Ints]]:
    height = max(1, _AT_ONCE // max(1, len(other_low)))
    for start in range(0, len(low), height):
        some = slice(start, start + height)
        meets = np.ones((len(low[some]), len(other_low)), dtype=bool)
        for axis in range(low.shape[1]):
            meets &= low[some, axis, None] <= other_high[:, axis]
            meets &= other_low[:, axis] <= high[some, axis, None]
        query, other = np.nonzero(meets)
        yield query + start, other
