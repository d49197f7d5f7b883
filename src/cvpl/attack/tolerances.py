"""The tolerance within which two numbers or times agree, estimated from the release without true matches.

Pairs that agree on all *other* columns show how much noise a release has. Some originals are searched in the release by
the other columns alone; if a single candidate is the best, its distance on the column itself is recorded. The tolerance
is the cut, out of a few, that best separates these pairs from random pairs, and 0 unless another is clearly better.
During this search the other numbers agree within a tenth of a standard deviation, so that noise on all of them does not
hide the pairs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import RarityMeasure
from cvpl.operators.similarity.rarity import spread
from cvpl.search.blocks import Partition
from cvpl.search.budget import Budget
from cvpl.search.engine import SearchEngine, engine_for
from cvpl.tables.columns import ColumnData, Table

Floats = NDArray[np.float64]

CUTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Tolerances to try, in standard deviations of the originals."""
MEANWHILE = 0.1
"""The tolerance of the other numbers while a column's tolerance is estimated, in standard deviations."""
CLEARLY, ENOUGH = 2.0, 0.05
"""A tolerance is used if its information exceeds this multiple of exact agreement's by this many nats. Columns that
depend on each other make values near without any noise; exact agreement, if it is frequent, then tells more."""
ASKED = 320
"""The number of originals to search."""


def find_tolerances(
    measure: RarityMeasure,
    original: Table,
    protected: Table,
    rng: np.random.Generator,
    engine: SearchEngine | None = None,
) -> dict[str, float]:
    """Estimate the tolerance of every number and time that needs one; columns not listed agree exactly."""
    engine = engine or engine_for(Budget())
    spreads = {name: spread(original, name) for name in measure.columns}
    numeric = [name for name in measure.columns if spreads[name] > 0 and spread(protected, name) > 0]
    if not numeric or len(measure.columns) + len(measure.cells) < 2:
        return {}
    size = min(original.rows, ASKED)
    some = original if size == original.rows else original.take(np.sort(rng.choice(original.rows, size, replace=False)))
    nowhere = [Partition(np.zeros(size, dtype=np.int64), np.zeros(protected.rows, dtype=np.int64))]
    meanwhile = {name: MEANWHILE * spreads[name] for name in numeric}
    scorer = replace(measure, tolerance=meanwhile).scorer(some, protected)
    found = {}
    for name in numeric:
        best = engine.find_best(scorer.without(measure.columns.index(name)), nowhere)
        left, right = _values(some.columns[name]), _values(protected.columns[name])
        single = np.flatnonzero(best.ties == 1)
        near = np.abs(left[single] - right[best.row[single]])
        cut = _best_cut(left[single][~np.isnan(near)], near[~np.isnan(near)], right, spreads[name])
        if cut:
            found[name] = cut
    return found


def _values(column: ColumnData) -> Floats:
    return np.where(column.known(), column.keys(plain=True).astype(np.float64), np.nan)


def _best_cut(asked: Floats, near: Floats, released: Floats, width: float) -> float:
    """The tolerance that best separates similar pairs, `near` apart, from random ones; 0 unless clearly better."""
    if not len(asked):
        return 0.0
    ascending = np.sort(released[~np.isnan(released)])
    parts = []
    for cut in CUTS:
        within = cut * width
        ends = np.searchsorted(ascending, asked - within), np.searchsorted(ascending, asked + within, side="right")
        chance = (float(np.sum(ends[1] - ends[0])) + 0.5) / (len(asked) * len(ascending) + 1)
        parts.append(_information((float(np.sum(near <= within)) + 0.5) / (len(asked) + 1), chance))
    best = int(np.argmax(parts))
    return CUTS[best] * width if parts[best] > CLEARLY * parts[0] + ENOUGH else 0.0


def _information(share: float, chance: float) -> float:
    """The mean information of one pair: the Kullback-Leibler divergence of the shares; 0 if `share` is not larger."""
    if share <= chance:
        return 0.0
    return float(share * np.log(share / chance) + (1 - share) * np.log((1 - share) / (1 - chance)))
