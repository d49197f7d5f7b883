"""Who is at risk: rates by group, with small numbers hidden."""

from __future__ import annotations

from cvpl.estimates import beyond_chance
from cvpl.result.marks import Number, Whole
from cvpl.result.section import Section
from cvpl.wording import percent, printable, span

HIDDEN = "hidden"
"""Shown instead of a value that would reveal too much about a few people."""
NOT_APPLICABLE = "n/a"
"""Shown instead of a value that does not exist, such as a group's control rate without a control."""
LOOK_ALIKES = "look-alikes cannot be told from links"
"""Why no group is named without a control: a share linked counts both."""
_NOTHING = 1e-12


class GroupRate(Section):
    """One group's rates. `label` is null if `groups` small groups are pooled.

    `linked` is null if it is hidden: too few people are linked, too few are not, or it would reveal another row. Then
    `at_least` and `at_most` give a range if both are set, and a bound if one is; if neither is set, nothing can be
    published. `low` is the lower interval end of `linked` or `at_least`, `high` the upper one of `linked` or `at_most`.
    """

    label: str | None
    groups: Whole
    records: Whole
    linked: Number | None
    at_most: Number | None
    at_least: Number | None
    low: Number | None
    high: Number | None
    control: Number | None
    attributable: Number | None


class GroupRates(Section):
    """The groups of one column, or the deciles of people by rarity."""

    name: str
    rows: list[GroupRate]


class MaximumRate(Section):
    """The largest rate over all groups, with the interval of the group named by `table` and `label`.

    `at_least` is true if the estimate is only a lower bound, because a hidden group may have a larger rate. Then `high`
    is the largest upper end over the groups that may have the largest rate. If all known rates are below the average,
    the estimate is the average and no group is named.
    """

    estimate: Number | None
    low: Number | None
    high: Number | None
    table: str | None
    label: str | None
    rows: Whole
    untold: Whole
    at_least: bool = False


class AtRisk(Section):
    """Who is at risk: the average, the maximum, and the rates by group; small numbers are hidden.

    `maximum_attributable` is the largest `attributable` of a row. `controlled` is true if groups have a control: a null
    `control` is then hidden. Results of earlier versions do not have this field.
    """

    average: Number
    maximum: MaximumRate
    maximum_attributable: Number | None
    controlled: bool = False
    suppress_below: Whole
    tables: list[GroupRates]


def stands_out(found: AtRisk) -> bool:
    """Whether the group that is linked most differs from everybody beyond error: its interval excludes the average.

    True without an interval: then nothing shows that the difference is an error.
    """
    most = found.maximum
    return most.low is None or most.high is None or not most.low <= found.average <= most.high


def where(most: MaximumRate) -> str:
    """The name of the group with the largest rate."""
    if most.table is None:
        return "in a hidden group"
    return f"{printable(most.table)}: {printable(most.label or 'small groups together')}"


def linked_words(row: GroupRate, found: AtRisk) -> str:
    """A group's linked share: the share, a range or bound, or "hidden"."""
    if row.linked is not None:
        return percent(row.linked, k=found.suppress_below)
    if row.at_least is not None and row.at_most is not None:
        return span(row.at_least, row.at_most)
    if row.at_most is not None:
        return f"at most {percent(row.at_most)}"
    return HIDDEN if row.at_least is None else f"at least {percent(row.at_least)}"


def interval_words(row: GroupRate) -> str:
    """The interval of a group's linked share; a one-sided bound extends to 0% or 100%, an unknown one is "hidden"."""
    if row.low is None and row.high is None:
        return HIDDEN
    return span(0.0 if row.low is None else row.low, 1.0 if row.high is None else row.high)


def control_words(row: GroupRate, found: AtRisk) -> str:
    """The linked share of a group's controls."""
    return _without(found) if row.control is None else percent(row.control, k=found.suppress_below)


def attributable_words(row: GroupRate, found: AtRisk) -> str:
    """A group's attributable rate; a negative rate, which is due to chance, is shown as "below 0"."""
    return _without(found) if row.attributable is None else _not_negative(row.attributable, found.suppress_below)


def maximum_attributable_words(found: AtRisk) -> str:
    """A sentence on the largest attributable rate; empty if no row has one.

    It is a lower bound if a row without a rate may have a larger one. Such a row has at most (p - c) / (1 - c), where p
    is its largest possible share and c its control rate, or p if c is hidden.
    """
    most = found.maximum_attributable
    if most is None:
        return ""
    larger = any(_most_attributable(row) > most + _NOTHING for table in found.tables for row in table.rows)
    if most < -_NOTHING:
        return f"In no {'published ' if larger else ''}group are people linked beyond look-alikes."
    if larger:
        return f"In at least one group, {percent(most)} of the people or more are linked beyond look-alikes."
    return f"The highest share of a group that is linked beyond look-alikes is {percent(most)}."


def _most_attributable(row: GroupRate) -> float:
    if row.attributable is not None:
        return row.attributable
    share = row.linked if row.linked is not None else 1.0 if row.at_most is None else row.at_most
    base = row.control or 0.0
    return share if base >= 1 else beyond_chance(share, base)


def _not_negative(rate: float, k: int) -> str:
    return "below 0" if rate < -_NOTHING else percent(rate, k=k)


def _without(found: AtRisk) -> str:
    """Why a row has no control rate; for results of earlier versions, inferred from the other rows."""
    known = found.controlled or any(row.control is not None for table in found.tables for row in table.rows)
    return HIDDEN if known else NOT_APPLICABLE
