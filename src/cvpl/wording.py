"""How figures and names are written out, wherever a person reads them."""

from __future__ import annotations

UNKNOWN = "-"
_NOTHING = 1e-12
"""What rounding leaves where a share is 0 or 1; one record of all the people on earth is more."""


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal; a dash where it is not known.

    A share above nothing never reads 0.0%, and one below everything never reads 100.0%.
    """
    if value is None:
        return UNKNOWN
    if _NOTHING < value < 0.0005:
        return "<0.1%"
    if 0.9995 <= value < 1 - _NOTHING:
        return ">99.9%"
    return f"{_without_sign_of_zero(value * 100):.1f}%"


def span(low: float | None, high: float | None) -> str:
    """An interval as percentages; empty where it is not given."""
    return "" if low is None or high is None else f"{percent(low)} to {percent(high)}"


def points(difference: float | None) -> str:
    """The difference of two shares in percentage points, with its sign; a dash where it is not known.

    A difference too small for one decimal keeps its sign, so that only equal shares read 0.0.
    """
    if difference is None:
        return UNKNOWN
    if abs(difference) < _NOTHING:
        return "0.0"
    if abs(difference) < 0.0005:
        return "<+0.1" if difference > 0 else ">-0.1"
    return f"{difference * 100:+.1f}"


def places(first: int, last: int) -> str:
    """Places in an order: 1, or 2-3 where they are tied."""
    return str(first) if first == last else f"{first}-{last}"


def printable(text: str) -> str:
    """`text` with whatever a terminal would obey instead of show (escape codes, line breaks) spelled out."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


CODE = "\x02", "\x03"
"""What stands around words to be typed; `printable` lets no name hold them."""


def typed(words: str) -> str:
    """Words that a person would type, marked as such for whoever shows them."""
    return f"{CODE[0]}{words}{CODE[1]}"


def sentence(text: str) -> str:
    """`text` with a capital letter and a full stop."""
    return stopped(f"{text[:1].upper()}{text[1:]}")


def stopped(text: str) -> str:
    """`text` with a full stop, unless it ends already; the first letter stays, as that of a file's name must."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _without_sign_of_zero(value: float) -> float:
    return 0.0 if abs(value) < 0.05 else value
