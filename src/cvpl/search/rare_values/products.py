"""The sums of exp(score) over many candidates, for scores that are sums over columns: sums of products of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvpl.operators.similarity import AgreementScorer
from cvpl.search.rare_values.joined_columns import TABLE, JoinedColumns, fill_table
from cvpl.search.rare_values.merged import MergedCandidates, sum_of_runs
from cvpl.search.tree.simd import natural

Floats = NDArray[np.float64]
Array = Any

_PIECE = 1_024
"""Candidates whose products are held at a time, so that they stay in the L1 cache."""
_FEW = 0.75
"""The sum is corrected for the candidates that agree in a column with many values if they are at most this share."""


@dataclass(frozen=True, eq=False)
class Products:
    """A block's candidates, as columns, and merged where that repays."""

    columns: JoinedColumns
    merged: MergedCandidates | None

    @classmethod
    def of(cls, b: NDArray[np.int32]) -> Products:
        """Build from the candidates' codes, one row per record."""
        columns = JoinedColumns.of(b)
        return cls(columns, MergedCandidates.of(columns))

    def __call__(self, scorer: AgreementScorer) -> Floats:
        """The logarithm of the sum for every query of the scorer."""
        worth, columns, merged = scorer.worth, self.columns, self.merged
        tables = worth.start, worth.first, worth.last, np.exp(worth.agree), np.exp(worth.differ)
        groups = columns.members, columns.sizes, columns.others
        room = np.ones((len(columns.members) + 1, TABLE))
        found = np.full(scorer.queries, np.nan)
        if merged is not None and self._agreement_adds(scorer):
            runs = merged.groups, merged.inside, merged.runs, merged.outer, merged.inner, merged.count
            lists = merged.joined, merged.codes, merged.starts, merged.at
            _sum_merged(scorer.a, *tables, *groups, *runs, *lists, room, found)
        _sum_all(scorer.a, *tables, *groups, columns.joined, columns.codes, room, found)
        logarithms: Floats = np.log(found)
        return logarithms

    def _agreement_adds(self, scorer: AgreementScorer) -> bool:
        """Whether agreement never weighs less than disagreement, so that a correction is never subtracted."""
        worth = scorer.worth
        return all(
            worth.agree[worth.start[column] : worth.start[column + 1]].min(initial=np.inf) >= worth.differ[column]
            for column in self.columns.others
        )


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
    joined: Array, codes: Array, tables: Array, low: Array, high: Array, gain: Array, loss: Array, begin: int, end: int
) -> float:
    """The sum of the products over the candidates from `begin` to `end`, in their order.

    A column with many values has the factor `gain` for a code from `low` to `high`, and `loss` for any other.
    """
    product, total = np.empty(_PIECE), np.zeros(_PIECE)
    for left in range(begin, end, _PIECE):
        size = min(_PIECE, end - left)
        _look_up(joined, tables, left, size, product)
        for column in range(len(codes)):
            first, last, on, off = low[column], high[column], gain[column], loss[column]
            there = codes[column, left : left + size]
            if (on == 1.0) & (off == 1.0):
                continue
            if off == 1.0:
                for place in range(size):
                    other = there[natural(place)]
                    product[natural(place)] *= on if (other >= first) & (other <= last) else 1.0
            else:
                for place in range(size):
                    other = there[natural(place)]
                    otherwise = off if other >= 0 else 1.0
                    product[natural(place)] *= on if (other >= first) & (other <= last) else otherwise
        for place in range(size):
            total[natural(place)] += product[natural(place)]
    return float(total.sum())


@njit(nogil=True, cache=True)
def _asked(
    query: Array,
    start: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
    others: Array,
    low: Array,
    high: Array,
    gain: Array,
    loss: Array,
) -> None:
    """The codes that agree with a query's value in each column with many values, and the factors."""
    for number in range(len(others)):
        column = others[number]
        code = query[column]
        low[number], high[number], gain[number], loss[number] = 0, -1, 1.0, 1.0
        if code >= 0:
            at = start[column] + code
            low[number], high[number], gain[number], loss[number] = first[at], last[at], agree[at], differ[column]


@njit(nogil=True, cache=True)
def _sum_all(
    a: Array,
    start: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
    members: Array,
    sizes: Array,
    others: Array,
    joined: Array,
    codes: Array,
    tables: Array,
    found: Array,
) -> None:
    """Sum over all candidates, for each query whose sum is not yet known.

    Query by query, so that the sum is the same on every thread.
    """
    low, high = np.empty((2, len(others)), np.int64)
    gain, loss = np.empty((2, len(others)))
    for query in range(len(a)):
        if not np.isnan(found[query]):
            continue
        for group in range(len(members)):
            fill_table(a[query], start, first, last, agree, differ, members[group], sizes, tables[group])
        _asked(a[query], start, first, last, agree, differ, others, low, high, gain, loss)
        found[query] = _sum(joined, codes, tables, low, high, gain, loss, 0, joined.shape[1])


@njit(nogil=True, cache=True)
def _sum_merged(
    a: Array,
    start: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
    members: Array,
    sizes: Array,
    others: Array,
    groups: Array,
    inside: int,
    runs: Array,
    outer: Array,
    inner: Array,
    count: Array,
    joined: Array,
    codes: Array,
    starts: Array,
    at: Array,
    tables: Array,
    found: Array,
) -> None:
    """Sum over the merged candidates, for each query with whom few enough agree in the columns with many values.

    With a factor g_o where a candidate agrees in column o and l_o where not, in any order of the columns,

        product of all factors - product of all l_o = sum over o of  f_1 ... f_(o-1) (g_o - l_o) l_(o+1) ... l_n

    over the columns o in which it agrees. So each list is summed on its own, that of the most candidates first.
    """
    many = len(others)
    low, high, begins, ends = np.empty((4, many), np.int64)
    gain, loss, on = np.empty((3, many))
    for query in range(len(a)):
        _asked(a[query], start, first, last, agree, differ, others, low, high, gain, loss)
        for number in range(many):
            begins[number], ends[number] = 0, 0
            if low[number] <= high[number]:
                begins[number] = starts[at[number] + low[number] + 1]
                ends[number] = starts[at[number] + high[number] + 2]
        if (ends - begins).sum() > _FEW * count.sum():
            continue
        for group in range(len(members)):
            fill_table(a[query], start, first, last, agree, differ, members[group], sizes, tables[group])
        for known in range(1 << many if many else 0):
            tables[len(members), known] = 1.0
            for number in range(many):
                tables[len(members), known] *= loss[number] if known >> number & 1 else 1.0
        total = sum_of_runs(groups, inside, runs, outer, inner, count, tables)
        on[:] = loss
        for number in np.argsort(begins - ends):
            on[number] = gain[number] - loss[number]
            total += _sum(joined[number], codes[number], tables, low, high, on, loss, begins[number], ends[number])
            on[number] = gain[number]
        found[query] = total
