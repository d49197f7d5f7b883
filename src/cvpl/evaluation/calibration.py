"""Strategy A: the smallest threshold at which the false link rate is at most α (paper, eq. precision-constrained)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def smallest_threshold(wrong: Floats, alpha: float, maximum: float) -> float | None:
    """The smallest τ with |{s in wrong : s >= τ}| / |wrong| <= alpha.

    It is the next float above the (floor(α n) + 1)-th largest of the n scores. None where that lies above the
    similarity's `maximum` ("not attainable"), and -inf where every threshold will do.
    """
    allowed = math.floor(alpha * len(wrong))
    if allowed >= len(wrong):
        return -math.inf
    bar = float(np.partition(wrong, len(wrong) - 1 - allowed)[len(wrong) - 1 - allowed])
    if math.isinf(bar) and bar < 0:
        return -math.inf
    threshold = math.nextafter(bar, math.inf)
    return None if threshold > maximum else threshold
