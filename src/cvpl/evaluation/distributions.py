"""The similarities of true matches and of wrong candidates, and their overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BINS = 40


@dataclass(frozen=True, eq=False)
class Distributions:
    """Shares of matches and of wrong candidates in equal bins between the lowest and the highest score.

    `overlap` is the sum over bins of the smaller share: 0 if disjoint, 1 if equal. `separation` is the probability that
    a match scores above a wrong candidate, with ties counted as half.
    """

    edges: Floats
    matches: Floats
    non_matches: Floats
    overlap: float
    separation: float


def compare(matches: Floats, non_matches: Floats) -> Distributions | None:
    """Both distributions on common bins; None if either is empty. `non_matches` must be in ascending order."""
    matches = matches[np.isfinite(matches)]
    if not matches.size or not non_matches.size:
        return None
    low = min(float(matches.min()), float(non_matches[0]))
    high = max(float(matches.max()), float(non_matches[-1]))
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    shares = [np.histogram(values, edges)[0] / len(values) for values in (matches, non_matches)]
    below = np.searchsorted(non_matches, matches, "left") + np.searchsorted(non_matches, matches, "right")
    separation = float(below.mean() / (2 * len(non_matches)))
    return Distributions(edges, shares[0], shares[1], float(np.minimum(*shares).sum()), separation)


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of several samples in common, equal bins; `without` are the shares of non-finite values."""

    edges: Floats
    shares: tuple[Floats, ...]
    without: tuple[float, ...]


def binned(*samples: Floats) -> Shares | None:
    """Each sample's shares between the lowest and the highest finite value of all; None if there is none."""
    finite = [values[np.isfinite(values)] for values in samples]
    together = np.concatenate(finite)
    if not together.size:
        return None
    low, high = float(together.min()), float(together.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    shares = tuple(
        np.histogram(some, edges)[0] / max(1, len(values)) for some, values in zip(finite, samples, strict=True)
    )
    gone = (1 - len(some) / max(1, len(values)) for some, values in zip(finite, samples, strict=True))
    return Shares(edges, shares, tuple(gone))


def exceedance(ascending: Floats, threshold: float) -> float | None:
    """P(S >= τ) over scores in ascending order; None without any."""
    if not len(ascending):
        return None
    return float((len(ascending) - np.searchsorted(ascending, threshold, side="left")) / len(ascending))
