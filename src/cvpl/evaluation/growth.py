"""The growth law: the expected and observed probability of a look-alike by the number of candidates.

    P(a candidate has s >= τ) = 1 - (1 - p)^|C(x)|, p = P(S >= τ)          (paper, eq. tail-probability)

It assumes independent candidates. The gap between the two columns is the cost of that assumption on this data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.distributions import exceedance, inner_ends
from cvpl.evaluation.measurement import Measurement
from cvpl.result import Growth, GrowthPoint

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GROUPS = 5


def growth(measured: Measurement, k: int = 1) -> Growth | None:
    """The law at the threshold, for wrong candidates if truth is known, otherwise for all candidates.

    None without a threshold or without a pair. The numbers of candidates are those of the k-th record from either end.
    """
    if measured.threshold is None:
        return None
    chance = exceedance(measured.pairs.values, measured.threshold)
    if chance is None:
        return None
    found, known = measured.attack.found, measured.truth
    scores, counts = (found.best, found.candidates) if known is None else (known.best_wrong, known.wrong_candidates)
    overall, groups = growth_law(scores, counts, chance, measured.threshold, k)
    return Growth(pair_probability=chance, overall=overall, by_candidates=groups)


def growth_law(
    best: Floats, candidates: Ints, chance: float, threshold: float, k: int = 1
) -> tuple[GrowthPoint, list[GrowthPoint]]:
    """The law over all records, and in up to five groups of records by candidate count."""
    predicted = 1 - (1 - chance) ** candidates
    observed = (best >= threshold).astype(np.float64)

    def row(members: NDArray[np.bool_]) -> GrowthPoint:
        sizes = candidates[members]
        fewest, most = inner_ends(sizes.astype(np.float64), k)
        return GrowthPoint(
            fewest=int(fewest),
            most=int(most),
            records=len(sizes),
            predicted=float(predicted[members].mean()),
            observed=float(observed[members].mean()),
        )

    cuts = np.unique(np.quantile(candidates, np.linspace(0, 1, GROUPS + 1)[1:-1], method="inverted_cdf"))
    group = np.searchsorted(cuts, candidates, side="left")
    return row(np.ones(len(best), dtype=bool)), [row(group == number) for number in np.unique(group)]
