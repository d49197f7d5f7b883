"""Groups of blocks: as many as fit the memory are brought into the order of their blocks, and searched, at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import Scorer
from cvpl.search.blocks import Partition, SortedBlocks
from cvpl.search.budget import Budget

Ints = NDArray[np.int64]

_OVERHEAD = 256
_COPIES = 3
"""A record of a group is held as its vector, a copy on the way there, and what a tree makes of it."""
_FEWEST = 256


@dataclass(frozen=True, eq=False)
class Group:
    """Some blocks, with a scorer of just their records.

    A rectangle (first query, last, first candidate, last) is a block, or a part of one; places count the records of the
    group, whose rows in the tables are `query_rows` and `candidate_rows`. `partial` says that a rectangle may hold only
    some of its queries' candidates. `apart` and the skipped pairs are those of the blocks.
    """

    scorer: Scorer
    query_rows: Ints
    candidate_rows: Ints
    rectangles: Ints
    partial: bool
    apart: tuple[Partition, ...]
    skip_query: Ints
    skip_candidate: Ints

    @property
    def pairs(self) -> Ints:
        """How many pairs each rectangle has."""
        queries = self.rectangles[:, 1] - self.rectangles[:, 0]
        result: Ints = queries * (self.rectangles[:, 3] - self.rectangles[:, 2])
        return result


def groups(blocks: SortedBlocks, scorer: Scorer, budget: Budget) -> Iterator[Group]:
    """The blocks in groups that fit; a block that does not fit by itself is cut into rectangles."""
    most = max(_FEWEST, budget.group_bytes // (_COPIES * scorer.record_bytes + _OVERHEAD))
    sizes = (blocks.query_ends[:, 1] - blocks.query_ends[:, 0]) + (
        blocks.candidate_ends[:, 1] - blocks.candidate_ends[:, 0]
    )
    start = 0
    while start < blocks.count:
        end = start + int(np.searchsorted(np.cumsum(sizes[start : start + most]), most, side="right"))
        if end > start:
            yield _group(blocks, scorer, blocks.query_ends[start:end], blocks.candidate_ends[start:end])
            start = end
            continue
        for queries in _cut(blocks.query_ends[start], most // 2):
            pieces = _cut(blocks.candidate_ends[start], most // 2)
            for candidates in pieces:
                yield _group(blocks, scorer, queries[None], candidates[None], partial=len(pieces) > 1)
        start += 1


def _cut(ends: Ints, most: int) -> Ints:
    """A range cut into equal ranges of at most so many."""
    pieces = -(-int(ends[1] - ends[0]) // most)
    bounds = np.linspace(ends[0], ends[1], pieces + 1).astype(np.int64)
    return np.column_stack([bounds[:-1], bounds[1:]])


def _group(
    blocks: SortedBlocks, scorer: Scorer, query_ends: Ints, candidate_ends: Ints, *, partial: bool = False
) -> Group:
    queries, candidates = (ranges(ends[:, 0], ends[:, 1] - ends[:, 0]) for ends in (query_ends, candidate_ends))
    query_rows, candidate_rows = blocks.query_order[queries], blocks.candidate_order[candidates]
    apart = tuple(Partition(other.queries[queries], other.candidates[candidates]) for other in blocks.apart)
    return Group(
        scorer.sorted(query_rows, candidate_rows),
        query_rows,
        candidate_rows,
        np.hstack([_local(query_ends), _local(candidate_ends)]),
        partial,
        apart,
        *_skips(blocks, queries, candidates),
    )


def _local(ends: Ints) -> Ints:
    """The same ranges, one behind the other from 0."""
    last = np.cumsum(ends[:, 1] - ends[:, 0])
    return np.column_stack([np.concatenate([[0], last[:-1]]), last]).astype(np.int64)


def _skips(blocks: SortedBlocks, queries: Ints, candidates: Ints) -> tuple[Ints, Ints]:
    """The skipped pairs of which both sides are in the group, by their places in it."""
    if not len(blocks.skip_query):
        return blocks.skip_query, blocks.skip_candidate
    places = []
    inside = np.ones(len(blocks.skip_query), dtype=bool)
    for members, wanted in ((queries, blocks.skip_query), (candidates, blocks.skip_candidate)):
        place = np.minimum(np.searchsorted(members, wanted), len(members) - 1)
        inside &= members[place] == wanted
        places.append(place.astype(np.int64))
    return places[0][inside], places[1][inside]


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """start, start + 1, ... for each start, one after the other."""
    ends = np.cumsum(lengths)
    offsets = np.repeat(starts - (ends - lengths), lengths)
    result: Ints = offsets + np.arange(len(offsets))
    return result
