"""Rounding to the steps of a grid, to significant digits, and to calendar units.

Each is idempotent. Numbers are floats, times are integer microseconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Way = Literal["down", "nearest", "up", "toward zero"]
Tie = Literal["up", "even", "down", "odd"]
Unit = Literal["month", "quarter", "year"]

_ULP = float(np.finfo(np.float64).eps)
_SLACK = 8 * _ULP
"""Relative error up to which a product counts as whole: it is off by a few rounding errors at most."""
_MONTHS: dict[Unit, int] = {"month": 1, "quarter": 3, "year": 12}
_WORDS: dict[Way, str] = {
    "down": "rounded down to",
    "nearest": "rounded to the nearest of",
    "up": "rounded up to",
    "toward zero": "rounded toward zero to",
}
_NATURAL = {
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_CUT: dict[Way, str] = {
    "down": "cut to",
    "nearest": "rounded to the nearest of",
    "up": "rounded up to",
    "toward zero": "cut to",
}


@dataclass(frozen=True)
class GridRounding:
    """The grid neighbour that a value is rounded to; `tie` decides midpoints when `way` is "nearest"."""

    way: Way
    tie: Tie = "up"

    def moved(self, below: Values, rest: Values, step: float, negative: NDArray[np.bool_]) -> Values:
        """The index of the grid point: `below`, the index of the point below the value, plus one if it is rounded up.

        `rest` is the distance from the point below to the value.
        """
        if self.way == "down":
            return below
        if self.way == "up":
            goes = rest > 0
        elif self.way == "toward zero":
            goes = (rest > 0) & negative
        else:
            middle = 2 * rest == step
            odd = below % 2 != 0
            chosen = {"up": middle, "down": middle & False, "even": middle & odd, "odd": middle & ~odd}[self.tie]
            goes = (2 * rest > step) | chosen
        moved: Values = below + goes
        return moved


ROUNDINGS = (
    GridRounding("down"),
    GridRounding("nearest", "up"),
    GridRounding("nearest", "even"),
    GridRounding("nearest", "down"),
    GridRounding("nearest", "odd"),
    GridRounding("up"),
    GridRounding("toward zero"),
)
"""The roundings to try; if several fit equally well, the first is used. On a grid with an offset, even may be odd."""


@dataclass(frozen=True)
class NumberGrid:
    """The numbers (offset + n step) / scale; offset, step and scale are integers, the scale a power of ten.

    So a grid point is the double closest to its decimal notation.
    """

    step: int
    offset: int
    scale: int
    rounding: GridRounding

    def __call__(self, values: Floats) -> Floats:
        """Round every number to the grid; NaN stays NaN."""
        scaled = values * self.scale
        whole = np.rint(scaled)
        scaled = np.where(np.abs(scaled - whole) <= _SLACK * np.abs(whole), whole, scaled)
        below = np.floor((scaled - self.offset) / self.step)
        rest = scaled - self.offset - below * self.step
        number = self.rounding.moved(below, rest, self.step, values < 0)
        points: Floats = (self.offset + number * self.step) / self.scale
        return points

    @property
    def words(self) -> str:
        """What is done, for a person."""
        return f"{_WORDS[self.rounding.way]} steps of {self.step / self.scale:g}"


@dataclass(frozen=True)
class Digits:
    """Numbers with a fixed number of significant digits."""

    digits: int
    rounding: GridRounding

    def __call__(self, values: Floats) -> Floats:
        """Round every number to its first digits; 0 and NaN stay."""
        size = np.abs(values)
        plain = np.isfinite(size) & (size > 0)
        power = np.floor(np.log10(size, out=np.zeros_like(size), where=plain))
        power += plain & (size >= 10.0 ** (power + 1))
        power -= plain & (size < 10.0**power)
        shift = self.digits - 1 - power
        # The smallest numbers cannot be scaled to whole ones: they become NaN, which no value equals.
        with np.errstate(over="ignore", invalid="ignore"):
            up, down = 10.0 ** np.maximum(shift, 0), 10.0 ** np.maximum(-shift, 0)
            scaled = values * up / down
            whole = np.rint(scaled)
            scaled = np.where(np.abs(scaled - whole) <= _SLACK * np.abs(whole), whole, scaled)
            below = np.floor(scaled)
            points: Floats = self.rounding.moved(below, scaled - below, 1, values < 0) * down / up
        return np.where(plain, points, values)

    @property
    def words(self) -> str:
        """What is done, for a person."""
        return f"{_WORDS[self.rounding.way]} numbers of {self.digits} significant digits"


@dataclass(frozen=True)
class TimeGrid:
    """The instants offset + n step, in microseconds."""

    step: int
    offset: int
    rounding: GridRounding

    def __call__(self, values: Ints) -> Ints:
        """Round every instant to the grid."""
        below, rest = np.divmod(values - self.offset, self.step)
        number = self.rounding.moved(below, rest, self.step, np.zeros(len(values), dtype=bool))
        return np.asarray(self.offset + number * self.step, dtype=np.int64)

    @property
    def words(self) -> str:
        """What is done, for a person."""
        for name, size in reversed(_NATURAL.items()):
            if self.step % size == 0:
                count = self.step // size
                return f"{_CUT[self.rounding.way]} {f'{name}s' if count == 1 else f'steps of {count} {name}s'}"
        return f"{_CUT[self.rounding.way]} steps of {self.step / 1e6:g} seconds"


@dataclass(frozen=True)
class Calendar:
    """The starts of months, quarters or years."""

    unit: Unit
    rounding: GridRounding

    def __call__(self, values: Ints) -> Ints:
        """Round every instant to the start of a unit."""
        months = values.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
        size = _MONTHS[self.unit]
        number = np.floor_divide(months, size)
        begins, follows = (_instants(number * size), _instants((number + 1) * size))
        goes = {
            "down": np.zeros(len(values), dtype=bool),
            "up": values > begins,
            "toward zero": np.zeros(len(values), dtype=bool),
            "nearest": 2 * (values - begins) >= follows - begins,
        }[self.rounding.way]
        return np.where(goes, follows, begins)

    @property
    def words(self) -> str:
        """What is done, for a person."""
        return f"{_CUT[self.rounding.way]} {self.unit}s"


NumberRounding = NumberGrid | Digits
TimeRounding = TimeGrid | Calendar


def _instants(months: Ints) -> Ints:
    return months.astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)


def decimal_places(values: Floats, most: int = 9) -> int | None:
    """The largest number of decimals of the values; None if above `most`, or if the values are too large to tell."""
    for places in range(most + 1):
        scaled = values * 10.0**places
        if np.abs(scaled).max(initial=0.0) > 2.0**52:
            return None
        whole = np.rint(scaled)
        if bool(np.all(np.abs(scaled - whole) <= _SLACK * np.abs(whole))):
            return places
    return None


def natural_grids() -> tuple[tuple[int, int], ...]:
    """Step and offset of the usual grids for times, in microseconds, the finest first."""
    minutes = (item * _NATURAL["minute"] for item in (5, 10, 15, 20, 30))
    hours = (item * _NATURAL["hour"] for item in (2, 3, 4, 6, 8, 12))
    since_midnight = (item for name, item in _NATURAL.items() if name != "week")
    # 1970-01-01 was a Thursday, and weeks begin on Monday.
    return (
        *((step, 0) for step in sorted((*since_midnight, *minutes, *hours))),
        (_NATURAL["week"], 4 * _NATURAL["day"]),
    )
