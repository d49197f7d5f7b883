"""The similarities of true matches and of wrong candidates, and their overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BINS = 40


@dataclass(frozen=True, eq=False)
class Distributions:
    """Shares of matches and of wrong candidates in equal bins between a low and a high score.

    `overlap` is the sum over bins of the smaller share: 0 if disjoint, 1 if equal. `separation` is the probability that
    a match scores above a wrong candidate, with ties counted as half.
    """

    edges: Floats
    matches: Floats
    non_matches: Floats
    overlap: float
    separation: float


def compare(matches: Floats, non_matches: Floats, k: int = 1) -> Distributions | None:
    """Both distributions on common bins; None if either is empty. `non_matches` must be in ascending order.

    The bins reach from the k-th lowest score to the k-th highest, and scores beyond them are in the outer bins. A
    person has several wrong candidates, so as large a part of these is beyond.
    """
    matches = matches[np.isfinite(matches)]
    if not matches.size or not non_matches.size:
        return None
    part = round(len(non_matches) * (k - 1) / len(matches))
    ends = inner_ends(matches, k), inner_ends(non_matches, 1 + part)
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    edges = bin_edges(low, high, k)
    shares = [
        np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values) for values in (matches, non_matches)
    ]
    below = np.searchsorted(non_matches, matches, "left") + np.searchsorted(non_matches, matches, "right")
    separation = float(below.mean() / (2 * len(non_matches)))
    return Distributions(edges, shares[0], shares[1], float(np.minimum(*shares).sum()), separation)


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of several samples in common, equal bins; `without` are the shares of non-finite values."""

    edges: Floats
    shares: tuple[Floats, ...]
    without: tuple[float, ...]


def bin_edges(low: float, high: float, k: int) -> Floats:
    """Equal bins between two scores, or around one; with k above 1 between round numbers outside of them.

    The round numbers are multiples of a twentieth of the range, rounded up to 1, 2 or 5 times a power of ten.
    """
    if k > 1 and high > low:
        part = (high - low) / 20
        power = 10.0 ** np.floor(np.log10(part))
        step = power * next(digit for digit in (1, 2, 5, 10) if digit * power >= part * (1 - 1e-9))
        low, high = step * np.floor(low / step + 1e-9), step * np.ceil(high / step - 1e-9)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, BINS + 1)


def inner_ends(values: Floats, k: int) -> tuple[float, float]:
    """The k-th lowest and the k-th highest value; the middle one if there are fewer than 2 k."""
    ordered = np.sort(values)
    at = min(k - 1, (len(ordered) - 1) // 2)
    return float(ordered[at]), float(ordered[len(ordered) - 1 - at])


def binned(*samples: Floats, k: int = 1) -> Shares | None:
    """Each sample's shares between the k-th lowest and the k-th highest finite value of all; None if there is none.

    Values beyond them are in the outer bins.
    """
    finite = [values[np.isfinite(values)] for values in samples]
    together = np.concatenate(finite)
    if not together.size:
        return None
    low, high = inner_ends(together, k)
    edges = bin_edges(low, high, k)
    shares = tuple(
        np.histogram(np.clip(some, edges[0], edges[-1]), edges)[0] / max(1, len(values))
        for some, values in zip(finite, samples, strict=True)
    )
    gone = (1 - len(some) / max(1, len(values)) for some, values in zip(finite, samples, strict=True))
    return Shares(edges, shares, tuple(gone))


def exceedance(ascending: Floats, threshold: float) -> float | None:
    """P(S >= τ) over scores in ascending order; None without any."""
    if not len(ascending):
        return None
    return float((len(ascending) - np.searchsorted(ascending, threshold, side="left")) / len(ascending))
