"""Distances from the release to the originals: DCR and NNDR (paper, baselines B4 and B5).

The distance is Euclidean between embeddings, that is after the attacker's vectorization and projection (0/1 features
under a similarity without a projection). It is neither divided by the number of dimensions nor scaled to [0, 1], so two
attackers' figures are not on one scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.operators.similarity import fit_euclidean
from cvpl.search.blocks import Partition

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LOW = 0.05
"""The quantile reported for the smallest distances."""


@dataclass(frozen=True, eq=False)
class NearestDistances:
    """For each protected record, the distance to its nearest and second-nearest original, NaN if there is none."""

    first: Floats
    second: Floats


@dataclass(frozen=True)
class Spread:
    """Mean, median and 5th percentile (linear between records) of the `count` records that have a value.

    `without` counts the others; if no record has a value, the three figures are None.
    """

    mean: float | None
    median: float | None
    percentile_5: float | None
    count: int
    without: int


def nearest_distances(attack: Attack, *, blocked: bool = True) -> NearestDistances:
    """The two nearest originals of every protected record, from an exact search with swapped roles.

    By default among the originals of its block, under the attack's blocking; with `blocked=False` among all of them.
    """
    protected, original = (attack.representation.embed(table) for table in (attack.protected, attack.original))
    if blocked:
        partitions = attack.searched.partitions("protected", "original")
    else:
        queries, candidates = (np.zeros(len(side), dtype=np.int64) for side in (protected, original))
        partitions = (Partition(queries, candidates),)
    scorer = fit_euclidean(np.vstack([original, protected])).scorer(protected, original)
    found = attack.engine.find_best(scorer, partitions)
    first, second = (_between(protected, original, row) for row in (found.row, found.second_row))
    # If two scores round to the same number, the second may be slightly nearer.
    return NearestDistances(np.fmin(first, second), np.maximum(first, second))


def distance_to_closest_record(nearest: NearestDistances) -> Spread:
    """DCR: min over originals x of |y - x|, over protected records y; none if y has no candidate."""
    return _spread(nearest.first)


def nearest_neighbour_distance_ratio(nearest: NearestDistances) -> Spread:
    """NNDR: the distance to the nearest original over that to the second nearest, in [0, 1].

    0/0, two originals at the same point as the record, is 1: the nearest is no nearer than the second. A record with
    fewer than two candidates has no ratio.
    """
    tied = nearest.second == 0
    ratio = np.divide(nearest.first, nearest.second, out=np.ones(len(tied)), where=~tied)
    return _spread(ratio)


def _between(queries: Floats, candidates: Floats, row: Ints) -> Floats:
    """The distance of each query to its candidate, computed from differences; NaN for the row -1."""
    distance = np.full(len(row), np.nan)
    who = np.flatnonzero(row >= 0)
    distance[who] = np.sqrt(((queries[who] - candidates[row[who]]) ** 2).sum(axis=1))
    return distance


def _spread(values: Floats) -> Spread:
    known = values[~np.isnan(values)]
    without = len(values) - len(known)
    if not known.size:
        return Spread(None, None, None, 0, without)
    low, middle = np.quantile(known, [LOW, 0.5])
    return Spread(float(known.mean()), float(middle), float(low), len(known), without)
