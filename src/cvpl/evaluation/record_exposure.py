"""How exposed single records are under one attacker, on the scale of those who are not in the release.

    share_i = (1 + records of the base with at least the evidence of i) / (1 + records of the base)

The base is the control or, without one, the originals with their own match left out. This is the empirical p-value of
"no more evidence than for somebody who is not in the release": 0.01 says that one in a hundred of those has as much.
The smallest possible value is 1 / (1 + base), so many records may share it; they are ordered by their evidence. A
record without a candidate has the share 1. A unit of several rows has the evidence of its most exposed row, and is
compared with the units of the base.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.rates import comparable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Exposures:
    """The rank of every record, 1 for the most exposed, and its share of the base; ties share the smaller rank."""

    rank: Ints
    share: Floats | None


def exposures(scores: Floats, base: Floats | None) -> Exposures:
    """Rank records by their evidence; without a base there is no share."""
    mine = comparable(scores)
    rank = 1 + len(mine) - np.searchsorted(np.sort(mine), mine, side="right")
    if base is None:
        return Exposures(rank.astype(np.int64), None)
    others = np.sort(comparable(base))
    above = len(others) - np.searchsorted(others, mine, side="left")
    share = np.where(np.isneginf(mine), 1.0, (1 + above) / (1 + len(others)))
    return Exposures(rank.astype(np.int64), share)


def exposures_of_units(scores: Floats, units: Ints, base: Floats | None, base_units: Ints | None) -> Exposures:
    """For every record the rank and the share of its unit, among the units of the originals and of the base."""
    place, largest = _largest(scores, units)
    others = None if base is None else base if base_units is None else _largest(base, base_units)[1]
    found = exposures(largest, others)
    return Exposures(found.rank[place], None if found.share is None else found.share[place])


def _largest(scores: Floats, units: Ints) -> tuple[Ints, Floats]:
    """The number of each record's unit from 0, and the largest score of each unit."""
    place = np.unique(units, return_inverse=True)[1].reshape(-1).astype(np.int64)
    largest = np.full(int(place.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(largest, place, scores)
    return place, largest
