"""Membership: how well an attack tells the people of the release from people who are not in it.

The scores are those of the ROC curve. A true-positive rate is a power; this module adds the area under the curve.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE, Estimate
from cvpl.evaluation.control import FALSE_RATES, comparable
from cvpl.evaluation.intervals.bounds import LEAST_EFFECT, Sample
from cvpl.evaluation.intervals.coverage import offer
from cvpl.evaluation.intervals.intervals import refused_interval
from cvpl.evaluation.intervals.shares import Component, quantile, sampling_design, wilson_bounds

Floats = NDArray[np.float64]

SMALLEST_FALSE_RATE = 0.001
FEWEST_FOR_SMALLEST = 10_000
"""The fewest controls for a false-positive rate of 0.1%: ten of them are then linked."""
MEMBERSHIP_RATES = (SMALLEST_FALSE_RATE, *FALSE_RATES)


def read_at(false_rate: float, controls: int) -> bool:
    """Whether a false-positive rate is read with so many controls: 0.1% needs 10,000 of them."""
    return false_rate != SMALLEST_FALSE_RATE or controls >= FEWEST_FOR_SMALLEST


def placements(scores: Floats, others: Floats) -> Floats:
    """For every score, the share of `others` below it; an equal score counts one half."""
    ordered = np.sort(others)
    below, up_to = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return (below + up_to) / (2 * len(others))


def area_under_curve(originals: Floats, controls: Floats) -> float:
    """The probability that an original scores higher than a control; a tie counts one half.

        AUC = P(X > Y) + P(X = Y) / 2        X: score of an original, Y: score of a control

    It is the area under the ROC curve, linear between attainable points. A record without candidates scores -inf.
    """
    return float(placements(comparable(originals), comparable(controls)).mean())


def area_interval(originals: Sample, controls: Sample, confidence: float = CONFIDENCE) -> Estimate:
    """An interval for the area under the curve A of n originals and m controls.

    The variance V is DeLong's, from the placement of every record among those of the other table, over the sampling
    units. The interval is Wilson's for A (1 - A) / V independent records, at most 3 n m / (n + m): that is their
    number at A = 1/2, and it keeps the interval open where no record is on the wrong side. Its coverage is not part of
    the measured table.
    """
    first, second = comparable(originals.best), comparable(controls.best)
    n, m = len(first), len(second)
    units = min(originals.units, controls.units)
    refused = offer("power", originals.kind, records=n, controls=m, units=units).refused
    if refused is not None:
        return refused_interval(refused, area_under_curve(originals.best, controls.best), confidence)
    mine, theirs = placements(first, second), 1 - placements(second, first)
    parts = [Component(mine, originals.unit), Component(theirs, controls.unit)]
    design = sampling_design(parts, least=LEAST_EFFECT, alike=originals.alike)
    area, most = float(mine.mean()), 3 * n * m / (n + m) / design.effect
    variance = design.effect * sum(float(part.deviation @ part.deviation) for part in parts)
    count = most if variance <= 0 else min(most, area * (1 - area) / variance)
    low, high = wilson_bounds(area, max(1.0, count), quantile(confidence, design.units - 1))
    return Estimate(area, low, high, confidence, originals.kind)
