"""The common form in which an attacker compares both tables: coarsened or shifted values, ranks, differences.

Values that were rounded and then shifted: a change that the points of the release alone do not show. It is found with
originals and control together, so that a release of strangers looks alike to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.granularity import ColumnGranularity, Granularity, add_times, microseconds
from cvpl.operators.alignment.rounding import (
    FEWEST_POINTS,
    SAMPLE,
    GridRounding,
    Histogram,
    NumberGrid,
    TimeGrid,
    decimal_places,
)
from cvpl.operators.recoding import Recoding
from cvpl.result.publishing import ALL_NUMBERS, RoundingGrid
from cvpl.tables.columns import ColumnData, Columns, ColumnSpec, Fetch, Numbers, Table, Times

Floats = NDArray[np.float64]

MOST_COMPARED = 6
"""Differences are taken between so many times, and so many numbers, at most; ratios between so many numbers."""
FEWEST_COMPARED = 3
"""Ratios are compared of so many numbers or more: one ratio alone tells few people apart."""
OVERLAP = 0.7
"""Two numbers have one unit if the Kolmogorov-Smirnov distance of their values is at most this."""
FEWEST_CLOCKS = 100
"""Times of day are compared if people have so many different ones in a column, or more: hours tell hardly anybody."""
_DAY = 86_400e6
"""A day in microseconds."""
_DECIMALS = 9
"""The decimals of a difference of two numbers: the last bits come from the subtraction."""


class CommonForm(Protocol):
    """How both tables are brought to the form in which they are compared."""

    def apply(self, table: Table) -> Table:
        """The attacker's records in the common form."""

    def apply_released(self, table: Table) -> Table:
        """The released records in the common form."""

    def describe(self, grid: RoundingGrid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """List columns and their treatment, without a value of the data."""


@dataclass(frozen=True, eq=False)
class RankForm:
    """Values at the granularity of the release, then as rank scores, and labels as the release names them."""

    granularity: Granularity
    recoding: Recoding

    def apply(self, table: Table) -> Table:
        """The attacker's records: coarsened, then ranked."""
        return self.recoding.apply(self.granularity.apply(table))

    def apply_released(self, table: Table) -> Table:
        """The released records, ranked."""
        return self.recoding.apply_released(table)

    def describe(self, grid: RoundingGrid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """The granularity, and what is recoded."""
        return [*self.granularity.describe(grid), *self.recoding.describe()]


@dataclass(frozen=True, eq=False)
class DifferenceForm:
    """Differences between the columns of each pair in place of these columns; other columns stay as they are.

    A shift by whole days keeps the time of day, so it takes the place of a time that has one.
    """

    granularity: Granularity
    pairs: tuple[tuple[str, str], ...]
    days: frozenset[str] = frozenset()
    """The times that are whole days for all people: their differences are too, whatever the clock of the release."""
    clocks: tuple[tuple[str, float], ...] = ()
    """The times whose time of day is compared, and the step in microseconds to which the release cut it."""

    @classmethod
    def of(cls, granularity: Granularity, people: Table, released: Table, columns: Sequence[str]) -> DifferenceForm:
        """The pairs of times, and of numbers of one unit, among these columns of originals and controls."""
        times = [spec.name for spec in people.specs if spec.type == "datetime"]
        days = frozenset(name for name in times if _are_days(people.columns[name]))
        pairs = compared_differences(people, columns)
        paired = [name for name in times if any(name in pair for pair in pairs)]
        steps = {name: _clock_step(released.columns[name]) for name in paired}
        clocks = tuple((name, step) for name, step in steps.items() if _has_clock(people.columns[name], step))
        return cls(granularity, pairs, days, clocks)

    def apply(self, table: Table) -> Table:
        """The attacker's differences; differences of coarsened values would be off by the rounding of both."""
        return self._differences(self.granularity.without(self._columns).apply(table))

    def apply_released(self, table: Table) -> Table:
        """The released differences."""
        return self._differences(table)

    def describe(self, grid: RoundingGrid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """The granularity of the other columns, and the differences."""
        kept = self.granularity.without(self._columns).describe(grid)
        differences = ((f"{one} - {other}", "difference") for one, other in self.pairs)
        return [*kept, *differences, *((f"time of {name}", "time of day") for name, _ in self.clocks)]

    @property
    def _columns(self) -> set[str]:
        return {name for pair in self.pairs for name in pair}

    def _differences(self, table: Table) -> Table:
        gone = self._columns
        place = table.place.new_storage()
        specs = [spec for spec in table.specs if spec.name not in gone]
        fetch: dict[str, Fetch] = {spec.name: partial(table.columns.__getitem__, spec.name) for spec in specs}
        roles = {spec.name: spec.role for spec in table.specs}
        for one, other in self.pairs:
            name = f"{one} - {other}"
            specs.append(ColumnSpec(name, roles[one], "numeric"))
            apart = _difference(table.columns[one], table.columns[other])
            fetch[name] = place.put(_whole(apart) if {one, other} <= self.days else apart)
        for clock, step in self.clocks:
            name = f"time of {clock}"
            specs.append(ColumnSpec(name, roles[clock], "numeric"))
            fetch[name] = place.put(_time_of_day(table.columns[clock], step))
        return Table(table.name, table.rows, tuple(specs), Columns(fetch), place)


@dataclass(frozen=True, eq=False)
class RatioForm:
    """Logarithms of the ratios between numbers, and nothing else: a factor of each person's own cancels in them."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, people: Table, columns: Sequence[str]) -> RatioForm:
        """The pairs of numbers among these columns that are above 0 for all originals and controls."""
        return cls(compared_ratios(people, columns))

    def apply(self, table: Table) -> Table:
        """The attacker's ratios; rounding moves a ratio a little, and the nearest one still counts."""
        return self._ratios(table)

    def apply_released(self, table: Table) -> Table:
        """The released ratios."""
        return self._ratios(table)

    def describe(self, grid: RoundingGrid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """The ratios."""
        return [(f"{one} / {other}", "ratio") for one, other in self.pairs]

    def _ratios(self, table: Table) -> Table:
        place = table.place.new_storage()
        roles = {spec.name: spec.role for spec in table.specs}
        names = [f"{one} / {other}" for one, other in self.pairs]
        specs = [ColumnSpec(name, roles[one], "numeric") for name, (one, _) in zip(names, self.pairs, strict=True)]
        logs = {name: _log(table.columns[name]) for pair in self.pairs for name in pair}
        fetch: dict[str, Fetch] = {}
        for name, (one, other) in zip(names, self.pairs, strict=True):
            values = logs[one] - logs[other]
            fetch[name] = place.put(Numbers(values, values, values))
        return Table(table.name, table.rows, tuple(specs), Columns(fetch), place)


def compared_ratios(people: Table, columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The pairs among these columns whose ratios are compared: numbers above 0 that vary, if there are enough."""
    numbers = [
        spec.name
        for spec in people.specs
        if spec.name in columns
        and spec.type == "numeric"
        and _varies_above_0(_known_numbers(people.columns[spec.name]))
    ][:MOST_COMPARED]
    return tuple(combinations(numbers, 2)) if len(numbers) >= FEWEST_COMPARED else ()


def _varies_above_0(values: Floats) -> bool:
    return len(values) > 0 and 0 < values.min() < values.max()


def _log(column: ColumnData) -> Floats:
    """The logarithms of numbers above 0; NaN elsewhere."""
    values = column.ordinal()
    return np.log(values, where=values > 0, out=np.full(len(values), np.nan))


def compared_differences(people: Table, columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The pairs among these columns whose differences are compared: times, and numbers of one unit."""
    compared = [spec for spec in people.specs if spec.name in columns]
    times = [spec.name for spec in compared if spec.type == "datetime"][:MOST_COMPARED]
    numbers = [spec.name for spec in compared if spec.type == "numeric"][:MOST_COMPARED]
    values = {name: np.sort(_known_numbers(people.columns[name])) for name in numbers}
    alike = [pair for pair in combinations(numbers, 2) if _distance(values[pair[0]], values[pair[1]]) <= OVERLAP]
    return (*combinations(times, 2), *alike)


def _clock_step(released: ColumnData) -> float:
    """The largest step, in microseconds, of which all released times of day are multiples; 0 if all are midnight."""
    return float(np.gcd.reduce((_known_numbers(released) % _DAY).astype(np.int64))) if released.known().any() else 0.0


def _has_clock(column: ColumnData, step: float) -> bool:
    """Whether the time of day of a column, cut to this step, tells people apart."""
    return step > 0 and len(np.unique(_known_numbers(column) % _DAY // step)) >= FEWEST_CLOCKS


def _known_numbers(column: ColumnData) -> Floats:
    return column.ordinal()[column.known()]


def _distance(one: Floats, other: Floats) -> float:
    if min(len(one), len(other)) == 0 or one[0] == one[-1] or other[0] == other[-1]:
        return 1.0
    at = np.concatenate([one, other])
    shares: Sequence[Floats] = [np.searchsorted(part, at, side="right") / len(part) for part in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def _are_days(column: ColumnData) -> bool:
    return bool(np.all(_known_numbers(column) % _DAY == 0))


def _time_of_day(column: ColumnData, step: float) -> Numbers:
    """Steps since midnight; NaN where the time is missing."""
    values = column.ordinal() % _DAY // step
    return Numbers(values, values, values)


def _whole(column: Numbers) -> Numbers:
    values = np.rint(column.values) + 0.0
    return Numbers(values, values, values)


def _difference(one: ColumnData, other: ColumnData) -> Numbers:
    """The difference of two numbers, or of two times in days; NaN where either is missing."""
    first, second = one.ordinal(), other.ordinal()
    values = (first - second) / _DAY if isinstance(one, Times) else np.round(first - second, _DECIMALS) + 0.0
    return Numbers(values, values, values)


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
        return add_times(column, self.grid(microseconds(column.first)) + self.shift)

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        return f"{self.grid.words}, and shifted"


def add_shifts(granularity: Granularity, people: Table, released: Table) -> Granularity:
    """The granularity, with a shift in place of the grain of every column that it explains better."""
    found = dict(granularity.grains)
    for spec in released.specs:
        own, there = people.columns[spec.name], released.columns[spec.name]
        known = found.get(spec.name)
        shifted = _shifted_granularity(own, own if known is None else known.apply(own), there)
        if shifted is not None:
            found[spec.name] = shifted
    return Granularity(found, granularity.suppressed)


@singledispatch
def _shifted_granularity(own: ColumnData, now: ColumnData, released: ColumnData) -> ColumnGranularity | None:
    """The rounding and shift that explain a column better than `now`, the values at its granularity."""
    return None


@_shifted_granularity.register(Numbers)
def _shifted_numbers(own: Numbers, now: Numbers, released: Numbers) -> ColumnGranularity | None:
    if not (own.plain and released.plain and own.known().any()):
        return None
    values = _sample_values(released.values[released.known()])
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


@_shifted_granularity.register(Times)
def _shifted_times(own: Times, now: Times, released: Times) -> ColumnGranularity | None:
    if not (own.plain and released.plain and own.known().any()):
        return None
    mine, before = (microseconds(side.first)[own.known()] for side in (own, now))
    there = _sample_values(microseconds(released.first)[released.known()])
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
    apart = _distance_to_points(rounded[number] + shift, released)
    return (number, shift) if apart <= BY_CHANCE * np.sqrt(1 / len(now) + 1 / len(released)) else None


def _distance_to_points(one: Ints, other: Ints) -> float:
    """The Kolmogorov-Smirnov distance."""
    points = np.unique(other)
    below = [np.searchsorted(np.sort(side), points, side="right") / len(side) for side in (one, other)]
    return float(np.abs(below[0] - below[1]).max())


def _sample_values(values: NDArray[Any]) -> NDArray[Any]:
    """At most `SAMPLE` values, evenly spaced."""
    return values[np.linspace(0, len(values) - 1, min(len(values), SAMPLE)).astype(np.intp)]
