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


def order_statistics(numbers: Numbers, ranks: Sequence[int], ask: Ask) -> list[float]:
    """The numbers at some ranks, counted from 0 in ascending order; none of the numbers is NaN."""
    found = dict.fromkeys(ranks, 0)  # the bits known so far, as one number, ...
    left = {rank: rank for rank in ranks}  # ... and the rank among the numbers that begin with them
    for known in range(0, _WORD, _BITS):
        counts: dict[int, NDArray[np.int64]] = {prefix: np.zeros(1 << _BITS, np.int64) for prefix in found.values()}
        for answer in ask(_NextBits(numbers, known, tuple(counts))):
            for prefix, (digits, many) in answer.items():
                counts[prefix][digits] += many
        ends = {prefix: np.cumsum(many) for prefix, many in counts.items()}
        for rank, prefix in list(found.items()):
            digit = int(np.searchsorted(ends[prefix], left[rank], side="right"))
            left[rank] -= int(ends[prefix][digit - 1]) if digit else 0
            found[rank] = (prefix << _BITS) | digit
    return [float(_unordered(np.array([found[rank]], dtype=np.uint64))[0]) for rank in ranks]


@dataclass(frozen=True)
class _NextBits:
    """Counts the next bits of the numbers that begin with some bits."""

    numbers: Numbers
    known: int
    prefixes: tuple[int, ...]

    def __call__(self, records: Table) -> Mapping[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        keys = _ordered(self.numbers(records))
        shift = np.uint64(_WORD - self.known - _BITS)
        found = {}
        for prefix in self.prefixes:
            mine = keys[keys >> np.uint64(_WORD - self.known) == prefix] if self.known else keys
            digits = (mine >> shift) & np.uint64((1 << _BITS) - 1)
            found[prefix] = np.unique(digits.astype(np.int64), return_counts=True)
        return found


def _ordered(numbers: Floats) -> NDArray[np.uint64]:
    """Words that sort as the numbers do; -0.0 counts as 0.0."""
    bits = (numbers + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _unordered(words: NDArray[np.uint64]) -> Floats:
    """The numbers of some words."""
    return np.where(words & _SIGN, words ^ _SIGN, ~words).view(np.float64)
