"""Numbers with a decimal comma and days such as 31/12/2024, respelled as 1234.5 and 2024-12-31.

    1.234,5   3,14   [1,5; 2,5[   1,5-2,5   {1,5; 2,5}     with `reading.decimal: ","`
    31/12/2024   31.12.2024   1/5/2024 9:05                with `reading.dates: day_first`
    12/31/2024   12-31-2024                                with `reading.dates: month_first`

Each rule exists twice: for one text in Python (generalized values too), and for a whole column of plain values in SQL.
"""

from __future__ import annotations

import re
from typing import Literal

Decimal = Literal[".", ","]
Dates = Literal["iso", "day_first", "month_first"]

_WHOLE = r"(?:[1-9][0-9]{0,2}(?:\.[0-9]{3})+|[0-9]+)"
_NUMBER = re.compile(rf"({_WHOLE})(?:,([0-9]+))?")
_DIGITS = re.compile(r"[0-9][0-9.]*(?:,[0-9]+)*")
_ONE_IN_BRACKETS = re.compile(r"[\[({]\s*[0-9.]+,[0-9]+\s*[\])}]")
PLAIN_COMMA_NUMBER = rf"[+-]?({_WHOLE}(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?"
"""A number with a decimal comma and perhaps points between thousands; a pattern for Python and SQL."""

_SEPARATORS = ("/", ".", "-")
_DAY = re.compile(
    r"(?<![0-9.,/-])([0-9]{1,2})([/.-])([0-9]{1,2})\2([0-9]{4})(?![0-9])(?:[ T]([0-9]{1,2})(?=:[0-9]{2}))?"
)
_CLOCK = r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?"
_WRITTEN_DAY = re.compile(rf"([0-9]{{1,2}})([/.-])([0-9]{{1,2}})\2[0-9]{{4}}{_CLOCK}")
LOOSE_DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
LOOSE_TIME = rf"{LOOSE_DAY}([ T][0-9]{{1,2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?Z?)?"
"""A time whose month, day and hour may have one digit, as `iso_sql` leaves it."""


def with_point(label: str) -> str | None:
    """Respell the numbers of a text with decimal points, or return None if a comma or a point has no clear meaning.

    "3.14" and "0.123" are not numbers with a decimal comma; "[17,25]" and "1,2,3" could be one number or several.
    """
    text = label.strip()
    if _ONE_IN_BRACKETS.fullmatch(text):
        return None
    found = [_NUMBER.fullmatch(digits) for digits in _DIGITS.findall(text)]
    if not all(found):
        return None
    text = _DIGITS.sub(lambda match: _pointed(match[0]), text)
    text = re.sub(r"(?<![0-9]),(?=[0-9])|(?<=[0-9]),(?=\*)", ".", text)
    return text.replace(";", ",") if text.startswith("{") else text


def _pointed(digits: str) -> str:
    match = _NUMBER.fullmatch(digits)
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

    return _DAY.sub(respelled, label.strip())


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
