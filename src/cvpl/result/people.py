"""Who is at risk."""

from __future__ import annotations

from cvpl.result.section import Section
from cvpl.wording import percent, printable, span

HIDDEN = "hidden"
"""In place of a value that is there, and that would tell of few people."""
NOT_APPLICABLE = "n/a"
"""In place of a value that there is not: a group's control where there is no control."""
_NOTHING = 1e-12


class GroupRate(Section):
    """One group's rates. `label` is null where `groups` groups are pooled because they are small.

    `linked` is null where it is hidden: too few are linked, or too few are not, or it would give away another row. Then
    `at_least` and `at_most` are a range that holds it where both are given, and a bound where one is; where neither is,
    nothing may be told. `low` is the lower interval end of `linked` or `at_least`, `high` the upper one of `linked` or
    `at_most`.
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
    """The largest rate over all groups, with the interval of the group that `table` and `label` name.

    `at_least` says that the estimate is a lower bound only: a hidden group may have more. Then `high` is the largest
    upper end over the groups that may have the largest rate. Where all known rates are below the average, the estimate
    is the average, and no group is named.
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
    """Who is at risk: the average, the maximum beside it, and the rates by group; small numbers are hidden.

    `maximum_attributable` is the largest `attributable` of a row. `controlled` says whether groups have a control: if
    so, a `control` that is null is hidden; results of earlier versions do not say.
    """

    average: float
    maximum: MaximumRate
    maximum_attributable: float | None
    controlled: bool = False
    suppress_below: int
    tables: list[GroupRates]


def where(most: MaximumRate) -> str:
    """The group with the largest rate, in words."""
    if most.table is None:
        return "in a group that is hidden"
    return f"{printable(most.table)}: {printable(most.label or 'small groups together')}"


def linked_words(row: GroupRate) -> str:
    """A group's share linked: the share, the range or bound in its place, or that it is hidden."""
    if row.linked is not None:
        return percent(row.linked)
    if row.at_least is not None and row.at_most is not None:
        return span(row.at_least, row.at_most)
    if row.at_most is not None:
        return f"at most {percent(row.at_most)}"
    return HIDDEN if row.at_least is None else f"at least {percent(row.at_least)}"


def interval_words(row: GroupRate) -> str:
    """The interval of a group's share; for a bound up to 0% or 100%, and hidden where nothing is known."""
    if row.low is None and row.high is None:
        return HIDDEN
    return span(0.0 if row.low is None else row.low, 1.0 if row.high is None else row.high)


def control_words(row: GroupRate, found: AtRisk) -> str:
    """The share of a group's controls that is linked."""
    return _without(found) if row.control is None else percent(row.control)


def attributable_words(row: GroupRate, found: AtRisk) -> str:
    """A group's attributable rate; below 0, which is chance, without a number."""
    return _without(found) if row.attributable is None else _not_negative(row.attributable)


def maximum_attributable_words(found: AtRisk) -> str:
    """A sentence on the largest attributable rate; empty where no row has one.

    It is a lower bound where a row without one may have more. With p the largest share that such a row may have and c
    its control, that is (p - c) / (1 - c), and p where c is hidden.
    """
    most = found.maximum_attributable
    if most is None:
        return ""
    larger = any(_most_attributable(row) > most + _NOTHING for table in found.tables for row in table.rows)
    if most < -_NOTHING:
        return f"Beyond look-alikes: nothing in any group{' that is shown' if larger else ''}."
    return f"Beyond look-alikes: {'at least ' if larger else ''}{percent(most)} of a group."


def _most_attributable(row: GroupRate) -> float:
    if row.attributable is not None:
        return row.attributable
    share = row.linked if row.linked is not None else 1.0 if row.at_most is None else row.at_most
    base = row.control or 0.0
    return share if base >= 1 else (share - base) / (1 - base)


def _not_negative(rate: float) -> str:
    return "below 0" if rate < -_NOTHING else percent(rate)


def _without(found: AtRisk) -> str:
    """Why a row has no control: results of earlier versions say by the other rows whether there is one."""
    known = found.controlled or any(row.control is not None for table in found.tables for row in table.rows)
    return HIDDEN if known else NOT_APPLICABLE
