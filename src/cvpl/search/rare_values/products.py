"""The sums of exp(score) over many candidates, for scores that are sums over columns: sums of products of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvpl.operators.similarity import AgreementScorer
from cvpl.operators.similarity.agreement import AgreementWeights
from cvpl.search.tree.simd import natural

Floats = NDArray[np.float64]
Array = Any

_PIECE = 1_024
"""Candidates whose products are held at a time, so that they stay in the L1 cache."""
_TABLE = 1_024
"""The most entries of a query's table of factors: columns with few values share one."""


@dataclass(frozen=True, eq=False)
class Products:
    """A block's candidates, and the factors of agreement and disagreement.

    Columns with few values are joined: `joined` has one number per candidate for each group of them, and a query looks
    its factor up in a table. The codes of the other columns, `codes`, are compared with the range that agrees.
    """

    joined: NDArray[np.int32]
    members: NDArray[np.int32]
    sizes: NDArray[np.int64]
    codes: NDArray[np.int32]
    others: NDArray[np.int64]
    agree: Floats
    differ: Floats

    @classmethod
    def of(cls, b: NDArray[np.int32], worth: AgreementWeights) -> Products:
        """Build from the candidates' codes, one row per record."""
        sizes = b.max(axis=0, initial=-1).astype(np.int64) + 2  # code -1 is a missing value
        groups = _groups(sizes)
        members = np.full((len(groups), max(map(len, groups), default=0)), -1, dtype=np.int32)
        joined = np.zeros((len(groups), len(b)), dtype=np.int32)
        for number, columns in enumerate(groups):
            members[number, : len(columns)] = columns
            for column in columns:
                joined[number] = joined[number] * sizes[column] + b[:, column] + 1
        grouped = {column for columns in groups for column in columns}
        others = np.array([column for column in range(b.shape[1]) if column not in grouped], dtype=np.int64)
        codes = np.ascontiguousarray(b[:, others].T)
        return cls(joined, members, sizes, codes, others, np.exp(worth.agree), np.exp(worth.differ))

    def __call__(self, scorer: AgreementScorer) -> Floats:
        """The logarithm of the sum for every query of the scorer."""
        found = np.empty(scorer.queries)
        worth = scorer.worth
        _sum(
            scorer.a,
            worth.start,
            worth.first,
            worth.last,
            self.agree,
            self.differ,
            self.joined,
            self.members,
            self.sizes,
            self.codes,
            self.others,
            found,
        )
        return np.log(found)


def _groups(sizes: NDArray[np.int64]) -> list[list[int]]:
    """Columns to join, those with the fewest values first, so that no table is larger than `_TABLE`."""
    groups: list[list[int]] = []
    entries = 0
    for column in map(int, np.argsort(sizes, kind="stable")):
        if sizes[column] > _TABLE:
            break
        if not groups or entries * sizes[column] > _TABLE:
            groups.append([])
            entries = 1
        groups[-1].append(column)
        entries *= int(sizes[column])
    return groups


@njit(nogil=True, cache=True)
def _factor(code: int, other: int, low: int, high: int, gain: float, loss: float) -> float:
    if code < 0:
        return 1.0
    if (other >= low) & (other <= high):
        return gain
    return loss if other >= 0 else 1.0


@njit(nogil=True, cache=True)
def _fill(
    query: Array,
    start: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
    columns: Array,
    sizes: Array,
    table: Array,
) -> None:
    """The product of the factors of a group's columns, for every combination of their values."""
    table[0] = 1.0
    entries = 1
    for column in columns:
        if column < 0:
            break
        code, size = query[column], sizes[column]
        at = start[column] + max(code, 0)
        for entry in range(entries - 1, -1, -1):
            known = table[entry]
            for other in range(size - 1, -1, -1):
                table[entry * size + other] = known * _factor(
                    code, other - 1, first[at], last[at], agree[at], differ[column]
                )
        entries *= size


@njit(nogil=True, cache=True)
def _look_up(joined: Array, tables: Array, begin: int, size: int, product: Array) -> None:
    """The products of the groups' factors for some candidates.

    Two groups at a time, since each pass over the products takes as long as a look-up.
    """
    groups = len(joined)
    product[:] = 1.0
    if groups % 2:
        table, there = tables[0], joined[0, begin : begin + size]
        for place in range(size):
            product[natural(place)] = table[natural(there[natural(place)])]
    for group in range(groups % 2, groups, 2):
        table, there = tables[group], joined[group, begin : begin + size]
        next_table, next_there = tables[group + 1], joined[group + 1, begin : begin + size]
        for place in range(size):
            factor = product[natural(place)] * table[natural(there[natural(place)])]
            product[natural(place)] = factor * next_table[natural(next_there[natural(place)])]


@njit(nogil=True, cache=True)
def _sum(
    a: Array,
    start: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
    joined: Array,
    members: Array,
    sizes: Array,
    codes: Array,
    others: Array,
    found: Array,
) -> None:
    """Sum query by query, with the candidates in their order, so that the sum is the same on every thread."""
    groups, count = joined.shape
    product, total = np.empty(_PIECE), np.empty(_PIECE)
    tables = np.ones((groups, _TABLE))
    for query in range(len(a)):
        for group in range(groups):
            _fill(a[query], start, first, last, agree, differ, members[group], sizes, tables[group])
        total[:] = 0.0
        for begin in range(0, count, _PIECE):
            size = min(_PIECE, count - begin)
            _look_up(joined, tables, begin, size, product)
            for number in range(len(others)):
                column = others[number]
                code = a[query, column]
                if code < 0:
                    continue
                at = start[column] + code
                low, high, gain, loss = first[at], last[at], agree[at], differ[column]
                there = codes[number, begin : begin + size]
                if loss == 1.0:
                    for place in range(size):
                        other = there[natural(place)]
                        product[natural(place)] *= gain if (other >= low) & (other <= high) else 1.0
                else:
                    for place in range(size):
                        other = there[natural(place)]
                        otherwise = loss if other >= 0 else 1.0
                        product[natural(place)] *= gain if (other >= low) & (other <= high) else otherwise
            for place in range(size):
                total[natural(place)] += product[natural(place)]
        found[query] = total.sum()
