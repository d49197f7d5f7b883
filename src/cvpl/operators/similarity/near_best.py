"""Which pairs of a tile may matter: the two best of a query, and ties with the best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def lowest_near_best(top: Floats, second: Floats, tie: float, tolerance: float) -> Floats:
    """The approximate score from which a pair may be one of the two best, or tie with the best.

    `top` and `second` are each query's two highest approximate scores, each within `tolerance` of the formula.
    """
    tied = top - tie - 2 * tolerance
    return np.where(np.isneginf(second), tied, np.minimum(tied, second - 2 * tolerance))
