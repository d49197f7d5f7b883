"""The formats in which protection tools and statistics offices write numbers and times, exact or not.

    30-39   [30, 40)   [30, 40[   ]30, 40]   [30-39]   [80, inf)   >=80   80+   <20   123**   {31, 35}    numbers
    40 to 49   65 and over   under 20                                              numbers, in words
    123xx                                                                          as 123**
    17,25                                                                          a pair of ends, in a release only
    *  ***  NA  NULL  (null)                                                       suppressed, any type

A number is read as the closed range of the values it allows; times are below. Each function takes one distinct
text, so a label is parsed once for all its rows, and returns None for a text that it cannot read.

The formats in which protection tools write a time that is no longer exact.

    2024   2024-05   2024-05-01   2024-05-01 13:45   01.05.2024   2024-Q2   2024-W18    a year, month, day, time, ...
    2024-05-**   2024-0****   202*                                                      masked from the right
    [2024-05-01, 2024-06-01)   2024-05-01 - 2024-05-31   2000-2005   <2024-05   {2024-05-01, 2024-05-03}

A time is read as the closed span of the instants that it allows. Dates with slashes are not read: 05/2024 is a month or
a week, 1/5/2024 a day in January or in May. Only a range of months, 5/2024-6/2024, is unambiguous.

Ranges of numbers written in words, respelled with signs: in English and German, as statistics offices write them.

    40 to 49   40 bis 49   between 40 and 49   from 40 to 49         40-49
    under 20   below 20   less than 20   unter 20                    <20
    up to 20   at most 20   20 or less   20 and under   bis 20       <=20
    over 80   above 80   more than 80   über 80                      >80
    65 and over   65 or older   at least 65   ab 65   65 und mehr    >=65

A unit after the numbers (years, Jahre) is not read: what it measures is not known.

Numbers with a decimal comma and days such as 31/12/2024, respelled as 1234.5 and 2024-12-31.

    1.234,5   3,14   [1,5; 2,5[   1,5-2,5   {1,5; 2,5}     with `reading.decimal: ","`
    31/12/2024   31.12.2024   1/5/2024 9:05                with `reading.dates: day_first`
    12/31/2024   12-31-2024                                with `reading.dates: month_first`

Each rule exists twice: for one text in Python (generalized values too), and for a whole column of plain values in SQL.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Container
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

__all__ = [
    "SUPPRESSED_WORDS",
    "Range",
    "Span",
    "is_gone",
    "is_suppressed",
    "read_number",
    "read_pair",
    "read_time",
    "two_ways",
]

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_PLAIN = re.compile(_NUMBER)
_ENDLESS = r"(?:inf|Inf|infinity|Infinity|∞)"
_BRACKETS = re.compile(rf"([\[\](])\s*({_NUMBER}|-{_ENDLESS})\s*[,;]\s*({_NUMBER}|\+?{_ENDLESS})\s*([\[\])])")
_DASHED_BRACKETS = re.compile(rf"([\[\](])\s*({_NUMBER})\s*[-–~]\s*({_NUMBER})\s*([\[\])])")
_ONE = re.compile(rf"\[\s*({_NUMBER})\s*\]")
_DASHED = re.compile(rf"({_NUMBER})\s*[-–~]\s*({_NUMBER})")
_AT_LEAST = re.compile(rf"(>=|≥|>)\s*({_NUMBER})")
_AT_MOST = re.compile(rf"(<=|≤|<)\s*({_NUMBER})")
_PLUS = re.compile(rf"({_NUMBER})\s*\+")
_MASKED = re.compile(r"(-?)([0-9]{1,300})(\*{1,300})")
_MASKED_DECIMALS = re.compile(r"(-?)([0-9]{1,300})\.([0-9]{0,300})\*+")
_CROSSED = re.compile(r"-?[0-9]{1,300}[xX]{1,300}")
_SET = re.compile(r"\{(.*)\}", re.DOTALL)
_PAIR = re.compile(rf"({_NUMBER}),(\s*)({_NUMBER})")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2},[0-9]{3}")

_TWO_WAYS = re.compile(rf"{_NUMBER},{_NUMBER}|-?[0-9]+\*+|[0-9]{{1,2}}/(?:[0-9]{{1,2}}/)?[0-9]{{4}}")

SUPPRESSED_WORDS = ("NA", "NULL", "(null)")
"""What R, ARX and Amnesia write for a missing value."""


@dataclass(frozen=True)
class Range:
    """The values that a text allows: from `low` to `high`, both included, represented by `middle`."""

    low: float
    high: float
    middle: float


def is_suppressed(label: str) -> bool:
    """Whether the label consists of stars only."""
    return bool(label) and not label.strip("*")


def is_gone(label: str, known: Container[str] = ()) -> bool:
    """Whether a released cell is suppressed: stars, or a word for it that is not a label of the original (`known`)."""
    return label not in known and (is_suppressed(label) or label in SUPPRESSED_WORDS)


def read_number(label: str, *, whole: bool, smallest: float, largest: float) -> Range | None:
    """Return the range of numbers that `label` allows, or None.

    On a column of whole numbers (`whole`) "30-39" is [30, 40), "<20" ends below 20 and ">30" starts at 31; otherwise
    "30-39" is [30, 39]. Open-ended texts reach to the `smallest` or `largest` original value; a bound beyond that is
    itself the end. "(30, 40)" is a pair that includes its ends. A set is the range that covers its members. "12**" is
    1200 to 1299 on whole numbers; elsewhere it may be 12.3 with hidden digits, and is not read. "12xx" is read
    as "12**".
    """
    text = label.strip()
    text = range_in_signs(text) or text
    if _CROSSED.fullmatch(text):
        text = text.replace("X", "*").replace("x", "*")
    if match := _PLAIN.fullmatch(text) or _ONE.fullmatch(text):
        return _point(float(match[match.lastindex or 0]))
    if match := _DASHED.fullmatch(text):
        low, high = float(match[1]), float(match[2])
        # The gap to the next label belongs to this one, unless the ends are fractions and there is no gap.
        gapped = whole and low.is_integer() and high.is_integer()
        return _range(low, high + 1, open_high=True) if low <= high and gapped else _range(low, high)
    if match := _BRACKETS.fullmatch(text) or _DASHED_BRACKETS.fullmatch(text):
        ends = _end(match[2]), _end(match[3])
        return _interval(match[1], *ends, match[4], whole=whole, smallest=smallest, largest=largest)
    if match := _AT_LEAST.fullmatch(text):
        return _range_above(float(match[2]), largest, included=match[1] != ">", whole=whole)
    if match := _PLUS.fullmatch(text):
        return _range_above(float(match[1]), largest, included=True, whole=whole)
    if match := _AT_MOST.fullmatch(text):
        return _range_below(float(match[2]), smallest, included=match[1] != "<", whole=whole)
    if match := _MASKED.fullmatch(text):
        stars = len(match[3])
        return _range_of_hidden_digits(match[1], match[2], stars) if whole or stars == 1 else None
    if match := _MASKED_DECIMALS.fullmatch(text):
        return _range_of_hidden_digits(match[1], match[2] + match[3], -len(match[3]))
    if match := _SET.fullmatch(text):
        members = [member.strip() for member in match[1].split(",")]
        if all(_PLAIN.fullmatch(member) for member in members):
            numbers = [float(member) for member in members]
            return _range(min(numbers), max(numbers))
    return None


def read_pair(label: str, *, whole: bool, smallest: float, largest: float) -> Range | None:
    """Return the range of a pair of ends as some tools write it, "17,25", or None if it is ambiguous.

    If all originals are whole numbers (`whole`), "17,25" is a range from 17 to 25, like "17-25". But tools write ends
    that occur in the original: beyond `smallest` and `largest` it may be a mean with a decimal comma. "1,250" may be a
    thousand, and no tool writes a pair as "17,05". On fractions it may be 17.25; there only "17.5,25.5", and "17, 25"
    with its space, are unambiguous.
    """
    text = label.strip()
    match = _PAIR.fullmatch(text)
    if match is None:
        return None
    integers = _INTEGER.fullmatch(match[1]) is not None and _INTEGER.fullmatch(match[3]) is not None
    words = bool(match[2]) or ("." in match[3] and "." in match[1])
    low, high = float(match[1]), float(match[3])
    among = whole and integers and smallest <= low and high <= largest
    if not words and (not among or _THOUSANDS.fullmatch(text)):
        return None
    return _range(low, high + 1, open_high=True) if whole and integers and low <= high else _range(low, high)


def two_ways(label: str) -> bool:
    """Whether an unread text is ambiguous.

    "17,25" is 17.25 or a range, "12**" is 1250 or 12.5, "05/2024" is a month or a week, "1/5/2024" is one of two days.
    """
    return _TWO_WAYS.fullmatch(label.strip()) is not None


def _end(text: str) -> float:
    """Read an end of an interval: infinite if written as such, NaN if its digits overflow."""
    end = float(text.replace("∞", "inf"))
    return math.nan if math.isinf(end) and _PLAIN.fullmatch(text) else end


def _interval(
    opening: str, low: float, high: float, closing: str, *, whole: bool, smallest: float, largest: float
) -> Range | None:
    """Return the range between two ends; the lower may be minus infinity and the upper infinity."""
    if math.isinf(low) and math.isinf(high):
        return _range(smallest, largest)
    if math.isinf(high):
        return _range_above(low, largest, included=opening == "[", whole=whole)
    if math.isinf(low):
        return _range_below(high, smallest, included=closing == "]", whole=whole)
    # Python writes a pair this way; a record at either end must not be excluded.
    pair = opening == "(" and closing == ")"
    return _range(low, high, open_low=opening in "](" and not pair, open_high=closing in "[)" and not pair)


def _range_of_hidden_digits(sign: str, digits: str, stars: int) -> Range | None:
    """Return the range of all numbers that begin with `digits`; the last digit is worth ten to the power of `stars`."""
    first, last = (float(f"{int(digits) + more}e{stars}") for more in (0, 1))
    return _range(-last, -first, open_low=True) if sign else _range(first, last, open_high=True)


def _range_above(bound: float, largest: float, *, included: bool, whole: bool) -> Range | None:
    """Return the range from `bound` to the largest original value; if none is above it, the first allowed value."""
    if not included and whole and bound.is_integer():
        bound, included = bound + 1, True
    if included:
        return _range(bound, max(bound, largest))
    return _range(bound, largest, open_low=True) or _point(math.nextafter(bound, math.inf))


def _range_below(bound: float, smallest: float, *, included: bool, whole: bool) -> Range | None:
    """Return the range from the smallest original value to `bound`; if none is below it, the last allowed value."""
    if included:
        return _range(min(bound, smallest), bound)
    if whole and bound.is_integer():
        return _range(min(bound - 1, smallest), bound, open_high=True)
    return _range(smallest, bound, open_high=True) or _point(math.nextafter(bound, -math.inf))


def _point(value: float) -> Range | None:
    return _range(value, value)


def _range(low: float, high: float, *, open_low: bool = False, open_high: bool = False) -> Range | None:
    """Return a checked range; the midpoint is that of the written ends, whether they are included or not."""
    if not (math.isfinite(low) and math.isfinite(high)) or low > high or (low == high and (open_low or open_high)):
        return None
    first = math.nextafter(low, math.inf) if open_low else low
    last = math.nextafter(high, -math.inf) if open_high else high
    return Range(first, last, min(max(low / 2 + high / 2, first), last))


_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
_ZONE = r"(?:Z|[+-](?:0[0-9]|1[0-5]):?[0-9]{2})?"
_DOTTED = r"[0-9]{2}\.[0-9]{2}\.[0-9]{4}"
_WHEN = (
    rf"(?:{_DAY}[ T]{_CLOCK}{_ZONE}|{_DAY}|{_DOTTED}[ -]{_CLOCK}|{_DOTTED}"
    r"|[0-9]{4}-?Q[1-4]|Q[1-4] [0-9]{4}|[0-9]{4}-W[0-9]{2}|[0-9]{4}-[0-9]{2}|[0-9]{4})"
)
_PLAIN_TIME = re.compile(_WHEN)
_TIME_BRACKETS = re.compile(rf"([\[\](])\s*({_WHEN})\s*[,;]\s*({_WHEN})\s*([\[\])])")
_RANGE = re.compile(rf"({_WHEN})(?:\s+[-–~]\s+|[-–~/]|\s*,\s*)({_WHEN})")
_MONTHS = re.compile(r"([0-9]{1,2})/([0-9]{4})\s*-\s*([0-9]{1,2})/([0-9]{4})")
_BOUND = re.compile(rf"(>=|≥|>|<=|≤|<)\s*({_WHEN})")
_TIME_SET = re.compile(rf"\{{\s*{_WHEN}\s*(?:,\s*{_WHEN}\s*)*\}}")
_MASKED_TIME = re.compile(r"([0-9][0-9-]*)\*[*-]*")

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
        return _parse_time(label.strip(), earliest, latest, whole_day)
    except (ValueError, OverflowError):
        return None


def _parse_time(text: str, earliest: datetime | None, latest: datetime | None, whole_day: bool) -> Span | None:
    """Do the work of `read_time`; an invalid date raises ValueError, one outside the supported years OverflowError."""
    if _PLAIN_TIME.fullmatch(text):
        return _instant(text, whole_day=whole_day)
    if match := _TIME_BRACKETS.fullmatch(text):
        return _span_between(match[1], match[2], match[3], match[4])
    if match := _RANGE.fullmatch(text):
        return _span(_instant(match[1]).first, _instant(match[2], whole_day=True).last)
    if match := _MONTHS.fullmatch(text):
        ends = [_months(int(match[year]), int(match[year - 1]), 1) for year in (2, 4)]
        return _span(ends[0].first, ends[1].last)
    if match := _BOUND.fullmatch(text):
        return _open_span(match[1], match[2], earliest, latest)
    if _TIME_SET.fullmatch(text):
        members = [_instant(member) for member in _PLAIN_TIME.findall(text)]
        return _span(min(item.first for item in members), max(item.last for item in members))
    if match := _MASKED_TIME.fullmatch(text):
        return _span_of_masked_date(text, match[1])
    return None


def _span(first: datetime, last: datetime) -> Span | None:
    return Span(first, last) if first <= last else None


def _span_between(opening: str, start: str, end: str, closing: str) -> Span | None:
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


def _span_of_masked_date(text: str, kept: str) -> Span | None:
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


_WORDED_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_MORE = r"over|above|older|more|up|upwards?|higher|greater|mehr|älter|höher|darüber"
_LESS = r"under|below|younger|less|fewer|lower|weniger|jünger|darunter"
_BOTH = re.compile(
    rf"(?:(?:from|von)\s+)?({_WORDED_NUMBER})\s+(?:to|through|thru|bis)\s+({_WORDED_NUMBER})"
    rf"|(?:between|zwischen)\s+({_WORDED_NUMBER})\s+(?:and|und)\s+({_WORDED_NUMBER})",
    re.IGNORECASE,
)
_ONE_END = (
    (">=", re.compile(rf"({_WORDED_NUMBER})\s+(?:and|or|und|oder)\s+(?:{_MORE})", re.IGNORECASE)),
    ("<=", re.compile(rf"({_WORDED_NUMBER})\s+(?:and|or|und|oder)\s+(?:{_LESS})", re.IGNORECASE)),
    (">=", re.compile(rf"(?:at\s+least|mindestens|ab)\s+({_WORDED_NUMBER})", re.IGNORECASE)),
    ("<=", re.compile(rf"(?:at\s+most|up\s+to|höchstens|bis(?:\s+zu)?)\s+({_WORDED_NUMBER})", re.IGNORECASE)),
    (">", re.compile(rf"(?:over|above|über|(?:{_MORE})\s+(?:than|als))\s+({_WORDED_NUMBER})", re.IGNORECASE)),
    ("<", re.compile(rf"(?:under|below|unter|(?:{_LESS})\s+(?:than|als))\s+({_WORDED_NUMBER})", re.IGNORECASE)),
)


def range_in_signs(text: str) -> str | None:
    """The range with signs, or None if the text is not a range in words."""
    if match := _BOTH.fullmatch(text):
        low, high = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
        return f"{low}-{high}"
    for sign, pattern in _ONE_END:
        if match := pattern.fullmatch(text):
            return f"{sign}{match[1]}"
    return None


Decimal = Literal[".", ","]
Dates = Literal["iso", "day_first", "month_first"]

_WHOLE = r"(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+)"
_LOCAL_NUMBER = re.compile(rf"({_WHOLE})(?:,([0-9]+))?")
_DIGITS = re.compile(r"[0-9][0-9.]*(?:,[0-9]+)*")
_ONE_IN_BRACKETS = re.compile(r"[\[({]\s*[0-9.]+,[0-9]+\s*[\])}]")
PLAIN_COMMA_NUMBER = rf"[+-]?({_WHOLE}(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?"
"""A number with a decimal comma and perhaps points between thousands; a pattern for Python and SQL."""

_SEPARATORS = ("/", ".", "-")
_LOCAL_DAY = re.compile(
    r"(?<![0-9.,/-])([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4})(?![0-9])(?:[ T]([0-9]{1,2})(?=:[0-9]{2}))?"
)
_LOCAL_CLOCK = r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?"
_WRITTEN_DAY = re.compile(rf"([0-9]{{1,2}})([/.-])([0-9]{{1,2}})\2[0-9]{{4}}{_LOCAL_CLOCK}")
LOOSE_DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
LOOSE_TIME = rf"{LOOSE_DAY}([ T][0-9]{{1,2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?Z?)?"
"""A time whose month, day and hour may have one digit, as `iso_sql` leaves it."""


def use_decimal_points(label: str) -> str | None:
    """Respell the numbers of a text with decimal points, or return None if a comma or a point has no clear meaning.

    "3.14" and "0.123" are not numbers with a decimal comma; "[17,25]" and "1,2,3" could be one number or several.
    """
    text = label.strip()
    if _ONE_IN_BRACKETS.fullmatch(text):
        return None
    found = [_LOCAL_NUMBER.fullmatch(digits) for digits in _DIGITS.findall(text)]
    if not all(found):
        return None
    text = _DIGITS.sub(lambda match: _use_decimal_point(match[0]), text)
    text = re.sub(r"(?<![0-9]),(?=[0-9])|(?<=[0-9]),(?=\*)", ".", text)
    return text.replace(";", ",") if text.startswith("{") else text


def _use_decimal_point(digits: str) -> str:
    match = _LOCAL_NUMBER.fullmatch(digits)
    if match is None:
        return digits
    whole = match[1].replace(".", "")
    return whole if match[2] is None else f"{whole}.{match[2]}"


def comma_number_sql(text: str) -> str:
    """Return SQL that respells a text that is a `PLAIN_COMMA_NUMBER`."""
    return f"replace(replace({text}, '.', ''), ',', '.')"


def has_decimal_comma(label: str) -> bool:
    """Whether the text is a number that only a decimal comma explains: "1,234" could have a separator of thousands."""
    text = label.strip()
    if re.fullmatch(PLAIN_COMMA_NUMBER, text) is None or "," not in text:
        return False
    return re.fullmatch(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}", text) is None


def is_comma_number(label: str) -> bool:
    """Whether the text is a number if commas separate decimals."""
    return re.fullmatch(PLAIN_COMMA_NUMBER, label.strip()) is not None


def iso_days(label: str, order: Dates) -> str:
    """Respell every day of a text as 2024-12-31. Days with points always begin with the day."""
    if order == "iso":
        return label

    def respelled(match: re.Match[str]) -> str:
        day, month = (match[1], match[3]) if order == "day_first" or match[2] == "." else (match[3], match[1])
        clock = "" if match[5] is None else f" {match[5]:0>2}"
        return f"{match[4]}-{month:0>2}-{day:0>2}{clock}"

    return _LOCAL_DAY.sub(respelled, label.strip())


def iso_sql(text: str, order: Dates) -> str:
    """Return SQL that respells a text that begins with a day, as `LOOSE_TIME`."""
    for separator in _SEPARATORS:
        between = "[.]" if separator == "." else separator
        parts = r"\3-\2-\1" if order == "day_first" or separator == "." else r"\3-\1-\2"
        pattern = f"^([0-9]{{1,2}}){between}([0-9]{{1,2}}){between}([0-9]{{4}})"
        text = f"regexp_replace({text}, '{pattern}', '{parts}')"
    return text


def possible_orders(label: str) -> frozenset[Dates]:
    """The orders in which the text is a day; none if it is not a day written so."""
    match = _WRITTEN_DAY.fullmatch(label.strip())
    if match is None:
        return frozenset()
    first, second = int(match[1]), int(match[3])
    orders: set[Dates] = set()
    if 1 <= first <= 31 and 1 <= second <= 12:
        orders.add("day_first")
    if 1 <= first <= 12 and 1 <= second <= 31 and match[2] != ".":
        orders.add("month_first")
    return frozenset(orders)
