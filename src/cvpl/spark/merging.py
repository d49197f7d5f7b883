"""Best candidates from parts of a search: each part has searched some of a query's candidates.

Best and second best of all parts are the two highest among those of each. The number tied for best is a sum over the
parts whose own best ties with it. A part counts what is within `TIE` of its own best, which may be a little lower than
the best of all: then its count may be too high, and the query is `unsure`, to be counted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.search.best import TIE, BestCandidates, highest

Ints = NDArray[np.int64]

_SAME = 1e-9
"""Scores that differ by less are one score: the last bits depend on the order in which a sum is taken."""
_CERTAIN = 2
"""Up to two candidates tied within a part are known by their scores: its best and its second best."""


@dataclass(frozen=True, eq=False)
class MergedQueries:
    """The queries by place, what was found for each, and which ties have to be counted again."""

    places: Ints
    found: BestCandidates
    unsure: NDArray[np.bool_]


def merge_parts(places: Ints, parts: BestCandidates) -> MergedQueries:
    """Merge what parts of a search found; `places` says whose part each is."""
    order = np.argsort(places, kind="stable")
    sorted_places = places[order]
    starts = np.flatnonzero(np.concatenate([[True], sorted_places[1:] != sorted_places[:-1]]))
    segment = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    own = {name: getattr(parts, name)[order] for name in ("best", "row", "second", "second_row", "candidates", "ties")}
    best, row = highest(own["best"], own["row"], starts, segment)
    # The second best of all is the best of another part, or the second best of the part that has the best.
    rest = np.where(own["row"] == row[segment], own["second"], own["best"])
    rest_row = np.where(own["row"] == row[segment], own["second_row"], own["row"])
    second, second_row = highest(rest, rest_row, starts, segment)
    found = BestCandidates(
        best,
        np.where(np.isneginf(best), -1, row),
        second,
        np.where(np.isneginf(second), -1, second_row),
        np.add.reduceat(own["candidates"], starts),
        np.zeros(len(starts), dtype=np.int64),
    )
    top = best[segment]
    tied = (own["best"] >= top - TIE) & np.isfinite(own["best"])
    counted = np.where(tied, own["ties"], 0)
    lower = tied & (own["best"] < top - _SAME)
    counted[lower] = 1 + (own["second"][lower] >= top[lower] - TIE)
    found.ties[:] = np.add.reduceat(counted, starts)
    unsure = np.logical_or.reduceat(lower & (own["ties"] > _CERTAIN) & (counted == _CERTAIN), starts)
    return MergedQueries(sorted_places[starts], found, unsure)
