"""The linkage rate and figures derived from it: curve, worst case, integral.

All use each record's best similarity, computed once. A record without candidates has the best similarity -inf: it is
not linkable and stays in the denominator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class ScoreCounts(Protocol):
    """The best scores of some records, wherever they are stored, as counts that a rate needs."""

    def __len__(self) -> int: ...

    def at_least(self, thresholds: Floats) -> Ints:
        """The number of records that reach each threshold."""


@dataclass(frozen=True, eq=False)
class HeldScores:
    """Scores in an array."""

    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def at_least(self, thresholds: Floats) -> Ints:
        """The number of records that reach each threshold; many thresholds are looked up in the sorted scores."""
        if len(thresholds) == 1:
            return np.array([np.count_nonzero(self.values >= thresholds[0])])
        return len(self.values) - np.searchsorted(np.sort(self.values), thresholds, side="left")


def linkage_rate(best: Floats, threshold: float) -> float:
    """Share of records with a candidate at or above `threshold`.

    LR(τ) = |{x : max over y in C(x) of s(x, y) >= τ}| / n        (paper, eq. cvpl-lr)
    """
    return float(rates_at(HeldScores(best), np.array([threshold]))[0])


def risk_curve(best: Floats, thresholds: Floats) -> Floats:
    """LR(τ) at every threshold; it never rises with τ."""
    return rates_at(HeldScores(best), thresholds)


def rates_at(scores: ScoreCounts, thresholds: Floats) -> Floats:
    """LR(τ) at some thresholds, from counts alone."""
    rates: Floats = scores.at_least(thresholds) / len(scores)
    return rates


def worst_case_risk(best: Floats, thresholds: Floats) -> float:
    """LR at the lowest threshold of the grid, its largest value (strategy B; paper, eq. worst-case-risk)."""
    return linkage_rate(best, float(thresholds[0]))


def exposure(best: Floats, thresholds: Floats) -> Floats:
    """Each record's part of the integrated risk: clip((best - lowest) / (highest - lowest), 0, 1)."""
    low, high = float(thresholds[0]), float(thresholds[-1])
    return np.clip((np.maximum(best, low) - low) / (high - low), 0.0, 1.0)


def integrated_risk(best: Floats, thresholds: Floats) -> float:
    """The mean of LR(τ) over the range of the grid (strategy C; paper, eq. integrated-risk), scaled to [0, 1].

    ∫ LR(τ) dτ / (highest - lowest) = mean over records of clip((best - lowest) / (highest - lowest), 0, 1)
    """
    return float(exposure(best, thresholds).mean())
