"""The granularity of a release, column by column, and the generalization of a table to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.rounding import (
    SAME,
    SAMPLE,
    DistinctRanges,
    NumberRounding,
    TimeRounding,
    cut_offs,
    fit_numbers,
    fit_times,
)
from cvpl.result.publishing import ALL_NUMBERS, RoundingGrid
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Table, Times
from cvpl.tables.meaning.labels import find_covers
from cvpl.wording import percent


class ColumnGranularity(Protocol):
    """The granularity of one column."""

    def apply(self, column: Any, /) -> ColumnData:
        """Generalize a column of the same kind; the column itself if nothing changes."""
        ...

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        ...


@dataclass(frozen=True, eq=False)
class Granularity:
    """The granularity of every column that is coarser in the release, and the suppressed shares.

    `suppressed` is the share of released records without a value, for each column that is missing more often in the
    release than in the attacker's table. A missing value is neutral, so it needs no treatment.
    """

    grains: Mapping[str, ColumnGranularity]
    suppressed: Mapping[str, float]

    def apply(self, table: Table) -> Table:
        """Generalize the table as the release does: g(g(t)) = g(t), but for days and months, which are exchanged.

        Only columns that change are copied, in the table's kind of storage; if none changes, this returns the table
        itself.
        """
        return table.altered({name: grain.apply for name, grain in self.grains.items() if name in table.columns})

    def apply_released(self, table: Table) -> Table:
        """The released records, which have this granularity already."""
        return table

    def without(self, names: Collection[str]) -> Granularity:
        """The same, except that some columns stay as they are."""
        return replace(self, grains={name: grain for name, grain in self.grains.items() if name not in names})

    def describe(self, grid: RoundingGrid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """List columns and their treatment, with steps, widths and shares on `grid`, but no value of the data."""
        text = []
        for name in dict.fromkeys((*self.grains, *self.suppressed)):
            parts = [self.grains[name].words] if name in self.grains else []
            if name in self.suppressed:
                parts.append(f"{percent(grid.nearest(self.suppressed[name]))} without a value")
            text.append((name, ", ".join(parts)))
        return text


def detect(original: Table, protected: Table) -> Granularity:
    """Estimate the granularity of the release from the values of the two tables alone.

    Each column is analysed separately, over all records; a column that is not coarser than the attacker's has no entry.
    See `Cells.of` for intervals and time spans, `fitting` for grids, `tables.meaning.labels` for labels.
    """
    grains: dict[str, ColumnGranularity] = {}
    suppressed: dict[str, float] = {}
    for spec in protected.specs:
        own, released = original.columns[spec.name], protected.columns[spec.name]
        grain = _grain(own, released, spec)
        if grain is not None:
            grains[spec.name] = grain
        missing = _missing(own), _missing(released)
        if missing[1] > missing[0]:
            suppressed[spec.name] = missing[1]
    return Granularity(grains, suppressed)


def _missing(column: ColumnData) -> float:
    """The share of records without a value."""
    known = column.known()
    return 1 - float(known.mean()) if len(known) else 0.0


@singledispatch
def _grain(own: ColumnData, released: ColumnData, spec: ColumnSpec) -> ColumnGranularity | None:
    return None


@_grain.register(Numbers)
def _number_grain(own: Numbers, released: Numbers, spec: ColumnSpec) -> ColumnGranularity | None:
    return NumberGranularity.detect(own, released)


@_grain.register(Times)
def _time_grain(own: Times, released: Times, spec: ColumnSpec) -> ColumnGranularity | None:
    return TimeGranularity.detect(own, released) or DayAndMonthExchanged.detect(own, released)


@_grain.register(Labels)
def _label_grain(own: Labels, released: Labels, spec: ColumnSpec) -> ColumnGranularity | None:
    return LabelGranularity.detect(spec, own, released)


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NumberGranularity:
    """How the release writes numbers.

    `cells` are its intervals, represented by `middle`; other values are rounded (`rounding`) and cut off (`least`,
    `most`). `points` are the released numbers as doubles, if they differ from the doubles of the grid.
    """

    cells: DistinctRanges | None = None
    middle: Floats | None = None
    rounding: NumberRounding | None = None
    least: float | None = None
    most: float | None = None
    points: Floats | None = None

    @classmethod
    def detect(cls, own: Numbers, released: Numbers) -> NumberGranularity | None:
        """Estimate it from the values of both tables; None if the release is as fine as the attacker's table."""
        known = released.known()
        cells, middle, left = None, None, own.values[own.known()]
        plain = released.values[known]
        if not released.plain:
            low, high, values = released.low[known], released.high[known], released.values[known]
            cells, rows = DistinctRanges.of(low, high)
            middle, plain = values[rows], values[low == high]
            left = left[(cells.find(left) < 0) & ~cells.has(left)]
        rounding = fit_numbers(left, plain)
        points = None
        if rounding is not None:
            found = np.unique(plain)
            points = None if np.array_equal(rounding(found), found) else found
        grain = cls(None, None, rounding, points=points)
        least, most = cut_offs(grain.round_numbers(left), plain)
        if cells is not None and not len(cells.low):
            cells, middle = None, None
        if cells is None and rounding is None and least is None and most is None:
            return None
        return cls(cells, middle, rounding, least, most, points)

    def apply(self, column: Numbers) -> Numbers:
        """Generalize the column as the release does; the column itself if nothing changes."""
        values, low, high = column.values, column.low, column.high
        moved = self.round_numbers(values)
        exact = low == high
        cell = np.full(len(values), -1, dtype=np.int64)
        if self.cells is not None:
            cell = self.cells.find(values)
            moved = np.where((cell >= 0) | self.cells.has(values), values, moved)
            if not column.plain:
                wide = np.flatnonzero(low < high)
                target = np.maximum(cell[wide], 0)
                finer = (self.cells.high - self.cells.low)[target] < (high - low)[wide] * (1 - 1e-9)
                cell[wide[finer | self.cells.holds(low[wide], high[wide])]] = -1
        moved = np.where(exact, moved, values)
        inside = cell >= 0
        if not inside.any():
            same = np.array_equal(moved, values, equal_nan=True)
            if same:
                return column
            if column.plain:
                return Numbers(moved, moved, moved)
        ends = np.where(exact, moved, low), np.where(exact, moved, high)
        if self.cells is None or self.middle is None:
            return Numbers(moved, *ends)
        at = cell[inside]
        moved, ends = moved.copy(), (ends[0].copy(), ends[1].copy())
        moved[inside], ends[0][inside], ends[1][inside] = self.middle[at], self.cells.low[at], self.cells.high[at]
        return Numbers(moved, *ends)

    def round_numbers(self, values: Floats) -> Floats:
        """Numbers rounded to the points of the release."""
        moved = values if self.rounding is None else self.rounding(values)
        if self.points is not None and len(self.points):
            place = np.searchsorted(self.points, moved)
            below, above = (self.points[np.clip(item, 0, len(self.points) - 1)] for item in (place - 1, place))
            near = np.where(np.abs(moved - below) <= np.abs(above - moved), below, above)
            moved = np.where(np.abs(near - moved) <= SAME * np.abs(moved), near, moved)
        if self.least is not None or self.most is not None:
            # The cut-off itself may lie off the grid, and is a released value like any other.
            ends = [end for end in (self.least, self.most) if end is not None]
            moved = np.where(np.isin(values, ends), values, np.clip(moved, self.least, self.most))
        return moved

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        parts = []
        if self.cells is not None:
            width = self.cells.high - self.cells.low
            least, most = (f"{float(item):.6g}" for item in (width.min(), width.max()))
            parts.append(f"intervals of width {least}" if least == most else f"intervals of width {least} to {most}")
        if self.rounding is not None:
            parts.append(self.rounding.words)
        for end, name in ((self.least, "least"), (self.most, "largest")):
            if end is not None:
                parts.append(f"cut off at the release's {name} value")
        return ", ".join(parts)


Ints = NDArray[np.int64]

MATCHES = 3.0
"""Days and months count as exchanged if that adds this many standard deviations of released dates that somebody has."""
_DAY = 86_400e6


@dataclass(frozen=True, eq=False)
class TimeGranularity:
    """How the release writes times: `cells` are its time spans; times outside them are rounded (`rounding`)."""

    cells: DistinctRanges | None
    rounding: TimeRounding | None

    @classmethod
    def detect(cls, own: Times, released: Times) -> TimeGranularity | None:
        """Estimate it from the values of both tables; None if the release is as fine as the attacker's table."""
        left = microseconds(own.middle())[own.known()]
        known = released.known()
        plain = microseconds(released.first)[known]
        cells = None
        if not released.plain:
            last = microseconds(released.last)[known]
            cells, _ = DistinctRanges.of(plain, last)
            plain = plain[plain == last]
            left = left[(cells.find(left) < 0) & ~cells.has(left)]
            cells = cells if len(cells.low) else None
        rounding = fit_times(left, plain) if len(plain) else None
        return None if cells is None and rounding is None else cls(cells, rounding)

    def apply(self, column: Times) -> Times:
        """Generalize the column as the release does; the column itself if nothing changes."""
        first = microseconds(column.first)
        last = first if column.plain else microseconds(column.last)
        known = column.known()
        middle = first if column.plain else microseconds(column.middle())
        moved = first if self.rounding is None else self.rounding(first)
        exact = known & (first == last)
        cell = np.full(len(first), -1, dtype=np.int64)
        if self.cells is not None:
            cell = np.where(known, self.cells.find(middle), -1)
            moved = np.where(self.cells.has(middle), first, moved)
            wide = np.flatnonzero(known & (first < last))
            if len(wide):
                target = np.maximum(cell[wide], 0)
                finer = (self.cells.high - self.cells.low)[target] < (last - first)[wide]
                cell[wide[finer | self.cells.holds(first[wide], last[wide])]] = -1
        inside = cell >= 0
        moved = np.where(exact & ~inside, moved, first)
        if not inside.any():
            if np.array_equal(moved, first):
                return column
            times = moved.astype("datetime64[us]")
            return Times(times, times if column.plain else np.where(exact, times, column.last))
        ends = moved, np.where(exact, moved, last)
        assert self.cells is not None  # noqa: S101 - a value can only be inside an existing span
        ends[0][inside], ends[1][inside] = self.cells.low[cell[inside]], self.cells.high[cell[inside]]
        return Times(ends[0].astype("datetime64[us]"), ends[1].astype("datetime64[us]"))

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        parts = []
        if self.cells is not None:
            width = (self.cells.high - self.cells.low + 1) / _DAY
            least, most = (f"{float(item):.3g}" for item in (width.min(), width.max()))
            parts.append(f"spans of {least} days" if least == most else f"spans of {least} to {most} days")
        if self.rounding is not None:
            parts.append(self.rounding.words)
        return ", ".join(parts)


@dataclass(frozen=True, eq=False)
class DayAndMonthExchanged:
    """Days up to 12 and months exchanged, as a reader with the wrong order does."""

    @classmethod
    def detect(cls, own: Times, released: Times) -> DayAndMonthExchanged | None:
        """Find it by the released dates that somebody has: many more if exchanged than as they are."""
        if not (own.plain and released.plain):
            return None
        dates = microseconds(released.first)[released.known()]
        dates = dates[np.linspace(0, len(dates) - 1, min(len(dates), SAMPLE)).astype(np.intp)]
        exchanged = _exchange_day_and_month(dates)
        matters = exchanged != dates
        if not matters.any():
            return None
        mine = microseconds(own.first)[own.known()]
        as_is, other = (float(np.isin(values[matters], mine).sum()) for values in (dates, exchanged))
        return cls() if other - as_is > MATCHES * np.sqrt(max(1.0, other + as_is)) else None

    def apply(self, column: Times) -> Times:
        """Exchange them; it is its own inverse."""
        return add_times(column, _exchange_day_and_month(microseconds(column.first)))

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        return "day and month exchanged where the day is at most 12"


def _exchange_day_and_month(times: Ints) -> Ints:
    days = np.floor_divide(times, int(_DAY))
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    day = (dates - months.astype("datetime64[D]")).astype(np.int64) + 1
    years = months.astype("datetime64[Y]")
    month = (months - years.astype("datetime64[M]")).astype(np.int64) + 1
    first = years.astype("datetime64[M]") + (day - 1)
    changed = (first.astype("datetime64[D]") + (month - 1)).astype(np.int64) * int(_DAY) + times - days * int(_DAY)
    known = times != np.iinfo(np.int64).min
    return np.where(known & (day <= 12), changed, times)


def add_times(column: Times, moved: Ints) -> Times:
    """The column with other times, where they are known exactly."""
    exact = column.known() & (column.plain or (column.first == column.last))
    first = np.where(exact, moved.astype("datetime64[us]"), column.first)
    return Times(first, first if column.plain else np.where(exact, first, column.last))


def microseconds(times: NDArray[np.datetime64]) -> Ints:
    """Microseconds since 1970; a missing time is the smallest integer."""
    return times.astype("datetime64[us]").astype(np.int64)


@dataclass(frozen=True, eq=False)
class LabelGranularity:
    """How the release writes labels: `recode` is the code that each code is mapped to; the last is -1 (missing)."""

    recode: NDArray[np.int32]
    kinds: tuple[str, ...]

    @classmethod
    def detect(cls, spec: ColumnSpec, own: Labels, released: Labels) -> LabelGranularity | None:
        """Estimate it from the labels of both tables; None if no label has to change.

        A label that the release has stays. Another is mapped to the released label that covers it; if there are
        several, to the one with most released records, then to the one that covers the fewest labels, then to the
        first. A label that no released label covers stays.
        """
        labels = released.labels
        here, there = (_counts(column) for column in (own, released))
        recode = np.arange(len(labels), dtype=np.int32)
        found = find_covers(spec, labels, here > 0, there > 0)
        best: dict[int, tuple[int, int, int]] = {}
        kinds: dict[int, str] = {}
        for cover in found:
            rank = (-int(there[cover.code]), len(cover.members), cover.code)
            for code in cover.members:
                if not there[code] and (code not in best or rank < best[code]):
                    best[code], kinds[code] = rank, cover.kind
        for code, rank in best.items():
            recode[code] = rank[2]
        if not best:
            return None
        return cls(np.append(recode, -1).astype(np.int32), tuple(sorted(set(kinds.values()))))

    def apply(self, column: Labels) -> Labels:
        """Generalize the column as the release does; the column itself if nothing changes."""
        codes = self.recode[column.codes]
        return column if np.array_equal(codes, column.codes) else Labels(codes, column.labels)

    @property
    def words(self) -> str:
        """A description for people, without any label."""
        return ", ".join(self.kinds)


def _counts(column: Labels) -> NDArray[np.int64]:
    known = column.codes[column.codes >= 0]
    return np.bincount(known, minlength=len(column.labels)).astype(np.int64)
