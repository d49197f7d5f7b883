"""The tolerance within which two numbers or times agree, estimated from the release without true matches.

Pairs that agree on all *other* columns show how much noise a release has. Some originals are searched in the release by
the other columns alone; if a single candidate is the best, its distance on the column itself is recorded. The tolerance
is the cut, out of a few, that best separates matches from random pairs, and 0 unless another is clearly better. Equal
values count for more than near ones, by how often matches have them, so a tolerance does not lose what equality tells.
During this search the other numbers agree within a tenth of a standard deviation, so that noise on all of them does not
hide the pairs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import beyond_chance
from cvpl.operators.similarity import RarityMeasure
from cvpl.operators.similarity.agreement import AgreementScorer
from cvpl.operators.similarity.measure import Tolerances
from cvpl.operators.similarity.weights import spread
from cvpl.search.blocks import Partition
from cvpl.search.engine import SearchEngine, engine_for
from cvpl.search.machine import Budget
from cvpl.tables.columns import ColumnData, Table

Floats = NDArray[np.float64]

CUTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Tolerances to try, in standard deviations of the originals."""
MEANWHILE = 0.1
"""The tolerance of the other numbers while a column's tolerance is estimated, in standard deviations."""
CLEARLY, ENOUGH = 0.8, 0.05
"""A tolerance is used if the pairs found differ from random ones by more than `ENOUGH` nats, D, and a match within it
tells so much more than equal values alone that (more / equal alone) D is above `CLEARLY`. Columns that depend on each
other make values near without any noise; there both factors are small."""
SEARCHED_ORIGINALS = 320
"""The number of originals to search."""


def find_tolerances(
    measure: RarityMeasure,
    original: Table,
    protected: Table,
    rng: np.random.Generator,
    engine: SearchEngine | None = None,
) -> Tolerances:
    """Estimate the tolerance of every number and time that needs one; columns not listed agree exactly."""
    engine = engine or engine_for(Budget())
    spreads = {name: spread(original, name) for name in measure.columns}
    numeric = [name for name in measure.columns if spreads[name] > 0 and spread(protected, name) > 0]
    if not numeric or len(measure.columns) + len(measure.cells) < 2:
        return Tolerances({}, {})
    size = min(original.rows, SEARCHED_ORIGINALS)
    some = original if size == original.rows else original.take(np.sort(rng.choice(original.rows, size, replace=False)))
    nowhere = [Partition(np.zeros(size, dtype=np.int64), np.zeros(protected.rows, dtype=np.int64))]
    meanwhile = {name: MEANWHILE * spreads[name] for name in numeric}
    scorer = replace(measure, tolerance=meanwhile).scorer(some, protected)
    within, equal = {}, {}
    for name in numeric:
        rest = scorer.without(name, keep_tiles=True) if isinstance(scorer, AgreementScorer) else scorer.without(name)
        best = engine.find_best(rest, nowhere)
        left, right = _values(some.columns[name]), _values(protected.columns[name])
        single = np.flatnonzero(best.ties == 1)
        near = np.abs(left[single] - right[best.row[single]])
        cut, same = best_cut(left[single][~np.isnan(near)], near[~np.isnan(near)], right, spreads[name])
        if cut:
            within[name], equal[name] = cut, same
    return Tolerances(within, equal)


def _values(column: ColumnData) -> Floats:
    return np.where(column.known(), column.keys(plain=True).astype(np.float64), np.nan)


def best_cut(asked: Floats, near: Floats, released: Floats, width: float) -> tuple[float, float]:
    """The tolerance that best separates similar pairs, `near` apart, from random ones; 0 unless clearly better.

    And how many of the matches within it have equal values.
    """
    if not len(asked):
        return 0.0, 1.0
    ascending = np.sort(released[~np.isnan(released)])
    shares, chances = [], []
    for cut in CUTS:
        within = cut * width
        ends = np.searchsorted(ascending, asked - within), np.searchsorted(ascending, asked + within, side="right")
        chances.append((float(np.sum(ends[1] - ends[0])) + 0.5) / (len(asked) * len(ascending) + 1))
        shares.append((float(np.sum(near <= within)) + 0.5) / (len(asked) + 1))
    own = _share_of_matches(np.array(shares), np.array(chances))
    parts = [_divergence([own[0], share], [chances[0], chance]) for share, chance in zip(own, chances, strict=True)]
    best = int(np.argmax(parts))
    apart = _divergence([shares[best]], [chances[best]])
    clearly = apart > ENOUGH and (parts[best] - parts[0]) * apart > CLEARLY * parts[0]
    return (CUTS[best] * width, float(own[0] / own[best])) if clearly else (0.0, 1.0)


def _share_of_matches(shares: Floats, chances: Floats) -> Floats:
    """The share of the matches within each cut.

    Most pairs may be no matches. The cut that stands out most from chance tells how many are; the rest agree by chance.
    """
    excess = beyond_chance(shares, chances)
    matches = float(excess.max())
    if matches <= 0:
        return chances
    return np.maximum.accumulate(np.clip((shares - (1 - matches) * chances) / matches, chances, 1.0))


def _divergence(within: list[float], chances: list[float]) -> float:
    """The Kullback-Leibler divergence of nested shares from those by chance."""
    found, by_chance = (np.diff([0.0, *part, 1.0]) for part in (within, chances))
    known = (found > 0) & (by_chance > 0)
    return float((found[known] * np.log(found[known] / by_chance[known])).sum())
