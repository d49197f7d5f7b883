"""Intervals for rates, offered where their measured coverage is high enough.

The estimand is the expected figure for a new sample of as many people under the same attacker and release process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE, Estimate
from cvpl.evaluation.control import Roc, attributable_rate
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

Floats = NDArray[np.float64]
Method = Literal["blocks", "people", "block_bootstrap", "record_bootstrap", "wilson"]
"""The sampling units. The last three mean blocks, people and people: resampling itself did not cover."""


def refused_interval(why: str, value: float | None = None, confidence: float = CONFIDENCE) -> Estimate:
    """A figure whose interval is not given, and the reason."""
    return Estimate(value, confidence=confidence, refused=why)


def rate_intervals(sample: Sample, thresholds: Iterable[float], confidence: float = CONFIDENCE) -> list[Estimate]:
    """Intervals for the linkage rate at every threshold."""
    given = _offered("linkage_rate", sample, None, confidence)
    return [given(_share(sample, tau), partial(rate_bounds, sample, tau, confidence)) for tau in map(float, thresholds)]


def attributable_intervals(
    originals: Sample, controls: Sample, thresholds: Iterable[float], confidence: float = CONFIDENCE
) -> list[Estimate]:
    """Intervals for (LR - c) / (1 - c) at every threshold, with a control."""
    given = _offered("attributable_rate", originals, controls, confidence)
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
    given, base = _offered("left_out", originals, None, confidence), Sample(wrong)
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
    units of the originals.
    """
    roc = Roc.of(originals.best, controls.best)
    figure: Figure = "power_left_out" if left_out else "power"
    return [
        _offered(figure, originals, controls, confidence, rate)(
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
    unit = None if originals.unit is None else originals.unit[has_match]
    matched = Sample(originals.best[has_match], unit, originals.kind)
    given = _offered("top1", matched, None, confidence)
    return given(
        float(hit[has_match].mean()) if has_match.any() else None,
        partial(top1_bounds, originals, hit, has_match, confidence),
    )


def _share(sample: Sample, threshold: float) -> float:
    return float(sample.linked(threshold).mean())


def _offered(
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
        units=min(sample.units for sample in samples),
        beyond=None if controls is None or false_rate is None else false_rate * len(controls.best),
    )

    def given(value: float | None, ends: Callable[[], Ends | None]) -> Estimate:
        if decided.coverage is None:
            return refused_interval(decided.refused or "", value, confidence)
        found = ends()
        if found is None:
            nothing = "everybody has a look-alike there, and nothing is left to attribute"
            return refused_interval(nothing, value, confidence)
        return covered(value, found, confidence, originals.kind, decided.coverage)

    return given


def covered(value: float | None, ends: Ends, confidence: float, method: str, coverage: LowestCoverage) -> Estimate:
    """A figure with an interval whose coverage was measured."""
    low, high = ends
    return Estimate(value, low, high, confidence, method, None, coverage.at_95, coverage.at_999)
