"""Intervals for rates, offered where their measured coverage is high enough.

The estimand is the expected figure for a new sample of as many people under the same attacker and release process.

Measured coverage of each interval, and the rule that follows: offered, or refused. Each simulated world was redrawn
1,000 times (people, release, control) and attacked (`benchmarks/coverage_bench.py intervals`). For each figure and
cluster kind, this module has the lowest coverage over all worlds, thresholds and false-positive rates of that kind. A
method is offered if that is at least 0.93 at a nominal 0.95, within the measured range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.estimates import CONFIDENCE, Estimate
from cvpl.evaluation.groups.clusters import Clusters, Kind, choose_clusters
from cvpl.evaluation.intervals.bounds import (
    Ends,
    Sample,
    attributable_bounds,
    paired_bounds,
    power_bounds,
    rate_bounds,
    top1_bounds,
)
from cvpl.evaluation.rates import Basis, Roc, attributable_rate
from cvpl.evaluation.truth import Truth
from cvpl.search.best import BestCandidates
from cvpl.wording import count_phrase

Floats = NDArray[np.float64]


Method = Literal["blocks", "people", "block_bootstrap", "record_bootstrap", "wilson"]
"""The sampling clusters. The last three mean blocks, people and people: resampling itself did not cover."""


def refused_interval(why: str, value: float | None = None, confidence: float = CONFIDENCE) -> Estimate:
    """A figure whose interval is not given, and the reason."""
    return Estimate(value, confidence=confidence, refused=why)


def rate_intervals(sample: Sample, thresholds: Iterable[float], confidence: float = CONFIDENCE) -> list[Estimate]:
    """Intervals for the linkage rate at every threshold."""
    given = _offer_interval("linkage_rate", sample, None, confidence)
    return [given(_share(sample, tau), partial(rate_bounds, sample, tau, confidence)) for tau in map(float, thresholds)]


def attributable_intervals(
    originals: Sample, controls: Sample, thresholds: Iterable[float], confidence: float = CONFIDENCE
) -> list[Estimate]:
    """Intervals for (LR - c) / (1 - c) at every threshold, with a control."""
    given = _offer_interval("attributable_rate", originals, controls, confidence)
    return [
        given(
            attributable_rate(_share(originals, tau), _share(controls, tau)),
            partial(attributable_bounds, originals, controls, tau, confidence),
        )
        for tau in map(float, thresholds)
    ]


def left_out_intervals(
    originals: Sample, wrong: Floats, thresholds: Iterable[float], confidence: float = CONFIDENCE
) -> list[Estimate]:
    """Intervals for (LR - FLR) / (1 - FLR) at every threshold; `wrong` are the best scores without the own match."""
    given, base = _offer_interval("left_out", originals, None, confidence), Sample(wrong)
    return [
        given(
            attributable_rate(_share(originals, tau), _share(base, tau)),
            partial(paired_bounds, originals, wrong, tau, confidence),
        )
        for tau in map(float, thresholds)
    ]


def power_intervals(
    originals: Sample,
    controls: Sample,
    false_rates: Iterable[float],
    confidence: float = CONFIDENCE,
    *,
    left_out: bool = False,
) -> list[Estimate]:
    """Intervals for the power at every false-positive rate α.

    `controls` are people of a control table or, with the own match `left_out`, the originals' best wrong scores in the
    clusters of the originals.
    """
    roc = Roc.of(originals.best, controls.best)
    figure: Figure = "power_left_out" if left_out else "power"
    return [
        _offer_interval(figure, originals, controls, confidence, rate)(
            roc.power(rate), partial(power_bounds, originals, controls, rate, confidence, roc)
        )
        for rate in map(float, false_rates)
    ]


def attributable_from_power(power: Estimate, false_rate: float) -> Estimate:
    """(power - α) / (1 - α) with its interval, from the power."""
    return power.beyond_chance(false_rate)


def top1_interval(
    originals: Sample, hit: Floats, has_match: NDArray[np.bool_], confidence: float = CONFIDENCE
) -> Estimate:
    """An interval for the top-1 hit rate: the mean of `hit` over the originals with a match."""
    cluster = None if originals.cluster is None else originals.cluster[has_match]
    matched = Sample(originals.best[has_match], cluster, originals.kind)
    given = _offer_interval("top1", matched, None, confidence)
    return given(
        float(hit[has_match].mean()) if has_match.any() else None,
        partial(top1_bounds, originals, hit, has_match, confidence),
    )


def _share(sample: Sample, threshold: float) -> float:
    return float(sample.linked(threshold).mean())


def _offer_interval(
    figure: Figure,
    originals: Sample,
    controls: Sample | None,
    confidence: float,
    false_rate: float | None = None,
) -> Callable[[float | None, Callable[[], Ends | None]], Estimate]:
    """A function that joins a figure and its ends, or refuses them, for these records."""
    samples = [originals] if controls is None else [originals, controls]
    decided = offer(
        figure,
        originals.kind,
        records=len(originals.best),
        controls=None if controls is None else len(controls.best),
        clusters=min(sample.clusters for sample in samples),
        beyond=None if controls is None or false_rate is None else false_rate * len(controls.best),
    )

    def given(value: float | None, ends: Callable[[], Ends | None]) -> Estimate:
        if decided.coverage is None:
            return refused_interval(decided.refused or "", value, confidence)
        found = ends()
        if found is None:
            nothing = "everybody has a look-alike there, and nothing is left to attribute"
            return refused_interval(nothing, value, confidence)
        return estimate_with_coverage(value, found, confidence, originals.kind, decided.coverage)

    return given


def estimate_with_coverage(
    value: float | None, ends: Ends, confidence: float, method: str, coverage: LowestCoverage
) -> Estimate:
    """A figure with an interval whose coverage was measured."""
    low, high = ends
    return Estimate(value, low, high, confidence, method, None, coverage.at_95, coverage.at_999)


Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The originals and, if there is one, the base that they are compared with: controls, or the best wrong scores."""

    originals: Sample
    base: Sample | None
    basis: Basis | None
    confidence: float = CONFIDENCE

    @classmethod
    def of(
        cls,
        attack: Attack,
        control: BestCandidates | None,
        base: Floats | None,
        basis: Basis | None,
        *,
        method: Method = "blocks",
        groups: Mapping[str, Ints] | None = None,
        confidence: float = CONFIDENCE,
    ) -> Uncertainty:
        """The uncertainty of an attack with base scores `base`; `groups` says which rows of a table belong together."""
        clusters = clusters_of(attack, control is not None, method, groups)
        # Only a best score hangs on one row of the release; a difference of two does not.
        plain = attack.reads_best
        originals = (
            Sample.of(attack.found, clusters) if plain else Sample(attack.scores, clusters.original, clusters.kind)
        )
        other = None
        if basis == "control" and control is not None and base is not None:
            other = (
                Sample.of(control, clusters, control=True) if plain else Sample(base, clusters.control, clusters.kind)
            )
        elif basis == "own_match_left_out" and base is not None:
            other = Sample(base, originals.cluster, originals.kind)
        return cls(originals, other, basis, confidence)

    def rates(self, thresholds: Iterable[float]) -> list[Estimate]:
        """Intervals for the linkage rate at every threshold."""
        return rate_intervals(self.originals, thresholds, self.confidence)

    def base_rates(self, thresholds: Iterable[float]) -> list[Estimate] | None:
        """Intervals for the control's rate at every threshold; None without a control."""
        if self.base is None or self.basis != "control":
            return None
        return rate_intervals(self.base, thresholds, self.confidence)

    def attributable(self, thresholds: Iterable[float]) -> list[Estimate] | None:
        """Intervals for the attributable rate at every threshold; None without a base."""
        if self.base is None:
            return None
        if self.basis == "own_match_left_out":
            return left_out_intervals(self.originals, self.base.best, thresholds, self.confidence)
        return attributable_intervals(self.originals, self.base, thresholds, self.confidence)

    def powers(self, false_rates: Iterable[float]) -> list[Estimate] | None:
        """Intervals for the power at every false-positive rate; None without a base."""
        if self.base is None:
            return None
        left_out = self.basis == "own_match_left_out"
        return power_intervals(self.originals, self.base, false_rates, self.confidence, left_out=left_out)

    def top1(self, truth: Truth | None) -> Estimate | None:
        """The interval for the top-1 hit rate; None if no original has a match."""
        if truth is None or not truth.has_match.any():
            return None
        return top1_interval(self.originals, truth.hit, truth.has_match, self.confidence)


def clusters_of(attack: Attack, with_control: bool, method: Method, groups: Mapping[str, Ints] | None) -> Clusters:
    """The clusters of the people whom the attacker knows, and of the controls."""
    tables = ["original", "control"] if with_control else ["original"]
    blocks = attack.blocks.clusters(tables) if method in ("blocks", "block_bootstrap") else None
    bound = None
    if groups is not None:
        rows = {"original": attack.people, "control": attack.control_rows}
        bound = [groups[table][rows[table]] for table in tables]
    return choose_clusters(blocks, bound)


Figure = Literal["linkage_rate", "attributable_rate", "left_out", "power", "power_left_out", "top1"]
"""`left_out` is the attributable rate with the own match left out, `power_left_out` the power against such scores."""

ENOUGH = 0.93
"""The lowest coverage at a nominal 95% for which an interval is offered."""
FEWEST_RECORDS = 20
"""The smallest tables that were measured, originals and controls."""
FEWEST_CLUSTERS = 15
"""The fewest groups that were measured, as the equivalent number of equal groups."""
FEWEST_BEYOND = 5
"""The fewest controls, α m, above the threshold of a false-positive rate α: with fewer, the threshold is unstable."""


@dataclass(frozen=True)
class LowestCoverage:
    """The lowest measured coverage of intervals with nominal coverage 95% and 99.9%."""

    at_95: float
    at_999: float


MEASURED: dict[tuple[Figure, Kind], LowestCoverage] = {
    ("linkage_rate", "people"): LowestCoverage(0.939, 0.993),
    ("linkage_rate", "blocks"): LowestCoverage(0.984, 0.999),
    ("linkage_rate", "groups"): LowestCoverage(0.947, 0.997),
    ("attributable_rate", "people"): LowestCoverage(0.936, 0.998),
    ("attributable_rate", "blocks"): LowestCoverage(0.956, 1.000),
    ("attributable_rate", "groups"): LowestCoverage(0.937, 0.998),
    ("left_out", "people"): LowestCoverage(0.949, 0.995),
    ("left_out", "blocks"): LowestCoverage(0.958, 1.000),
    ("left_out", "groups"): LowestCoverage(0.943, 0.997),
    ("power", "people"): LowestCoverage(0.933, 0.997),
    ("power", "blocks"): LowestCoverage(0.968, 1.000),
    ("power", "groups"): LowestCoverage(0.934, 0.998),
    ("power_left_out", "people"): LowestCoverage(0.941, 0.997),
    ("power_left_out", "blocks"): LowestCoverage(0.986, 0.999),
    ("power_left_out", "groups"): LowestCoverage(0.863, 0.983),
    ("top1", "people"): LowestCoverage(0.945, 0.997),
    ("top1", "blocks"): LowestCoverage(0.963, 1.000),
    ("top1", "groups"): LowestCoverage(0.930, 0.997),
}
"""Printed by `python benchmarks/coverage_bench.py intervals docs/measurements/coverage.csv`."""


DIFFERENCES: dict[tuple[Figure, Kind], LowestCoverage] = {
    ("attributable_rate", "people"): LowestCoverage(0.955, 0.997),
    ("attributable_rate", "blocks"): LowestCoverage(0.971, 1.000),
    ("attributable_rate", "groups"): LowestCoverage(0.939, 0.998),
    ("left_out", "people"): LowestCoverage(0.942, 0.997),
    ("left_out", "blocks"): LowestCoverage(0.968, 1.000),
    ("left_out", "groups"): LowestCoverage(0.953, 0.999),
    ("power", "people"): LowestCoverage(0.964, 0.999),
    ("power", "blocks"): LowestCoverage(0.979, 1.000),
    ("power", "groups"): LowestCoverage(0.952, 0.999),
    ("power_left_out", "people"): LowestCoverage(0.963, 1.000),
    ("power_left_out", "blocks"): LowestCoverage(1.000, 1.000),
    ("power_left_out", "groups"): LowestCoverage(0.0, 0.0),
}
"""Lowest coverage for the difference of two releases of the same people (`benchmarks/coverage_bench.py differences`).

The power with the own match left out has no interval over groups, and so no difference; nothing was measured.
"""


OVER_DRAWS = LowestCoverage(0.945, 0.995)
"""Lowest coverage for a power over draws of a mechanism, and for its difference to another mechanism or to a release
(`benchmarks/coverage_bench.py draws`)."""


@dataclass(frozen=True)
class IntervalOffer:
    """The measured coverage of an offered interval, or the reason for a refusal."""

    coverage: LowestCoverage | None
    refused: str | None = None


def offer(
    figure: Figure, kind: Kind, *, records: int, controls: int | None, clusters: float, beyond: float | None = None
) -> IntervalOffer:
    """Decide whether a figure's interval is offered, for these numbers of originals and controls and this cluster kind.

    `clusters` is the equivalent number of equal clusters; `beyond` the number of controls, α m, above the threshold.
    """
    smallest = records if controls is None else min(records, controls)
    if smallest < FEWEST_RECORDS:
        return _refuse_interval(
            f"{count_phrase(smallest, 'record')}, and nothing smaller than {FEWEST_RECORDS} was measured"
        )
    if kind == "groups" and clusters < FEWEST_CLUSTERS:
        return _refuse_interval(
            f"the rows weigh as {clusters:.0f} equal groups, and fewer than {FEWEST_CLUSTERS} were not measured"
        )
    if beyond is not None and beyond < FEWEST_BEYOND:
        return _refuse_interval(
            f"{beyond:.3g} controls above the threshold, and {FEWEST_BEYOND} are needed to read it off"
        )
    lowest = MEASURED[figure, kind]
    if lowest.at_95 < ENOUGH:
        return _refuse_interval(
            f"it held the truth in {lowest.at_95:.3f} of the runs of a world, and {ENOUGH} is asked for"
        )
    return IntervalOffer(lowest)


def offer_difference(figures: Sequence[tuple[Figure, Kind]]) -> IntervalOffer:
    """Decide whether the interval of a difference is offered, by the lower measured coverage of the two figures."""
    found = [DIFFERENCES[figure] for figure in figures]
    lowest = LowestCoverage(min(item.at_95 for item in found), min(item.at_999 for item in found))
    if lowest.at_95 < ENOUGH:
        return _refuse_interval(
            f"it held the truth in {lowest.at_95:.3f} of the runs of a world, and {ENOUGH} is asked for"
        )
    return IntervalOffer(lowest)


def offer_over_draws() -> IntervalOffer:
    """The interval of a difference if a figure is a mean over draws; the two figures' own intervals are offered."""
    return IntervalOffer(OVER_DRAWS)


def _refuse_interval(why: str) -> IntervalOffer:
    return IntervalOffer(None, why)
