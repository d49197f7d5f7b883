"""The interval ends of each figure, from the records' scores and sampling units.

This module does not check whether an interval is reliable: `intervals` does, by measured coverage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.control import Roc
from cvpl.evaluation.groups.units import EACH, Kind, Units
from cvpl.evaluation.intervals.shares import Component, SamplingDesign, ratio_bounds, sampling_design
from cvpl.search.best import BestCandidates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ends = tuple[float, float]

LEAST_EFFECT = 1.1
"""The sampling of the release's rows, shared by all records, adds a little variance that no unit shows."""
LEAST_EFFECT_OF_A_RATE = 1.4
"""... and more to a linkage rate, where it does not cancel."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The best scores of one table's records, and the unit of each (None: each record is its own unit).

    `row` and `second`, the best candidate's row and the second-best score, show what depends on single rows of the
    release; None if they are unknown.
    """

    best: Floats
    unit: Ints | None = None
    kind: Kind = "people"
    row: Ints | None = None
    second: Floats | None = None

    @classmethod
    def of(cls, found: BestCandidates, units: Units = EACH, *, control: bool = False) -> Sample:
        """What an attack found, with the units of the originals or of the controls."""
        unit = units.control if control else units.original
        return cls(found.best, unit, units.kind, found.row, found.second)

    @property
    def alike(self) -> bool:
        """Whether the rows of a unit are linked or not linked together."""
        return self.kind == "groups"

    @property
    def units(self) -> float:
        """The number of units of equal size with the same weight: (Σ n_u)² / Σ n_u²."""
        if self.unit is None:
            return float(len(self.best))
        sizes = np.bincount(self.unit).astype(np.float64)
        return float(sizes.sum() ** 2 / max(1.0, sizes @ sizes))

    def linked(self, threshold: float) -> Floats:
        """1 if the best score reaches the threshold, else 0."""
        return (self.best >= threshold).astype(np.float64)

    def row_variance_sum(self, threshold: float) -> float:
        """Σ_j (links that depend on row j of the release, minus one)²: n² times the variance that rows add to the rate.

        A link depends on its row if the second-best score does not reach the threshold. Leaving out the rows one by one
        estimates the variance of their sampling (Efron and Stein's inequality); one link of each row is assigned to the
        row's own person, who would leave with it.
        """
        if self.row is None or self.second is None:
            return 0.0
        rows = self.row[(self.best >= threshold) & (self.second < threshold)]
        others = np.maximum(np.bincount(rows, minlength=1) - 1.0, 0.0)
        return float(others @ others)


def rate_bounds(sample: Sample, threshold: float, confidence: float) -> Ends:
    """Ends for the linkage rate.

    The variance is that over the units or, if larger, that over people and the rows of the release together.
    """
    linked = sample.linked(threshold)
    rate = float(linked.mean())
    spread = len(linked) * rate * (1 - rate)
    shared = 1 + sample.row_variance_sum(threshold) / spread if spread > 0 else 1.0
    least = LEAST_EFFECT_OF_A_RATE
    drawn = sampling_design([Component(linked, sample.unit)], least=least, alike=sample.alike)
    # A block has its own part of the release, and so tells of its rows; a group does not.
    drawn = drawn.plus(shared - 1) if sample.alike else drawn.at_least(shared)
    return drawn.cautious_ends(rate, len(linked), confidence)


def attributable_bounds(originals: Sample, controls: Sample, threshold: float, confidence: float) -> Ends | None:
    """Ends for (LR - c) / (1 - c) = 1 - (1 - LR) / (1 - c), from the ends of the two rates.

    A sampled unit brings its originals and its controls. What depends on the rows of the release moves both rates
    together and cancels. None if every control is linked: nothing is left to attribute.
    """
    parts = attributable_parts(originals, controls, threshold)
    if parts is None:
        return None
    mine, base = (part.success for part in parts)
    rate, control = float(mine.mean()), float(base.mean())
    drawn = sampling_design(parts, least=LEAST_EFFECT, alike=originals.alike)
    ends = drawn.cautious_ends(rate, len(mine), confidence), drawn.ends(control, len(base), confidence)
    top, bottom = ((1 - item, 1 - high, 1 - low) for item, (low, high) in zip((rate, control), ends, strict=True))
    low, high = ratio_bounds(top, bottom)
    return 1 - high, 1 - low


def attributable_parts(originals: Sample, controls: Sample, threshold: float) -> list[Component] | None:
    """The parts of originals and controls in (1 - LR) / (1 - c), up to a factor; None if every control is linked."""
    mine, base = originals.linked(threshold), controls.linked(threshold)
    control = float(base.mean())
    if control == 1:
        return None
    weight = (1 - float(mine.mean())) / (1 - control)
    return [Component(mine, originals.unit), Component(base, controls.unit, -weight)]


def paired_bounds(originals: Sample, wrong: Floats, threshold: float, confidence: float) -> Ends | None:
    """Ends for the attributable rate with the own match left out: `wrong` are the same records' best wrong scores.

    (LR - FLR) / (1 - FLR) is the share of records linked only by their own match among those without a wrong link.
    None if every record has a wrong link.
    """
    free = wrong < threshold
    return _share_ends(originals, (originals.best >= threshold).astype(np.float64), free, confidence)


def top1_bounds(originals: Sample, hit: Floats, has_match: NDArray[np.bool_], confidence: float) -> Ends | None:
    """Ends for the top-1 hit rate: the mean of `hit` over records with a match; None if there are none."""
    return _share_ends(originals, hit, has_match, confidence)


def power_bounds(
    originals: Sample, controls: Sample, false_rate: float, confidence: float, roc: Roc | None = None
) -> Ends:
    """Ends for the power at a false-positive rate α.

    Two things vary: the originals' share at a threshold, and the threshold, which the controls set. The second is read
    off the ROC at the ends of the interval for a control share of α. Their distances from the estimate add in squares.
    The ROC's slope between those ends weighs the controls against the originals in a unit.
    """
    roc = roc or Roc.of(originals.best, controls.best)
    power = roc.power(false_rate)
    parts = power_parts(originals, controls, false_rate, confidence, roc)
    drawn = sampling_design(parts, least=LEAST_EFFECT, alike=originals.alike)
    low, high = drawn.cautious_ends(power, len(originals.best), confidence)
    least, most, _ = _read_off(roc, false_rate, drawn, confidence)
    return (
        max(0.0, power - float(np.hypot(power - low, power - least))),
        min(1.0, power + float(np.hypot(high - power, most - power))),
    )


def power_parts(
    originals: Sample, controls: Sample, false_rate: float, confidence: float, roc: Roc | None = None
) -> list[Component]:
    """The parts of originals and controls in the power at α; the controls enter through the ROC's slope there."""
    roc = roc or Roc.of(originals.best, controls.best)
    mine, base = roc.counted(false_rate)
    _, _, slope = _read_off(roc, false_rate, SamplingDesign(len(base), LEAST_EFFECT), confidence)
    return [Component(mine, originals.unit), Component(base, controls.unit, -slope)]


def _read_off(roc: Roc, false_rate: float, drawn: SamplingDesign, confidence: float) -> tuple[float, float, float]:
    """The ROC at the two ends of α, and its slope between them."""
    ends = drawn.cautious_ends(false_rate, len(roc.controls), confidence)
    least, most = roc.power(ends[0]), roc.power(ends[1])
    return least, most, (most - least) / (ends[1] - ends[0])


def _share_ends(sample: Sample, success: Floats, among: NDArray[np.bool_], confidence: float) -> Ends | None:
    """Ends for the mean of `success` over the records in `among`; None if there are none."""
    values = success[among]
    if not len(values):
        return None
    share = float(values.mean())
    unit = None if sample.unit is None else sample.unit[among]
    drawn = sampling_design([Component(values, unit)], least=LEAST_EFFECT, alike=sample.alike)
    return drawn.cautious_ends(share, len(values), confidence)
