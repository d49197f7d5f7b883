"""The interval ends of each figure, from the records' scores and sampling clusters.

This module does not check whether an interval is reliable: `intervals` does, by measured coverage.

Intervals for a share of records that are sampled in clusters. A share is the mean of values from 0 to 1. Its interval
is Wilson's for the effective number of independent records: their number divided by the design effect, the ratio of the
variance over clusters to the variance over records. It stays inside [0, 1], never has width zero, and works at any
confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.groups.clusters import EACH, Clusters, Kind
from cvpl.evaluation.rates import Roc
from cvpl.search.best import BestCandidates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


Ends = tuple[float, float]

LEAST_EFFECT = 1.1
"""The sampling of the release's rows, shared by all records, adds a little variance that no cluster shows."""
LEAST_EFFECT_OF_A_RATE = 1.4
"""It adds more to a linkage rate, where it does not cancel."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The best scores of one table's records, and the cluster of each (None: each record is its own cluster).

    `row` and `second`, the best candidate's row and the second-best score, show what depends on single rows of the
    release; None if they are unknown.
    """

    best: Floats
    cluster: Ints | None = None
    kind: Kind = "people"
    row: Ints | None = None
    second: Floats | None = None

    @classmethod
    def of(cls, found: BestCandidates, clusters: Clusters = EACH, *, control: bool = False) -> Sample:
        """What an attack found, with the clusters of the originals or of the controls."""
        cluster = clusters.control if control else clusters.original
        return cls(found.best, cluster, clusters.kind, found.row, found.second)

    @property
    def alike(self) -> bool:
        """Whether the rows of a cluster are linked or not linked together."""
        return self.kind == "groups"

    @property
    def clusters(self) -> float:
        """The number of clusters of equal size with the same weight: (Σ n_u)² / Σ n_u²."""
        if self.cluster is None:
            return float(len(self.best))
        sizes = np.bincount(self.cluster).astype(np.float64)
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

    The variance is that over the clusters or, if larger, that over people and the rows of the release together.
    """
    linked = sample.linked(threshold)
    rate = float(linked.mean())
    spread = len(linked) * rate * (1 - rate)
    shared = 1 + sample.row_variance_sum(threshold) / spread if spread > 0 else 1.0
    least = LEAST_EFFECT_OF_A_RATE
    drawn = sampling_design([Component(linked, sample.cluster)], least=least, alike=sample.alike)
    # A block has its own part of the release, and so tells of its rows; a group does not.
    drawn = drawn.plus(shared - 1) if sample.alike else drawn.at_least(shared)
    return drawn.cautious_ends(rate, len(linked), confidence)


def attributable_bounds(originals: Sample, controls: Sample, threshold: float, confidence: float) -> Ends | None:
    """Ends for (LR - c) / (1 - c) = 1 - (1 - LR) / (1 - c), from the ends of the two rates.

    A sampled cluster brings its originals and its controls. What depends on the rows of the release moves both rates
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
    return [Component(mine, originals.cluster), Component(base, controls.cluster, -weight)]


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
    The ROC's slope between those ends weighs the controls against the originals in a cluster.
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
    return [Component(mine, originals.cluster), Component(base, controls.cluster, -slope)]


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
    cluster = None if sample.cluster is None else sample.cluster[among]
    drawn = sampling_design([Component(values, cluster)], least=LEAST_EFFECT, alike=sample.alike)
    return drawn.cautious_ends(share, len(values), confidence)


FEW_CLUSTERS = 10
"""With fewer clusters of alike rows on one side, their variance is taken to be as large as their size allows."""
FEW_RECORDS = 5
"""With fewer records than this on one side, the true share of that side may be zero: the end is 0 or 1."""


@dataclass(frozen=True)
class SamplingDesign:
    """The sampling design: the number of clusters of equal weight, (Σ n_u)² / Σ n_u², and the design effect."""

    clusters: float
    effect: float

    def plus(self, effect: float) -> SamplingDesign:
        """Add another source of variance."""
        return replace(self, effect=self.effect + effect)

    def at_least(self, effect: float) -> SamplingDesign:
        """Take the larger of two variances."""
        return replace(self, effect=max(self.effect, effect))

    def ends(self, share: float, records: float, confidence: float) -> tuple[float, float]:
        """Wilson's interval for records / effect, with Student's quantile for the number of clusters."""
        return wilson_bounds(share, records / self.effect, quantile(confidence, self.clusters - 1))

    def cautious_ends(self, share: float, records: float, confidence: float) -> tuple[float, float]:
        """The ends of `ends`, but 0 or 1 if fewer than 5 records are between the share and that end."""
        low, high = self.ends(share, records, confidence)
        few = FEW_RECORDS * self.effect
        return 0.0 if share * records < few else low, 1.0 if (1 - share) * records < few else high


@dataclass(frozen=True, eq=False)
class Component:
    """One table's part in a figure: how much each record counts (0 to 1), the weight of its deviation, and its cluster.

    Without clusters each record is sampled on its own.
    """

    success: Floats
    cluster: Ints | None = None
    weight: float = 1.0

    @property
    def deviation(self) -> Floats:
        """Each record's contribution to the figure's deviation from its mean."""
        result: Floats = self.weight * (self.success - self.success.mean()) / len(self.success)
        return result


def sampling_design(parts: Sequence[Component], *, least: float, alike: bool = False) -> SamplingDesign:
    """The sampling design of a figure's records; d_i is the deviation of record i.

        effect = U / (U - 1) · Σ_u (Σ over i in u of d_i)² / Σ_i d_i²        at least `least`

    Clusters have one numbering over the parts. `alike` clusters contain rows that are linked or not linked together (a
    household, a person): if fewer than 10 clusters of a part have a record on one side of its share, the effect is at
    least their mean size per record, Σ n_u² / Σ n_u.
    """
    clusters, apart = math.inf, 0.0
    size = 1 + max((int(part.cluster.max(initial=0)) for part in parts if part.cluster is not None), default=0)
    together, inside = np.zeros(size), np.zeros(size, dtype=bool)
    for part in parts:
        deviation, count = part.deviation, len(part.success)
        apart += float(deviation @ deviation)
        if part.cluster is None:
            clusters = min(clusters, count)
            continue
        sizes = np.bincount(part.cluster, minlength=size)
        successes = np.bincount(part.cluster, part.success, minlength=size)
        together += np.bincount(part.cluster, deviation, minlength=size)
        inside |= sizes > 0
        mean_size = float(sizes @ sizes) / count
        clusters = min(clusters, count / mean_size)
        if alike and min(int((successes > 0).sum()), int((successes < sizes).sum())) < FEW_CLUSTERS:
            least = max(least, mean_size)
    drawn = int(inside.sum())
    if not drawn or apart == 0:
        return SamplingDesign(clusters, least)
    return SamplingDesign(clusters, max(least, drawn / max(1, drawn - 1) * float(together @ together) / apart))


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
