"""How often a link is right, given how many people of a population are in the table."""

from __future__ import annotations

from pydantic import Field

from cvpl.result.marks import Number, Whole
from cvpl.result.section import Section


class Precision(Section):
    """Of the people that the headline attacker links at a false-positive rate, the share that is in the table.

    n power / (n power + (N - n) α), from the published power and its interval; null if nobody is linked, and the ends
    also if the power has no interval.
    """

    false_rate: Number
    precision: Number | None
    low: Number | None = None
    high: Number | None = None


class Population(Section):
    """The population that the people of the table are part of.

    `size` is N, `people` is n, the number of originals, and `share` is n / N: the precision of an attacker who guesses.
    `precision` is empty without a control or complete true matches.
    """

    size: Whole
    people: Whole
    share: Number
    precision: list[Precision] = Field(default_factory=list)
