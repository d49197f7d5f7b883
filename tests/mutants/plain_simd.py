"""The vectors of `cvpl.search.tree.simd` as numpy arrays, so that the loops that use them also run uncompiled.

`tests/mutants` loads this in place of the module: Python runs a changed loop at once, where Numba compiles it first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LANES = 16


def natural(index: Any) -> int:
    return int(index)


def _words(array: Any) -> Any:
    return array.reshape(-1).view(np.int32)


def _halves(vector: Any) -> Any:
    return np.ascontiguousarray(vector, dtype=np.int32).view(np.int16).astype(np.int64).reshape(LANES, 2)


def _lanes(numbers: Any) -> Any:
    return np.asarray(numbers, dtype=np.int64).astype(np.int32)


def load(array: Any, index: Any) -> Any:
    return _words(array)[index : index + LANES].copy()


def store(array: Any, index: Any, vector: Any) -> None:
    _words(array)[index : index + LANES] = vector


def everywhere(array: Any, index: Any) -> Any:
    return np.full(LANES, _words(array)[index], dtype=np.int32)


def zero() -> Any:
    return np.zeros(LANES, dtype=np.int32)


def add_products(total: Any, one: Any, other: Any) -> Any:
    return _lanes(total + (_halves(one) * _halves(other)).sum(axis=1))


def add_gaps(total: Any, pair: Any, low: Any, high: Any) -> Any:
    pair, low, high = (_halves(side) & 0xFFFF for side in (pair, low, high))
    gap = np.maximum(low - pair, 0) | np.maximum(pair - high, 0)
    return _lanes(total + (gap * gap).sum(axis=1))


def _bits(which: Any) -> int:
    return sum(1 << lane for lane in range(LANES) if which[lane])


def at_most(vector: Any, limit: Any) -> int:
    return _bits(vector <= limit)


def at_least(vector: Any, limit: Any) -> int:
    return _bits(vector >= limit)


def highest(vector: Any) -> int:
    return int(vector.max())


def below(vector: Any, limit: Any, otherwise: Any) -> Any:
    return _lanes(np.where(vector < limit, vector, otherwise))


def add_agreement(total: Any, codes: Any, low: Any, high: Any, agree: Any, differ: Any) -> Any:
    added = np.where((codes >= low) & (codes <= high), agree, differ)
    return _lanes(total + np.where(codes < 0, 0, added))


def add_overlap(total: Any, least: Any, most: Any, low: Any, high: Any, agree: Any, differ: Any) -> Any:
    return _lanes(total + np.where((most >= low) & (least <= high), agree, differ))


def add_summary(total: Any, summaries: Any, index: Any, low: Any, high: Any, bits: Any, most: Any, least: Any) -> Any:
    first, last, mask, gain, rest = _words(summaries)[index : index + 5 * LANES].reshape(5, LANES).astype(np.int64)
    meets = (mask & bits != 0) & (last >= low) & (first <= high)
    rest = np.maximum(rest, least)
    return _lanes(total + np.where(meets, np.maximum(np.minimum(gain, most), rest), rest))


def append(array: Any, index: Any, first: Any, bits: Any) -> int:
    lanes = [lane for lane in range(LANES) if bits >> lane & 1]
    _words(array)[index : index + len(lanes)] = [first + lane for lane in lanes]
    return len(lanes)


def fetch(array: Any, index: Any) -> None:
    """Nothing: there is no cache to fill."""


def lowest_bit(bits: Any) -> int:
    bits = int(bits)
    return (bits & -bits).bit_length() - 1
