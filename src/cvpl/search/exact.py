"""Exhaustive search, exact at every block size.

A block is a rectangle of queries by candidates. It is cut into tiles that fit the cache and the memory budget; a tile
is scored at once by a matrix product (`Scorer.tile`), which is within a known tolerance of the truth. Whatever could be
one of the two best, or tie with the best, is then scored by the formula itself (`Scorer.pairs`), and only those figures
are kept. So the answer does not depend on the shape of the tiles, on the number of threads, or on the matrix library.

        candidates of the block ->
      +-----------+-----------+-----+
    q |   tile    |   tile    |     |     one task: all tiles of some queries, left to right;
      +-----------+-----------+-----+     it keeps the near-best pairs and reduces them at the end
    | |   tile    |   tile    |     |
    v +-----------+-----------+-----+

Many small blocks would spend their time on bookkeeping, so their pairs are listed together and scored by the formula.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cvpl.operators.similarity import Scorer
from cvpl.search.best import TIE, BestCandidates, ScoredPairs
from cvpl.search.blocks import LeftOut, Partition, SortedBlocks, sort_blocks

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Progress = Callable[[float], None]

_SMALL_BLOCK = 1_500
"""Blocks with at most so many pairs are scored pair by pair, many blocks at a time."""
_LISTED_PAIRS = 1 << 17
_TILE_BYTES = 4 << 20
_TILE_WIDTH = 1 << 14


@dataclass(frozen=True)
class Budget:
    """How much a search may use: bytes for its tiles over all threads, and threads (None: one a core)."""

    memory: int = 1 << 30
    threads: int | None = None

    @property
    def workers(self) -> int:
        """The number of threads."""
        return self.threads or os.cpu_count() or 1

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile of scores; a task holds about six arrays of that size."""
        return max(1 << 14, min(_TILE_BYTES, self.memory // (6 * self.workers)))


def find_best(
    scorer: Scorer,
    partitions: Sequence[Partition],
    *,
    left_out: LeftOut | None = None,
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> BestCandidates:
    """Each query's best candidates: those that share a block with it in any of `partitions` and are not left out."""
    budget = budget or Budget()
    found = BestCandidates.none(scorer.queries)
    single = len(partitions) == 1
    kept: list[ScoredPairs] = []
    total = sum(_pairs(partition) for partition in partitions)
    done = 0
    for number, partition in enumerate(partitions):
        blocks = sort_blocks(partition, partitions[:number], left_out)
        ordered = scorer.sorted(blocks.query_order, blocks.candidate_order)
        for near, counts, pairs in _run(_tasks(blocks, ordered, budget), budget.workers):
            who = blocks.query_order[counts.query]
            found.candidates[who] += counts.count
            mine = ScoredPairs(blocks.query_order[near.query], blocks.candidate_order[near.row], near.score)
            if single:
                mine.reduce_into(found)
            else:
                kept.append(mine)
            done += pairs
            if progress is not None:
                progress(done / total)
    if kept:
        ScoredPairs.joined(kept).reduce_into(found)
    return found


@dataclass(frozen=True, eq=False)
class _Counts:
    """How many candidates each of some queries has, by sorted position."""

    query: Ints
    count: Ints


_Outcome = tuple[ScoredPairs, _Counts, int]


def _pairs(partition: Partition) -> int:
    """How many pairs share a block."""
    size = int(max(partition.queries.max(initial=0), partition.candidates.max(initial=0))) + 1
    counts = (np.bincount(side, minlength=size) for side in (partition.queries, partition.candidates))
    queries, candidates = counts
    return max(1, int(queries @ candidates))


def _run(tasks: Iterator[Callable[[], _Outcome]], workers: int) -> Iterator[_Outcome]:
    """The tasks' results in order, a few tasks ahead at most, each task on one core."""
    with threadpool_limits(limits=1, user_api="blas"):
        if workers == 1:
            for task in tasks:
                yield task()
            return
        with ThreadPoolExecutor(workers) as pool:
            waiting = []
            for task in tasks:
                waiting.append(pool.submit(task))
                if len(waiting) > 2 * workers:
                    yield waiting.pop(0).result()
            for future in waiting:
                yield future.result()


def _tasks(blocks: SortedBlocks, scorer: Scorer, budget: Budget) -> Iterator[Callable[[], _Outcome]]:
    queries = blocks.query_ends[:, 1] - blocks.query_ends[:, 0]
    candidates = blocks.candidate_ends[:, 1] - blocks.candidate_ends[:, 0]
    pairs = queries * candidates
    small = np.flatnonzero(pairs <= _SMALL_BLOCK)
    if small.size:
        groups = np.cumsum(pairs[small]) // _LISTED_PAIRS
        for group in np.split(small, np.flatnonzero(np.diff(groups)) + 1):
            yield _Listed(blocks, scorer, group)
    height_of = budget.tile_bytes // 8
    for block in np.flatnonzero(pairs > _SMALL_BLOCK):
        (first, last), (left, right) = blocks.query_ends[block], blocks.candidate_ends[block]
        height = int(max(1, height_of // min(_TILE_WIDTH, right - left)))
        for start in range(int(first), int(last), height):
            rows = slice(start, min(start + height, int(last)))
            yield _Tiled(blocks, scorer, rows, slice(int(left), int(right)), budget.tile_bytes // 8)


@dataclass(frozen=True, eq=False)
class _Tiled:
    """Some queries of one large block against all its candidates."""

    blocks: SortedBlocks
    scorer: Scorer
    queries: slice
    candidates: slice
    tile_size: int

    def __call__(self) -> _Outcome:
        rows = self.queries.stop - self.queries.start
        width = max(1, self.tile_size // rows)
        top, second = np.full(rows, -np.inf), np.full(rows, -np.inf)
        counts = np.zeros(rows, dtype=np.int64)
        parts: list[tuple[Ints, Ints, Floats]] = []
        for start in range(self.candidates.start, self.candidates.stop, width):
            columns = slice(start, min(start + width, self.candidates.stop))
            tile = self.scorer.tile(self.queries, columns)
            counts += tile.shape[1] - self._exclude(tile, columns)
            best, runner_up = _two_best(tile)
            second = np.maximum(np.minimum(top, best), np.maximum(second, runner_up))
            top = np.maximum(top, best)
            where = np.nonzero(tile >= _floor(top, second, self.scorer.tolerance)[:, None])
            parts.append((where[0], where[1] + start, tile[where]))
        row, column, rough = (np.concatenate([part[at] for part in parts]) for at in range(3))
        # The bar has risen since the first tiles were read.
        near = rough >= _floor(top, second, self.scorer.tolerance)[row]
        query, candidate = row[near] + self.queries.start, column[near]
        score = self.scorer.pairs(query, candidate)
        found = ScoredPairs.joined([ScoredPairs(query, candidate, score)])
        span = np.arange(self.queries.start, self.queries.stop)
        return found, _Counts(span, counts), rows * (self.candidates.stop - self.candidates.start)

    def _exclude(self, tile: Floats, columns: slice) -> Ints:
        """Set the scores of pairs that are no candidates to -inf; how many there were, a query."""
        excluded = np.zeros(len(tile), dtype=np.int64)
        for other in self.blocks.apart:
            same = other.queries[self.queries, None] == other.candidates[columns]
            tile[same] = -np.inf
        low, high = np.searchsorted(self.blocks.skip_query, [self.queries.start, self.queries.stop])
        row = self.blocks.skip_query[low:high] - self.queries.start
        column = self.blocks.skip_candidate[low:high] - columns.start
        inside = (column >= 0) & (column < tile.shape[1])
        tile[row[inside], column[inside]] = -np.inf
        if self.blocks.apart:
            return np.asarray(np.isneginf(tile).sum(axis=1), dtype=np.int64)
        np.add.at(excluded, row[inside], 1)
        return excluded


@dataclass(frozen=True, eq=False)
class _Listed:
    """All pairs of many small blocks, scored by the formula."""

    blocks: SortedBlocks
    scorer: Scorer
    group: Ints

    def __call__(self) -> _Outcome:
        query, candidate = list_pairs(self.blocks, self.group)
        total = len(query)
        keep = candidates_only(self.blocks, query, candidate)
        query, candidate = query[keep], candidate[keep]
        found = ScoredPairs(query, candidate, self.scorer.pairs(query, candidate))
        who, counts = np.unique(query, return_counts=True)
        return found, _Counts(who, counts.astype(np.int64)), total


def list_pairs(blocks: SortedBlocks, group: Ints) -> tuple[Ints, Ints]:
    """Every pair of some blocks, as sorted positions, by query."""
    first, left = blocks.query_ends[group, 0], blocks.candidate_ends[group, 0]
    heights, widths = blocks.query_ends[group, 1] - first, blocks.candidate_ends[group, 1] - left
    query = ranges(first, heights)
    block = np.repeat(np.arange(len(group)), heights)
    return np.repeat(query, widths[block]), ranges(left[block], widths[block])


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """start, start + 1, ... for each start, one after the other."""
    ends = np.cumsum(lengths)
    offsets = np.repeat(starts - (ends - lengths), lengths)
    result: Ints = offsets + np.arange(len(offsets))
    return result


def candidates_only(blocks: SortedBlocks, query: Ints, candidate: Ints) -> NDArray[np.bool_]:
    """Which of the pairs are candidates: not in an earlier partition's block, not left out."""
    keep = np.ones(len(query), dtype=bool)
    for other in blocks.apart:
        keep &= other.queries[query] != other.candidates[candidate]
    if len(blocks.skip_query):
        width = len(blocks.candidate_order)
        skipped = np.sort(blocks.skip_query * width + blocks.skip_candidate)
        pair = query * width + candidate
        place = np.minimum(np.searchsorted(skipped, pair), len(skipped) - 1)
        keep &= skipped[place] != pair
    return keep


def _two_best(tile: Floats) -> tuple[Floats, Floats]:
    """The highest and the second-highest score of each row; -inf where there is none."""
    rows = np.arange(len(tile))
    at = tile.argmax(axis=1)
    best = tile[rows, at]
    tile[rows, at] = -np.inf
    second = tile.max(axis=1)
    tile[rows, at] = best
    return best, second


def _floor(top: Floats, second: Floats, tolerance: float) -> Floats:
    """The rough score from which a pair may be one of the two best, or tie with the best; never -inf."""
    tied = top - TIE - 2 * tolerance
    floor = np.where(np.isneginf(second), tied, np.minimum(tied, second - 2 * tolerance))
    return np.maximum(floor, np.finfo(np.float64).min)
