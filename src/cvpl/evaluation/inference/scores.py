"""The share of people who are guessed right, weighted by rarity or not, and the intervals of such shares.

    score = sum of w hit / sum of w        w = 1 (accuracy), or -log of the share of the person's value

A weighted share has as many independent records as its weights allow, (sum of w)^2 / sum of w^2. Its design effect is
the variance of the score over units divided by that of a share of so many records; from there the intervals are those
of `intervals/shares`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import beyond_chance
from cvpl.evaluation.intervals.bounds import LEAST_EFFECT
from cvpl.evaluation.intervals.shares import FEW_UNITS, SamplingDesign, ratio_bounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ends = tuple[float, float]

FEWEST = 20
"""With fewer people there is no interval."""
NOTHING_LEFT = 0.98
"""If controls are right more often than this, next to nothing is left to attribute, and the figure is refused."""


@dataclass(frozen=True, eq=False)
class Hits:
    """How right the guess of each person is (0 to 1), the weight of each person, and their units (None: each person).

    People of weight 0 do not count.
    """

    hit: Floats
    weight: Floats
    unit: Ints | None = None

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.weight.sum())

    @property
    def score(self) -> float | None:
        """The weighted share of people who are guessed right; None without a weight."""
        return min(1.0, float(self.weight @ self.hit) / self.total) if self.total > 0 else None

    @property
    def size(self) -> float:
        """The number of people of equal weight that give the same variance."""
        return self.total**2 / float(self.weight @ self.weight) if self.total > 0 else 0.0

    @property
    def people(self) -> int:
        """The number of people who count."""
        return int((self.weight > 0).sum())

    @property
    def heaviest(self) -> int:
        """The number of people whose weights make the total, if all have the largest weight: rounding goes by it."""
        return int(self.total / float(self.weight.max())) if self.total > 0 else 0

    def deviation(self) -> Floats:
        """What each person adds to the deviation of the score."""
        found: Floats = self.weight * (self.hit - (self.score or 0.0)) / max(self.total, 1e-300)
        return found


def score_ends(hits: Hits, confidence: float, *, alike: bool = False) -> Ends | None:
    """Ends for the score; None with fewer than 20 people."""
    score = hits.score
    if score is None or hits.people < FEWEST:
        return None
    return design([(hits, 1.0)], alike=alike).cautious_ends(score, hits.size, confidence)


def attributable(originals: Hits, controls: Hits | None) -> float | None:
    """(originals - controls) / (1 - controls); None without a control, or if more than 98% of it is right."""
    mine, base = originals.score, None if controls is None else controls.score
    if mine is None or base is None or base > NOTHING_LEFT:
        return None
    return beyond_chance(mine, base)


def attributable_ends(originals: Hits, controls: Hits, confidence: float, *, alike: bool = False) -> Ends | None:
    """Ends for 1 - (1 - originals) / (1 - controls), from the ends of the two scores; None if refused.

    A sampled unit brings its originals and its controls.
    """
    mine, base = originals.score, controls.score
    if mine is None or base is None or base > NOTHING_LEFT or min(originals.people, controls.people) < FEWEST:
        return None
    drawn = design([(originals, 1.0), (controls, -(1 - mine) / (1 - base))], alike=alike)
    ends = drawn.cautious_ends(mine, originals.size, confidence), drawn.ends(base, controls.size, confidence)
    top, bottom = ((1 - item, 1 - high, 1 - low) for item, (low, high) in zip((mine, base), ends, strict=True))
    low, high = ratio_bounds(top, bottom)
    return 1 - high, 1 - low


def design(parts: Sequence[tuple[Hits, float]], *, alike: bool) -> SamplingDesign:
    """The sampling design of a sum of scores with factors f; d_i is the deviation of person i.

        effect = U / (U - 1) · Σ_u (Σ over i in u of f d_i)² / Σ f² p (1 - p) / size        at least 1.1

    Without units every person is one. `alike` units hold people who are right or wrong together: if fewer than 10
    units have somebody who is right, or somebody who is wrong, the effect is at least their mean size per person.
    """
    least, units, plain = LEAST_EFFECT, math.inf, 0.0
    size = 1 + max((int(hits.unit.max(initial=0)) for hits, _ in parts if hits.unit is not None), default=-1)
    together, inside, alone = np.zeros(max(0, size)), np.zeros(max(0, size), dtype=bool), 0.0
    singles = 0
    for hits, factor in parts:
        score = hits.score or 0.0
        plain += factor**2 * score * (1 - score) / max(hits.size, 1e-300)
        deviation = factor * hits.deviation()
        counted = hits.weight > 0
        if hits.unit is None:
            alone += float(deviation @ deviation)
            singles += int(counted.sum())
            units = min(units, hits.size)
            continue
        unit = hits.unit[counted]
        together += np.bincount(hits.unit, deviation, minlength=size)
        weights = np.bincount(unit, hits.weight[counted], minlength=size)
        right = np.bincount(unit, hits.hit[counted], minlength=size)
        sizes = np.bincount(unit, minlength=size)
        inside |= sizes > 0
        effective = hits.total**2 / max(float(weights @ weights), 1e-300)
        units = min(units, effective)
        if alike and min(int((right > 0).sum()), int((right < sizes).sum())) < FEW_UNITS:
            least = max(least, hits.size / max(effective, 1e-300))
    count = singles + int(inside.sum())
    if plain <= 0 or count < 2:
        return SamplingDesign(units, least)
    varied = count / (count - 1) * (alone + float(together @ together))
    return SamplingDesign(units, max(least, varied / plain))
