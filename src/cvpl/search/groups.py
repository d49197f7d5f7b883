"""Groups of blocks: as many blocks as fit in memory are sorted and searched at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import Scorer, ScoreSource
from cvpl.search.best import ScoredPairs
from cvpl.search.blocks import Partition, SortedBlocks, ranges
from cvpl.search.budget import Budget

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_OVERHEAD = 256
_COPIES = 3
"""Copies of each record of a group: its vector, a temporary copy, and its part of a tree."""
_FEWEST = 256


@dataclass(frozen=True, eq=False)
class Group:
    """Some blocks, and a scorer of just their records.

    A rectangle (first query, last, first candidate, last) is a block, or part of one; positions count the records of
    the group, whose rows in the tables are `query_rows` and `candidate_rows`. `partial` says that a rectangle may hold
    only some of its queries' candidates. A pair that shares a block in one of `apart` is already a candidate; the pairs
    of `skip_query` and `skip_candidate`, sorted by query, are left out.
    """

    source: ScoreSource
    query_rows: Ints
    candidate_rows: Ints
    rectangles: Ints
    partial: bool
    apart: tuple[Partition, ...]
    skip_query: Ints
    skip_candidate: Ints

    @classmethod
    def of(cls, blocks: SortedBlocks, source: ScoreSource) -> Group:
        """All blocks as one group."""
        rectangles = np.hstack([blocks.query_ends, blocks.candidate_ends])
        orders = blocks.query_order, blocks.candidate_order
        return cls(source, *orders, rectangles, False, blocks.apart, blocks.skip_query, blocks.skip_candidate)

    @cached_property
    def scorer(self) -> Scorer:
        """A scorer of the group's records, by their positions in it."""
        return self.source.sorted(self.query_rows, self.candidate_rows)

    @property
    def pairs(self) -> Ints:
        """The number of pairs in each rectangle."""
        queries = self.rectangles[:, 1] - self.rectangles[:, 0]
        result: Ints = queries * (self.rectangles[:, 3] - self.rectangles[:, 2])
        return result

    def part(self, rectangles: Ints, *, partial: bool = False) -> Group:
        """Some rectangles, in their order here, as a group of their own; a single one covers its whole group."""
        everything = np.array([[0, len(self.query_rows), 0, len(self.candidate_rows)]])
        whole = len(rectangles) != 1 or np.array_equal(rectangles, everything)
        if self.partial >= partial and whole and np.array_equal(rectangles, self.rectangles):
            return self
        if len(rectangles) == 1 and not self.apart and not len(self.skip_query):
            first, last, left, right = (int(end) for end in rectangles[0])
            alone = np.array([[0, last - first, 0, right - left]])
            rows = self.query_rows[first:last], self.candidate_rows[left:right]
            return replace(
                self, query_rows=rows[0], candidate_rows=rows[1], rectangles=alone, partial=self.partial or partial
            )
        queries, candidates = (
            ranges(ends[:, 0], ends[:, 1] - ends[:, 0]) for ends in (rectangles[:, :2], rectangles[:, 2:])
        )
        return Group(
            self.source,
            self.query_rows[queries],
            self.candidate_rows[candidates],
            np.hstack([_from_zero(rectangles[:, :2]), _from_zero(rectangles[:, 2:])]),
            self.partial or partial,
            tuple(other.taken(queries, candidates) for other in self.apart),
            *self._skipped(queries, candidates),
        )

    def named(self, query: Ints, candidate: Ints, score: Floats) -> ScoredPairs:
        """Scored pairs by their rows in the tables instead of their positions here."""
        return ScoredPairs(self.query_rows[query], self.candidate_rows[candidate], score)

    def _skipped(self, queries: Ints, candidates: Ints) -> tuple[Ints, Ints]:
        """The skipped pairs with both sides at the given positions, renumbered."""
        if not len(self.skip_query):
            return self.skip_query, self.skip_candidate
        if not len(queries) or not len(candidates):
            return self.skip_query[:0], self.skip_candidate[:0]
        places = []
        inside = np.ones(len(self.skip_query), dtype=bool)
        for members, wanted in ((queries, self.skip_query), (candidates, self.skip_candidate)):
            place = np.minimum(np.searchsorted(members, wanted), len(members) - 1)
            inside &= members[place] == wanted
            places.append(place.astype(np.int64))
        return places[0][inside], places[1][inside]


def groups(blocks: SortedBlocks, scorer: ScoreSource, budget: Budget) -> Iterator[Group]:
    """The blocks in groups that fit in memory; a block that does not fit alone is cut into rectangles."""
    most = max(_FEWEST, budget.group_bytes // (_COPIES * scorer.record_bytes + _OVERHEAD))
    everything = Group.of(blocks, scorer)
    first, last, left, right = everything.rectangles.T
    sizes = (last - first) + (right - left)
    start = 0
    while start < blocks.count:
        end = start + int(np.searchsorted(np.cumsum(sizes[start : start + most]), most, side="right"))
        if end > start:
            yield everything.part(everything.rectangles[start:end])
            start = end
            continue
        pieces = _cut(left[start], right[start], most // 2)
        for queries in _cut(first[start], last[start], most // 2):
            for candidates in pieces:
                yield everything.part(np.append(queries, candidates)[None], partial=len(pieces) > 1)
        start += 1


def _cut(first: int, last: int, most: int) -> Ints:
    """A range cut into equal ranges of at most `most`."""
    bounds = np.linspace(first, last, -(-int(last - first) // most) + 1).astype(np.int64)
    return np.column_stack([bounds[:-1], bounds[1:]])


def _from_zero(ends: Ints) -> Ints:
    """The same ranges, one after the other from 0."""
    lengths = ends[:, 1] - ends[:, 0]
    last = np.cumsum(lengths)
    return np.column_stack([last - lengths, last])
