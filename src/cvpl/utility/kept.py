"""How much of a pattern is kept: the correlation of what the release shows with what the original showed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SAME = 1e-9
"""Numbers that spread by no more than this, relative to the largest of them (or to 1), differ by rounding only."""


def kept_correlation(original: Floats, protected: Floats) -> float | None:
    """Pearson's correlation of two lists of figures about the same things.

    rho = sum (a - mean a)(b - mean b) / sqrt(sum (a - mean a)^2 * sum (b - mean b)^2)

    None where the original's figures are fewer than two or do not vary: there was no pattern to keep. 0 where they vary
    and the release's do not: nothing of it is kept, and leaving it undefined would spare the release.
    """
    if len(original) < 2 or not _varies(original):
        return None
    if not _varies(protected):
        return 0.0
    a, b = original - original.mean(), protected - protected.mean()
    rho = float(a @ b) / float(np.sqrt(float(a @ a) * float(b @ b)))
    return min(1.0, max(-1.0, rho))


def _varies(values: Floats) -> bool:
    return bool(values.std() > _SAME * max(1.0, float(np.abs(values).max())))
