"""Intervals for rates, offered where their measured coverage is high enough.

The estimand is the expected figure for a new sample of as many people under the same attacker and release process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import beyond_chance
from cvpl.evaluation.control import Roc
from cvpl.evaluation.intervals.bounds import (
    Ends,
    Sample,
    attributable_bounds,
    paired_bounds,
    power_bounds,
    rate_bounds,
    top1_bounds,
)
from cvpl.evaluation.intervals.coverage import Figure, LowestCoverage, offer
from cvpl.evaluation.intervals.shares import CONFIDENCE

Floats = NDArray[np.float64]
Method = Literal["blocks", "people", "block_bootstrap", "record_bootstrap", "wilson"]
"""The sampling units. The last three mean blocks, people and people: resampling itself did not cover."""
NO_METHOD = "none"
"""The method of a missing interval."""


@dataclass(frozen=True)
class Interval:
    """The two ends, the method, and the measured coverage.

    If the interval is refused, the ends are None and `refused` says why.
    """

    low: float | None
    high: float | None
    method: str = NO_METHOD
    coverage: LowestCoverage | None = None
    refused: str | None = None

    def mapped(self, change: Callable[[float], float]) -> Interval:
        """The interval of an increasing function of this figure."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=change(self.low), high=change(self.high))


def refused_interval(why: str) -> Interval:
    """An interval that is not given, and the reason."""
    return Interval(None, None, refused=why)


def rate_intervals(sample: Sample, thresholds: Iterable[float], confidence: float = CONFIDENCE) -> list[Interval]:
    """Intervals for the linkage rate at every threshold."""
    given = _offered("linkage_rate", sample, None)
    return [given(partial(rate_bounds, sample, tau, confidence)) for tau in map(float, thresholds)]


def attributable_intervals(
    originals: Sample, controls: Sample, thresholds: Iterable[float], confidence: float = CONFIDENCE
) -> list[Interval]:
    """Intervals for (LR - c) / (1 - c) at every threshold, with a control."""
    given = _offered("attributable_rate", originals, controls)
    at = map(float, thresholds)
    return [given(partial(attributable_bounds, originals, controls, tau, confidence)) for tau in at]


def left_out_intervals(
    originals: Sample, wrong: Floats, thresholds: Iterable[float], confidence: float = CONFIDENCE
) -> list[Interval]:
    """Intervals for (LR - FLR) / (1 - FLR) at every threshold; `wrong` are the best scores without the own match."""
    given = _offered("left_out", originals, None)
    return [given(partial(paired_bounds, originals, wrong, tau, confidence)) for tau in map(float, thresholds)]


def power_intervals(
    originals: Sample,
    controls: Sample,
    false_rates: Iterable[float],
    confidence: float = CONFIDENCE,
    *,
    left_out: bool = False,
) -> list[Interval]:
    """Intervals for the power at every false-positive rate α.

    `controls` are people of a control table or, with the own match `left_out`, the originals' best wrong scores in the
    units of the originals.
    """
    roc = Roc.of(originals.best, controls.best)
    figure: Figure = "power_left_out" if left_out else "power"
    return [
        _offered(figure, originals, controls, rate)(partial(power_bounds, originals, controls, rate, confidence, roc))
        for rate in map(float, false_rates)
    ]


def attributable_from_power(power: Interval, false_rate: float) -> Interval:
    """The interval of (power - α) / (1 - α) from the interval of the power."""
    return power.mapped(lambda end: beyond_chance(end, false_rate))


def top1_interval(
    originals: Sample, hit: Floats, has_match: NDArray[np.bool_], confidence: float = CONFIDENCE
) -> Interval:
    """An interval for the top-1 hit rate: the mean of `hit` over the originals with a match."""
    unit = None if originals.unit is None else originals.unit[has_match]
    matched = Sample(originals.best[has_match], unit, originals.kind)
    given = _offered("top1", matched, None)
    return given(partial(top1_bounds, originals, hit, has_match, confidence))


def _offered(
    figure: Figure, originals: Sample, controls: Sample | None, false_rate: float | None = None
) -> Callable[[Callable[[], Ends | None]], Interval]:
    """A function that turns ends into an interval, or refuses it, for these records."""
    samples = [originals] if controls is None else [originals, controls]
    decided = offer(
        figure,
        originals.kind,
        records=len(originals.best),
        controls=None if controls is None else len(controls.best),
        units=min(sample.units for sample in samples),
        beyond=None if controls is None or false_rate is None else false_rate * len(controls.best),
    )

    def given(ends: Callable[[], Ends | None]) -> Interval:
        if decided.refused is not None:
            return refused_interval(decided.refused)
        found = ends()
        if found is None:
            return refused_interval("everybody has a look-alike there, and nothing is left to attribute")
        return Interval(*found, originals.kind, decided.coverage)

    return given


class IntervalFields(TypedDict):
    """The fields of a figure that tell of its interval."""

    low: float | None
    high: float | None
    method: str
    refused: str | None
    coverage: float | None
    coverage_at_999: float | None


def interval_fields(interval: Interval | None) -> IntervalFields:
    """The fields for an interval; None where the figure itself is not known, and nothing was refused."""
    given = interval or Interval(None, None, NO_METHOD)
    measured = given.coverage
    return {
        "low": given.low,
        "high": given.high,
        "method": given.method,
        "refused": given.refused,
        "coverage": None if measured is None else measured.at_95,
        "coverage_at_999": None if measured is None else measured.at_999,
    }
