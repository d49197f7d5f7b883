"""The best candidates by containment: every candidate is scored, some queries at a time.

What a column adds depends on the query's value and on the candidate's cell, so each query has a table of it, with one
entry per cell. A column with very many different values has a range of codes that agree instead. Candidates are scored
in pieces that stay in the cache, and the sums are taken in the order of the columns, as `CellScorer.pairs` takes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvpl.operators.similarity import AgreementScorer, CellScorer
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.rare_values.index import ROOM, insert, skipped
from cvpl.search.tree.simd import natural

Array = Any
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.int32]

QUERIES_AT_ONCE = 64
_TABLED = 1 << 15
"""Columns with more different codes are compared by ranges of codes."""
_TOGETHER = 16
"""Queries that share a pass over the candidates."""
_PIECE = 1_024


@dataclass(frozen=True, eq=False)
class CellScan:
    """The codes of a block's candidates, one row per column, from 1 on (0: missing), and where each table begins.

    `tabled` says which columns have tables; the others are exact columns with very many values.
    """

    codes: Words
    begins: Ints
    tabled: NDArray[np.bool_]
    width: int

    @classmethod
    def of(cls, scorer: CellScorer) -> CellScan:
        """Lay the candidates out."""
        exact = scorer.exact
        codes = np.concatenate([exact.b.T, *(column.codes[None] for column in scorer.columns)]) + 1
        sizes = np.concatenate(
            [exact.b.max(axis=0, initial=-1) + 2, [len(column.agree) + 1 for column in scorer.columns]]
        ).astype(np.int64)
        tabled = (sizes <= _TABLED) | (np.arange(len(sizes)) >= exact.columns)
        ends = np.cumsum(np.where(tabled, sizes, 0))
        return cls(
            np.ascontiguousarray(codes, dtype=np.int32), ends - np.where(tabled, sizes, 0), tabled, int(ends[-1])
        )

    def search(
        self,
        scorer: CellScorer,
        queries: Ints,
        skip_query: Ints,
        skip_candidate: Ints,
        found: BestCandidates,
        into: Ints,
        numbers: Ints,
    ) -> Ints:
        """Search some of the scorer's queries and write the results; those of query q go to place into[q].

        Pairs to skip are sorted by query. `numbers` are the candidates' numbers in `found`, sorted. Returns the queries
        that have to be searched in another way.
        """
        failed = np.zeros(len(queries), dtype=np.bool_)
        for start in range(0, len(queries), _TOGETHER):
            some = queries[start : start + _TOGETHER]
            first, last = (np.searchsorted(skip_query, some, side) for side in ("left", "right"))
            _scan(
                self._tables(scorer, some),
                self.begins,
                self.tabled,
                *_ranges(scorer.exact, some, len(self.begins)),
                self.codes,
                first,
                last,
                skip_candidate,
                into[some],
                numbers,
                found.best,
                found.row,
                found.second,
                found.second_row,
                found.ties,
                failed[start : start + _TOGETHER],
            )
        return queries[failed]

    def _tables(self, scorer: CellScorer, queries: Ints) -> Floats:
        """What each code of each column adds, for some queries; the first entry of a column is for missing values."""
        tables = np.zeros((len(queries), self.width))
        exact = scorer.exact
        low, high, agree, differ = _ranges(exact, queries, exact.columns)
        for column in np.flatnonzero(self.tabled[: exact.columns]):
            begin = self.begins[column]
            end = self.begins[column + 1] if column + 1 < len(self.begins) else self.width
            codes = np.arange(1, end - begin)
            agrees = (codes >= low[:, column, None]) & (codes <= high[:, column, None])
            tables[:, begin + 1 : end] = np.where(agrees, agree[:, column, None], differ[:, column, None])
        for number, cells in enumerate(scorer.columns, start=exact.columns):
            begin = self.begins[number] + 1
            tables[:, begin : begin + len(cells.agree)] = cells.table(cells.asked[queries])
        return tables


def _ranges(exact: AgreementScorer, queries: Ints, columns: int) -> tuple[Words, Words, Floats, Floats]:
    """For each query and exact column: the codes that agree, from 1 on, and the weights; nothing if it is missing."""
    low, high = np.ones((len(queries), columns), np.int32), np.zeros((len(queries), columns), np.int32)
    agree, differ = np.zeros((len(queries), columns)), np.zeros((len(queries), columns))
    for column in range(exact.columns):
        first, last, gain, known = exact.asked(column, exact.a[queries, column])
        low[:, column], high[:, column], agree[:, column] = first + 1, last + 1, gain
        differ[:, column] = np.where(known, exact.worth.differ[column], 0.0)
        low[~known, column], high[~known, column] = 1, 0
    return low, high, agree, differ


@njit(nogil=True, cache=True)
def _score(
    tables: Array,
    begins: Array,
    tabled: Array,
    low: Array,
    high: Array,
    agree: Array,
    differ: Array,
    codes: Array,
    total: Array,
) -> None:
    """The scores of some candidates for one query."""
    columns, size = codes.shape
    total[:] = 0.0
    for column in range(columns):
        there = codes[column]
        if tabled[column]:
            table = tables[begins[column] :]
            for place in range(size):
                total[natural(place)] += table[natural(there[natural(place)])]
        else:
            first, last, gain, loss = low[column], high[column], agree[column], differ[column]
            for place in range(size):
                code = there[natural(place)]
                otherwise = loss if code > 0 else 0.0
                total[natural(place)] += gain if (code >= first) & (code <= last) else otherwise


@njit(nogil=True, cache=True)
def _scan(
    tables: Array,
    begins: Array,
    tabled: Array,
    low: Array,
    high: Array,
    agree: Array,
    differ: Array,
    codes: Array,
    skip_first: Array,
    skip_last: Array,
    skips: Array,
    into: Array,
    numbers: Array,
    best: Array,
    best_row: Array,
    second: Array,
    second_row: Array,
    ties: Array,
    failed: Array,
) -> None:
    """Score all candidates for some queries, and keep the two best and the number of ties."""
    queries, count = len(into), codes.shape[1]
    top, who = np.full((queries, 2), -np.inf), np.full((queries, 2), -1, np.int64)
    near, many = np.empty((queries, ROOM)), np.zeros((queries, ROOM), np.int64)
    total = np.empty(_PIECE)
    for begin in range(0, count, _PIECE):
        size = min(_PIECE, count - begin)
        for query in range(queries):
            _score(
                tables[query],
                begins,
                tabled,
                low[query],
                high[query],
                agree[query],
                differ[query],
                codes[:, begin : begin + size],
                total,
            )
            bar = min(top[query, 1], top[query, 0] - TIE)
            for place in range(size):
                if total[natural(place)] >= bar and not skipped(
                    begin + place, skip_first[query], skip_last[query], skips
                ):
                    score = total[natural(place)]
                    if not insert(score, begin + place, top[query], who[query], near[query], many[query]):
                        failed[query] = True
                    bar = min(top[query, 1], top[query, 0] - TIE)
    for query in range(queries):
        if failed[query]:
            continue
        target = into[query]
        tied = 0
        for slot in range(ROOM):
            if many[query, slot] and near[query, slot] >= top[query, 0] - TIE:
                tied += many[query, slot]
        best[target], second[target], ties[target] = top[query, 0], top[query, 1], tied
        best_row[target] = numbers[who[query, 0]] if who[query, 0] >= 0 else -1
        second_row[target] = numbers[who[query, 1]] if who[query, 1] >= 0 else -1
