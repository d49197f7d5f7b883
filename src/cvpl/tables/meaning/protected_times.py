"""The formats in which protection tools write a time that is no longer exact.

    2024   2024-05   2024-05-01   2024-05-01 13:45   01.05.2024   2024-Q2   2024-W18    a year, month, day, time, ...
    2024-05-**   2024-0****   202*                                                      masked from the right
    [2024-05-01, 2024-06-01)   2024-05-01 - 2024-05-31   2000-2005   <2024-05   {2024-05-01, 2024-05-03}

A time is read as the closed span of the instants that it allows. Dates with slashes are not read: 05/2024 is a month or
a week, 1/5/2024 a day in January or in May. Only a range of months, 5/2024-6/2024, is unambiguous.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
_ZONE = r"(?:Z|[+-](?:0[0-9]|1[0-5]):?[0-9]{2})?"
_DOTTED = r"[0-9]{2}\.[0-9]{2}\.[0-9]{4}"
_WHEN = (
    rf"(?:{_DAY}[ T]{_CLOCK}{_ZONE}|{_DAY}|{_DOTTED}[ -]{_CLOCK}|{_DOTTED}"
    r"|[0-9]{4}-?Q[1-4]|Q[1-4] [0-9]{4}|[0-9]{4}-W[0-9]{2}|[0-9]{4}-[0-9]{2}|[0-9]{4})"
)
_PLAIN = re.compile(_WHEN)
_BRACKETS = re.compile(rf"([\[\](])\s*({_WHEN})\s*[,;]\s*({_WHEN})\s*([\[\])])")
_RANGE = re.compile(rf"({_WHEN})(?:\s+[-–~]\s+|[-–~/]|\s*,\s*)({_WHEN})")
_MONTHS = re.compile(r"([0-9]{1,2})/([0-9]{4})\s*-\s*([0-9]{1,2})/([0-9]{4})")
_BOUND = re.compile(rf"(>=|≥|>|<=|≤|<)\s*({_WHEN})")
_SET = re.compile(rf"\{{\s*{_WHEN}\s*(?:,\s*{_WHEN}\s*)*\}}")
_MASKED = re.compile(r"([0-9][0-9-]*)\*[*-]*")

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Span:
    """The instants that a text allows: from `first` to `last`, both included, without a time zone."""

    first: datetime
    last: datetime


def read_time(
    label: str, *, earliest: datetime | None = None, latest: datetime | None = None, whole_day: bool = False
) -> Span | None:
    """Return the time span that `label` allows, or None. A time with a time zone is converted to UTC.

    A day without a clock time is its midnight, as tables of days write it; with `whole_day` it is the whole day, as
    in a release of originals that have times of day. A month, a quarter, a week or a year is the whole period, and so
    is a day that closes a range and belongs to it. Open-ended texts reach to the `earliest` or `latest` original; if
    there is none, or the bound lies beyond it, the span is the bound itself. A set is the span that covers its members.
    """
    try:
        return _read(label.strip(), earliest, latest, whole_day)
    except (ValueError, OverflowError):
        return None


def _read(text: str, earliest: datetime | None, latest: datetime | None, whole_day: bool) -> Span | None:
    """Do the work of `read_time`; an invalid date raises ValueError, one outside the supported years OverflowError."""
    if _PLAIN.fullmatch(text):
        return _instant(text, whole_day=whole_day)
    if match := _BRACKETS.fullmatch(text):
        return _interval(match[1], match[2], match[3], match[4])
    if match := _RANGE.fullmatch(text):
        return _span(_instant(match[1]).first, _instant(match[2], whole_day=True).last)
    if match := _MONTHS.fullmatch(text):
        ends = [_months(int(match[year]), int(match[year - 1]), 1) for year in (2, 4)]
        return _span(ends[0].first, ends[1].last)
    if match := _BOUND.fullmatch(text):
        return _open_span(match[1], match[2], earliest, latest)
    if _SET.fullmatch(text):
        members = [_instant(member) for member in _PLAIN.findall(text)]
        return _span(min(item.first for item in members), max(item.last for item in members))
    if match := _MASKED.fullmatch(text):
        return _masked(text, match[1])
    return None


def _span(first: datetime, last: datetime) -> Span | None:
    return Span(first, last) if first <= last else None


def _interval(opening: str, start: str, end: str, closing: str) -> Span | None:
    """Return the span between two ends; "]2024-05, ..." starts after May, and "(a, b)" includes both ends."""
    pair = opening == "(" and closing == ")"
    opens, shuts = (opening in "](" and not pair), (closing in "[)" and not pair)
    low, high = _instant(start), _instant(end, whole_day=not shuts)
    return _span(low.last + _MICROSECOND if opens else low.first, high.first - _MICROSECOND if shuts else high.last)


def _open_span(sign: str, bound: str, earliest: datetime | None, latest: datetime | None) -> Span | None:
    """Return the span from a bound on, or up to it, as far as the originals reach."""
    at = _instant(bound, whole_day=sign in (">", "<=", "≤"))
    if sign in (">", ">=", "≥"):
        first = at.last + _MICROSECOND if sign == ">" else at.first
        return _span(first, max(first, latest or first))
    last = at.first - _MICROSECOND if sign == "<" else at.last
    return _span(min(last, earliest or last), last)


def _instant(text: str, *, whole_day: bool = False) -> Span:
    """Read a year, quarter, month, week, day or time; with `whole_day` a day reaches to its last microsecond."""
    if re.fullmatch(r"[0-9]{4}", text):
        return _months(int(text), 1, 12)
    if match := re.fullmatch(r"([0-9]{4})-?Q([1-4])|Q([1-4]) ([0-9]{4})", text):
        return _months(int(match[1] or match[4]), 3 * int(match[2] or match[3]) - 2, 3)
    if match := re.fullmatch(r"([0-9]{4})-W([0-9]{2})", text):
        monday = date.fromisocalendar(int(match[1]), int(match[2]), 1)
        return _days(monday, monday + timedelta(days=6))
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}", text):
        return _months(int(text[:4]), int(text[5:]), 1)
    if re.match(_DOTTED, text):
        text = f"{text[6:10]}-{text[3:5]}-{text[:2]}{text[10:].replace('-', ' ')}"
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return _days(moment.date(), moment.date()) if whole_day and len(text) == 10 else Span(moment, moment)


def _months(year: int, first: int, count: int) -> Span:
    """Return the span of `count` months from the first one on, to the last microsecond."""
    last = first + count - 1
    return _days(date(year, first, 1), date(year, last, monthrange(year, last)[1]))


def _days(first: date, last: date) -> Span:
    return Span(datetime.combine(first, time.min), datetime.combine(last, time.max))


def _masked(text: str, kept: str) -> Span | None:
    """Return the span of all days whose date begins with `kept`; stars replace the rest of a year, a month or a day."""
    shape = "0000-00-00"[: len(text)]
    fits = all((letter == "-") == (sign == "-") or letter == "*" for letter, sign in zip(text, shape, strict=False))
    if len(text) not in (4, 7, 10) or not fits:
        return None
    year, month, day = kept[:4], kept[5:7], kept[8:]
    years = max(1, int(year.ljust(4, "0"))), int(year.ljust(4, "9"))
    months = [item for item in range(1, 13) if f"{item:02}".startswith(month)]
    ends = [(years[0], min(months)), (years[1], max(months))]
    days = [[item for item in range(1, monthrange(*end)[1] + 1) if f"{item:02}".startswith(day)] for end in ends]
    return _days(date(*ends[0], min(days[0])), date(*ends[1], max(days[1])))
