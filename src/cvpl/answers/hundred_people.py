"""A figure as a hundred people: who is linked, who only looks alike, and who is neither."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Literal

from cvpl.answers.headline import Headline

Kind = Literal["linked", "look-alike", "neither"]
_NOTHING = 1e-9


@dataclass(frozen=True)
class Square:
    """One person in a hundred; `uncertain` is true if the interval leaves open whether this one is linked."""

    kind: Kind
    uncertain: bool


def hundred_people(found: Headline) -> list[Square]:
    """A hundred squares, from the first linked to the last who is neither.

    Square i (from 0) is linked if i < round(100 r), a look-alike if i < round(100 p), and neither otherwise, where r is
    the figure and p the share linked with look-alikes included. It is within the interval if
    floor(100 low) <= i < ceil(100 high). A figure whose interval lies above 0 has at least one linked square.
    """
    linked = max(1 if found.low > _NOTHING else 0, round(100 * found.estimate))
    alike = max(linked, linked if found.linked is None else round(100 * found.linked))
    low, high = floor(100 * max(0.0, found.low) + _NOTHING), ceil(100 * max(0.0, found.high) - _NOTHING)
    return [
        Square("linked" if at < linked else "look-alike" if at < alike else "neither", low <= at < high)
        for at in range(100)
    ]
