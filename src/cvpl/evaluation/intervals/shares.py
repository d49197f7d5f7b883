"""Intervals for a share of records that are sampled in units.

A share is the mean of values from 0 to 1. Its interval is Wilson's for the effective number of independent records:
their number divided by the design effect, the ratio of the variance over units to the variance over records. It stays
inside [0, 1], never has width zero, and works at any confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW_UNITS = 10
"""With fewer units of alike rows on one side, their variance is taken to be as large as their size allows."""
FEW_RECORDS = 5
"""With fewer records than this on one side, the true share of that side may be zero: the end is 0 or 1."""


@dataclass(frozen=True)
class SamplingDesign:
    """The sampling design: the number of units of equal weight, (Σ n_u)² / Σ n_u², and the design effect."""

    units: float
    effect: float

    def plus(self, effect: float) -> SamplingDesign:
        """Add another source of variance."""
        return replace(self, effect=self.effect + effect)

    def at_least(self, effect: float) -> SamplingDesign:
        """Take the larger of two variances."""
        return replace(self, effect=max(self.effect, effect))

    def ends(self, share: float, records: float, confidence: float) -> tuple[float, float]:
        """Wilson's interval for records / effect, with Student's quantile for the number of units."""
        return wilson_bounds(share, records / self.effect, quantile(confidence, self.units - 1))

    def cautious_ends(self, share: float, records: float, confidence: float) -> tuple[float, float]:
        """The same, but 0 or 1 if fewer than 5 records are between the share and that end."""
        low, high = self.ends(share, records, confidence)
        few = FEW_RECORDS * self.effect
        return 0.0 if share * records < few else low, 1.0 if (1 - share) * records < few else high


@dataclass(frozen=True, eq=False)
class Component:
    """One table's part in a figure: how much each record counts (0 to 1), the weight of its deviation, and its unit.

    Without units each record is sampled on its own.
    """

    success: Floats
    unit: Ints | None = None
    weight: float = 1.0

    @property
    def deviation(self) -> Floats:
        """Each record's contribution to the figure's deviation from its mean."""
        result: Floats = self.weight * (self.success - self.success.mean()) / len(self.success)
        return result


def sampling_design(parts: Sequence[Component], *, least: float, alike: bool = False) -> SamplingDesign:
    """The sampling design of a figure's records; d_i is the deviation of record i.

        effect = U / (U - 1) · Σ_u (Σ over i in u of d_i)² / Σ_i d_i²        at least `least`

    Units have one numbering over the parts. `alike` units contain rows that are linked or not linked together (a
    household, a person): if fewer than 10 units of a part have a record on one side of its share, the effect is at
    least their mean size per record, Σ n_u² / Σ n_u.
    """
    units, apart = math.inf, 0.0
    size = 1 + max((int(part.unit.max(initial=0)) for part in parts if part.unit is not None), default=0)
    together, inside = np.zeros(size), np.zeros(size, dtype=bool)
    for part in parts:
        deviation, count = part.deviation, len(part.success)
        apart += float(deviation @ deviation)
        if part.unit is None:
            units = min(units, count)
            continue
        sizes = np.bincount(part.unit, minlength=size)
        successes = np.bincount(part.unit, part.success, minlength=size)
        together += np.bincount(part.unit, deviation, minlength=size)
        inside |= sizes > 0
        mean_size = float(sizes @ sizes) / count
        units = min(units, count / mean_size)
        if alike and min(int((successes > 0).sum()), int((successes < sizes).sum())) < FEW_UNITS:
            least = max(least, mean_size)
    drawn = int(inside.sum())
    if not drawn or apart == 0:
        return SamplingDesign(units, least)
    return SamplingDesign(units, max(least, drawn / max(1, drawn - 1) * float(together @ together) / apart))


def wilson_bounds(p: float, count: float, z: float) -> tuple[float, float]:
    """Wilson's score interval for a share p of `count` independent records, at z standard errors."""
    z2 = z * z
    centre = (p + z2 / (2 * count)) / (1 + z2 / count)
    half = z / (1 + z2 / count) * math.sqrt(p * (1 - p) / count + z2 / (4 * count**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def ratio_bounds(top: tuple[float, float, float], bottom: tuple[float, float, float]) -> tuple[float, float]:
    """Ends for U / V from (estimate, low, high) of U and of V, all in [0, 1]; V and its low end are above 0.

    The ends solve (U - θV)² = d_U² + θ² d_V², where d_U and d_V are the distances of the estimates from the ends of
    their own intervals that move the ratio in the same direction.
    """
    u, v = top[0], bottom[0]
    a, b, c = _quadratic(u, v, u - top[1], bottom[2] - v)
    low = 2 * c / (-b + math.sqrt(max(0.0, b * b - 4 * a * c))) if c > 0 else 0.0
    a, b, c = _quadratic(u, v, top[2] - u, v - bottom[1])
    return low, (-b + math.sqrt(max(0.0, b * b - 4 * a * c))) / (2 * a)


def _quadratic(u: float, v: float, du: float, dv: float) -> tuple[float, float, float]:
    return v * v - dv * dv, -2 * u * v, u * u - du * du


def quantile(confidence: float, freedom: float) -> float:
    """Student's two-sided quantile at the given confidence; the freedom is rounded down, to 1 at least."""
    # scipy.stats has the same, and takes seconds to load where scipy.special takes tenths of one.
    from scipy.special import stdtrit  # noqa: PLC0415 - loaded when an interval is made

    return float(stdtrit(max(1, math.floor(freedom)), (1 + confidence) / 2))
