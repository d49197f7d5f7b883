"""Blocks as ranges: queries and candidates sorted by block, as many blocks at a time as fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import Scorer, ScoreSource
from cvpl.search.best import ScoredPairs
from cvpl.search.compatible.class_sets import ClassSets
from cvpl.search.machine import Budget

Ints = NDArray[np.int64]


_SPARSE = 4
"""With more block numbers than this many times the records, blocks are counted by sorting."""
MOST_PLACES = 1 << 24
"""Candidates laid out at a time if they belong to several sets."""


@dataclass(frozen=True, eq=False)
class Partition:
    """One scheme's block of every query and every candidate; equal numbers mean one block.

    With `sets` a query may be compared with candidates of several blocks: its number is then that of a set of blocks.
    """

    queries: Ints
    candidates: Ints
    sets: ClassSets | None = None

    @property
    def pairs(self) -> int:
        """The number of pairs that share a block."""
        if self.sets is None:
            size = int(max(self.queries.max(initial=0), self.candidates.max(initial=0))) + 1
            if size > _SPARSE * (len(self.queries) + len(self.candidates) + 256):
                return sort_blocks(self).pairs
        queries, candidates = self.sizes()
        return int(queries @ candidates)

    def sizes(self) -> tuple[Ints, Ints]:
        """The number of queries of each block or set, and the number of candidates they are compared with."""
        if self.sets is None:
            size = int(max(self.queries.max(initial=-1), self.candidates.max(initial=-1))) + 1
            queries, candidates = (np.bincount(side, minlength=size) for side in (self.queries, self.candidates))
            return queries, candidates
        queries = np.bincount(self.queries, minlength=len(self.sets))
        return queries, self.sets.totals(np.bincount(self.candidates, minlength=self.sets.span))

    def unmet(self) -> int:
        """The number of candidate blocks that no query is compared with."""
        queries, candidates = self.sizes()
        if self.sets is None:
            return int(((queries == 0) & (candidates > 0)).sum())
        asked = self.sets.classes[np.repeat(queries > 0, np.diff(self.sets.starts))]
        return len(np.setdiff1d(self.candidates, asked))

    def counts(self) -> Ints:
        """|C(x)| of every query."""
        counts: Ints = self.sizes()[1][self.queries]
        return counts

    def shares(self, queries: Ints, candidates: Ints) -> NDArray[np.bool_]:
        """Which pairs of queries[i] and candidates[i] share a block."""
        return self._meet(self.queries[queries], self.candidates[candidates])

    def shared(self, queries: slice, candidates: slice) -> NDArray[np.bool_]:
        """Which of some queries share a block with which of some candidates: queries x candidates."""
        return self._meet(self.queries[queries, None], self.candidates[candidates])

    def _meet(self, query: Ints, candidate: Ints) -> NDArray[np.bool_]:
        return np.asarray(query == candidate) if self.sets is None else self.sets.hold(query, candidate)

    def taken(self, queries: Ints, candidates: Ints) -> Partition:
        """The partition of some of the records, in this order."""
        return Partition(self.queries[queries], self.candidates[candidates], self.sets)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Single pairs that are not candidates, such as a record and itself: row `candidate[i]` for query `query[i]`."""

    query: Ints
    candidate: Ints

    @classmethod
    def itself(cls, rows: Ints) -> LeftOut:
        """Each query's own row, for queries that are rows of the candidate table."""
        return cls(np.arange(len(rows), dtype=np.int64), rows)

    def of(self, queries: Ints) -> LeftOut:
        """The pairs of some of the queries, renumbered from 0; `queries` must be sorted."""
        place = np.searchsorted(queries, self.query)
        place = np.minimum(place, max(0, len(queries) - 1))
        kept = queries[place] == self.query if len(queries) else np.zeros(len(self.query), dtype=bool)
        return LeftOut(place[kept].astype(np.int64), self.candidate[kept])


@dataclass(frozen=True, eq=False)
class SortedBlocks:
    """A partition laid out so that a block is a range of sorted queries and a range of sorted candidates.

    A candidate of several sets is in the range of each; a query occurs once, with all its candidates in one range. Only
    blocks with both are listed. `apart` holds earlier partitions in the same order: a pair that shares a block there is
    already a candidate. `skip` lists left-out pairs by sorted position.
    """

    query_order: Ints
    candidate_order: Ints
    query_ends: Ints
    candidate_ends: Ints
    apart: tuple[Partition, ...] = ()
    skip_query: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    skip_candidate: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def rows(self) -> Iterator[tuple[Ints, Ints]]:
        """The rows of each block's queries and of its candidates."""
        for queries, candidates in zip(self.query_ends, self.candidate_ends, strict=True):
            yield self.query_order[slice(*queries)], self.candidate_order[slice(*candidates)]

    @property
    def count(self) -> int:
        """The number of blocks with both queries and candidates."""
        return len(self.query_ends)

    @property
    def pairs(self) -> int:
        """The number of pairs that share a block."""
        queries = self.query_ends[:, 1] - self.query_ends[:, 0]
        candidates = self.candidate_ends[:, 1] - self.candidate_ends[:, 0]
        return int(queries @ candidates)


def sort_blocks(
    partition: Partition, earlier: Sequence[Partition] = (), left_out: LeftOut | None = None
) -> SortedBlocks:
    """Lay out a partition in ranges; ties keep the row order."""
    if partition.sets is not None:
        return _sets_in_ranges(partition, np.arange(len(partition.sets)), earlier, left_out)
    query_order, candidate_order = _sort_codes(partition.queries), _sort_codes(partition.candidates)
    queries, query_ends = _runs(partition.queries, query_order)
    candidates, candidate_ends = _runs(partition.candidates, candidate_order)
    _, left, right = np.intersect1d(queries, candidates, assume_unique=True, return_indices=True)
    apart = tuple(other.taken(query_order, candidate_order) for other in earlier)
    skip = _order_skipped(left_out, query_order, candidate_order)
    return SortedBlocks(query_order, candidate_order, query_ends[left], candidate_ends[right], apart, *skip)


def layouts(
    partition: Partition, earlier: Sequence[Partition] = (), left_out: LeftOut | None = None
) -> Iterator[SortedBlocks]:
    """The layout in parts, to save memory: a query is in one part, and a candidate is repeated in each of its sets."""
    if partition.sets is None:
        yield sort_blocks(partition, earlier, left_out)
        return
    queries, candidates = partition.sizes()
    room = np.cumsum(np.where(queries > 0, candidates, 0)) // MOST_PLACES
    for sets in np.split(np.arange(len(queries)), np.flatnonzero(np.diff(room)) + 1):
        yield _sets_in_ranges(partition, sets, earlier, left_out)


def _sets_in_ranges(
    partition: Partition, among: Ints, earlier: Sequence[Partition], left_out: LeftOut | None
) -> SortedBlocks:
    """Some of the sets in ranges: candidates are sorted within a set, and repeated in every set they belong to."""
    assert partition.sets is not None  # noqa: S101 - callers check it
    query_order = _sort_codes(partition.queries)
    numbers, query_ends = _runs(partition.queries, query_order)
    heights, widths = partition.sizes()
    here = np.zeros(len(heights), dtype=bool)
    here[among] = True
    here &= (heights > 0) & (widths > 0)
    wanted = np.flatnonzero(here)
    # The classes of the wanted sets, and the rows of each class, one after the other.
    starts = partition.sets.starts
    classes = partition.sets.classes[ranges(starts[wanted], starts[wanted + 1] - starts[wanted])]
    by_class = _sort_codes(partition.candidates)
    sizes = np.bincount(partition.candidates, minlength=partition.sets.span)
    first = np.append(0, np.cumsum(sizes))[classes]
    rows = by_class[ranges(first, sizes[classes])]
    ends = np.cumsum(widths[wanted])
    within = np.repeat(np.arange(len(wanted)), widths[wanted])
    total = max(1, len(partition.candidates))
    if not _ascending(keys := within * total + rows):
        keys.sort()
        rows = keys - within * total
    query_ends = query_ends[np.isin(numbers, wanted)]
    candidate_ends = np.column_stack([ends - widths[wanted], ends])
    skip_query, skip_candidate = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if left_out is not None and len(left_out.query):
        number = np.full(len(heights), -1, dtype=np.int64)
        number[wanted] = np.arange(len(wanted))
        there = number[partition.queries[left_out.query]]
        key = there * total + left_out.candidate
        place = np.minimum(np.searchsorted(keys, key), max(0, len(keys) - 1))
        inside = (there >= 0) & (keys[place] == key) if len(keys) else np.zeros(len(there), dtype=bool)
        at = np.empty(len(query_order), dtype=np.int64)
        at[query_order] = np.arange(len(query_order))
        skip_query, skip_candidate = at[left_out.query[inside]], place[inside]
        order = np.argsort(skip_query, kind="stable")
        skip_query, skip_candidate = skip_query[order], skip_candidate[order]
    apart = tuple(other.taken(query_order, rows) for other in earlier)
    return SortedBlocks(query_order, rows, query_ends, candidate_ends, apart, skip_query, skip_candidate)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """start, start + 1, ... for each start, one after the other."""
    ends = np.cumsum(lengths)
    offsets = np.repeat(starts - (ends - lengths), lengths)
    result: Ints = offsets + np.arange(len(offsets))
    return result


def _ascending(values: Ints) -> bool:
    return bool(np.all(values[1:] >= values[:-1]))


def _runs(codes: Ints, order: Ints) -> tuple[Ints, Ints]:
    """The sorted distinct codes, and the start and end of each among the codes in this order."""
    ascending = codes[order]
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])) if len(codes) else order
    return ascending[starts], np.column_stack([starts, np.append(starts, len(codes))[1:]]).astype(np.int64)


def _sort_codes(codes: Ints) -> Ints:
    """The stable sort order of the codes. Small codes use a radix sort, which is many times faster."""
    small = len(codes) and codes.min() >= 0 and codes.max() < 1 << 16
    return np.argsort(codes.astype(np.uint16) if small else codes, kind="stable")


def _order_skipped(left_out: LeftOut | None, query_order: Ints, candidate_order: Ints) -> tuple[Ints, Ints]:
    if left_out is None or not len(left_out.query):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    place = [np.empty(len(order), dtype=np.int64) for order in (query_order, candidate_order)]
    for positions, order in zip(place, (query_order, candidate_order), strict=True):
        positions[order] = np.arange(len(order))
    query, candidate = place[0][left_out.query], place[1][left_out.candidate]
    order = np.argsort(query, kind="stable")
    return query[order], candidate[order]


def share_block(partitions: Sequence[Partition], query: Ints, candidate: Ints) -> NDArray[np.bool_]:
    """Which of some pairs share a block in any of the partitions."""
    shared = np.zeros(len(query), dtype=bool)
    for partition in partitions:
        shared |= partition.shares(query, candidate)
    return shared


Floats = NDArray[np.float64]

_OVERHEAD = 256
_COPIES = 3
"""Copies of each record of a group: its vector, a temporary copy, and its part of a tree."""
_FEWEST_RECORDS = 256


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
    most = max(_FEWEST_RECORDS, budget.group_bytes // (_COPIES * scorer.record_bytes + _OVERHEAD))
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
        pieces = _cut_range(left[start], right[start], most // 2)
        for queries in _cut_range(first[start], last[start], most // 2):
            for candidates in pieces:
                yield everything.part(np.append(queries, candidates)[None], partial=len(pieces) > 1)
        start += 1


def _cut_range(first: int, last: int, most: int) -> Ints:
    """A range cut into equal ranges of at most `most`."""
    bounds = np.linspace(first, last, -(-int(last - first) // most) + 1).astype(np.int64)
    return np.column_stack([bounds[:-1], bounds[1:]])


def _from_zero(ends: Ints) -> Ints:
    """The same ranges, one after the other from 0."""
    lengths = ends[:, 1] - ends[:, 0]
    last = np.cumsum(lengths)
    return np.column_stack([last - lengths, last])
