"""The search of a block's queries in the tree of its candidates; see `kernel` for how and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cvpl.search.best import TIE, BestCandidates
from cvpl.search.copies import MANY_COPIES, Copies, find_copies
from cvpl.search.tree import kernel, rounding, shortlists, tree_layout
from cvpl.search.tree.simd import LANES
from cvpl.search.tree.tree import Tree, build_tree, chunks, pairs_behind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.int32]

_NOTHING = np.zeros(0, dtype=np.int64)


@dataclass
class WorkCount:
    """The work of a search: sixteen boxes, or sixteen candidates, for four queries at a time."""

    counts: Ints

    def products(self, coordinates: int) -> float:
        """The number of multiplications; boxes count double for their two sides."""
        opened, checked, scored = (int(count) for count in self.counts)
        per_query = 2 * (kernel.FRONT + 1) * opened + (kernel.CLOSE + 1) * checked + coordinates * scored
        return float(LANES * kernel.TOGETHER * per_query)


@dataclass(frozen=True, eq=False)
class _Shortlists:
    """The shortlists of some queries, one after the other, with their `lengths`, -1 if there were too many."""

    queries: Ints
    lengths: Ints
    rows: Ints
    scores: Floats
    work: WorkCount


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """Queries prepared for a tree: rotated, and in the order of their home leaves.

    Scores above `one` count as 1. With `twins` the queries are distinct vectors, and `twins` holds their rows.
    """

    tree: Tree
    queries: Floats
    twins: Copies | None
    words: Words
    facts: Ints
    order: Ints
    homes: NDArray[np.int32]
    skip_query: Ints
    skip_candidate: Ints
    one: float

    def pieces(self) -> Iterator[slice]:
        """Places in `order` to search at a time."""
        return chunks(len(self.order))

    def sample(self, size: int) -> Ints:
        """Evenly spread places in `order`, in runs of neighbours as the kernel searches them."""
        last = max(0, len(self.order) - kernel.TOGETHER)
        runs = np.linspace(0, last, max(1, size // kernel.TOGETHER)).astype(np.int64)
        return np.unique((runs[:, None] + np.arange(kernel.TOGETHER)).ravel().clip(0, len(self.order) - 1))

    def count(self, places: Ints) -> WorkCount:
        """The work of a search of some queries."""
        return self.score_shortlists(places).work

    def search(self, places: slice, found: BestCandidates, into: Ints, numbers: Ints) -> tuple[int, Ints]:
        """Search some of the queries and write the results, those of query q to row into[q] of `found`.

        `numbers` are the candidates' numbers in `found`, sorted. Returns the number of queries with a result, including
        copies, and the queries whose shortlist overflowed; for these nothing is written.
        """
        tree, listed = self.tree, self.score_shortlists(places)
        copy_starts, copies = (_NOTHING, _NOTHING) if tree.copies is None else (tree.copies.starts, tree.copies.rows)
        first = listed.queries if self.twins is None else self.twins.first[listed.queries]
        shortlists.reduce_listed(
            into[first],
            listed.lengths,
            listed.rows,
            listed.scores,
            copy_starts,
            copies,
            numbers,
            self.one,
            TIE,
            found.best,
            found.row,
            found.second,
            found.second_row,
            found.ties,
        )
        fits = listed.lengths >= 0
        if self.twins is None:
            return int(fits.sum()), listed.queries[~fits]
        amounts, rows = self.twins.of(listed.queries[fits])
        source, target = into[np.repeat(first[fits], amounts)], into[rows]
        for figure in (found.best, found.row, found.second, found.second_row, found.ties):
            figure[target] = figure[source]
        return len(rows), self.twins.of(listed.queries[~fits])[1]

    def near(self, places: slice) -> tuple[Ints, Ints, Floats, Ints]:
        """Query, candidate and score of the pairs that matter; and the queries whose shortlist overflowed.

        Only if copies are kept on both sides.
        """
        listed = self.score_shortlists(places)
        score = np.where(listed.scores > self.one, 1.0, np.maximum(listed.scores, -1.0))
        query = np.repeat(listed.queries, np.maximum(listed.lengths, 0))
        return query, listed.rows, score, listed.queries[listed.lengths < 0]

    def score_shortlists(self, places: slice | Ints) -> _Shortlists:
        """The shortlists of some queries, scored by the formula."""
        tree, rows = self.tree, self.order[places]
        skip_starts, skips = self._skips(rows)
        lengths = np.empty(len(rows), dtype=np.int64)
        work = WorkCount(np.zeros(3, dtype=np.int64))
        room = 16 * len(rows) + kernel.SHORTLIST
        written = -1
        while written < 0:
            listed = np.empty(room, dtype=np.int64)
            work.counts[:] = 0
            written = kernel.shortlist(
                self.words,
                self.facts,
                rows,
                self.homes[places],
                tree.leaves,
                tree.starts,
                tree.close,
                tree.rest,
                tree.boxes,
                skip_starts,
                skips,
                lengths,
                listed,
                work.counts,
            )
            room *= 8
        scores = np.empty(written)
        shortlists.score_listed(self.queries, tree.vectors, rows, tree.order, lengths, listed, scores)
        return _Shortlists(rows, lengths, listed[:written], scores, work)

    def _skips(self, rows: Ints) -> tuple[Ints, Ints]:
        """For each of some queries, the left-out places in the tree, one after the other, and their starts."""
        if not len(self.skip_query):
            return np.zeros(1, dtype=np.int64), _NOTHING
        place = np.empty(len(self.tree.order), dtype=np.int64)
        place[self.tree.order] = np.arange(len(place))
        first, last = (np.searchsorted(self.skip_query, rows, side) for side in ("left", "right"))
        starts = np.concatenate([[0], np.cumsum(last - first)]).astype(np.int64)
        inside = np.repeat(first - starts[:-1], last - first) + np.arange(starts[-1])
        return starts, place[self.skip_candidate[inside]]


def search_tree(
    tree: Tree, queries: Floats, skip_query: Ints, skip_candidate: Ints, one: float, *, keep_copies: bool
) -> TreeSearch:
    """Prepare queries for a tree; pairs to skip are given by rows of the block, sorted by query.

    If there are many copies, equal queries are merged unless `keep_copies`.
    """
    turn = tree.turn
    words = np.empty((len(queries), kernel.CLOSE_ROWS + pairs_behind(tree.vectors) + kernel.BOX_PAIRS), dtype=np.int32)
    facts = np.empty((len(queries), kernel.FACTS), dtype=np.int64)
    for at in chunks(len(queries)):
        settings = turn.shift, turn.centre, turn.used, *tree.bounds, TIE
        rounding.round_queries(turn(queries[at]), *settings, words[at].view(np.int16), facts[at])
    order, homes = _at_home(tree, words)
    twins = None
    if not keep_copies and tree_layout.share_of_twins(words, order) > MANY_COPIES:
        twins = find_copies(queries)
        queries, words, facts = queries[twins.first], words[twins.first], facts[twins.first]
        order, homes = _at_home(tree, words)
    return TreeSearch(tree, queries, twins, words, facts, order, homes, skip_query, skip_candidate, one)


def _at_home(tree: Tree, words: Words) -> tuple[Ints, NDArray[np.int32]]:
    """The queries in the order of their home leaves, and these leaves."""
    order, homes = tree_layout.find_homes(words.view(np.int16), tree.along, tree.cuts, tree.height, tree.leaves)
    return order, homes


@cache
def compile_kernel() -> None:
    """Compile or load the kernel once, before threads need it and while little memory is in use."""
    vectors = np.cos(np.arange(64.0 * kernel.CLOSE)).reshape(64, -1)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    rows, found = np.arange(64), BestCandidates.none(64)
    for skips in (_NOTHING, rows):
        here = search_tree(build_tree(vectors, keep_copies=True), vectors, skips, skips, 1.0, keep_copies=True)
        here.search(slice(0, 64), found, rows, rows)
    find_copies(vectors)
