"""The spellings in which protection tools write a value that is no longer exact.

    30-39   [30, 40)   [30, 40[   ]30, 40]   [80, inf)   >=80   80+   <20   123**   {31, 35}    numbers
    2024    2024-05    2024-05-01    [2024-05-01, 2024-06-01)    2024-05-01 - 2024-05-31    times
    *  ***                                                                           suppressed, any type

A number or time is read as the closed range of the values it allows. Each function takes one distinct spelling, so
a label is parsed once however many rows hold it, and returns None for what it cannot read.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(_NUMBER)
_ENDLESS = r"(?:inf|Inf|infinity|Infinity|∞)"
_BRACKETS = re.compile(rf"([\[\](])\s*({_NUMBER}|-{_ENDLESS})\s*[,;]\s*({_NUMBER}|\+?{_ENDLESS})\s*([\[\])])")
_DASHED = re.compile(rf"({_NUMBER})\s*(?:-|–|~)\s*({_NUMBER})")
_AT_LEAST = re.compile(rf"(>=|≥|>)\s*({_NUMBER})")
_AT_MOST = re.compile(rf"(<=|≤|<)\s*({_NUMBER})")
_PLUS = re.compile(rf"({_NUMBER})\s*\+")
_MASKED = re.compile(r"(\d+)(\*+)")
_SET = re.compile(r"\{(.*)\}", re.DOTALL)

_DAY = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?"
_WHEN = rf"(?:{_DAY}(?:{_CLOCK})?|\d{{4}}-\d{{2}}|\d{{4}})"
_TIME_BRACKETS = re.compile(rf"([\[\](])\s*({_WHEN})\s*[,;]\s*({_WHEN})\s*([\[\])])")
_TIME_DASHED = re.compile(rf"({_WHEN})\s+(?:-|–|~)\s+({_WHEN})")

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Range:
    """The values that a spelling allows: from `low` to `high`, both included, standing at `middle`."""

    low: float
    high: float
    middle: float


@dataclass(frozen=True)
class Span:
    """The instants that a spelling allows: from `first` to `last`, both included, without a zone."""

    first: datetime
    last: datetime


def is_suppressed(label: str) -> bool:
    """Whether the label is nothing but stars."""
    return bool(label) and not label.strip("*")


def read_number(label: str, *, whole: bool, smallest: float, largest: float) -> Range | None:
    """The range of numbers that `label` allows, or None.

    On a column of whole numbers (`whole`) "30-39" is [30, 40), "<20" ends below 20 and ">30" starts at 31; otherwise
    "30-39" is [30, 39]. Open-ended spellings reach to the `smallest` or `largest` original value; a bound beyond that
    is itself the end.
    """
    text = label.strip()
    if _PLAIN.fullmatch(text):
        value = float(text)
        return Range(value, value, value) if math.isfinite(value) else None
    if match := _DASHED.fullmatch(text):
        low, high = float(match[1]), float(match[2])
        # The gap to the next label belongs to this one, unless the ends are fractions and leave none.
        gapped = whole and low.is_integer() and high.is_integer()
        return _range(low, high + 1, open_high=True) if low <= high and gapped else _range(low, high)
    if match := _BRACKETS.fullmatch(text):
        low, high = float(match[2].replace("∞", "inf")), float(match[3].replace("∞", "inf"))
        if math.isinf(low) and math.isinf(high):
            return _range(smallest, largest)
        if math.isinf(high):
            return _above(low, largest, included=match[1] == "[", whole=whole)
        if math.isinf(low):
            return _below(high, smallest, included=match[4] == "]", whole=whole)
        return _range(low, high, open_low=match[1] in "](", open_high=match[4] in "[)")
    if match := _AT_LEAST.fullmatch(text):
        return _above(float(match[2]), largest, included=match[1] != ">", whole=whole)
    if match := _PLUS.fullmatch(text):
        return _above(float(match[1]), largest, included=True, whole=whole)
    if match := _AT_MOST.fullmatch(text):
        return _below(float(match[2]), smallest, included=match[1] != "<", whole=whole)
    if match := _MASKED.fullmatch(text):
        width = 10.0 ** len(match[2])
        return _range(float(match[1]) * width, (float(match[1]) + 1) * width, open_high=True)
    if match := _SET.fullmatch(text):
        members = [member.strip() for member in match[1].split(",")]
        if members and all(_PLAIN.fullmatch(member) for member in members):
            numbers = [float(member) for member in members]
            return _range(min(numbers), max(numbers))
    return None


def _above(bound: float, largest: float, *, included: bool, whole: bool) -> Range | None:
    """From `bound` up to the largest original value; where none is above it, the first value that is allowed."""
    if not included and whole and bound.is_integer():
        bound, included = bound + 1, True
    if included:
        return _range(bound, max(bound, largest))
    return _range(bound, largest, open_low=True) or _point(math.nextafter(bound, math.inf))


def _below(bound: float, smallest: float, *, included: bool, whole: bool) -> Range | None:
    """From the smallest original value up to `bound`; where none is below it, the last value that is allowed."""
    if included:
        return _range(min(bound, smallest), bound)
    if whole and bound.is_integer():
        return _range(min(bound - 1, smallest), bound, open_high=True)
    return _range(smallest, bound, open_high=True) or _point(math.nextafter(bound, -math.inf))


def _point(value: float) -> Range | None:
    return _range(value, value)


def _range(low: float, high: float, *, open_low: bool = False, open_high: bool = False) -> Range | None:
    """A checked range; the midpoint is that of the written ends, whether they are included or not."""
    if not (math.isfinite(low) and math.isfinite(high)) or low > high or (low == high and (open_low or open_high)):
        return None
    first = math.nextafter(low, math.inf) if open_low else low
    last = math.nextafter(high, -math.inf) if open_high else high
    return Range(first, last, low / 2 + high / 2)


def read_time(label: str) -> Span | None:
    """The span of time that `label` allows, or None. A time with a zone is brought to UTC.

    A day without a clock time is its midnight, as tables usually write it; a month or a year is all of it.
    """
    text = label.strip()
    if match := _TIME_BRACKETS.fullmatch(text):
        start, end = _instant(match[2]), _instant(match[3])
        if start is None or end is None:
            return None
        # "]2024-05, ..." starts after the whole of May.
        first = start.last + _MICROSECOND if match[1] in "](" else start.first
        last = end.first - _MICROSECOND if match[4] in "[)" else end.last
        return Span(first, last) if first <= last else None
    if match := _TIME_DASHED.fullmatch(text):
        start, end = _instant(match[1]), _instant(match[2], whole_day=True)
        if start is None or end is None or start.first > end.last:
            return None
        return Span(start.first, end.last)
    return _instant(text)


def _instant(text: str, *, whole_day: bool = False) -> Span | None:
    """A year, month, day or moment; with `whole_day` a day reaches to its last microsecond."""
    try:
        if re.fullmatch(r"\d{4}", text):
            first = datetime(int(text), 1, 1)
            return Span(first, _next_month(first.replace(month=12)) - _MICROSECOND)
        if re.fullmatch(r"\d{4}-\d{2}", text):
            first = datetime(int(text[:4]), int(text[5:]), 1)
            return Span(first, _next_month(first) - _MICROSECOND)
        if re.fullmatch(_DAY, text):
            first = datetime.fromisoformat(text)
            return Span(first, first + timedelta(days=1) - _MICROSECOND if whole_day else first)
        if re.fullmatch(_DAY + _CLOCK, text):
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is not None:
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            return Span(moment, moment)
    except (ValueError, OverflowError):
        return None
    return None


def _next_month(first: datetime) -> datetime:
    return first.replace(year=first.year + 1, month=1) if first.month == 12 else first.replace(month=first.month + 1)
