"""From an interval to the fields that every figure of a result has for it."""

from __future__ import annotations

from typing import TypedDict

from cvpl.evaluation.intervals.intervals import NO_METHOD, Interval


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
