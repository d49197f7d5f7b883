"""95% intervals for rates.

The estimand is the expected rate for a fresh draw of as many people under the same attacker and release process.
Records of one block share their candidates, so blocks are drawn, not records; with fewer than 20 blocks there is too
little to draw from, and records are drawn instead. Where fewer than 10 records are linked, or fewer than 10 are not,
resampling cannot see the uncertainty that is left, and the Wilson interval takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Method = Literal["block_bootstrap", "record_bootstrap", "wilson"]

CONFIDENCE = 0.95
FEWEST_BLOCKS = 20
FEWEST_RECORDS = 10
MOST_UNITS = 2_000
"""More blocks than this are first thrown at random into so many units: the variance stays, the cost does not grow."""

_TAIL = (1 - CONFIDENCE) / 2
_Z = NormalDist().inv_cdf(1 - _TAIL)


@dataclass(frozen=True)
class Interval:
    """The two ends, and how they were found."""

    low: float
    high: float
    method: str


def wilson(successes: float, total: int) -> Interval:
    """The Wilson score interval for a share of independent records."""
    p, z2 = successes / total, _Z**2
    centre = (p + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z / (1 + z2 / total) * float(np.sqrt(p * (1 - p) / total + z2 / (4 * total**2)))
    return Interval(max(0.0, centre - half), min(1.0, centre + half), "wilson")


@dataclass(frozen=True, eq=False)
class Replicates:
    """Bootstrap weights: `weights[r, u]` is how often unit u is drawn in replicate r; `unit` maps records to units."""

    weights: Floats
    unit: Ints
    method: Method

    @classmethod
    def draw(cls, blocks: Ints, replicates: int, rng: np.random.Generator, method: Method) -> Replicates:
        """Weights for records with the given blocks, numbered from 0."""
        count = int(blocks.max(initial=-1)) + 1
        present = np.bincount(blocks, minlength=count) > 0
        blocks, count = (np.cumsum(present) - 1)[blocks], int(present.sum())
        if method == "block_bootstrap" and count >= FEWEST_BLOCKS:
            unit = blocks if count <= MOST_UNITS else rng.permutation(count)[blocks] % MOST_UNITS
        else:
            method = "record_bootstrap"
            records = len(blocks)
            unit = np.arange(records) if records <= MOST_UNITS else rng.permutation(records) % MOST_UNITS
        units = int(unit.max(initial=0)) + 1
        weights = rng.multinomial(units, np.full(units, 1 / units), size=replicates).astype(np.float64)
        return cls(weights, unit.astype(np.int64), method)

    def rates(self, scores: Floats, thresholds: Floats, records: slice | None = None) -> Floats:
        """The linkage rate at every threshold in every replicate (replicates x thresholds); NaN where nobody is drawn.

        `records` are the places of these scores among the records for which the weights were drawn.
        """
        unit = self.unit if records is None else self.unit[records]
        units, bins = self.weights.shape[1], len(thresholds) + 1
        passed = np.searchsorted(thresholds, scores, side="right")
        counts = np.bincount(unit * bins + passed, minlength=units * bins).reshape(units, bins)
        at_least = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1].astype(np.float64)
        drawn = self.weights @ at_least
        with np.errstate(divide="ignore", invalid="ignore"):
            result: Floats = drawn[:, 1:] / drawn[:, :1]
        return result


def rate_intervals(best: Floats, thresholds: Floats, replicates: Replicates | None) -> list[Interval]:
    """Intervals for the linkage rate at every threshold (ascending)."""
    total = len(best)
    linked = total - np.searchsorted(np.sort(best), thresholds, side="left")
    if replicates is None:
        return [wilson(int(count), total) for count in linked]
    low, high = _ends(replicates.rates(best, thresholds))
    return [
        Interval(float(low[at]), float(high[at]), replicates.method)
        if _resampled(int(count), total)
        else wilson(int(count), total)
        for at, count in enumerate(linked)
    ]


def attributable_interval(
    originals: Floats, controls: Floats, threshold: float, replicates: Replicates | None, *, paired: bool
) -> Interval | None:
    """An interval for (LR - control) / (1 - control), from the best scores of originals and controls.

    Where both are `paired` figures of the same records (the own match left out), `replicates` covers these; otherwise
    it covers the originals followed by the controls, so that a drawn block brings both. Where a rate is too close to 0
    or 1 to resample, Wilson intervals take over: paired, the figure is itself a share, that of the records linked only
    by their own match among those without a wrong link; otherwise the far ends of the two rates' intervals are
    combined, which is never too narrow. None where nothing is left to attribute.
    """
    if paired:
        free = originals[controls < threshold]
        if not len(free):
            return None
        own = int((free >= threshold).sum())
        if replicates is None or not _resampled(own, len(free)):
            return wilson(own, len(free))
    else:
        counts = [int((group >= threshold).sum()) for group in (originals, controls)]
        sizes = [len(originals), len(controls)]
        if replicates is None or not all(map(_resampled, counts, sizes)):
            mine, base = (wilson(count, size) for count, size in zip(counts, sizes, strict=True))
            if base.high >= 1:
                return None
            low, high = (mine.low - base.high) / (1 - base.high), (mine.high - base.low) / (1 - base.low)
            return Interval(low, high, "wilson")
    first = slice(0, len(originals))
    other = first if paired else slice(len(originals), None)
    at = np.array([threshold])
    rate, base_rate = replicates.rates(originals, at, first)[:, 0], replicates.rates(controls, at, other)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        figure = (rate - base_rate) / (1 - base_rate)
    ends = _ends(np.where(np.isfinite(figure), figure, np.nan))
    return Interval(float(ends[0]), float(ends[1]), replicates.method)


def _ends(values: Floats) -> tuple[Floats, Floats]:
    """The percentile ends over the replicates; replicates in which the figure is undefined are left out."""
    return np.nanquantile(values, _TAIL, axis=0), np.nanquantile(values, 1 - _TAIL, axis=0)


def _resampled(linked: int, total: int) -> bool:
    """Whether enough records are linked, and enough are not, for resampling to see the uncertainty."""
    return FEWEST_RECORDS <= linked <= total - FEWEST_RECORDS
