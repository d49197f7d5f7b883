"""The sums of exp(score) over many candidates, for scores that are sums over columns: sums of products of weights."""

from __future__ import annotations

from collections.abc import Sequence
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
_SMALL_SHARE = 0.75
"""The sum is corrected for the candidates that agree in a column with many values if they are at most this share."""


@dataclass(frozen=True, eq=False)
class Products:
    """A block's candidates, as columns, and merged where that repays."""

    columns: JoinedColumns
    merged: MergedCandidates | None

    @classmethod
    def of(cls, b: NDArray[np.int32], names: Sequence[str] = (), workers: int = 1) -> Products:
        """Build from the candidates' codes, one row per record; columns of one name have the same codes."""
        columns = JoinedColumns.of(b, names)
        return cls(columns, MergedCandidates.of(columns, workers))

    def __call__(self, scorer: AgreementScorer) -> Floats:
        """The logarithm of the sum for every query of the scorer."""
        worth, columns, merged = scorer.worth, self.columns, self.merged
        tables = worth.start, worth.first, worth.last, np.exp(worth.agree), np.exp(worth.differ)
        groups = columns.members, columns.sizes, columns.others, columns.twins
        room = np.ones((len(columns.members) + 1, TABLE))
        found = np.full(scorer.queries, np.nan)
        if merged is not None and self.agreement_adds(scorer):
            runs = merged.groups, merged.inside, merged.runs, merged.outer, merged.inner, merged.count
            lists = merged.joined, merged.codes, merged.starts, merged.at
            _sum_merged(scorer.a, *tables, *groups, *runs, *lists, room, found)
        _sum_all(scorer.a, *tables, *groups, columns.joined, columns.codes, room, found)
        logarithms: Floats = np.log(found)
        return logarithms

    def agreement_adds(self, scorer: AgreementScorer) -> bool:
        """Whether agreement never weighs less than disagreement, so that a correction is never subtracted."""
        worth = scorer.worth
        return all(
            worth.agree[worth.start[column] : worth.start[column + 1]].min(initial=np.inf) >= worth.differ[column]
            for number in self.columns.others
            for column in (number, self.columns.twins[number])
            if column >= 0
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
def _sum(joined: Array, codes: Array, tables: Array, ends: Array, factors: Array, begin: int, end: int) -> float:
    """The sum of the products over the candidates from `begin` to `end`, in their order.

    A column with many values has the factor `factors[0]` for a code from `ends[0]` to `ends[1]`, and `factors[1]` for
    any other; but `factors[2]` for a code from `ends[2]` to `ends[3]`, which are among the first.
    """
    product, total = np.empty(_PIECE), np.zeros(_PIECE)
    for left in range(begin, end, _PIECE):
        size = min(_PIECE, end - left)
        _look_up(joined, tables, left, size, product)
        for column in range(len(codes)):
            first, last, on, off = ends[0, column], ends[1, column], factors[0, column], factors[1, column]
            low, high, same = ends[2, column], ends[3, column], factors[2, column]
            there = codes[column, left : left + size]
            if (on == 1.0) & (off == 1.0) & (low > high):
                continue
            if low <= high:
                for place in range(size):
                    other = there[natural(place)]
                    otherwise = off if other >= 0 else 1.0
                    near = on if (other >= first) & (other <= last) else otherwise
                    product[natural(place)] *= same if (other >= low) & (other <= high) else near
            elif off == 1.0:
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
def _matching_codes(
    query: Array,
    start: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
    others: Array,
    twins: Array,
    ends: Array,
    factors: Array,
) -> None:
    """The codes that agree with a query's value in each column with many values, and the factors; see `_sum`."""
    ends[0], ends[1], ends[2], ends[3] = 0, -1, 0, -1
    factors[:] = 1.0
    for number in range(len(others)):
        column = others[number]
        code = query[column]
        if code >= 0:
            at, twin = start[column] + code, twins[column]
            ends[0, number], ends[1, number] = first[at], last[at]
            factors[0, number], factors[1, number] = agree[at], differ[column]
            if twin >= 0:
                same = start[twin] + code
                ends[2, number], ends[3, number] = first[same], last[same]
                factors[2, number] = agree[at] * agree[same]


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
    twins: Array,
    joined: Array,
    codes: Array,
    tables: Array,
    found: Array,
) -> None:
    """Sum over all candidates, for each query whose sum is not yet known.

    Query by query, so that the sum is the same on every thread.
    """
    ends, factors = np.empty((4, len(others)), np.int64), np.empty((3, len(others)))
    for query in range(len(a)):
        if not np.isnan(found[query]):
            continue
        for group in range(len(members)):
            fill_table(a[query], start, first, last, agree, differ, members[group], sizes, twins, tables[group])
        _matching_codes(a[query], start, first, last, agree, differ, others, twins, ends, factors)
        found[query] = _sum(joined, codes, tables, ends, factors, 0, joined.shape[1])


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
    twins: Array,
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

    With a factor g_o where a candidate agrees in column o and l_o where not, in any order of the columns (g_o has two
    values if equal values count for more than near ones),

        product of all factors - product of all l_o = sum over o of  f_1 ... f_(o-1) (g_o - l_o) l_(o+1) ... l_n

    over the columns o in which it agrees. So each list is summed on its own, that of the most candidates first.
    """
    many = len(others)
    begin, end = np.empty((2, many), np.int64)
    ends, factors, on = np.empty((4, many), np.int64), np.empty((3, many)), np.empty((3, many))
    for query in range(len(a)):
        _matching_codes(a[query], start, first, last, agree, differ, others, twins, ends, factors)
        for number in range(many):
            begin[number], end[number] = 0, 0
            if ends[0, number] <= ends[1, number]:
                begin[number] = starts[at[number] + ends[0, number] + 1]
                end[number] = starts[at[number] + ends[1, number] + 2]
        if (end - begin).sum() > _SMALL_SHARE * count.sum():
            continue
        for group in range(len(members)):
            fill_table(a[query], start, first, last, agree, differ, members[group], sizes, twins, tables[group])
        for known in range(1 << many if many else 0):
            tables[len(members), known] = 1.0
            for number in range(many):
                tables[len(members), known] *= factors[1, number] if known >> number & 1 else 1.0
        total = sum_of_runs(groups, inside, runs, outer, inner, count, tables)
        on[:] = factors[1]
        for number in np.argsort(begin - end):
            on[:, number] = factors[:, number] - factors[1, number]
            on[1, number] = factors[1, number]
            total += _sum(joined[number], codes[number], tables, ends, on, begin[number], end[number])
            on[:, number] = factors[:, number]
        found[query] = total
