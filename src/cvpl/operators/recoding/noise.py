"""Whether noise explains how a released column is distributed.

Noise on every value widens a distribution and spreads the value that most people share, such as zero: the released
values are then on the scale of the originals' however far both distributions are apart. Noise of the standard deviation
s makes of the distribution function F

    G(t) = mean over the originals' values x of Phi((t - x) / s)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.recoding.ranks import Ranks

Floats = NDArray[np.float64]

LEVELS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""The noise that is tried, in standard deviations of the originals' values."""
UNLIKE = 0.03
"""Noise explains the released values if the largest difference of both functions is at most this and what two samples
of one population differ by."""
POINTS = 400


def noise_level(own: Ranks, released: Ranks) -> float | None:
    """The level that explains the released values best; None if none does."""
    from scipy.special import ndtr  # noqa: PLC0415 - loading it takes a while

    spread = float(own.values.std()) if len(own.values) else 0.0
    if not spread or not len(released.values):
        return None
    shares = (np.arange(POINTS) + 0.5) / POINTS
    values, at = own.at(shares), np.unique(released.at(shares))
    below = np.searchsorted(released.values, at, side="left") / len(released.values)
    reached = np.searchsorted(released.values, at, side="right") / len(released.values)
    found = {}
    for level in LEVELS:
        noised = ndtr((at[:, None] - values) / (level * spread)).mean(axis=1)
        found[level] = float(np.maximum(noised - reached, below - noised).max())
    best = min(found, key=lambda level: found[level])
    return best if found[best] <= UNLIKE + own.sampling_error(released) else None
