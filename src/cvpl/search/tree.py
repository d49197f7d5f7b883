"""A block's candidates as a tree, and the search of queries in it; see `kernel` for how and why.

Numba, which compiles the kernel, takes a second to load and some more to compile once on a machine; so this module is
imported only where a block is large enough to pay for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.search import kernel, planting, rounding
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.lanes import LANES

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Words = NDArray[np.int32]

QUERIES_AT_ONCE = 4096
"""So many queries are turned, searched and scored at a time: what they need stays in the cache."""
TURN_SAMPLE = 2048
"""The directions of a block are taken from so many of its candidates; any directions would do, these prune well."""
CUT_ENERGY = 1e-4
"""Directions that together hold less than this share of the candidates' squares are cut off."""
MANY_COPIES = 0.2
"""Where more of a leaf's candidates than this equal another of them, copies of a vector are searched once."""

_NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Copies:
    """Equal vectors: `first` is a row of each; rows[starts[v] : starts[v + 1]] are all that have the v-th."""

    first: Ints
    starts: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class Turn:
    """The turn of a block's space: `matrix` (k+1 x k, the last row the centre), the centre turned, its square.

    The first `used` directions hold nearly all of the candidates; the centre lies in them.
    """

    matrix: Floats
    shift: Singles
    centre: float
    used: int

    def __call__(self, vectors: Floats) -> Floats:
        """Vectors, turned, one a column."""
        turned: Floats = self.matrix @ vectors.T
        return turned


@dataclass(frozen=True, eq=False)
class Tree:
    """The candidates of one block, laid out for the kernel."""

    vectors: Floats
    copies: Copies | None
    turn: Turn
    bounds: Floats
    order: NDArray[np.int32]
    along: NDArray[np.int8]
    cuts: NDArray[np.int16]
    height: int
    starts: Ints
    close: Words
    rest: Words
    boxes: Words

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return (len(self.vectors) + LANES - 1) // LANES

    @property
    def coordinates(self) -> int:
        """How many coordinates a leaf has, padding counted."""
        return max(int(self.vectors.shape[1]), kernel.CLOSE)


@dataclass
class Work:
    """What a search looked at: sixteen boxes, or sixteen candidates, for four queries at a time."""

    counts: Ints

    def products(self, coordinates: int) -> float:
        """The multiplications this took, boxes counted double for their two sides."""
        opened, checked, scored = (int(count) for count in self.counts)
        per_query = 2 * (kernel.FRONT + 1) * opened + (kernel.CLOSE + 1) * checked + coordinates * scored
        return float(LANES * kernel.TOGETHER * per_query)


def plant(candidates: Floats, *, keep_copies: bool) -> Tree:
    """The tree of a block's unit vectors; many copies of one vector become one unless `keep_copies`."""
    turn = _turn(candidates[:: max(1, len(candidates) // TURN_SAMPLE)])
    behind = _behind(candidates)
    whole = np.empty((len(candidates), kernel.CLOSE + 2 * behind + 2), dtype=np.int16)
    offsets, bounds = np.empty(len(candidates), dtype=np.int32), np.zeros(3)
    for at in _chunks(len(candidates)):
        rounding.round_candidates(turn(candidates[at]), turn.shift, turn.used, whole[at], offsets[at], bounds)
    order, along, cuts, height = planting.grow(whole)
    copies = None
    if not keep_copies and planting.share_of_twins(whole, order) > MANY_COPIES:
        copies = find_copies(candidates)
        candidates, whole, offsets = candidates[copies.first], whole[copies.first], offsets[copies.first]
        order, along, cuts, height = planting.grow(whole)
    leaves = (len(candidates) + LANES - 1) // LANES
    starts, nodes = planting.levels_above(leaves)
    close = _aligned(leaves * kernel.CLOSE_ROWS)
    rest = _aligned(leaves * behind)
    boxes = _aligned(nodes * 2 * kernel.BOX_PAIRS)
    close.reshape(leaves, -1, LANES)[-1] = 0
    rest.reshape(leaves, -1)[-1] = 0
    close.reshape(leaves, -1, LANES)[-1, 0] = kernel.NOWHERE
    planting.lay_out(whole, offsets, order, close.view(np.int16), rest.view(np.int16), boxes.view(np.int16))
    planting.close_boxes(starts, leaves, boxes.view(np.uint16))
    reach = np.sqrt(bounds) * (1 + 1e-5) + (0, 0, 0.01)
    return Tree(candidates, copies, turn, reach, order, along, cuts, height, starts, close, rest, boxes)


def _behind(candidates: Floats) -> int:
    """How many pairs of coordinates lie behind the close ones."""
    return (max(0, int(candidates.shape[1]) - kernel.CLOSE) + 1) // 2


@dataclass(frozen=True, eq=False)
class _Listed:
    """The shortlists of some queries, one after the other: `lengths` of them, -1 where there were too many."""

    queries: Ints
    lengths: Ints
    rows: Ints
    scores: Floats
    work: Work


@dataclass(frozen=True, eq=False)
class Visit:
    """Queries on their way through a tree: turned, and in the order of their home leaves.

    `one` is the score from which on a score counts as 1.
    """

    tree: Tree
    queries: Floats
    words: Words
    facts: Ints
    order: Ints
    homes: NDArray[np.int32]
    skip_query: Ints
    skip_candidate: Ints
    one: float

    def pieces(self) -> Iterator[slice]:
        """Places in `order` that are searched at a time."""
        return _chunks(len(self.order))

    def sample(self, size: int) -> Ints:
        """Places in `order`, evenly spread, in runs of neighbours as the kernel takes them."""
        last = max(0, len(self.order) - kernel.TOGETHER)
        runs = np.linspace(0, last, max(1, size // kernel.TOGETHER)).astype(np.int64)
        return np.unique((runs[:, None] + np.arange(kernel.TOGETHER)).ravel().clip(0, len(self.order) - 1))

    def count(self, places: Ints) -> Work:
        """What a search of some queries takes."""
        return self._listed(places).work

    def search(self, places: slice, found: BestCandidates, into: Ints, numbers: Ints) -> Ints:
        """Search some of the queries and write what they find, query q to row into[q] of `found`.

        `numbers` are what `found` calls the block's candidates, ascending. Returns the queries whose shortlist
        overflowed; of these nothing is written.
        """
        tree, listed = self.tree, self._listed(places)
        copy_starts, copies = (_NOTHING, _NOTHING) if tree.copies is None else (tree.copies.starts, tree.copies.rows)
        kernel.reduce_listed(
            into[listed.queries],
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
        return listed.queries[listed.lengths < 0]

    def near(self, places: slice) -> tuple[Ints, Ints, Floats, Ints]:
        """Query, candidate and score of the pairs that matter; and the queries whose shortlist overflowed.

        For trees that keep copies.
        """
        listed = self._listed(places)
        score = np.where(listed.scores > self.one, 1.0, np.maximum(listed.scores, -1.0))
        query = np.repeat(listed.queries, np.maximum(listed.lengths, 0))
        return query, listed.rows, score, listed.queries[listed.lengths < 0]

    def _listed(self, places: slice | Ints) -> _Listed:
        """The shortlists of some queries, scored by the formula."""
        tree, rows = self.tree, self.order[places]
        padded = np.append(rows, np.repeat(rows[-1:], kernel.TOGETHER - 1))
        words, facts = self.words.take(padded, axis=0), self.facts.take(padded, axis=0)
        skip_starts, skips = self._skips(rows)
        lengths = np.empty(len(rows), dtype=np.int64)
        work = Work(np.zeros(3, dtype=np.int64))
        room = 16 * len(rows) + kernel.SHORTLIST
        written = -1
        while written < 0:
            listed = np.empty(room, dtype=np.int64)
            work.counts[:] = 0
            written = kernel.shortlist(
                words,
                facts,
                self.homes[places],
                len(rows),
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
        kernel.score_listed(self.queries, tree.vectors, rows, tree.order, lengths, listed, scores)
        return _Listed(rows, lengths, listed[:written], scores, work)

    def _skips(self, rows: Ints) -> tuple[Ints, Ints]:
        """For each of some queries the places in the tree that are left out, one after the other, and their starts."""
        if not len(self.skip_query):
            return np.zeros(1, dtype=np.int64), _NOTHING
        place = np.empty(len(self.tree.order), dtype=np.int64)
        place[self.tree.order] = np.arange(len(place))
        first, last = (np.searchsorted(self.skip_query, rows, side) for side in ("left", "right"))
        starts = np.concatenate([[0], np.cumsum(last - first)]).astype(np.int64)
        inside = np.repeat(first - starts[:-1], last - first) + np.arange(starts[-1])
        return starts, place[self.skip_candidate[inside]]


def visit(tree: Tree, queries: Floats, skip_query: Ints, skip_candidate: Ints, one: float) -> Visit:
    """Send queries to a tree; pairs to skip are given by rows of the block, sorted by query."""
    turn = tree.turn
    words = np.empty((len(queries), kernel.CLOSE_ROWS + _behind(tree.vectors) + kernel.BOX_PAIRS), dtype=np.int32)
    halves = words.view(np.int16)
    facts = np.empty((len(queries), 4), dtype=np.int64)
    for at in _chunks(len(queries)):
        settings = turn.shift, turn.centre, turn.used, *tree.bounds, TIE
        rounding.round_queries(turn(queries[at]), *settings, halves[at], facts[at])
    order, homes = planting.find_homes(halves, tree.along, tree.cuts, tree.height, tree.leaves)
    return Visit(tree, queries, words, facts, order, homes, skip_query, skip_candidate, one)


def find_copies(vectors: Floats) -> Copies:
    """Rows with equal vectors, to the bit."""
    bits = np.ascontiguousarray(vectors).view(np.uint64)
    hashed = planting.hash_rows(bits)
    order = np.argsort(hashed, kind="stable")
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (hashed[order[1:]] != hashed[order[:-1]]) | (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    starts = np.append(np.flatnonzero(fresh), len(order)).astype(np.int64)
    return Copies(order[starts[:-1]].astype(np.int64), starts, order.astype(np.int64))


def _turn(sample: Floats) -> Turn:
    """The directions of a block, widest first, from some of its candidates."""
    width, mean = sample.shape[1], sample.mean(axis=0)
    moments = sample.T @ sample / len(sample)
    energy, basis = np.linalg.eigh(moments)
    energy, basis = energy[::-1], basis[:, ::-1]
    beyond = np.append(np.cumsum(np.maximum(energy, 0.0)[::-1])[::-1], 0.0)
    used = int(np.argmax(beyond <= CUT_ENERGY * max(beyond[0], 1e-300)))
    used = min(width, max(used, kernel.CLOSE))
    centre = mean @ basis[:, :used]
    _, turn = np.linalg.eigh(basis[:, :used].T @ moments @ basis[:, :used] - np.outer(centre, centre))
    turned = np.hstack([basis[:, :used] @ turn[:, ::-1], basis[:, used:]])
    shift = np.zeros(width)
    shift[:used] = centre @ turn[:, ::-1]
    matrix = np.vstack([turned.T, basis[:, :used] @ centre])
    return Turn(matrix, shift.astype(np.float32), float(centre @ centre), used)


def _aligned(rows: int) -> Words:
    """Rows of lanes that begin where a cache line does."""
    room = np.empty((rows + 1) * LANES, dtype=np.int32)
    start = (-room.ctypes.data % (4 * LANES)) // 4
    return room[start : start + rows * LANES]


def _chunks(count: int) -> Iterator[slice]:
    for start in range(0, count, QUERIES_AT_ONCE):
        yield slice(start, min(count, start + QUERIES_AT_ONCE))
