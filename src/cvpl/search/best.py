"""The result of a search for each record, and the reduction of scored pairs to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIE = 1e-6
"""Candidates this close to the best count as tied with it."""


@dataclass(frozen=True, eq=False)
class BestCandidates:
    """For each query: best and second-best score with their rows, |C(x)|, and the number of candidates tied for best.

    Without a candidate the best is -inf and its row -1; the same holds for the second if there is only one. Among equal
    scores the lowest row comes first; code that must not depend on row order uses `ties`. `examined` is the number of
    pairs examined, if not all were.
    """

    best: Floats
    row: Ints
    second: Floats
    second_row: Ints
    candidates: Ints
    ties: Ints
    examined: int | None = None

    def __len__(self) -> int:
        return len(self.best)

    @classmethod
    def none(cls, queries: int) -> BestCandidates:
        """An empty result for `queries` queries."""
        nothing, nowhere = np.full(queries, -np.inf), np.full(queries, -1, dtype=np.int64)
        zero = np.zeros(queries, dtype=np.int64)
        return cls(nothing, nowhere, nothing.copy(), nowhere.copy(), zero, zero.copy())


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs scored by the formula, sorted by query: at least each query's two best and all ties with the best."""

    query: Ints
    row: Ints
    score: Floats

    @classmethod
    def joined(cls, parts: list[ScoredPairs]) -> ScoredPairs:
        """Join the pairs of all parts, sorted by query."""
        query = np.concatenate([part.query for part in parts])
        order = np.argsort(query, kind="stable")
        row, score = (np.concatenate([getattr(part, name) for part in parts])[order] for name in ("row", "score"))
        return cls(query[order], row, score)

    def reduce_into(self, found: BestCandidates) -> None:
        """Write best, second best and ties of every query with a pair; |C(x)| is counted elsewhere."""
        if not len(self.query):
            return
        starts = np.flatnonzero(np.concatenate([[True], self.query[1:] != self.query[:-1]]))
        who = self.query[starts]
        segment = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(self.query))))
        best, row = highest(self.score, self.row, starts, segment)
        rest = np.where(self.row == row[segment], -np.inf, self.score)
        second, second_row = highest(rest, self.row, starts, segment)
        found.best[who], found.row[who] = best, row
        found.second[who], found.second_row[who] = second, np.where(np.isneginf(second), -1, second_row)
        found.ties[who] = np.add.reduceat((self.score >= best[segment] - TIE).astype(np.int64), starts)


@dataclass(frozen=True, eq=False)
class Counts:
    """The number of candidates of some queries."""

    query: Ints
    count: Ints

    @classmethod
    def none(cls) -> Counts:
        """No counts."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """The result of part of a search: the number of pairs covered, the pairs near the best, and candidate counts.

    `near` is None if the results are already written. `examined` is the number of pairs examined, if not all were.
    """

    pairs: int
    near: ScoredPairs | None
    counts: Counts = field(default_factory=Counts.none)
    examined: int | None = None


def highest(score: Floats, row: Ints, starts: Ints, segment: Ints) -> tuple[Floats, Ints]:
    """Each segment's highest score, and the lowest row with it."""
    best = np.maximum.reduceat(score, starts)
    rows = np.where(score == best[segment], row, np.iinfo(np.int64).max)
    return best, np.minimum.reduceat(rows, starts)
