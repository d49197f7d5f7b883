"""How much of a pattern is preserved: the correlation of figures of the release with those of the original."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SAME = 1e-9
"""Numbers whose spread, relative to the largest of them (or to 1), is at most this differ only by rounding."""


def kept_correlation(original: Floats, protected: Floats) -> float | None:
    """Pearson's correlation of two lists of figures about the same things.

    rho = sum (a - mean a)(b - mean b) / sqrt(sum (a - mean a)^2 * sum (b - mean b)^2)

    None if the original has fewer than two figures or they do not vary: there is no pattern to preserve. 0 if they vary
    and the release's do not: nothing is preserved, and leaving it undefined would favour the release.
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
