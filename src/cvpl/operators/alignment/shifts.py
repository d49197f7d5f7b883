"""Values that were rounded and then shifted: a change that the points of the release alone do not show.

It is found with originals and control together, so that a release of strangers looks alike to both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.fitting import FEWEST_POINTS, SAMPLE, Histogram
from cvpl.operators.alignment.granularity import ColumnGranularity, Granularity
from cvpl.operators.alignment.rounding import GridRounding, NumberGrid, TimeGrid, decimal_places
from cvpl.operators.alignment.times import microseconds, with_times
from cvpl.tables.columns import ColumnData, Numbers, Table, Times

Ints = NDArray[np.int64]

ROUNDED = (GridRounding("nearest"), GridRounding("nearest", "even"), GridRounding("down"), GridRounding("up"))
"""The roundings that are tried before a shift, on a grid that contains 0."""
FEWEST_IN_CELL = 10
"""A grid is coarse if so many released records share a point of it, on average."""
BY_CHANCE = 1.5
"""A shift explains the release if the Kolmogorov-Smirnov distance is at most this many times what chance gives."""
BETTER = 0.05
"""A shift must increase the overlap with the release by this."""
_NEAR = 2
"""The shifts to try, in steps around that of the medians."""


@dataclass(frozen=True, eq=False)
class NumberShift:
    """Numbers rounded to a grid and shifted."""

    grid: NumberGrid
    shift: int

    def apply(self, column: Numbers) -> Numbers:
        """Bring numbers to the grid of the release; intervals stay as they are."""
        moved = (np.rint(self.grid(column.values) * self.grid.scale) + self.shift) / self.grid.scale
        if column.plain:
            return Numbers(moved, moved, moved)
        exact = column.low == column.high
        return Numbers(*(np.where(exact, moved, part) for part in (column.values, column.low, column.high)))

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        return f"{self.grid.words}, and shifted"


@dataclass(frozen=True, eq=False)
class TimeShift:
    """Times cut to steps and shifted."""

    grid: TimeGrid
    shift: int

    def apply(self, column: Times) -> Times:
        """Bring times to the grid of the release; missing ones stay missing."""
        return with_times(column, self.grid(microseconds(column.first)) + self.shift)

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        return f"{self.grid.words}, and shifted"


def with_shifts(granularity: Granularity, people: Table, released: Table) -> Granularity:
    """The granularity, with a shift in place of the grain of every column that it explains better."""
    found = dict(granularity.grains)
    for spec in released.specs:
        own, there = people.columns[spec.name], released.columns[spec.name]
        known = found.get(spec.name)
        shifted = _shifted(own, own if known is None else known.apply(own), there)
        if shifted is not None:
            found[spec.name] = shifted
    return Granularity(found, granularity.suppressed)


@singledispatch
def _shifted(own: ColumnData, now: ColumnData, released: ColumnData) -> ColumnGranularity | None:
    """The rounding and shift that explain a column better than `now`, the values at its granularity."""
    return None


@_shifted.register(Numbers)
def _shifted_numbers(own: Numbers, now: Numbers, released: Numbers) -> ColumnGranularity | None:
    if not (own.plain and released.plain and own.known().any()):
        return None
    values = _some(released.values[released.known()])
    points = np.unique(values)
    places = decimal_places(points) if len(points) >= FEWEST_POINTS else None
    if places is None or len(values) < FEWEST_IN_CELL * len(points):
        return None
    scale = 10**places
    there = np.rint(values * scale).astype(np.int64)
    step = int(np.gcd.reduce(np.diff(np.unique(there))))
    mine, before = own.values[own.known()], now.values[own.known()]
    grids = [NumberGrid(step, 0, scale, rounding) for rounding in ROUNDED]
    rounded = [np.rint(grid(mine) * scale).astype(np.int64) for grid in grids]
    best = _best_shift(rounded, there, np.rint(before * scale).astype(np.int64), step)
    return None if best is None else NumberShift(grids[best[0]], best[1])


@_shifted.register(Times)
def _shifted_times(own: Times, now: Times, released: Times) -> ColumnGranularity | None:
    if not (own.plain and released.plain and own.known().any()):
        return None
    mine, before = (microseconds(side.first)[own.known()] for side in (own, now))
    there = _some(microseconds(released.first)[released.known()])
    points = np.unique(there)
    if len(points) < FEWEST_POINTS or len(there) < FEWEST_IN_CELL * len(points):
        return None
    step = int(np.gcd.reduce(np.diff(points)))
    grids = [TimeGrid(step, 0, rounding) for rounding in ROUNDED]
    best = _best_shift([grid(mine) for grid in grids], there, before, step)
    return None if best is None else TimeShift(grids[best[0]], best[1])


def _best_shift(rounded: list[Ints], released: Ints, now: Ints, step: int) -> tuple[int, int] | None:
    """The rounding, by number, and the shift that explain the release; None if none does, or none is needed."""
    there = Histogram.of(released)
    before = Histogram.of(now).overlap(there)
    best: tuple[float, int, int] | None = None
    for number, values in enumerate(rounded):
        own = Histogram.of(values)
        rest = int(released[0] - values[0]) % step
        middle = round((float(np.median(released)) - float(np.median(values)) - rest) / step)
        for steps in range(middle - _NEAR, middle + _NEAR + 1):
            shift = steps * step + rest
            overlap = Histogram(own.values + shift, own.counts).overlap(there)
            if best is None or overlap > best[0]:
                best = overlap, number, shift
    if best is None or best[0] < before + BETTER:
        return None
    _, number, shift = best
    apart = _distance(rounded[number] + shift, released)
    return (number, shift) if apart <= BY_CHANCE * np.sqrt(1 / len(now) + 1 / len(released)) else None


def _distance(one: Ints, other: Ints) -> float:
    """The Kolmogorov-Smirnov distance."""
    points = np.unique(other)
    below = [np.searchsorted(np.sort(side), points, side="right") / len(side) for side in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


def _some(values: NDArray[Any]) -> NDArray[Any]:
    """At most `SAMPLE` values, evenly spaced."""
    return values[np.linspace(0, len(values) - 1, min(len(values), SAMPLE)).astype(np.intp)]
