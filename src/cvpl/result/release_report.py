"""What reports on a release contain beside its risk: techniques by column, the tail, recipients."""

from __future__ import annotations

from typing import Annotated

from cvpl.result.marks import Number, People, Share
from cvpl.result.section import Section
from cvpl.result.verdict import Risk

_OfCompared = Annotated[float, Share("compared")]
_OfPeople = Annotated[float, Share("people", ends="")]


class ColumnTechnique(Section):
    """What was done to a column, as far as the tables show it.

    `techniques` has `kept`, `generalized`, `suppressed`, `perturbed` and `swapped or synthetic`, the most frequent
    first. `told` is false if the rest cannot be told: without true matches only ranges, groups and missing values are
    seen. The shares are those of `compared` values of people with a known match; null without them.
    """

    column: str
    role: str
    techniques: list[str]
    told: bool
    compared: People = 0
    kept: _OfCompared | None = None
    generalized: _OfCompared | None = None
    suppressed: _OfCompared | None = None
    changed: _OfCompared | None = None


class TailShare(Section):
    """The rarest `share` of the originals: how many of these `people` are linked, look-alikes included.

    `right` is how often the best candidate is the right person. Rarity is settled before the attack. 1 is everybody.
    """

    share: Number
    people: People
    linked: _OfPeople
    low: Annotated[float, Share("people", "low")]
    high: Annotated[float, Share("people", "high")]
    right: Annotated[float, Share("people")] | None = None


class Recipient(Section):
    """A recipient of the release, the columns it holds, and the risk of one attacker who knows them.

    `risk` is null if it was not measured; `reason` then says why.
    """

    name: str
    columns: list[str]
    risk: Risk | None = None
    reason: str | None = None
