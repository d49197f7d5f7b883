"""Candidate pairs scored one by one: listed in small blocks, in tiles of large ones, or as a seeded sample.

Blocks scored pair by pair, a tile at a time. A rectangle of queries by candidates is cut into tiles that fit in cache
and memory. A tile is scored at once by a matrix product (`Scorer.tile`), which is within a known tolerance of the exact
scores. Pairs that could be one of the two best, or tie with the best, are then scored by the formula itself
(`Scorer.pairs`), and only those scores are kept. So the result does not depend on the shape of the tiles, on the number
of threads, or on the matrix library.

        candidates of the block ->
      +-----------+-----------+-----+
    q |   tile    |   tile    |     |     one task: all tiles of some queries, left to right;
      +-----------+-----------+-----+     it keeps the near-best pairs and scores them at the end
    | |   tile    |   tile    |     |
    v +-----------+-----------+-----+
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import ScoreSource
from cvpl.search.best import TIE, Counts, SearchOutcome
from cvpl.search.blocks import Group, LeftOut, Partition, SortedBlocks, groups, layouts, ranges, sort_blocks
from cvpl.search.machine import Budget

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


MOST_PAIRS = 5_000_000
"""Up to this many candidate pairs, every pair is scored."""
SAMPLED_PER_RECORD = 100
"""Beyond that, the number of candidates sampled for each record (the paper's choice)."""
SAMPLED_RECORDS = 20_000
"""The number of records for which candidates are sampled."""
LISTED = 1 << 18


@dataclass(frozen=True, eq=False)
class PairSimilarities:
    """Sorted scores of candidate pairs. `total` counts all candidate pairs; `sampled` says that these are a sample."""

    values: Floats
    total: int
    sampled: bool


def candidate_similarities(
    scorer: ScoreSource,
    partitions: Sequence[Partition],
    rng: np.random.Generator,
    *,
    left_out: LeftOut | None = None,
    most: int = MOST_PAIRS,
    budget: Budget | None = None,
) -> PairSimilarities:
    """The scores of all candidate pairs, or of a uniform sample of them."""
    total = sum(partition.pairs for partition in partitions)
    values: list[Floats] = []
    for at, partition in enumerate(partitions):
        if total > most:
            query, row = _draw_pairs(sort_blocks(partition), rng)
            keep = _candidates_among(query, row, partitions[:at], left_out)
            values.append(scorer.pairs(query[keep], row[keep]))
            continue
        parts = layouts(partition, partitions[:at], left_out)
        for group in (group for blocks in parts for group in groups(blocks, scorer, budget or Budget())):
            ends = np.flatnonzero(np.diff(np.cumsum(group.pairs) // LISTED)) + 1
            for rectangles in np.split(group.rectangles, ends):
                query, candidate = list_pairs(rectangles)
                keep = candidates_only(group, query, candidate)
                values.append(group.scorer.pairs(query[keep], candidate[keep]))
    found = np.sort(np.concatenate(values)) if values else np.zeros(0)
    return PairSimilarities(found, total if total > most else len(found), total > most)


def _draw_pairs(blocks: SortedBlocks, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Uniformly sampled pairs, as rows: records by the number of their candidates, then candidates of each."""
    heights = blocks.query_ends[:, 1] - blocks.query_ends[:, 0]
    widths = blocks.candidate_ends[:, 1] - blocks.candidate_ends[:, 0]
    work = (heights * widths).astype(np.float64)
    block = np.sort(rng.choice(blocks.count, size=min(SAMPLED_RECORDS, int(heights.sum())), p=work / work.sum()))
    query = blocks.query_ends[block, 0] + rng.integers(heights[block])
    query, block = np.repeat(query, SAMPLED_PER_RECORD), np.repeat(block, SAMPLED_PER_RECORD)
    candidate = blocks.candidate_ends[block, 0] + rng.integers(widths[block])
    return blocks.query_order[query], blocks.candidate_order[candidate]


def _candidates_among(
    query: Ints, row: Ints, earlier: Sequence[Partition], left_out: LeftOut | None
) -> NDArray[np.bool_]:
    """Which pairs are candidates: not in an earlier partition's block, not left out."""
    keep = np.ones(len(query), dtype=bool)
    for other in earlier:
        keep &= ~other.shares(query, row)
    if left_out is not None and len(left_out.query):
        width = int(max(row.max(initial=0), left_out.candidate.max())) + 1
        listed = left_out.query * width + left_out.candidate
        listed.sort()
        wanted = query * width + row
        keep &= listed[np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)] != wanted
    return keep


Scores = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class TiledQueries:
    """Some queries against a range of candidates; `tile_size` counts the pairs of a tile."""

    group: Group
    queries: slice
    candidates: slice
    tile_size: int

    def __call__(self) -> SearchOutcome:
        """Score tile by tile."""
        rows = self.queries.stop - self.queries.start
        scorer = self.group.scorer
        width = max(1, self.tile_size // rows)
        top, second = np.full(rows, -np.inf), np.full(rows, -np.inf)
        floor = self._floor(top, second)
        counts = np.zeros(rows, dtype=np.int64)
        parts: list[tuple[Ints, Ints, Scores]] = []
        for start in range(self.candidates.start, self.candidates.stop, width):
            columns = slice(start, min(start + width, self.candidates.stop))
            tile = scorer.tile(self.queries, columns)
            counts += tile.shape[1] - self._exclude(tile, columns)
            # Few rows of a later tile exceed the bar; only these, and those without two candidates yet, are searched.
            high = np.flatnonzero((tile.max(axis=1) >= floor) | np.isneginf(second))
            some = tile if len(high) == rows else tile[high]
            best, runner_up = _two_best(some)
            second[high] = np.maximum(np.minimum(top[high], best), np.maximum(second[high], runner_up))
            top[high] = np.maximum(top[high], best)
            floor = self._floor(top, second)
            where = np.flatnonzero(some >= floor[high, None].astype(tile.dtype))
            parts.append((high[where // some.shape[1]], where % some.shape[1] + start, some.ravel()[where]))
        row, column, rough = (np.concatenate([part[at] for part in parts]) for at in range(3))
        # The bar has risen since the first tiles were scored.
        near = rough >= self._floor(top, second)[row]
        query, candidate = row[near] + self.queries.start, column[near]
        order = np.argsort(query, kind="stable")
        query, candidate = query[order], candidate[order]
        found = self.group.named(query, candidate, scorer.pairs(query, candidate))
        who = self.group.query_rows[self.queries]
        return SearchOutcome(rows * (self.candidates.stop - self.candidates.start), found, Counts(who, counts))

    def _floor(self, top: Floats, second: Floats) -> Floats:
        """The entry from which a pair is kept; never -inf, which marks pairs that are not candidates."""
        lowest = self.group.scorer.lowest_near_best(self.queries, top, second, TIE)
        return np.maximum(lowest, np.finfo(np.float32).min)

    def _exclude(self, tile: Scores, columns: slice) -> Ints:
        """Set the scores of pairs that are not candidates to -inf, and count them for each query."""
        excluded = np.zeros(len(tile), dtype=np.int64)
        for other in self.group.apart:
            tile[other.shared(self.queries, columns)] = -np.inf
        low, high = np.searchsorted(self.group.skip_query, [self.queries.start, self.queries.stop])
        row = self.group.skip_query[low:high] - self.queries.start
        column = self.group.skip_candidate[low:high] - columns.start
        inside = (column >= 0) & (column < tile.shape[1])
        tile[row[inside], column[inside]] = -np.inf
        if self.group.apart:
            return np.asarray(np.isneginf(tile).sum(axis=1), dtype=np.int64)
        np.add.at(excluded, row[inside], 1)
        return excluded


def _two_best(tile: Scores) -> tuple[Floats, Floats]:
    """The highest and the second-highest score of each row; -inf if there is none."""
    rows = np.arange(len(tile))
    at = tile.argmax(axis=1)
    best = tile[rows, at]
    tile[rows, at] = -np.inf
    second = tile.max(axis=1)
    tile[rows, at] = best
    return best.astype(np.float64), second.astype(np.float64)


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """All pairs of many small rectangles, scored by the formula."""

    group: Group
    rectangles: Ints

    def __call__(self) -> SearchOutcome:
        """List, score and count."""
        query, candidate = list_pairs(self.rectangles)
        total = len(query)
        keep = candidates_only(self.group, query, candidate)
        query, candidate = query[keep], candidate[keep]
        found = self.group.named(query, candidate, self.group.scorer.pairs(query, candidate))
        who, counts = np.unique(query, return_counts=True)
        return SearchOutcome(total, found, Counts(self.group.query_rows[who], counts.astype(np.int64)))


def list_pairs(rectangles: Ints) -> tuple[Ints, Ints]:
    """Every pair of some rectangles, by query."""
    first, last, left, right = rectangles.T
    query = ranges(first, last - first)
    rectangle = np.repeat(np.arange(len(rectangles)), last - first)
    widths = (right - left)[rectangle]
    return np.repeat(query, widths), ranges(left[rectangle], widths)


def candidates_only(group: Group, query: Ints, candidate: Ints) -> NDArray[np.bool_]:
    """Which pairs are candidates: not in an earlier partition's block, not left out."""
    keep = np.ones(len(query), dtype=bool)
    for other in group.apart:
        keep &= ~other.shares(query, candidate)
    if len(group.skip_query):
        width = len(group.candidate_rows)
        skipped = np.sort(group.skip_query * width + group.skip_candidate)
        pair = query * width + candidate
        place = np.minimum(np.searchsorted(skipped, pair), len(skipped) - 1)
        keep &= skipped[place] != pair
    return keep
