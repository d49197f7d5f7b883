"""The granularity of a released column of times: time spans, or steps of the clock and the calendar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.cells import Cells
from cvpl.operators.alignment.fitting import fit_times
from cvpl.operators.alignment.rounding import TimeRounding
from cvpl.tables.columns import Times

Ints = NDArray[np.int64]

_DAY = 86_400e6


@dataclass(frozen=True, eq=False)
class TimeGranularity:
    """How the release writes times: `cells` are its time spans; times outside them are rounded (`rounding`)."""

    cells: Cells | None
    rounding: TimeRounding | None

    @classmethod
    def detect(cls, own: Times, released: Times) -> TimeGranularity | None:
        """Estimate it from the values of both tables; None if the release is as fine as the attacker's table."""
        left = _whole(own.middle())[own.known()]
        known = released.known()
        plain = _whole(released.first)[known]
        cells = None
        if not released.plain:
            last = _whole(released.last)[known]
            cells, _ = Cells.of(plain, last)
            plain = plain[plain == last]
            left = left[(cells.find(left) < 0) & ~cells.has(left)]
            cells = cells if len(cells.low) else None
        rounding = fit_times(left, plain) if len(plain) else None
        return None if cells is None and rounding is None else cls(cells, rounding)

    def apply(self, column: Times) -> Times:
        """Generalize the column as the release does; the column itself if nothing changes."""
        first = _whole(column.first)
        last = first if column.plain else _whole(column.last)
        known = column.known()
        middle = first if column.plain else _whole(column.middle())
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


def _whole(times: NDArray[np.datetime64]) -> Ints:
    """Microseconds since 1970; a missing time is the smallest integer."""
    return times.astype("datetime64[us]").astype(np.int64)
