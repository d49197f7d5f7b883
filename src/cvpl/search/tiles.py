"""Blocks scored pair by pair, a tile at a time.

A rectangle of queries by candidates is cut into tiles that fit in cache and memory. A tile is scored at once by a
matrix product (`Scorer.tile`), which is within a known tolerance of the exact scores. Pairs that could be one of the
two best, or tie with the best, are then scored by the formula itself (`Scorer.pairs`), and only those scores are kept.
So the result does not depend on the shape of the tiles, on the number of threads, or on the matrix library.

        candidates of the block ->
      +-----------+-----------+-----+
    q |   tile    |   tile    |     |     one task: all tiles of some queries, left to right;
      +-----------+-----------+-----+     it keeps the near-best pairs and scores them at the end
    | |   tile    |   tile    |     |
    v +-----------+-----------+-----+
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.search.best import TIE, Counts, SearchOutcome
from cvpl.search.groups import Group

Ints = NDArray[np.int64]
Scores = NDArray[np.floating]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tiled:
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
