"""What a column goes with, before and after a release, and how much of it the release keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

KEPT, ALIGNED = 0.3, 0.8
"""A recoding is understood if the associations of the column keep this part of their strength, and if the cosine of
those before and after is at least this."""
SEEN = 4.0
"""An association counts from so many standard errors."""


@dataclass(frozen=True, eq=False)
class Association:
    """What a column goes with: its rank correlations and the means by label, before and after.

    Both are those of records that have both values, times the root of the share of such records in the release: then
    all have the standard error of as many records as the release has. `strength` is the largest before, without that
    factor. `by_chance` is the sum of their squares that is expected in both tables if the column goes with nothing.
    """

    before: Floats
    after: Floats
    strength: float
    by_chance: tuple[float, float]
    records: int

    @property
    def cosine(self) -> float:
        """How much the associations after are those before; 0 if there are none beyond chance."""
        norms = self._beyond_chance(self.before, 0) * self._beyond_chance(self.after, 1)
        return min(1.0, max(-1.0, float(self.before @ self.after) / np.sqrt(norms))) if norms > 0 else 0.0

    @property
    def share(self) -> float:
        """The part of their strength that is left."""
        norm = self._beyond_chance(self.before, 0)
        return float(self.before @ self.after) / norm if norm > 0 else 0.0

    @property
    def share_error(self) -> float:
        """The standard error of that part, from the released records."""
        norm = self._beyond_chance(self.before, 0)
        return 1 / np.sqrt(max(1, self.records) * norm) if norm > 0 else 0.0

    @property
    def kept(self) -> bool:
        """Whether the release keeps them."""
        return self.cosine >= ALIGNED and self.share >= KEPT

    def is_faded(self, noise: float | None) -> bool:
        """Whether they are as weak as noise of this level makes them, or would be too weak then to be seen."""
        if noise is None:
            return False
        left = 1 / (1 + noise**2)  # of a correlation of two columns with such noise
        unseen = left * float(np.linalg.norm(self.before)) < SEEN / np.sqrt(max(1, self.records))
        return unseen or self.share + 2 * self.share_error >= left / 3

    @property
    def could_be_seen(self) -> bool:
        """Whether the released records are enough to show one that is kept."""
        return bool(np.abs(self.before).max(initial=0.0) >= SEEN / np.sqrt(max(1, self.records)))

    def is_gone(self) -> bool:
        """Whether hardly anything is left of them, within a standard error."""
        return bool(self.could_be_seen and abs(self.share) < KEPT / 2 + self.share_error and not self.goes_elsewhere())

    def goes_elsewhere(self) -> bool:
        """Whether the column goes with something as strongly as before, but not with the same."""
        strong = self._beyond_chance(self.after, 1) >= self._beyond_chance(self.before, 0) / 2
        return strong and abs(self.cosine) < ALIGNED / 2

    def _beyond_chance(self, side: Floats, at: int) -> float:
        return max(0.0, float(side @ side) - self.by_chance[at])
