"""How figures and names are written out, wherever a person reads them."""

from __future__ import annotations

import math
from collections.abc import Mapping

UNKNOWN = "n/a"
"""Stands for a figure that does not apply or is not known."""
HIDDEN = "hidden"
"""Stands for a figure that is withheld to protect the people in a small group."""
NOT_RUN = "not run"
"""Stands for a figure that was not computed in this run."""
BELOW_ZERO = "below 0"
FIGURES: Mapping[str, str] = {
    "risk": "the risk",
    "attributable_rate": "the attributable rate at the threshold",
    "linkage_rate": "the linkage rate at the threshold",
    "power_at_1": "the power at a false rate of 1%",
    "power_at_5": "the power at a false rate of 5%",
    "power_at_10": "the power at a false rate of 10%",
    "top1_hit_rate": "the top-1 hit rate",
    "maximum_subgroup_rate": "the largest rate of a subgroup",
}
"""What each figure that a policy can bound is called in a sentence."""
_NOTHING = 1e-12
"""What rounding leaves where a share is 0 or 1; one record of all the people on earth is more."""


def percent(value: float | None, missing: str = UNKNOWN) -> str:
    """A share as a percentage with one decimal; `missing` where it is null.

    A share above nothing never reads 0.0%, and one below everything never reads 100.0%. A rate may be estimated below
    0; then it reads "below 0".
    """
    if value is None:
        return missing
    if value < -0.0005:
        return BELOW_ZERO
    if _NOTHING < value < 0.0005:
        return "<0.1%"
    if 0.9995 <= value < 1 - _NOTHING:
        return ">99.9%"
    return f"{_without_sign_of_zero(value * 100):.1f}%"


def signed_percent(value: float | None, missing: str = UNKNOWN) -> str:
    """A share that may rightly be negative, such as a column's part in a sum."""
    return missing if value is None else f"{_without_sign_of_zero(value * 100):.1f}%"


def count_in(estimate: float, low: float | None, high: float | None, who: str = "people") -> str:
    """A share as people in a hundred with its interval: "12 in 100 people (5 to 20)".

    The lower end is rounded down and the upper end up; a lower end above 0 never reads 0. Shares whose interval ends
    below 1% are counted in 1,000.
    """
    whole = _whole(estimate if high is None else high)
    ends = "" if low is None or high is None else f" ({_down(low, whole)} to {_up(high, whole)})"
    return f"{max(0, round(estimate * whole)):,} in {whole:,} {who}{ends}"


def share_in(value: float) -> str:
    """An upper end as people in a hundred, rounded up: "4 in 100"."""
    whole = _whole(value)
    return f"{_up(value, whole)} in {whole:,}"


def _whole(value: float) -> int:
    return 1_000 if value < 0.01 else 100


def _down(value: float, whole: int) -> str:
    count = max(0, math.floor(value * whole + _NOTHING))
    return f"{count:,}" if count or value <= _NOTHING else "<1"


def _up(value: float, whole: int) -> str:
    return f"{max(0, math.ceil(value * whole - 1e-9)):,}"


def span(low: float | None, high: float | None) -> str:
    """An interval as percentages; empty where it is not given."""
    return "" if low is None or high is None else f"{percent(low)} to {percent(high)}"


def points(difference: float | None) -> str:
    """The difference of two shares in percentage points, with its sign; "n/a" where it is null.

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
