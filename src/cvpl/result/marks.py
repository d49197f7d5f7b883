"""What a number in a result is: a share of people, a count of people, a statistic, or something stated.

Every number of a result has a mark. It decides how the number is rounded before it leaves (`result/published.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

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
