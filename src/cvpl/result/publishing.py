"""A result as it may leave: every figure rounded by its mark, so that none tells of fewer than k people.

Rounding of figures about people, so that no figure tells of fewer than k of them. A share of n people is a multiple of
a step that is at least k / n: up to k - 1 people more or fewer leave it as it is, or move it by one step, which more
people would do as well. With k = 1 every figure stays exact.

What a number in a result is: a share of people, a count of people, a statistic, or something stated. Every number of a
result has a mark. It decides how the number is rounded before it leaves (`result/publishing.py`).
"""

from __future__ import annotations

import math
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from cvpl.estimates import Estimate
from cvpl.wording import count_phrase

ABOVE_ZERO = 1e-6
"""Published instead of 0 for an end of an interval that is less than a step from 0, with the sign of the end.

An interval that lies above 0 must not seem to include it."""
SUPPRESS_BELOW = 10
"""k if nothing else is set."""
_NOISE = 1e-9
"""Errors of floating-point numbers, as a part of a step."""
_DIGITS = 3


@dataclass(frozen=True)
class RoundingGrid:
    """The multiples of digit / whole; a digit of 0 stands for all numbers.

    A share that is at least `least` from 0 or 1 is not rounded to it: 0 stands for fewer than k people, 1 for all but
    fewer than k.
    """

    digit: int
    whole: int
    least: float = math.inf

    @property
    def step(self) -> float:
        """The distance of two multiples."""
        return self.digit / self.whole

    def nearest(self, value: float) -> float:
        """The nearest multiple, the larger of two; one that k people are short of 0 or 1 is a step away."""
        if not self.digit:
            return value
        number = math.floor(value / self.step + 0.5 + _NOISE)
        least = self.least * (1 - _NOISE)
        if number == 0 and abs(value) >= least:
            number = 1 if value > 0 else -1
        if number * self.digit == self.whole and 1 - value >= least:
            number -= 1
        return self._multiple(number)

    def down(self, value: float) -> float:
        """The largest multiple that is not above the value."""
        return self._multiple(math.floor(value / self.step + _NOISE)) if self.digit else value

    def up(self, value: float) -> float:
        """The smallest multiple that is not below the value."""
        return self._multiple(math.ceil(value / self.step - _NOISE)) if self.digit else value

    def low_end(self, value: float) -> float:
        """The lower end of an interval, rounded down; one above 0 stays above 0."""
        found = self.down(value)
        return ABOVE_ZERO if found <= 0 < value else found

    def high_end(self, value: float) -> float:
        """The upper end of an interval, rounded up; one below 0 stays below 0."""
        found = self.up(value)
        return -ABOVE_ZERO if value < 0 <= found else found

    def _multiple(self, number: int) -> float:
        return number * self.digit / self.whole


ALL_NUMBERS = RoundingGrid(0, 1)


def grid_of(people: float, k: int) -> RoundingGrid:
    """The multiples to which a share of so many people is rounded.

    Their step is the smallest of 1, 2 and 5 times a power of ten that is at least k / people, and at most 1.
    """
    if k <= 1:
        return ALL_NUMBERS
    least = k / people if people else math.inf
    found, whole = RoundingGrid(1, 1, least), 10
    while True:
        for digit in (5, 2, 1):
            if digit * people < k * whole:
                return found
            found = RoundingGrid(digit, whole, least)
        whole *= 10


def rounded_count(count: float, k: int, *, up: bool = False) -> int:
    """A count of people, rounded down to a multiple of k, or up: 0 then means fewer than k."""
    if k <= 1:
        return int(count)
    return k * (math.ceil(count / k) if up else math.floor(count / k))


def rounded_statistic(value: float, people: float, k: int, digits: int = _DIGITS) -> float:
    """A figure that is not a share, to so many significant digits, and to fewer where k people change more than that.

    It is a multiple of 1, 2 or 5 times a power of ten; this step is at least k / people of the value.
    """
    if k <= 1 or value == 0 or not math.isfinite(value):
        return value
    finest = 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)
    least = max(finest, abs(value) * min(1.0, k / people))
    power = 10.0 ** math.floor(math.log10(least))
    step = power * next(digit for digit in (1, 2, 5, 10) if digit * power >= least * (1 - _NOISE))
    return float(f"{round(value / step) * step:.12g}")


End = Literal["estimate", "low", "high"]


@dataclass(frozen=True)
class Share:
    """A share of people, a difference of two, or an end of its interval.

    `of` names the people: a number in the same or an enclosing section, or a size of the audit. `ends` is what comes
    before "low" and "high" in the names of the fields with the ends of its interval, if there is one. Where all fields
    in `stated_without` are null, the number is a false-positive rate that was chosen, and stays.
    """

    of: str
    end: End = "estimate"
    ends: str | None = None
    stated_without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Count:
    """A count of people, records or blocks: a multiple of k, rounded down, or up where it is a maximum.

    Counts up to `kept` stay as they are.
    """

    up: bool = False
    kept: int = 0


@dataclass(frozen=True)
class Statistic:
    """A figure that is not a share of people, rounded to significant digits.

    `of` names the people as for a share; None if no single person changes it much, as for a setting. `counts` says that
    it is a number of records or pairs, such as a mean size, or becomes one if it is multiplied by the number `per`: 0
    then stands for fewer than k.
    """

    of: str | None = "tables"
    digits: int = 3
    counts: bool = False
    per: str | None = None


@dataclass(frozen=True)
class Stated:
    """A setting, a constant, the size of an input or of a sample, a rank, or a figure made of published ones.

    Also a figure about invented people, such as those planted in a trial: rounding protects people, and it stays exact.
    A figure in which originals or controls are searched for is none of these, whatever they are searched for in.
    """


@dataclass(frozen=True)
class Rows:
    """A list whose items have a number of people: items with fewer than k are left out."""

    people: str


OfOriginals = Annotated[float, Share("originals", ends="")]
OfOriginalsLow = Annotated[float, Share("originals", "low")]
OfOriginalsHigh = Annotated[float, Share("originals", "high")]
OfControls = Annotated[float, Share("controls")]
OfControlsOrStated = Annotated[float, Share("controls", stated_without=("threshold",))]
"""A share of controls; without a threshold the false-positive rate at which the score is read."""
OfControlsLow = Annotated[float, Share("controls", "low")]
OfControlsHigh = Annotated[float, Share("controls", "high")]
OfBoth = Annotated[float, Share("both", ends="")]
"""A figure of originals and controls, or of originals and their matches; the smaller of the two numbers counts."""
OfBothLow = Annotated[float, Share("both", "low")]
OfBothHigh = Annotated[float, Share("both", "high")]
OfAttributable = Annotated[float, Share("attributable", ends="")]
"""A share of originals beyond that of controls. Without a threshold it is the risk, and rounded as such."""
OfAttributableLow = Annotated[float, Share("attributable", "low")]
OfAttributableHigh = Annotated[float, Share("attributable", "high")]
OfRisk = Annotated[float, Share("risk", ends="")]
"""A share of originals where a fixed share of the control is linked; without a control, of those with a known match."""
OfRiskLow = Annotated[float, Share("risk", "low")]
OfRiskHigh = Annotated[float, Share("risk", "high")]
OfMatched = Annotated[float, Share("matched", ends="top1_")]
"""A share of the originals with a known match."""
OfMatchedLow = Annotated[float, Share("matched", "low")]
OfMatchedHigh = Annotated[float, Share("matched", "high")]
OfTables = Annotated[float, Share("tables")]
"""A figure of originals and released records; the smaller of the two numbers counts."""
People = Annotated[int, Count()]
Measured = Annotated[float, Statistic()]
Threshold = Annotated[float, Statistic(None, digits=4)]
Number = Annotated[float, Stated()]
Whole = Annotated[int, Stated()]


class Section(BaseModel):
    """An immutable part of a result. Unknown fields are ignored, so older versions can read newer results."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class EstimateSection(Section):
    """A section with one estimate: its value in the field `VALUE`, and beside it the fields of its interval."""

    VALUE: ClassVar[str] = "estimate"

    @classmethod
    def of(cls, found: Estimate, **more: Any) -> Self:
        """The section of an estimate, with the other fields that it has."""
        interval = {name: item for name, item in vars(found).items() if name != "value" and name in cls.model_fields}
        return cls(**{cls.VALUE: found.value, **interval, **more})


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

    def count_phrase(self, count: int, noun: str, *, tables: int = 1) -> str:
        """An exact count with its noun as it may be told: "fewer than 10 cells", "at least 20 cells".

        A count in several tables may have several cells of one person.
        """
        if self.k <= 1:
            return count_phrase(count, noun)
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
        """This disclosure with other numbers of people."""
        return replace(self, sizes={**self.sizes, **sizes})

    def published(self, section: Some) -> Some:
        """The section with every figure rounded by its mark. Rounding twice changes nothing."""
        return section if self.k <= 1 else _publish_section(section, self.sizes, self.k)

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


def _publish_section(section: Some, sizes: Mapping[str, int], k: int) -> Some:
    values = {name: getattr(section, name) for name in type(section).model_fields}
    own = {name: value for name, value in values.items() if type(value) is int}
    if "asked" in own:
        own["originals"] = min(own["asked"], sizes.get("originals", own["asked"]))
    if "threshold" in values:
        own["without_threshold"] = int(values["threshold"] is None)
    inner = {**sizes, **own}
    marks = {name: mark for name, mark in marks_of(type(section)).items() if not _is_stated(mark, values)}
    changed = {name: _round_value(value, marks.get(name), inner, k) for name, value in values.items()}
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


def _round_value(value: Any, mark: Mark | None, sizes: Mapping[str, int], k: int) -> Any:
    """A value of a section: a number by its mark, and sections inside it."""
    if isinstance(value, Section):
        return _publish_section(value, sizes, k)
    if isinstance(value, list):
        items = value
        if isinstance(mark, Rows):
            items = [item for item in value if getattr(item, mark.people) >= k]
        return [_round_value(item, mark, sizes, k) for item in items]
    if isinstance(value, dict):
        return {key: _round_value(item, None, sizes, k) for key, item in value.items()}
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
