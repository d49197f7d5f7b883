"""Whether a change of scale has a simple form: linear, a power, a logarithm or an exponential.

The values of both tables at the same shares (quantiles) lie on the curve of the change if it keeps their order. Values
that are spread evenly show nothing: those of a hash or of random numbers are spread evenly too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.recoding.ranks import Ranks

Floats = NDArray[np.float64]

STRAIGHT = 0.995
"""The least correlation of quantiles, after the change, that counts as a straight line."""
POINTS = 199
EVEN = 0.99
"""Values with at least this correlation with their ranks are spread evenly."""
TRIMMED = 0.02
"""This share of the quantiles at either end is left out: they are few people's."""


def has_simple_form(own: Ranks, released: Ranks, direction: int) -> bool:
    """Whether a simple change of the originals' values gives the released ones."""
    shares = np.linspace(TRIMMED, 1 - TRIMMED, POINTS)
    mine, theirs = own.at(shares if direction > 0 else 1 - shares), released.at(shares)
    if _straight(shares, theirs, EVEN):
        return False
    return any(_straight(one, other) for one in _forms(mine) for other in _forms(theirs))


def _forms(values: Floats) -> list[Floats]:
    """The values and, where all are above 0, their logarithms; the forms of both sides give powers and exponentials."""
    found = [values]
    if values.min() > 0:
        found += [np.log(values), 1 / values]
    return found


def _straight(one: Floats, other: Floats, least: float = STRAIGHT) -> bool:
    if min(one.std(), other.std()) <= 1e-12 * max(1.0, float(np.abs(one).max()), float(np.abs(other).max())):
        return False
    return abs(float(np.corrcoef(one, other)[0, 1])) >= least
