"""Who is at risk."""

from __future__ import annotations

from cvpl.result.section import Section
from cvpl.wording import printable


class GroupRate(Section):
    """One group's rates. `label` is null where `groups` groups are pooled because they are small.

    `linked` is null where too few are linked, or too few are not; `at_most` or `at_least` then bounds it.
    """

    label: str | None
    groups: int
    records: int
    linked: float | None
    at_most: float | None
    at_least: float | None
    low: float | None
    high: float | None
    control: float | None
    attributable: float | None


class GroupRates(Section):
    """The groups of one column, or the tenths of the people by how rare they are."""

    name: str
    rows: list[GroupRate]


class MaximumRate(Section):
    """The largest rate over all groups; its interval allows for having looked at all of them.

    With `at_least` it is no less than this: a group of which nothing may be told can have more.
    """

    estimate: float | None
    low: float | None
    high: float | None
    table: str | None
    label: str | None
    rows: int
    untold: int
    at_least: bool = False


class AtRisk(Section):
    """Who is at risk: the average, the maximum beside it, and the rates by group; small numbers are hidden."""

    average: float
    maximum: MaximumRate
    maximum_attributable: float | None
    suppress_below: int
    tables: list[GroupRates]


def where(most: MaximumRate) -> str:
    """The group with the largest rate, in words."""
    if most.table is None:
        return "in a group of which nothing more may be told"
    return f"{printable(most.table)}: {printable(most.label or 'small groups together')}"
