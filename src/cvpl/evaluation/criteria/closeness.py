"""t-closeness: how far the sensitive values of a class are from those of the whole release (Li et al., 2007)."""

from __future__ import annotations

import numpy as np

from cvpl.evaluation.criteria.diversity import ValueCounts


def equal_distance(counts: ValueCounts) -> float | None:
    """The t of the equal distance: max over classes of 1/2 Σ_v |q_v - p_v|; None without records.

    q_v is the share of value v in the class, p_v in the release. Both sum to 1, so the distance is the sum of q_v - p_v
    over the values that are more frequent in the class, which all occur in it.
    """
    if not len(counts.sizes):
        return None
    whole = np.bincount(counts.value, counts.count, minlength=counts.values) / counts.sizes.sum()
    more = np.maximum(0.0, counts.count / counts.sizes[counts.of] - whole[counts.value])
    return float(np.bincount(counts.of, more).max())


def ordered_distance(counts: ValueCounts) -> float | None:
    """The t of the ordered distance: max over classes of 1/(m - 1) Σ_i |Σ over v <= i of (q_v - p_v)|.

    m is the number of different values in the release, in their order; with m = 1 the distance is 0. None without
    records. The cumulative share of a class is constant between two of its values, and that of the release only grows,
    so each stretch is summed with the prefix sums of the latter on both sides of the place where they cross.
    """
    if not len(counts.sizes):
        return None
    if counts.values < 2:
        return 0.0
    whole = np.cumsum(np.bincount(counts.value, counts.count, minlength=counts.values)) / counts.sizes.sum()
    summed = np.concatenate([[0.0], np.cumsum(whole)])
    before = np.cumsum(counts.count)
    starts = np.searchsorted(counts.of, np.arange(len(counts.sizes)))
    reached = (before - (before[starts] - counts.count[starts])[counts.of]) / counts.sizes[counts.of]
    follows = np.append(counts.of[1:] == counts.of[:-1], False)
    until = np.where(follows, np.append(counts.value[1:], 0), counts.values)
    first = counts.value[starts]
    stretches = np.bincount(counts.of, _stretch(whole, summed, counts.value, until, reached))
    stretches += _stretch(whole, summed, np.zeros_like(first), first, np.zeros(len(first)))
    return float(stretches.max() / (counts.values - 1))


def _stretch(
    whole: np.ndarray, summed: np.ndarray, begin: np.ndarray, end: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """Σ |share - whole_j| over begin <= j < end, where `whole` never falls and `summed` are its prefix sums."""
    cross = np.clip(np.searchsorted(whole, share), begin, end)
    below = share * (cross - begin) - (summed[cross] - summed[begin])
    above = (summed[end] - summed[cross]) - share * (end - cross)
    result: np.ndarray = np.maximum(0.0, below) + np.maximum(0.0, above)
    return result
