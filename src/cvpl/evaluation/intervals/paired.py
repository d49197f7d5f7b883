"""The paired difference of one figure between two releases of the same people.

A person who is linked in one release is often linked in the other: the two estimates are correlated, and their
difference is more precise than either. The correlation is computed from each person's contribution to both figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE, Estimate, beyond_chance
from cvpl.evaluation.groups.clusters import Kind
from cvpl.evaluation.intervals.bounds import (
    LEAST_EFFECT,
    Component,
    Ends,
    Sample,
    attributable_parts,
    power_parts,
    sampling_design,
)
from cvpl.evaluation.intervals.intervals import (
    Figure,
    Uncertainty,
    attributable_from_power,
    estimate_with_coverage,
    offer_difference,
    offer_over_draws,
    refused_interval,
)
from cvpl.evaluation.rates import Basis, Roc, attributable_rate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SearchedRows:
    """The rows of the originals and of the control that an attack searched; `of` is the tables' numbers of rows."""

    originals: Ints
    controls: Ints
    of: tuple[int, int]

    def both(self, other: SearchedRows) -> tuple[int, int]:
        """The numbers of originals and of controls that both attacks searched."""
        return len(np.intersect1d(self.originals, other.originals)), len(np.intersect1d(self.controls, other.controls))


@dataclass(frozen=True, eq=False)
class FigureEstimate:
    """A figure of one release: its estimate, its interval at any confidence, and each person's part in its error.

    `originals` and `controls` have an entry for every row of the tables, 0 for rows that were not searched; they are
    known up to a common factor. `variance` is the figure's variance in its interval, in the square of that factor.
    `draws` is the number of draws of a mechanism over which the figure is a mean; 1 for a release.
    """

    figure: Figure
    kind: Kind
    basis: Basis
    estimate: float
    interval: Callable[[float], Estimate]
    originals: Floats
    controls: Floats
    variance: float
    draws: int = 1


@dataclass(frozen=True)
class Difference:
    """The first release's figure minus the second's, and the correlation of the two estimates (-1 to 1)."""

    estimate: Estimate
    correlation: float | None = None

    @property
    def tied(self) -> bool:
        """Whether the two cannot be distinguished: the interval contains 0, or there is none."""
        low, high = self.estimate.low, self.estimate.high
        return low is None or high is None or low <= 0 <= high


def power_estimate(spread: Uncertainty, searched: SearchedRows, false_rate: float) -> FigureEstimate | None:
    """The power at a false-positive rate; None without a base."""
    base, basis = spread.base, spread.basis
    if base is None or basis is None:
        return None
    roc = Roc.of(spread.originals.best, base.best)
    parts = power_parts(spread.originals, base, false_rate, CONFIDENCE, roc)
    figure: Figure = "power" if basis == "control" else "power_left_out"

    def interval(confidence: float) -> Estimate:
        found = replace(spread, confidence=confidence).powers([false_rate])
        assert found is not None  # noqa: S101 - there is a base
        return found[0]

    return _figure_estimate(figure, basis, roc.power(false_rate), interval, spread.originals, parts, searched)


def attributable_by_power(power: FigureEstimate, false_rate: float) -> FigureEstimate:
    """The attributable rate of a score without a scale: (power - α) / (1 - α)."""
    return replace(
        power,
        estimate=beyond_chance(power.estimate, false_rate),
        interval=lambda confidence: attributable_from_power(power.interval(confidence), false_rate),
    )


def attributable_estimate(spread: Uncertainty, searched: SearchedRows, threshold: float) -> FigureEstimate | None:
    """The attributable rate at a threshold; None without a base, or if nothing is left to attribute."""
    base, basis, originals = spread.base, spread.basis, spread.originals
    if base is None or basis is None:
        return None
    linked = originals.linked(threshold)
    estimate = attributable_rate(float(linked.mean()), float(base.linked(threshold).mean()))

    def interval(confidence: float) -> Estimate:
        found = replace(spread, confidence=confidence).attributable([threshold])
        assert found is not None  # noqa: S101 - there is a base
        return found[0]

    if basis == "control":
        parts = attributable_parts(originals, base, threshold)
        if parts is None or estimate is None:
            return None
        return _figure_estimate("attributable_rate", basis, estimate, interval, originals, parts, searched)
    free = base.best < threshold
    if estimate is None or not free.any():
        return None
    cluster = None if originals.cluster is None else originals.cluster[free]
    searched = replace(searched, originals=searched.originals[free])
    return _figure_estimate(
        "left_out", basis, estimate, interval, originals, [Component(linked[free], cluster)], searched
    )


def _figure_estimate(
    figure: Figure,
    basis: Basis,
    estimate: float,
    interval: Callable[[float], Estimate],
    sample: Sample,
    parts: Sequence[Component],
    searched: SearchedRows,
) -> FigureEstimate:
    originals, controls = np.zeros(searched.of[0]), np.zeros(searched.of[1])
    # With the own match left out, the wrong scores are the originals' too.
    mine = originals, searched.originals
    places = [mine, (controls, searched.controls) if basis == "control" else mine]
    apart = 0.0
    for part, (place, rows) in zip(parts, places[: len(parts)], strict=True):
        deviation = part.deviation
        place[rows] += deviation
        apart += float(deviation @ deviation)
    effect = sampling_design(parts, least=LEAST_EFFECT, alike=sample.alike).effect
    return FigureEstimate(figure, sample.kind, basis, estimate, interval, originals, controls, effect * apart)


def correlation(first: FigureEstimate, second: FigureEstimate, groups: tuple[Ints, Ints | None] | None = None) -> float:
    """The correlation of two estimates, over the people whom both attacks searched.

        r = Σ_u A_u B_u / sqrt(V_A V_B)

    A_u and B_u are the contributions of cluster u, a person or a group, to the two figures. V_A and V_B are the
    variances of the intervals, which cover more than people: a release's rows, and blocks. That part is taken to be
    independent between releases, so r is below 1 even if the releases are equal. 0 if a figure does not vary.
    """
    scale = math.sqrt(first.variance * second.variance)
    if scale == 0:
        return 0.0
    if groups is None:
        shared = float(first.originals @ second.originals) + float(first.controls @ second.controls)
    else:
        mine, theirs = groups
        size = 1 + max(int(item.max(initial=0)) for item in (mine, theirs) if item is not None)
        sums = [
            np.bincount(mine, item.originals, minlength=size)
            + (0 if theirs is None else np.bincount(theirs, item.controls, minlength=size))
            for item in (first, second)
        ]
        shared = float(sums[0] @ sums[1])
    return max(-1.0, min(1.0, shared / scale))


def difference_bounds(first: tuple[float, Ends], second: tuple[float, Ends], together: float) -> Ends:
    """Ends for a - b from the ends of each, if the two estimates have the correlation r.

        low  = a - b - sqrt(x² + y² - 2 r x y),    x = a - low of a,     y = high of b - b
        high = a - b + sqrt(x² + y² - 2 r x y),    x = high of a - a,    y = b - low of b

    Distances that move the difference in the same direction add up like correlated errors (Zou and Donner's recovery of
    variances; for two shares of the same people, Newcombe's interval).
    """
    (a, (a_low, a_high)), (b, (b_low, b_high)) = first, second
    down = _combine_variances(a - a_low, b_high - b, together)
    up = _combine_variances(a_high - a, b - b_low, together)
    return a - b - down, a - b + up


def _combine_variances(x: float, y: float, correlation: float) -> float:
    return math.sqrt(max(0.0, x * x + y * y - 2 * correlation * x * y))


def difference(
    first: FigureEstimate,
    second: FigureEstimate,
    confidence: float = CONFIDENCE,
    groups: tuple[Ints, Ints | None] | None = None,
) -> Difference:
    """The difference of a figure between two releases of the same people.

    `groups` are the clusters of the tables' rows, originals and control, if rows belong together. Refused if either
    figure's own interval is refused, if the two have different bases, or if its measured coverage is too low. A figure
    over several draws of a mechanism has the variance of both; draws of two mechanisms are independent.
    """
    estimate = first.estimate - second.estimate
    if first.basis != second.basis:
        why = "one is read against the control, the other with the own match left out"
        return Difference(refused_interval(why, estimate, confidence))
    alone = [item.interval(confidence) for item in (first, second)]
    for item in alone:
        if item.refused is not None:
            return Difference(refused_interval(item.refused, estimate, confidence))
    over_draws = first.draws > 1 or second.draws > 1
    offered = (
        offer_over_draws() if over_draws else offer_difference([(one.figure, one.kind) for one in (first, second)])
    )
    if offered.coverage is None:
        return Difference(refused_interval(offered.refused or "", estimate, confidence))
    together = correlation(first, second, groups)
    ends = [(item.low, item.high) for item in alone if item.low is not None and item.high is not None]
    low, high = difference_bounds((first.estimate, ends[0]), (second.estimate, ends[1]), together)
    kinds = dict.fromkeys((first.kind, second.kind, *(["draws"] if over_draws else [])))
    paired = estimate_with_coverage(
        estimate, (low, high), confidence, f"paired, {' and '.join(kinds)}", offered.coverage
    )
    return Difference(paired, together)


def confidence_of_picked(first: int, second: int, *, by_this_figure: bool) -> float:
    """The confidence for the difference of two picked figures at which 95% is left for the picked pair.

    The first release's attacker is the strongest of K, the second's of L. If they were picked by this same figure, its
    error is at least that of the truly strongest, whose estimate lost. So the difference is too high only if one of K
    differences is, those against the second's truly strongest; and too low only if one of L is. An interval misses
    half of the time on either side: (K + L) (1 - c) / 2 = 0.05. For another figure no such bound is known, and all K L
    pairs must hold: K L (1 - c) = 0.05.
    """
    missed = 1 - CONFIDENCE
    return 1 - (2 * missed / (first + second) if by_this_figure else missed / (first * second))
