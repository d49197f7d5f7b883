"""Small blocks: their pairs are listed and scored together, to save overhead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.search.best import Counts, SearchOutcome
from cvpl.search.blocks import ranges
from cvpl.search.groups import Group

Ints = NDArray[np.int64]


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
