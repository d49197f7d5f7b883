"""Formatting of figures and names for people.

"Power at 5%" is the true-positive rate at a 5% false-positive rate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal

UNKNOWN = "n/a"
"""Shown for a figure that does not apply or is unknown."""
HIDDEN = "hidden"
"""Shown for a figure that is withheld to protect the people in a small group."""
BELOW_ZERO = "below 0"
FIGURES: Mapping[str, str] = {
    "risk": "the risk",
    "attributable_rate": "the attributable rate at the threshold",
    "linkage_rate": "the linkage rate at the threshold",
    "power_at_1": "the power at a false-positive rate of 1%",
    "power_at_5": "the power at a false-positive rate of 5%",
    "power_at_10": "the power at a false-positive rate of 10%",
    "top1_hit_rate": "the top-1 hit rate",
    "maximum_subgroup_rate": "the largest rate of a subgroup",
    "singled_out_rate": "the singled-out rate",
    "inference_rate": "the inference rate",
    "k": "k, the size of the smallest class of the release,",
}
"""The phrase for each figure that a policy can bound."""
_NOTHING = 1e-12
"""Tolerance for rounding error around a share of 0 or 1; smaller than one person out of everyone on earth."""


def percent(value: float | None, missing: str = UNKNOWN, *, k: int = 1, of: str = "people") -> str:
    """Format a share as a percentage with one decimal, for a table or a card; `missing` where it is null.

    A share above 0 is never shown as 0.0%, and a share below 1 never as 100.0%. An estimated rate can be negative;
    it is shown as "below 0". A share of people that is rounded so that none tells of fewer than `k` of them is 0 for
    up to k - 1 people, and then shown as "<10 people"; `of` is the plural of what is counted, if not people. The end
    of an interval is a bound, and needs no `k`.
    """
    if value is None:
        return missing
    if k > 1 and abs(value) <= _NOTHING:
        return f"<{k} {of}"
    if value < -0.0005:
        return BELOW_ZERO
    if _NOTHING < value < 0.0005:
        return "<0.1%"
    if 0.9995 <= value < 1 - _NOTHING:
        return ">99.9%"
    return f"{_without_sign_of_zero(value * 100):.1f}%"


def share_words(value: float | None, missing: str = UNKNOWN, *, k: int = 1, of: str = "people") -> str:
    """Format a share as `percent` does, for a sentence: "fewer than 10 people" instead of "<10 people".

    `of` is empty if the sentence goes on with what is counted: "fewer than 10 of the originals".
    """
    if value is not None and k > 1 and abs(value) <= _NOTHING:
        return f"fewer than {k} {of}".rstrip()
    return percent(value, missing, k=k, of=of)


def signed_percent(value: float | None, missing: str = UNKNOWN) -> str:
    """Format a share that can be negative, such as a column's part in a sum."""
    return missing if value is None else f"{_without_sign_of_zero(value * 100):.1f}%"


def count_in(estimate: float, low: float | None, high: float | None, who: str = "people") -> str:
    """Format a share as people in a hundred with its interval: "12 in 100 people (5 to 20)".

    The lower end is rounded down and the upper end up; a lower end above 0 is never shown as 0. A lower end alone is
    "(5 or more)". Shares whose interval ends below 1% are counted in 1,000.
    """
    whole = _whole(estimate if high is None else high)
    ends = (
        ""
        if low is None
        else f" ({_round_down(low, whole)} {'or more' if high is None else f'to {_round_up(high, whole)}'})"
    )
    return f"{max(0, round(estimate * whole)):,} in {whole:,} {who}{ends}"


def share_in(value: float) -> str:
    """Format an upper end as people in a hundred, rounded up: "4 in 100"."""
    whole = _whole(value)
    return f"{_round_up(value, whole)} in {whole:,}"


def _whole(value: float) -> int:
    return 1_000 if value < 0.01 else 100


def _round_down(value: float, whole: int) -> str:
    count = max(0, math.floor(value * whole + _NOTHING))
    return f"{count:,}" if count or value <= _NOTHING else "<1"


def _round_up(value: float, whole: int) -> str:
    return f"{max(0, math.ceil(value * whole - 1e-9)):,}"


def span(low: float | None, high: float | None) -> str:
    """Format an interval as percentages; empty where it is not given."""
    return "" if low is None or high is None else f"{percent(low)} to {percent(high)}"


def bracketed_span(low: float | None, high: float | None) -> str:
    """An interval in brackets, with a space before it, to stand after its figure; empty where it is not given."""
    ends = span(low, high)
    return f" ({ends})" if ends else ""


def points(difference: float | None) -> str:
    """Format the difference of two shares in percentage points, with its sign; "n/a" where it is null.

    A difference too small for one decimal keeps its sign, so only equal shares are shown as 0.0.
    """
    if difference is None:
        return UNKNOWN
    if abs(difference) < _NOTHING:
        return "0.0"
    if abs(difference) < 0.0005:
        return "<+0.1" if difference > 0 else ">-0.1"
    return f"{difference * 100:+.1f}"


def count_phrase(count: int, noun: str, plural: str | None = None) -> str:
    """Format a count with its noun in the right number: "1 record", "2 records", "1,000 people"."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def people_in_words(count: int, k: int, noun: str = "person", plural: str | None = "people") -> str:
    """Format a published count, a multiple of k: "fewer than 10 people", "120 people or more"; exact if k is 1."""
    if k <= 1:
        return count_phrase(count, noun, plural)
    several = plural or f"{noun}s"
    return f"{count:,} {several} or more" if count else f"fewer than {k} {several}"


def count_in_words(count: float, k: int) -> str:
    """Format a published count for a table: "<10" for fewer than k; exact if k is 1."""
    return f"<{k}" if k > 1 and not count else f"{count:,.0f}"


def rounding_in_words(k: int) -> str:
    """The sentence that tells how the figures of a result are rounded."""
    if k <= 1:
        return "The figures are exact: they may tell about single people."
    return (
        f"Figures are rounded so that none tells of fewer than {k} people: 100% may be off by up to {k - 1} people, "
        f"and counts are rounded down to multiples of {k}."
    )


NEAR = 0.65
"""How alike two names must be, from 0 to 1, to take one for a misspelling of the other."""


def nearest_name(written: str, known: Iterable[str], at_least: float = NEAR) -> str | None:
    """The name of `known` that is most like `written`; None if none is near. The first of several equals wins."""
    names = list(dict.fromkeys(known))
    best = max(names, key=lambda name: likeness(written, name), default=None)
    return best if best is not None and likeness(written, best) >= at_least else None


def likeness(one: str, other: str) -> float:
    """How alike two names are, from 0 to 1; case, `-`, `_` and blanks do not count."""
    plain, target = _plain(one), _plain(other)
    return 1.0 if plain == target else SequenceMatcher(None, plain, target, autojunk=False).ratio()


def did_you_mean(written: str, known: Iterable[str]) -> str:
    """A question that names the nearest of `known`; empty if none is near."""
    near = nearest_name(written, known)
    return "" if near is None else f"Did you mean `{near}`?"


def unknown_names(what: str, unknown: Sequence[str], choices: Iterable[str], also: Iterable[str] = ()) -> str:
    """A sentence on names that do not exist, each with the nearest; `also` are other spellings of the choices."""
    names = list(choices)
    if not unknown:
        return f"no {what} is named; choose among {', '.join(names)}"
    known = [*names, *sorted(also)]
    nears = [(name, nearest_name(name, known)) for name in unknown]
    listed = ", ".join(f"'{name}'" + ("" if near is None else f" (did you mean '{near}'?)") for name, near in nears)
    return f"there is no {what} {listed}; choose among {', '.join(names)}"


def _plain(name: str) -> str:
    return re.sub(r"[-_\s]+", " ", name.casefold()).strip()


def places(first: int, last: int) -> str:
    """Format ranks: 1, or 2-3 for a tie."""
    return str(first) if first == last else f"{first}-{last}"


_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks that have no shape: Unicode's default-ignorable ones that Python calls printable, and a blank."""


def printable(text: str) -> str:
    r"""Return `text` with every sign escaped that would be obeyed or not be seen: `\u202e` for one that turns the text.

    These are control characters (escape codes, line breaks), signs that set the direction of text, and signs without a
    shape. Two texts that look alike are not made to look different: `а` may be Cyrillic.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape_sign(sign) if is_unseen(sign) else sign for sign in text)


def is_unseen(sign: str) -> bool:
    """Whether a sign is no part of a text that a reader sees: it is obeyed, or has no shape."""
    return not sign.isprintable() or _UNSEEN.match(sign) is not None


def _escape_sign(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


CODE = "\x02", "\x03"
"""Marks around text to type; `printable` removes them from names."""
NAME = "\x0e", "\x0f"
"""Marks around a name from the data, which some outputs show as code so that markup in it has no effect."""
_MARKED = re.compile("\x02(.*?)\x03|\x0e(.*?)\x0f", re.DOTALL)


def mark_typed(words: str) -> str:
    """Mark text that the user would type, so that each output can style it."""
    return f"{CODE[0]}{words}{CODE[1]}"


def mark_name(words: str) -> str:
    """Return a name from the data in printable form, marked so that each output can style it."""
    return f"{NAME[0]}{printable(words)}{NAME[1]}"


def marked_parts(words: str) -> list[tuple[Literal["plain", "typed", "name"], str]]:
    """Split a text at its marks into printable parts with their kinds; empty parts are left out."""
    found: list[tuple[Literal["plain", "typed", "name"], str]] = []
    end = 0
    for mark in _MARKED.finditer(words):
        found += [("plain", words[end : mark.start()]), ("name", mark[2]) if mark[1] is None else ("typed", mark[1])]
        end = mark.end()
    found.append(("plain", words[end:]))
    return [(kind, printable(part)) for kind, part in found if part]


def sentence(text: str) -> str:
    """Return `text` with a capital letter and a full stop."""
    return with_full_stop(f"{text[:1].upper()}{text[1:]}")


def with_full_stop(text: str) -> str:
    """Return `text` with a full stop unless it has one; keep the first letter, which may belong to a file name."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _without_sign_of_zero(value: float) -> float:
    return 0.0 if abs(value) < 0.05 else value
