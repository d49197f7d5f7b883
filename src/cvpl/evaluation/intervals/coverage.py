"""Measured coverage of each interval, and the rule that follows: offered, or refused.

Each simulated world was redrawn 1,000 times (people, release, control) and attacked
(`benchmarks/coverage_bench.py intervals`). For each figure and unit kind, this module has the lowest coverage over all
worlds, thresholds and false-positive rates of that kind. A method is offered if that is at least 0.93 at a nominal
0.95, within the measured range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cvpl.evaluation.groups.units import Kind
from cvpl.wording import counted

Figure = Literal["linkage_rate", "attributable_rate", "left_out", "power", "power_left_out", "top1"]
"""`left_out` is the attributable rate with the own match left out, `power_left_out` the power against such scores."""

ENOUGH = 0.93
"""The lowest coverage at a nominal 95% for which an interval is offered."""
FEWEST_RECORDS = 20
"""The smallest tables that were measured, originals and controls."""
FEWEST_UNITS = 15
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
"""The same for the difference between two releases of the same people (`benchmarks/coverage_bench.py differences`).

The power with the own match left out has no interval over groups, and so no difference; nothing was measured.
"""


OVER_DRAWS = LowestCoverage(0.945, 0.995)
"""The same for a power over several draws of a mechanism, and for its difference to another mechanism or to a release
(`benchmarks/coverage_bench.py draws`)."""


@dataclass(frozen=True)
class IntervalOffer:
    """The measured coverage of an offered interval, or the reason for a refusal."""

    coverage: LowestCoverage | None
    refused: str | None = None


def offer(
    figure: Figure, kind: Kind, *, records: int, controls: int | None, units: float, beyond: float | None = None
) -> IntervalOffer:
    """Decide whether a figure's interval is offered, for these numbers of originals and controls and this unit kind.

    `units` is the equivalent number of equal units; `beyond` the number of controls, α m, above the threshold.
    """
    smallest = records if controls is None else min(records, controls)
    if smallest < FEWEST_RECORDS:
        return _refused(f"{counted(smallest, 'record')}, and nothing smaller than {FEWEST_RECORDS} was measured")
    if kind == "groups" and units < FEWEST_UNITS:
        return _refused(f"the rows weigh as {units:.0f} equal groups, and fewer than {FEWEST_UNITS} were not measured")
    if beyond is not None and beyond < FEWEST_BEYOND:
        return _refused(f"{beyond:.3g} controls above the threshold, and {FEWEST_BEYOND} are needed to read it off")
    lowest = MEASURED[figure, kind]
    if lowest.at_95 < ENOUGH:
        return _refused(f"it held the truth in {lowest.at_95:.3f} of the runs of a world, and {ENOUGH} is asked for")
    return IntervalOffer(lowest)


def offer_difference(figures: Sequence[tuple[Figure, Kind]]) -> IntervalOffer:
    """Decide whether the interval of a difference is offered, by the lower measured coverage of the two figures."""
    found = [DIFFERENCES[figure] for figure in figures]
    lowest = LowestCoverage(min(item.at_95 for item in found), min(item.at_999 for item in found))
    if lowest.at_95 < ENOUGH:
        return _refused(f"it held the truth in {lowest.at_95:.3f} of the runs of a world, and {ENOUGH} is asked for")
    return IntervalOffer(lowest)


def offer_over_draws() -> IntervalOffer:
    """The interval of a difference if a figure is a mean over draws; the two figures' own intervals are offered."""
    return IntervalOffer(OVER_DRAWS)


def _refused(why: str) -> IntervalOffer:
    return IntervalOffer(None, why)
