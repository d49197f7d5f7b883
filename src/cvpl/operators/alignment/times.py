"""The granularity of a released column of times: time spans, steps of the clock and the calendar, days as months."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.cells import DistinctRanges
from cvpl.operators.alignment.fitting import SAMPLE, fit_times
from cvpl.operators.alignment.rounding import TimeRounding
from cvpl.tables.columns import Times

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
        exchanged = _exchanged(dates)
        matters = exchanged != dates
        if not matters.any():
            return None
        mine = microseconds(own.first)[own.known()]
        as_is, other = (float(np.isin(values[matters], mine).sum()) for values in (dates, exchanged))
        return cls() if other - as_is > MATCHES * np.sqrt(max(1.0, other + as_is)) else None

    def apply(self, column: Times) -> Times:
        """Exchange them; it is its own inverse."""
        return with_times(column, _exchanged(microseconds(column.first)))

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        return "day and month exchanged where the day is at most 12"


def _exchanged(times: Ints) -> Ints:
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


def with_times(column: Times, moved: Ints) -> Times:
    """The column with other times, where they are known exactly."""
    exact = column.known() & (column.plain or (column.first == column.last))
    first = np.where(exact, moved.astype("datetime64[us]"), column.first)
    return Times(first, first if column.plain else np.where(exact, first, column.last))


def microseconds(times: NDArray[np.datetime64]) -> Ints:
    """Microseconds since 1970; a missing time is the smallest integer."""
    return times.astype("datetime64[us]").astype(np.int64)
