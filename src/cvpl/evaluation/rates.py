"""The linkage rate and what follows from it: curve, worst case, integral.

Everything comes from each record's best similarity, found once. A record without candidates has the best similarity
-inf: it is not linkable and stays in the denominator.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def linkage_rate(best: Floats, threshold: float) -> float:
    """Share of records with a candidate at or above `threshold`.

    LR(τ) = |{x : max over y in C(x) of s(x, y) >= τ}| / n        (paper, eq. cvpl-lr)
    """
    return float(np.mean(best >= threshold))


def risk_curve(best: Floats, thresholds: Floats) -> Floats:
    """LR(τ) at every threshold; it never rises with τ."""
    ascending = np.sort(best)
    return (len(best) - np.searchsorted(ascending, thresholds, side="left")) / len(best)


def worst_case_risk(best: Floats, thresholds: Floats) -> float:
    """LR at the lowest threshold of the grid, the largest on it (strategy B; paper, eq. worst-case-risk)."""
    return linkage_rate(best, float(thresholds[0]))


def exposure(best: Floats, thresholds: Floats) -> Floats:
    """Each record's part of the integrated risk: clip((best - lowest) / (highest - lowest), 0, 1)."""
    low, high = float(thresholds[0]), float(thresholds[-1])
    return np.clip((np.maximum(best, low) - low) / (high - low), 0.0, 1.0)


def integrated_risk(best: Floats, thresholds: Floats) -> float:
    """The mean of LR(τ) over the range of the grid (strategy C; paper, eq. integrated-risk), brought to [0, 1].

    ∫ LR(τ) dτ / (highest - lowest) = mean over records of clip((best - lowest) / (highest - lowest), 0, 1)
    """
    return float(exposure(best, thresholds).mean())
