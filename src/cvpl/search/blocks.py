"""Blocks as ranges: queries and candidates sorted by block, and the pairs that are no candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_SPARSE = 4
"""With more numbers than so many times the records, blocks are counted in the order of their numbers."""


@dataclass(frozen=True, eq=False)
class Partition:
    """One scheme's block of every query and every candidate; equal numbers are one block."""

    queries: Ints
    candidates: Ints

    @property
    def pairs(self) -> int:
        """How many pairs share a block."""
        size = int(max(self.queries.max(initial=0), self.candidates.max(initial=0))) + 1
        if size > _SPARSE * (len(self.queries) + len(self.candidates) + 256):
            return sort_blocks(self).pairs
        queries, candidates = (np.bincount(side, minlength=size) for side in (self.queries, self.candidates))
        return int(queries @ candidates)

    def counts(self) -> Ints:
        """|C(x)| of every query."""
        size = int(max(self.queries.max(initial=0), self.candidates.max(initial=0))) + 1
        counts: Ints = np.bincount(self.candidates, minlength=size)[self.queries]
        return counts

    def shares(self, queries: Ints | slice, candidates: Ints | slice) -> NDArray[np.bool_]:
        """Which pairs of queries[i] and candidates[i] share a block."""
        return np.asarray(self.queries[queries] == self.candidates[candidates])

    def shared(self, queries: slice, candidates: slice) -> NDArray[np.bool_]:
        """Which of some queries share a block with which of some candidates: queries x candidates."""
        return np.asarray(self.queries[queries, None] == self.candidates[candidates])

    def taken(self, queries: Ints, candidates: Ints) -> Partition:
        """The same for some of the records, in this order."""
        return Partition(self.queries[queries], self.candidates[candidates])


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Single pairs that are not candidates, such as a record and itself: row `candidate[i]` for query `query[i]`."""

    query: Ints
    candidate: Ints

    @classmethod
    def itself(cls, rows: Ints) -> LeftOut:
        """For queries that are rows of the candidate table: each query's own row."""
        return cls(np.arange(len(rows), dtype=np.int64), rows)

    def of(self, queries: Ints) -> LeftOut:
        """The same for some of the queries, renumbered from 0; `queries` ascends."""
        place = np.searchsorted(queries, self.query)
        place = np.minimum(place, max(0, len(queries) - 1))
        kept = queries[place] == self.query if len(queries) else np.zeros(len(self.query), dtype=bool)
        return LeftOut(place[kept].astype(np.int64), self.candidate[kept])


@dataclass(frozen=True, eq=False)
class SortedBlocks:
    """A partition laid out so that a block is a range of sorted queries and a range of sorted candidates.

    Only blocks with both are listed. `apart` holds earlier partitions in the same order: a pair that shares a block
    there was a candidate already. `skip` lists left-out pairs by sorted position.
    """

    query_order: Ints
    candidate_order: Ints
    query_ends: Ints
    candidate_ends: Ints
    apart: tuple[Partition, ...] = ()
    skip_query: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    skip_candidate: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def count(self) -> int:
        """How many blocks have both queries and candidates."""
        return len(self.query_ends)

    @property
    def pairs(self) -> int:
        """How many pairs share a block."""
        queries = self.query_ends[:, 1] - self.query_ends[:, 0]
        candidates = self.candidate_ends[:, 1] - self.candidate_ends[:, 0]
        return int(queries @ candidates)


def sort_blocks(
    partition: Partition, earlier: Sequence[Partition] = (), left_out: LeftOut | None = None
) -> SortedBlocks:
    """Lay a partition out in ranges; ties keep the rows' order."""
    query_order, candidate_order = _sorted(partition.queries), _sorted(partition.candidates)
    queries, query_ends = _runs(partition.queries, query_order)
    candidates, candidate_ends = _runs(partition.candidates, candidate_order)
    _, left, right = np.intersect1d(queries, candidates, assume_unique=True, return_indices=True)
    apart = tuple(other.taken(query_order, candidate_order) for other in earlier)
    skip = _skipped(left_out, query_order, candidate_order)
    return SortedBlocks(query_order, candidate_order, query_ends[left], candidate_ends[right], apart, *skip)


def _runs(codes: Ints, order: Ints) -> tuple[Ints, Ints]:
    """The distinct codes, ascending, and where each begins and ends among the codes in this order."""
    ascending = codes[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])) if len(codes) else order
    return ascending[starts], np.column_stack([starts, np.append(starts, len(codes))[1:]]).astype(np.int64)


def _sorted(codes: Ints) -> Ints:
    """The order of the codes; ties keep theirs. Small codes are sorted by their digits, which is many times faster."""
    small = len(codes) and codes.min() >= 0 and codes.max() < 1 << 16
    return np.argsort(codes.astype(np.uint16) if small else codes, kind="stable")


def _skipped(left_out: LeftOut | None, query_order: Ints, candidate_order: Ints) -> tuple[Ints, Ints]:
    if left_out is None or not len(left_out.query):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    place = [np.empty(len(order), dtype=np.int64) for order in (query_order, candidate_order)]
    for positions, order in zip(place, (query_order, candidate_order), strict=True):
        positions[order] = np.arange(len(order))
    query, candidate = place[0][left_out.query], place[1][left_out.candidate]
    order = np.argsort(query, kind="stable")
    return query[order], candidate[order]


def together(partitions: Sequence[Partition], query: Ints, candidate: Ints) -> NDArray[np.bool_]:
    """Which of some pairs share a block in any of the partitions."""
    shared = np.zeros(len(query), dtype=bool)
    for partition in partitions:
        shared |= partition.shares(query, candidate)
    return shared
