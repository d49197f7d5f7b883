"""How far apart two numbers, or times, may lie and still agree: found from the release, without any true match.

How much noise a release carries is seen on pairs that are alike on all *other* columns. Some originals are searched in
the release by the others alone; where a single candidate is the best, the distance on the column itself is looked at.
The tolerance is the cut, of a few, that tells these pairs best from pairs drawn at random, and 0 unless another is
clearly better. While the others serve, their numbers agree within a tenth of a standard deviation, so that noise on all
of them does not hide the pairs.
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
"""Tolerances that are tried, in standard deviations of the originals."""
MEANWHILE = 0.1
"""Within so much the other numbers agree while a column's tolerance is looked for."""
CLEARLY, ENOUGH = 1.25, 0.05
"""A tolerance is taken if it tells so many times as much as exact agreement does, and so many nats more."""
ASKED = 320
"""Originals that are searched."""


def find_tolerances(
    measure: RarityMeasure,
    original: Table,
    protected: Table,
    rng: np.random.Generator,
    engine: SearchEngine | None = None,
) -> dict[str, float]:
    """For every number and time that needs one its tolerance; what is not named agrees exactly."""
    engine = engine or engine_for(Budget())
    spreads = {name: spread(original, name) for name in measure.columns}
    numeric = [name for name in measure.columns if spreads[name] > 0 and spread(protected, name) > 0]
    if not numeric or len(measure.columns) < 2:
        return {}
    size = min(original.rows, ASKED)
    some = original if size == original.rows else original.take(np.sort(rng.choice(original.rows, size, replace=False)))
    nowhere = [Partition(np.zeros(size, dtype=np.int64), np.zeros(protected.rows, dtype=np.int64))]
    meanwhile = {name: MEANWHILE * spreads[name] for name in numeric}
    found = {}
    for name in numeric:
        kept = [at for at, column in enumerate(measure.columns) if column != name]
        others = replace(
            measure,
            columns=tuple(measure.columns[at] for at in kept),
            counted=tuple(measure.counted[at] for at in kept),
            tolerance={column: width for column, width in meanwhile.items() if column != name},
        )
        best = engine.find_best(others.scorer(some, protected), nowhere)
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
    """The tolerance that tells pairs alike elsewhere, `near` apart, from random ones best; 0 unless clearly better."""
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


def _information(alike: float, chance: float) -> float:
    """What one pair tells on average: the Kullback-Leibler divergence of the shares; 0 where alike pairs are fewer."""
    if alike <= chance:
        return 0.0
    return float(alike * np.log(alike / chance) + (1 - alike) * np.log((1 - alike) / (1 - chance)))
