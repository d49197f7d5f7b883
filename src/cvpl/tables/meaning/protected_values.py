"""The formats in which protection tools write a value that is no longer exact.

    30-39   [30, 40)   [30, 40[   ]30, 40]   [30-39]   [80, inf)   >=80   80+   <20   123**   {31, 35}    numbers
    40 to 49   65 and over   under 20                                              numbers, in words (`ranges_in_words`)
    123xx                                                                          as 123**
    17,25                                                                          a pair of ends, in a release only
    *  ***  NA  NULL  (null)                                                       suppressed, any type

A number is read as the closed range of the values it allows; times are in `protected_times`. Each function takes one
distinct text, so a label is parsed once for all its rows, and returns None for a text that it cannot read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container
from dataclasses import dataclass

from cvpl.tables.meaning.protected_times import Span, read_time
from cvpl.tables.meaning.ranges_in_words import in_signs

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
    text = in_signs(text) or text
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
        return _hidden(match[1], match[2], stars) if whole or stars == 1 else None
    if match := _MASKED_DECIMALS.fullmatch(text):
        return _hidden(match[1], match[2] + match[3], -len(match[3]))
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


def _hidden(sign: str, digits: str, stars: int) -> Range | None:
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
