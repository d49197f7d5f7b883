"""Hierarchies: the increasingly coarse levels of a column, from the value itself to full suppression.

CodedLevel 0 is the value itself and the last level is a star. Between them are a number's intervals, a time's calendar
units, a label's groups. At each level every value of level 0 has one group, and the groups of a level are unions of
those of the level below. The loss of a cell is Iyengar's: the share of the column's values that a cell allows besides
its own, (allowed - 1) / (all - 1); 0 for the value itself, 1 for a star. For numbers and times it is a share of length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.laboratory.frame import MISSING_CODE, CategoryCodes

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Times = NDArray[np.datetime64]

STAR = "*"
UNCHANGED = "value"
TIME_UNITS = ("hour", "day", "week", "month", "year")
USUAL_UNITS = ("hour", "day", "month", "year")
_NUMPY_UNITS = {"hour": "h", "day": "D", "month": "M", "year": "Y"}
_MOST_BINS = 20


@dataclass(frozen=True, eq=False)
class CodedLevel:
    """A level of a hierarchy, for the rows of one column: one code per row, -1 where the value is missing.

    `values` are the values to write: texts, or times in the column's own type. `loss` is the loss of each code's cells.
    """

    name: str
    codes: Codes
    values: Sequence[str] | Times
    loss: Floats

    def mean_loss(self) -> float:
        """The mean loss of a cell; a missing value has loss 0."""
        return float(_of(self.loss, self.codes).mean()) if len(self.codes) else 0.0

    def row_loss(self) -> Floats:
        """The loss of every row's cell."""
        return _of(self.loss, self.codes)


def _of(loss: Floats, codes: Codes) -> Floats:
    return np.append(loss, 0.0)[codes]  # code -1 indexes the 0 at the end


def number_levels(values: NDArray[Any], widths: Sequence[float] | None = None, *, whole: bool) -> list[CodedLevel]:
    """The levels of a number: itself, its intervals [b w, (b + 1) w) for each width w, and a star.

    Without `widths`, the first width is 1, 2 or 5 times a power of ten that gives at most twenty intervals, followed by
    its doubles while there is more than one interval. Each width must be a multiple of the one before, or levels would
    overlap.
    """
    known = values[~np.isnan(values)].astype(np.float64)
    distinct, codes = _distinct(values)
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    span = max(high - low + (1 if whole else 0), 1e-300)
    names = [_number(value, whole=whole) for value in distinct.tolist()]
    levels = [CodedLevel(UNCHANGED, codes, names, np.zeros(len(distinct)))]
    for width in _nested_widths(widths if widths is not None else _usual_widths(span, whole=whole)):
        bins = np.floor_divide(distinct, width).astype(np.int64)
        groups, group = np.unique(bins, return_inverse=True)
        labels = [_interval(b, width, whole=whole) for b in groups.tolist()]
        loss = np.full(len(groups), min(1.0, (width - (1 if whole else 0)) / max(span - (1 if whole else 0), 1e-300)))
        levels.append(CodedLevel(f"width {width:g}", _recode(group, codes), labels, loss))
    return [*levels, star_level(codes)]


def time_levels(times: Times, units: Sequence[str] = USUAL_UNITS) -> list[CodedLevel]:
    """The levels of a time: itself, the start of its hour, day, week (from Monday), month and year, and a star.

    Months do not consist of whole weeks, so a column has either. The loss is the unit's share of the column's time
    span.
    """
    wrong = [unit for unit in units if unit not in TIME_UNITS]
    if wrong or list(units) != sorted(units, key=TIME_UNITS.index):
        raise ValueError(f"time levels: allowed are {', '.join(TIME_UNITS)}, each coarser than the one before")
    if "week" in units and ("month" in units or "year" in units):
        raise ValueError("time levels: months and years do not consist of whole weeks. Choose week, or month and year")
    distinct, codes = _distinct(times)
    seconds = distinct.astype("datetime64[s]").astype(np.int64)
    span = float(seconds.max() - seconds.min()) + 1 if len(seconds) else 1.0
    levels = [CodedLevel(UNCHANGED, codes, distinct, np.zeros(len(distinct)))]
    for unit in units:
        floored = floor_time(distinct, unit)
        groups, group = np.unique(floored, return_inverse=True)
        loss = np.full(len(groups), min(1.0, _SECONDS[unit] / span))
        levels.append(CodedLevel(unit, _recode(group, codes), groups, loss))
    return [*levels, star_level(codes)]


_SECONDS = {"hour": 3_600, "day": 86_400, "week": 604_800, "month": 2_629_800, "year": 31_557_600}


def floor_time(times: Times, unit: str) -> Times:
    """The start of each time's hour, day, week, month or year; NaT stays NaT."""
    if unit != "week":
        return times.astype(f"datetime64[{_NUMPY_UNITS[unit]}]").astype(times.dtype)
    day = times.astype("datetime64[D]")
    since_monday = (day.astype(np.int64) + 3) % 7  # 1970-01-01 was a Thursday
    monday: Times = (day - since_monday.astype("timedelta64[D]")).astype(times.dtype)
    return monday


def label_levels(
    column: CategoryCodes, path: Callable[[str], tuple[str, ...]], written: Callable[[tuple[str, ...]], str]
) -> list[CodedLevel]:
    """The levels of a label: itself, its groups from the narrowest to the widest, and a star.

    `path` gives a label's groups from the widest down to the label itself; a shorter path keeps its label at all levels
    below. `written` gives the text of a group.
    """
    paths = [path(label) for label in column.labels]
    depth = max((len(item) for item in paths), default=1)
    present = np.unique(column.codes[column.codes >= 0])
    levels = [CodedLevel(UNCHANGED, column.codes, column.labels, np.zeros(len(column.labels)))]
    for kept in range(depth - 1, 0, -1):
        groups = [item[:kept] for item in paths]
        names = dict.fromkeys(groups)
        place = {name: number for number, name in enumerate(names)}
        group = np.array([place[item] for item in groups], dtype=np.int64)
        allowed = np.bincount(group[present], minlength=len(names))
        loss = np.maximum(allowed - 1, 0) / max(len(present) - 1, 1)
        spelled = [written(name) if any(name == item[:kept] != item for item in paths) else name[-1] for name in names]
        levels.append(CodedLevel(f"level {kept}", _recode(group, column.codes), spelled, loss))
    return [*levels, star_level(column.codes)]


def star_level(codes: Codes) -> CodedLevel:
    """The level with every value suppressed; a missing value stays missing."""
    return CodedLevel(STAR, np.where(codes >= 0, 0, MISSING_CODE).astype(np.int32), (STAR,), np.ones(1))


def check_nested(name: str, levels: Sequence[CodedLevel]) -> None:
    """Raise ValueError if a level's groups are not unions of the groups below."""
    for finer, coarser in pairwise(levels):
        known = finer.codes >= 0
        pairs = np.unique(np.column_stack([finer.codes[known], coarser.codes[known]]), axis=0)
        if len(np.unique(pairs[:, 0])) != len(pairs):
            raise ValueError(
                f"column {name!r}: the groups of {coarser.name!r} split those of {finer.name!r}. "
                "Make each group a union of groups of the level below."
            )


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Codes]:
    """The sorted distinct known values, and one code per row."""
    missing = np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)
    codes = np.full(len(values), MISSING_CODE, dtype=np.int32)
    distinct, codes[~missing] = np.unique(values[~missing], return_inverse=True)
    return distinct, codes


def _recode(group: NDArray[np.integer[Any]], codes: Codes) -> Codes:
    """The groups of the rows, from the groups of the values that `codes` indexes."""
    return np.append(group, MISSING_CODE).astype(np.int32)[codes]


def _usual_widths(span: float, *, whole: bool) -> list[float]:
    least = max(span / _MOST_BINS, 2.0 if whole else 0.0)
    power = 10.0 ** np.floor(np.log10(least))
    width = next(float(power * step) for step in (1, 2, 5, 10) if power * step >= least)
    widths = []
    while width < span:
        widths.append(width)
        width *= 2
    return widths


def _nested_widths(widths: Sequence[float]) -> list[float]:
    """The sorted widths; raises ValueError if one is not a multiple of the one before."""
    ordered = sorted(float(width) for width in widths)
    for finer, coarser in pairwise([None, *ordered]):
        if coarser is not None and coarser <= 0:
            raise ValueError(f"a width of {coarser:g} is not allowed; widths must be above 0")
        if finer is not None and coarser is not None:
            ratio = coarser / finer
            if ratio < 2 or abs(ratio - round(ratio)) > 1e-9:
                raise ValueError(
                    f"a width of {coarser:g} is not a multiple of {finer:g}, so its intervals would split those of the "
                    "level below. Choose widths that divide each other, such as 5, 10 and 20."
                )
    return ordered


def _interval(number: int, width: float, *, whole: bool) -> str:
    low, high = number * width, (number + 1) * width
    if whole and float(width).is_integer():
        return f"{int(low)}-{int(high) - 1}" if width > 1 else f"{int(low)}"
    return f"[{low:.12g}, {high:.12g})"


def _number(value: float, *, whole: bool) -> str:
    return str(int(value)) if whole else repr(float(value))


Hierarchies = Mapping[str, Sequence[CodedLevel]]
