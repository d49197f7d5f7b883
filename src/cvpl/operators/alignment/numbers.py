"""The granularity of a released numeric column: intervals, a grid, and cut-offs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.cells import DistinctRanges
from cvpl.operators.alignment.fitting import SAME, cut_offs, fit_numbers
from cvpl.operators.alignment.rounding import NumberRounding
from cvpl.tables.columns import Numbers

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
