"""The risk curve point by point, with the base rate."""

from __future__ import annotations

from collections.abc import Iterator

from cvpl.estimates import Estimate
from cvpl.evaluation.control import attributable_rate
from cvpl.evaluation.measurement import OFF_SCALE_CURVE, Measurement
from cvpl.evaluation.rates import linkage_rate
from cvpl.result import CurvePoint


def curve_points(measured: Measurement) -> list[CurvePoint]:
    """The curve over the threshold grid, or over false-positive rates for a score off the scale."""
    beyond = iter(measured.attributable_curve_intervals or ())
    if measured.curve_intervals is None:
        off_scale = zip(OFF_SCALE_CURVE, measured.curve, measured.power_curve_intervals or (), strict=False)
        return [
            _point(None, float(value), bounds, float(false_rate), beyond, float(false_rate))
            for false_rate, value, bounds in off_scale
        ]
    points = []
    for threshold, value, bounds in zip(measured.grid, measured.curve, measured.curve_intervals, strict=True):
        base = None if measured.base_scores is None else linkage_rate(measured.base_scores, float(threshold))
        points.append(_point(float(threshold), float(value), bounds, base, beyond))
    return points


def _point(
    threshold: float | None,
    rate: float,
    bounds: Estimate,
    base: float | None,
    beyond: Iterator[Estimate],
    false_rate: float | None = None,
) -> CurvePoint:
    attributable = next(beyond, None)
    return CurvePoint(
        threshold=threshold,
        linkage_rate=rate,
        low=bounds.low,
        high=bounds.high,
        control_rate=base,
        attributable_rate=None if base is None else attributable_rate(rate, base),
        attributable_low=None if attributable is None else attributable.low,
        attributable_high=None if attributable is None else attributable.high,
        false_rate=false_rate,
    )
