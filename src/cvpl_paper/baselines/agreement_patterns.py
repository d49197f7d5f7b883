"""Agreement patterns: the columns on which a pair agrees, and how often each pattern occurs among candidate pairs.

A pattern states for every column whether the pair agrees, differs, or lacks a value. Pairs are processed block by
block, a bounded number at a time, and only counts are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import LimitError
from cvpl.operators.similarity.agreement import lowest_near_best
from cvpl.operators.similarity.match_agreement import Patterns
from cvpl.search.blocks import Partition
from cvpl.search.machine import Budget
from cvpl_paper.baselines.agreement import WeighedColumn
from cvpl_paper.baselines.block_pairs import listed_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.intp]
Bits = NDArray[np.integer]

MOST_COLUMNS = 31
"""A pattern takes two bits per column, and is one whole number."""
_COUNTED_BY_PLACE = 20
"""Patterns of up to this many bits are counted in a full table, longer ones by sorting."""
_LOOKED_UP = 16
"""The number of columns whose weights share one lookup table."""


@dataclass(frozen=True, eq=False)
class PatternScorer:
    """Sums the weights of a pair's columns: `agree` if it agrees, `differ` if not, 0 if a value is missing.

    weight(x, y) = Σ over known columns of differ + Σ over agreeing columns of (agree - differ)

    Both sums are looked up by bits, one per column and the first lowest, so that a pair's weight does not depend on its
    position. `lacking` holds the bits of the missing values of queries and candidates.
    """

    columns: tuple[WeighedColumn, ...]
    lacking: tuple[Bits, Bits]
    agree: Floats
    differ: Floats
    tolerance: float = 0.0
    unit: ClassVar[bool] = False
    unit_vectors: ClassVar[None] = None
    agreement: ClassVar[None] = None
    cells: ClassVar[None] = None

    @classmethod
    def of(
        cls, columns: Sequence[WeighedColumn], rows: tuple[int, int], agree: Floats, differ: Floats
    ) -> PatternScorer:
        """A scorer of two tables with these numbers of rows."""
        mine, theirs = np.zeros(rows[0], dtype=np.uint32), np.zeros(rows[1], dtype=np.uint32)
        for place, column in enumerate(columns):
            mine |= (~column.queries.known).astype(np.uint32) << place
            theirs |= (~column.candidates.known).astype(np.uint32) << place
        width = _width(len(columns))
        return cls(tuple(columns), (mine.astype(width), theirs.astype(width)), agree, differ)

    @property
    def queries(self) -> int:
        """The number of query records."""
        return len(self.lacking[0])

    @property
    def candidates(self) -> int:
        """The number of candidate records."""
        return len(self.lacking[1])

    @property
    def record_bytes(self) -> int:
        """Bytes of the ranges of a record."""
        return 8 * len(self.columns) + 4

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return not any(side.any() for side in self.lacking)

    def sorted(self, queries: Rows, candidates: Rows) -> PatternScorer:
        """A scorer of some of the records, in another order."""
        columns = tuple(column.take(queries, candidates) for column in self.columns)
        return replace(self, columns=columns, lacking=(self.lacking[0][queries], self.lacking[1][candidates]))

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """The weights of every query with every candidate of two ranges."""
        return self.pairs(np.arange(queries.start, queries.stop)[:, None], np.arange(candidates.start, candidates.stop))

    def lowest_near_best(self, queries: slice, top: Floats, second: Floats, tie: float) -> Floats:
        """The entry of a tile from which a pair may be one of the two best, or tie with the best."""
        return lowest_near_best(top, second, tie, self.tolerance)

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The weights of the pairs (queries[i], candidates[i]); the two arrays are broadcast."""
        weights = _looked_up(self.agreeing(queries, candidates), self.agree - self.differ)
        if self.complete:
            weights += float(self.differ.sum())
        else:
            weights += _looked_up(~(self.lacking[0][queries] | self.lacking[1][candidates]), self.differ)
        return weights

    def agreeing(self, queries: Rows, candidates: Rows) -> Bits:
        """The bits of the columns on which pairs agree; the two arrays are broadcast."""
        bits = np.zeros(np.broadcast_shapes(queries.shape, candidates.shape), dtype=_width(len(self.columns)))
        for place, column in enumerate(self.columns):
            agree = column.agree(queries, candidates).view(np.uint8)
            bits |= agree.astype(bits.dtype, copy=False) << place
        return bits


def count_patterns(
    columns: Sequence[WeighedColumn], partitions: Sequence[Partition], budget: Budget | None = None
) -> Patterns:
    """Count every pattern among the pairs that share a block in any of the partitions, each pair once.

    Without a pair there is no pattern.
    """
    width = len(columns)
    if width > MOST_COLUMNS:
        raise LimitError(
            f"{width} columns would be compared, and {MOST_COLUMNS} is the most whose patterns are counted. "
            "Let the attacker know fewer columns."
        )
    rows = len(partitions[0].queries), len(partitions[0].candidates)
    source = PatternScorer.of(columns, rows, np.zeros(width), np.zeros(width))
    bits = width if source.complete else 2 * width
    by_place = bits <= _COUNTED_BY_PLACE
    totals = np.zeros(1 << bits if by_place else 0, dtype=np.int64)
    counted: dict[int, int] = {}
    for group, query, candidate in listed_pairs(source, partitions, budget or Budget()):
        asked, there = group.query_rows[query], group.candidate_rows[candidate]
        codes = source.agreeing(asked, there)
        if bits > width:
            lacking = source.lacking[0][asked] | source.lacking[1][there]
            codes = codes + (lacking.astype(np.int64) << width)
        if by_place:
            totals += np.bincount(codes, minlength=len(totals))
        else:
            for code, count in zip(*(part.tolist() for part in np.unique(codes, return_counts=True)), strict=True):
                counted[code] = counted.get(code, 0) + count
    found = np.flatnonzero(totals) if by_place else np.array(sorted(counted), dtype=np.int64)
    counts = totals[found] if by_place else np.array([counted[code] for code in found.tolist()], dtype=np.int64)
    return Patterns(_unpacked(found, width), ~_unpacked(found >> width, width), counts)


def _unpacked(codes: Ints, width: int) -> NDArray[np.bool_]:
    return ((codes[:, None] >> np.arange(width)) & 1).astype(bool)


def _width(columns: int) -> type[np.uint8 | np.uint16 | np.uint32]:
    """The smallest integer type with a bit for each column."""
    return np.uint8 if columns <= 8 else np.uint16 if columns <= 16 else np.uint32


def _looked_up(bits: Bits, weights: Floats) -> Floats:
    """The sum of the weights whose bits are set, in the order of the columns; further bits are ignored."""
    result: Floats = np.zeros(bits.shape)
    for start in range(0, len(weights), _LOOKED_UP):
        table = np.zeros(1)
        for weight in weights[start : start + _LOOKED_UP]:
            table = np.concatenate([table, table + weight])
        result += table[(bits >> start) & (len(table) - 1)]
    return result
