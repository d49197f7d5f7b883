"""The search of a tree of released records, for the two best candidates and the number of ties.

From the root, a query goes down to the node with the highest bound first. A node whose bound is below the bar, the
score that a candidate needs to matter, is skipped with all its records. Records that may reach the bar are scored by
the sum over the columns in their order, as `CellScorer.pairs` computes it, and only that score counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvpl.operators.similarity import CellScorer
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.cells.layout import EXACT, RANGE, CellColumns, lay_out
from cvpl.search.cells.tree import (
    GAIN,
    HIGH,
    HUGE_WEIGHT,
    LOW,
    MASK,
    REST,
    SUMMARY,
    Summaries,
    similar_order,
    summarize,
)
from cvpl.search.tree.simd import LANES, add_agreement, add_summary, at_least, highest, load, lowest_bit, store, zero
from cvpl.search.two_best import ROOM, insert, is_skipped, write

Array = Any
Ints = NDArray[np.int64]
Words = NDArray[np.int32]

QUERIES_AT_ONCE = 512
_ROUNDING = 1e-9
_LARGEST = 2.0**28
"""The largest score as an integer."""


@dataclass(frozen=True, eq=False)
class CellTree:
    """The tree of a block's candidates, whose codes are in its order; `rows[place]` is a candidate's row."""

    columns: CellColumns
    scale: float
    summaries: Summaries
    codes: Words
    rows: Ints

    @classmethod
    def of(cls, scorer: CellScorer) -> CellTree:
        """Plant the tree."""
        columns, codes = lay_out(scorer)
        weights = [np.abs(part).max(initial=0.0) for item in scorer.columns for part in (item.agree, item.differ)]
        scale = _LARGEST / max(1.0, scorer.exact.worth.most - scorer.exact.worth.least + sum(weights))
        order = similar_order(columns, codes)
        codes = np.ascontiguousarray(codes[order])
        return cls(columns, scale, summarize(columns, codes, scale), codes, order.astype(np.int64))

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
        first, last = (np.searchsorted(skip_query, queries, side) for side in ("left", "right"))
        failed = np.zeros(len(queries), dtype=np.bool_)
        _search(
            *_query_codes(scorer, queries),
            *self.columns,
            self.scale,
            *self.summaries,
            self.codes,
            self.rows,
            first,
            last,
            skip_candidate,
            into[queries],
            numbers,
            found.best,
            found.row,
            found.second,
            found.second_row,
            found.ties,
            failed,
        )
        return queries[failed]


def _query_codes(scorer: CellScorer, queries: Ints) -> tuple[Words, Words, Array, Array]:
    """For each query and column: the codes, pieces or labels that agree (1, 0: none), and the weights of exact ones.

    The weight of a disagreement is NaN where the query has no value.
    """
    exact = scorer.exact
    width = exact.columns + len(scorer.columns)
    low, high = np.ones((len(queries), width), np.int32), np.zeros((len(queries), width), np.int32)
    agree, differ = np.zeros((len(queries), width)), np.full((len(queries), width), np.nan)
    for column in range(exact.columns):
        low[:, column], high[:, column], agree[:, column], known = exact.query_codes(column, exact.a[queries, column])
        differ[known, column] = exact.worth.differ[column]
    for column, cells in enumerate(scorer.columns, start=exact.columns):
        query_codes = cells.query_codes[queries]
        known = query_codes >= 0
        low[known, column] = high[known, column] = query_codes[known]
        differ[known, column] = 0.0
    return low, high, agree, differ


@njit(nogil=True, cache=True)
def _score(
    record: Array,
    low: Array,
    high: Array,
    agree: Array,
    differ: Array,
    kinds: Array,
    begins: Array,
    first: Array,
    last: Array,
    cell_agree: Array,
    cell_differ: Array,
    allowed: Array,
    rows: Array,
    labels: Array,
) -> float:
    """The score of one candidate, summed in the order of the columns."""
    total = 0.0
    for column in range(len(record)):
        code = record[column]
        if code < 0 or np.isnan(differ[column]):
            continue
        if kinds[column] == EXACT:
            total += agree[column] if (code >= low[column]) & (code <= high[column]) else differ[column]
            continue
        cell, query_codes = begins[column] + code, low[column]
        if kinds[column] == RANGE:
            holds = (query_codes >= first[cell]) & (query_codes <= last[cell])
        else:
            holds = allowed[rows[column] + code * labels[column] + query_codes] != 0
        total += cell_agree[cell] if holds else cell_differ[cell]
    return total


@njit(nogil=True, cache=True)
def _bounds(nodes: Array, base: int, query_codes: Array, known: int) -> Any:
    """The most that a record in each of sixteen nodes can score; `query_codes` has a row for each column."""
    total = zero()
    for number in range(known):
        at = base + query_codes[number, 0] * SUMMARY
        total = add_summary(
            total,
            nodes,
            at,
            query_codes[number, 1],
            query_codes[number, 2],
            query_codes[number, 3],
            query_codes[number, 4],
            query_codes[number, 5],
        )
    return total


@njit(nogil=True, cache=True)
def _cells_bound(nodes: Array, base: int, query_codes: Array, begin: int, known: int) -> int:
    """The most that the cells of the records of one node can add."""
    total = 0
    for number in range(begin, known):
        at = base + query_codes[number, 0] * SUMMARY
        added = nodes[at + REST]
        meets = (nodes[at + LOW] <= query_codes[number, 2]) & (nodes[at + HIGH] >= query_codes[number, 1])
        if meets & ((nodes[at + MASK] & query_codes[number, 3]) != 0):
            added = max(added, nodes[at + GAIN])
        total += added
    return total


@njit(nogil=True, cache=True)
def _exact_parts(zoned: Array, base: int, query_codes: Array, known: int) -> Any:
    """What the exact columns add to the scores of sixteen records."""
    total = zero()
    for number in range(known):
        total = add_agreement(
            total,
            load(zoned, base + query_codes[number, 0] * LANES),
            query_codes[number, 1],
            query_codes[number, 2],
            query_codes[number, 4],
            query_codes[number, 5],
        )
    return total


@njit(nogil=True, cache=True)
def _add_cells(total: Any, cells: Array, base: int, exact: int, query_codes: Array, begin: int, known: int) -> Any:
    """What the cells of sixteen records add at most."""
    for number in range(begin, known):
        total = add_summary(
            total,
            cells,
            base + (query_codes[number, 0] - exact) * SUMMARY,
            query_codes[number, 1],
            query_codes[number, 2],
            query_codes[number, 3],
            query_codes[number, 4],
            query_codes[number, 5],
        )
    return total


@njit(nogil=True, cache=True)
def _prepare(
    low: Array, high: Array, agree: Array, differ: Array, kinds: Array, scale: float, query_codes: Array
) -> Any:
    """The query's columns for `_bounds`, without those in which it has no value.

    Returns the number of exact columns, which come first, and of all.
    """
    known, exactly = 0, 0
    for column in range(len(kinds)):
        if np.isnan(differ[column]):
            continue
        exact = kinds[column] == EXACT
        single = low[column] == high[column] and kinds[column] != RANGE
        query_codes[known, 0], query_codes[known, 1], query_codes[known, 2] = column, low[column], high[column]
        query_codes[known, 3] = np.int64(1) << np.int64(low[column] & 31) if single else np.int64(-1)
        query_codes[known, 4] = np.int64(np.ceil(agree[column] * scale)) if exact else HUGE_WEIGHT
        query_codes[known, 5] = np.int64(np.ceil(differ[column] * scale)) if exact else -HUGE_WEIGHT
        known += 1
        exactly += exact
    return exactly, known


@njit(nogil=True, cache=True)
def _search(
    all_low: Array,
    all_high: Array,
    all_agree: Array,
    all_differ: Array,
    kinds: Array,
    begins: Array,
    first: Array,
    last: Array,
    cell_agree: Array,
    cell_differ: Array,
    allowed: Array,
    rows: Array,
    labels: Array,
    scale: float,
    cells: Array,
    zoned: Array,
    nodes: Array,
    starts: Array,
    codes: Array,
    numbered: Array,
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
    """The search itself; see the module and `CellTree.search`."""
    count, width = codes.shape
    levels, exactly = len(starts), 0
    for kind in kinds:
        exactly += kind == EXACT
    group, bounds = np.zeros(levels, np.int64), np.empty(levels * LANES, np.int32)
    top, who = np.empty(2), np.empty(2, np.int64)
    near, many = np.empty(ROOM), np.empty(ROOM, np.int64)
    query_codes = np.empty((width, 6), np.int64)
    for query in range(len(into)):
        low, high, agree, differ = all_low[query], all_high[query], all_agree[query], all_differ[query]
        begin, known = _prepare(low, high, agree, differ, kinds, scale, query_codes)
        top[0], top[1], who[0], who[1] = -np.inf, -np.inf, -1, -1
        many[:] = 0
        fits, limit, level = True, np.int64(-HUGE_WEIGHT), levels - 1
        store(bounds, level * LANES, _bounds(nodes, starts[level], query_codes, known))
        while fits and level < levels:
            # The open node with the highest bound is next; without one, the search goes back up.
            bound = highest(load(bounds, level * LANES))
            if bound < limit or bound <= -HUGE_WEIGHT:
                level += 1
                continue
            lane = lowest_bit(at_least(load(bounds, level * LANES), bound))
            bounds[level * LANES + lane] = -HUGE_WEIGHT
            child = group[level] * LANES + lane
            if child * LANES ** (level + 1) >= count:
                continue
            if level > 0:
                level -= 1
                group[level] = child
                base = starts[level] + child * width * SUMMARY
                store(bounds, level * LANES, _bounds(nodes, base, query_codes, known))
                continue
            # The exact columns alone often show that none of the sixteen records can reach the bar.
            base = child // LANES * width * SUMMARY + lane
            most = _cells_bound(nodes, base, query_codes, begin, known)
            total = _exact_parts(zoned, child * exactly * LANES, query_codes, begin)
            members = at_least(total, limit - most)
            if members:
                base = child * (width - exactly) * SUMMARY
                members = at_least(_add_cells(total, cells, base, exactly, query_codes, begin, known), limit)
            while members:
                place = child * LANES + lowest_bit(members)
                members &= members - 1
                if place < count and not is_skipped(numbered[place], skip_first[query], skip_last[query], skips):
                    score = _score(
                        codes[place],
                        low,
                        high,
                        agree,
                        differ,
                        kinds,
                        begins,
                        first,
                        last,
                        cell_agree,
                        cell_differ,
                        allowed,
                        rows,
                        labels,
                    )
                    fits &= insert(score, numbered[place], top, who, near, many)
            bar = min(top[1], top[0] - TIE) - _ROUNDING
            limit = np.int64(np.floor(max(bar * scale, -1.0 * HUGE_WEIGHT)))
        if not fits:
            failed[query] = True
            continue
        write(into[query], top, who, near, many, numbers, best, best_row, second, second_row, ties)
