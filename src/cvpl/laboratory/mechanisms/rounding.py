"""Age to intervals, region to its first level, times rounded down, for all records (paper, section 7.4, family A)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.laboratory.frame import CategoryCodes, Frame
from cvpl.laboratory.mechanisms.hierarchies import floor_time

ALLOWED: dict[str, tuple[object, ...]] = {
    "age": (5, 10),
    "region_level": (1, 2),
    "time": ("hour", "day", "week", "month"),
}


@dataclass(frozen=True)
class Rounding:
    """Full-domain generalization: every value of a column is coarsened to the same granularity.

    age            width of the intervals: 33 becomes "30-39" at 10, "30-34" at 5; `age` becomes a category
    region_level   1 keeps the first level, "North/*"; 2 keeps the region unchanged
    time           unit to which times are rounded down; weeks start on Monday

    Ids are kept and rows shuffled. A missing value stays missing. The granularity is fixed, not the size of the
    resulting groups: this does not guarantee any k.
    """

    age: Literal[5, 10] = 10
    region_level: Literal[1, 2] = 1
    time: Literal["hour", "day", "week", "month"] = "day"

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            if getattr(self, name) not in allowed:
                choices = ", ".join(map(str, allowed))
                raise ValueError(
                    f"Rounding: {name} is {getattr(self, name)!r}; allowed are {choices}. Choose one of them."
                )

    def protect(self, table: Frame, rng: np.random.Generator) -> Frame:
        """The rounded release of `table`; raises ValueError for a table without a numeric age or without a region."""
        region = table.category("region")
        table = table.coded("age", _intervals(table.number("age"), self.age))
        if self.region_level == 1:
            table = table.coded("region", _first_level(region))
        times = {name: floor_time(time, self.time) for name, time in table.times.items()}
        rounded = replace(table, times=times)
        return rounded.take(rng.permutation(len(table)))


def _intervals(age: NDArray[Any], width: int) -> CategoryCodes:
    """Intervals [b * width, (b + 1) * width) over whole ages, written with both ends included."""
    known = ~np.isnan(age)
    codes = np.full(len(age), -1, dtype=np.int32)
    if not known.any():
        return CategoryCodes(codes, ())
    bins = np.floor_divide(age[known], width).astype(np.int32)
    codes[known] = bins - bins.min()
    return CategoryCodes(
        codes, tuple(f"{b * width}-{b * width + width - 1}" for b in range(bins.min(), bins.max() + 1))
    )


def _first_level(region: CategoryCodes) -> CategoryCodes:
    coarse = [f"{label.partition('/')[0]}/*" for label in region.labels]
    labels = tuple(dict.fromkeys(coarse))
    recode = np.array([*map(labels.index, coarse), -1], dtype=np.int32)  # code -1 indexes the -1 at the end
    return CategoryCodes(recode[region.codes], labels)
