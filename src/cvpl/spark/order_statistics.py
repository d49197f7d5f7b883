"""Order statistics of numbers in a cluster, exactly, from counts alone.

The bits of a double, with the sign folded in, sort as the doubles do. So the number of a rank is found 16 bits at a
time: each pass counts how many numbers that begin with the bits found so far go on with each of the next 65,536.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Numbers = Callable[[Table], Floats]
"""The numbers of some records."""
Ask = Callable[[Callable[[Table], Any]], Sequence[Any]]
"""Asks all parts of the tables a question."""

_SIGN = np.uint64(1 << 63)
_BITS, _WORD = 16, 64


def order_statistics(wanted: Sequence[tuple[Numbers, Sequence[int]]], ask: Ask) -> list[list[float]]:
    """For several columns of numbers, the numbers at some ranks, counted from 0 in ascending order. None is NaN.

    All columns are counted in the same four passes.
    """
    # The bits known so far of each number, as one number, and its rank among the numbers that begin with them.
    found = {(at, rank): 0 for at, (_, ranks) in enumerate(wanted) for rank in ranks}
    left = {place: place[1] for place in found}
    for known in range(0, _WORD, _BITS):
        prefixes = tuple(tuple({found[place] for place in found if place[0] == at}) for at in range(len(wanted)))
        counts = {(at, prefix): np.zeros(1 << _BITS, np.int64) for at, some in enumerate(prefixes) for prefix in some}
        for answer in ask(_NextBits(tuple(numbers for numbers, _ in wanted), known, prefixes)):
            for place, (digits, many) in answer.items():
                counts[place][digits] += many
        ends = {place: np.cumsum(many) for place, many in counts.items()}
        for (at, rank), prefix in list(found.items()):
            below = ends[at, prefix]
            digit = int(np.searchsorted(below, left[at, rank], side="right"))
            left[at, rank] -= int(below[digit - 1]) if digit else 0
            found[at, rank] = (prefix << _BITS) | digit
    words = {place: np.array([bits], dtype=np.uint64) for place, bits in found.items()}
    return [[float(_unordered(words[at, rank])[0]) for rank in ranks] for at, (_, ranks) in enumerate(wanted)]


@dataclass(frozen=True)
class _NextBits:
    """Counts the next bits of the numbers that begin with some bits, for several columns of numbers."""

    numbers: tuple[Numbers, ...]
    known: int
    prefixes: tuple[tuple[int, ...], ...]

    def __call__(self, records: Table) -> Mapping[tuple[int, int], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        shift = np.uint64(_WORD - self.known - _BITS)
        found = {}
        for at, (numbers, prefixes) in enumerate(zip(self.numbers, self.prefixes, strict=True)):
            keys = _ordered(numbers(records)) if prefixes else np.zeros(0, np.uint64)
            for prefix in prefixes:
                mine = keys[keys >> np.uint64(_WORD - self.known) == prefix] if self.known else keys
                digits = (mine >> shift) & np.uint64((1 << _BITS) - 1)
                found[at, prefix] = np.unique(digits.astype(np.int64), return_counts=True)
        return found


def _ordered(numbers: Floats) -> NDArray[np.uint64]:
    """Words that sort as the numbers do; -0.0 counts as 0.0."""
    bits = (numbers + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _unordered(words: NDArray[np.uint64]) -> Floats:
    """The numbers of some words."""
    return np.where(words & _SIGN, words ^ _SIGN, ~words).view(np.float64)
