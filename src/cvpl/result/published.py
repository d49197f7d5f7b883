"""A result as it may leave: every figure rounded by its mark, so that none tells of fewer than k people."""

from __future__ import annotations

import math
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

from cvpl.result.marks import Count, Rows, Share, Stated, Statistic
from cvpl.result.rounding import RoundingGrid, grid_of, rounded_count, rounded_statistic
from cvpl.result.section import Section
from cvpl.wording import counted

Mark = Share | Count | Statistic | Stated | Rows
Some = TypeVar("Some", bound=Section)
_MARKS = (Share, Count, Statistic, Stated, Rows)


@dataclass(frozen=True)
class Disclosure:
    """How figures are rounded: `k`, and the numbers of people behind them.

    `sizes` has `originals` and `protected`, and where they are known `controls`, `matched` (originals with a known
    match) and `pairs`. `without_threshold` is 1 in a section whose rates are those at a false-positive rate. Counts
    below k are not told; with k = 1 everything is.
    """

    k: int
    sizes: Mapping[str, int] = field(default_factory=dict)

    def grid(self, of: str) -> RoundingGrid:
        """The multiples for a share of the people `of`."""
        return grid_of(_size(of, self.sizes), self.k)

    def share(self, value: float, of: str) -> float:
        """A share of the people `of` to the nearest multiple."""
        return self.grid(of).nearest(value)

    def statistic(self, value: float) -> float:
        """A figure of the tables that is not a share of people."""
        return rounded_statistic(value, _size("tables", self.sizes), self.k)

    def count(self, count: int) -> int:
        """A count of people: a multiple of k, and 0 for fewer than k."""
        return rounded_count(count, self.k)

    def counted(self, count: int, noun: str, *, tables: int = 1) -> str:
        """An exact count with its noun as it may be told: "fewer than 10 cells", "at least 20 cells".

        A count in several tables may have several cells of one person.
        """
        if self.k <= 1:
            return counted(count, noun)
        k = self.k * tables
        least = rounded_count(count, k)
        return f"{f'at least {least:,}' if least else f'fewer than {k}'} {noun}s"

    def share_of_records(self, records: int, of: int) -> float | None:
        """A share of so many records as it may be told; None for fewer than k of them, which are not told."""
        if records < self.k:
            return None
        grid = grid_of(min(of, _size("tables", self.sizes)) if self.sizes else of, self.k)
        return grid.nearest(records / of) or grid.step

    def with_sizes(self, **sizes: int) -> Disclosure:
        """The same with other numbers of people."""
        return replace(self, sizes={**self.sizes, **sizes})

    def published(self, section: Some) -> Some:
        """The section with every figure rounded by its mark. Rounding twice changes nothing."""
        return section if self.k <= 1 else _published(section, self.sizes, self.k)

    def published_or_none(self, section: Some | None) -> Some | None:
        """The section with every figure rounded; None stays None."""
        return None if section is None else self.published(section)


def _size(of: str, sizes: Mapping[str, int]) -> int:
    """The number of people that a share is a share of; without one, the originals."""
    originals = sizes.get("originals", 0)
    if of == "attributable":
        of = "risk" if sizes.get("without_threshold") else "both"
    if of == "both":
        other = sizes.get("controls") or sizes.get("matched")
        return originals if other is None else min(originals, other)
    if of == "risk":
        return originals if "controls" in sizes else sizes.get("matched", originals)
    if of == "tables":
        return min(originals, sizes.get("protected", originals))
    return sizes.get(of, originals)


def _published(section: Some, sizes: Mapping[str, int], k: int) -> Some:
    values = {name: getattr(section, name) for name in type(section).model_fields}
    own = {name: value for name, value in values.items() if type(value) is int}
    if "asked" in own:
        own["originals"] = min(own["asked"], sizes.get("originals", own["asked"]))
    if "threshold" in values:
        own["without_threshold"] = int(values["threshold"] is None)
    inner = {**sizes, **own}
    marks = {name: mark for name, mark in marks_of(type(section)).items() if not _is_stated(mark, values)}
    changed = {name: _rounded(value, marks.get(name), inner, k) for name, value in values.items()}
    for name, mark in marks.items():
        if isinstance(mark, Share) and mark.ends is not None and values[name] is not None:
            grid = grid_of(_size(mark.of, inner), k)
            low, high = (changed.get(f"{mark.ends}{end}") for end in ("low", "high"))
            # An interval above 0 belongs to an estimate above 0, and one below 0 to one below.
            if low is not None and changed[name] < low:
                changed[name] = grid.up(values[name])
            if high is not None and changed[name] > high:
                changed[name] = grid.down(values[name])
    return section.model_copy(update=changed)


def _is_stated(mark: Mark, values: Mapping[str, Any]) -> bool:
    """Whether a share is a false-positive rate that was chosen."""
    return (
        isinstance(mark, Share) and bool(mark.stated_without) and all(values[at] is None for at in mark.stated_without)
    )


def _rounded(value: Any, mark: Mark | None, sizes: Mapping[str, int], k: int) -> Any:
    """A value of a section: a number by its mark, and sections inside it."""
    if isinstance(value, Section):
        return _published(value, sizes, k)
    if isinstance(value, list):
        items = value
        if isinstance(mark, Rows):
            items = [item for item in value if getattr(item, mark.people) >= k]
        return [_rounded(item, mark, sizes, k) for item in items]
    if isinstance(value, dict):
        return {key: _rounded(item, None, sizes, k) for key, item in value.items()}
    if mark is None or type(value) not in (int, float):
        return value
    if isinstance(mark, Share):
        grid = grid_of(_size(mark.of, sizes), k)
        return {"estimate": grid.nearest, "low": grid.low_end, "high": grid.high_end}[mark.end](value)
    if isinstance(mark, Count):
        return value if value <= mark.kept else type(value)(rounded_count(value, k, up=mark.up))
    if isinstance(mark, Statistic):
        number = value * (1 if mark.per is None else _size(mark.per, sizes))
        people = math.inf if mark.of is None else _size(mark.of, sizes)
        few = mark.counts and number < k
        return type(value)(0 if few else rounded_statistic(value, people, k, mark.digits))
    return value


@cache
def marks_of(section: type[Section]) -> dict[str, Mark]:
    """The mark of each field of a section that has one."""
    found = {}
    for name, info in section.model_fields.items():
        mark = next((item for item in (*info.metadata, *_metadata(info.annotation)) if isinstance(item, _MARKS)), None)
        if mark is not None:
            found[name] = mark
    return found


def _metadata(annotation: Any) -> Iterator[Any]:
    """Everything that annotates a type or a part of it."""
    yield from getattr(annotation, "__metadata__", ())
    for part in typing.get_args(annotation):
        yield from _metadata(part)
