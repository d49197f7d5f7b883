"""Noise and gaps of the release: whether noise explains how a column is distributed, and both brought to people.

Noise on every value widens a distribution and spreads the value that most people share, such as zero: the released
values are then on the scale of the originals' however far both distributions are apart. Noise of the standard deviation
s makes of the distribution function F

    G(t) = mean over the originals' values x of Phi((t - x) / s)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.recoding.ranks import Ranks
from cvpl.tables.columns import ColumnData, Labels, Numbers, Times

Floats = NDArray[np.float64]

LEVELS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
"""The noise that is tried, in standard deviations of the originals' values."""
UNLIKE = 0.03
"""Noise explains the released values if the largest difference of both functions is at most this and what two samples
of one population differ by."""
POINTS = 400
_ALL, _SOME = slice(None), slice(None, None, 10)
"""All points, and some that tell which levels cannot be the best."""
MANY_GAPS = 0.2
"""A smaller share of empty cells hides hardly anybody."""


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

    def apart(level: float, places: slice) -> float:
        noised = ndtr((at[places, None] - values) / (level * spread)).mean(axis=1)
        return float(np.maximum(noised - reached[places], below[places] - noised).max())

    best = UNLIKE + own.sampling_error(released), np.inf
    for some, level in sorted((apart(level, _SOME), level) for level in LEVELS):
        if some > best[0]:  # at some points it is farther off already than the best so far, or than noise may be
            break
        best = min(best, (apart(level, _ALL), level))
    return best[1] if best[1] < np.inf else None


@dataclass(frozen=True)
class Disturbance:
    """The standard deviation of the noise on a column's values, and the share of them that the release has emptied."""

    noise: float
    gaps: float

    @property
    def strong(self) -> bool:
        """Whether it could hide somebody."""
        return self.noise > 0 or self.gaps >= MANY_GAPS

    def brought_to(self, column: ColumnData, rng: np.random.Generator) -> ColumnData:
        """The column with as much noise, and as many values missing; ranges and sets stay as they are."""
        gone = rng.random(len(column.known())) < self.gaps
        if isinstance(column, Labels):
            return Labels(np.where(gone, -1, column.codes).astype(column.codes.dtype), column.labels)
        if isinstance(column, Numbers | Times) and column.plain:
            moved = column.ordinal() + self.noise * rng.normal(size=len(gone))
            return column_like(column, np.where(gone, np.nan, moved))
        return column


def column_like(column: ColumnData, values: Floats) -> ColumnData:
    """A column of the same kind with other values, missing where it is missing."""
    values = np.where(column.known(), values, np.nan)
    if isinstance(column, Times):
        known = ~np.isnan(values)
        first = np.full(len(values), np.datetime64("NaT"), dtype="datetime64[us]")
        first[known] = values[known].astype(np.int64).astype("datetime64[us]")
        return Times(first, first)
    return Numbers(values, values, values)
