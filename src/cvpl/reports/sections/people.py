"""Who is at risk: rates by group, small numbers hidden."""

from __future__ import annotations

from cvpl.reports.sections.section import SCREENS, Column, Figure, Remark, Section, Table, chart_of
from cvpl.result import AtRisk, AuditResult, GroupRates
from cvpl.result.people import (
    attributable_words,
    control_words,
    interval_words,
    linked_words,
    maximum_attributable_words,
    where,
)
from cvpl.wording import named, percent, printable, span

_WIDE = 90
"""From this width of a terminal on intervals are shown."""


def people_section(result: AuditResult) -> Section:
    """The maximum beside the average, then a table for every grouping."""
    heading, found = "Who is at risk", result.at_risk
    if found is None:
        nobody = "Nobody can be called linked or not, so there are no rates by group."
        return Section("people", heading, sentences=(Remark(nobody),))
    pooled = f"Groups and numbers below {found.suppress_below} are pooled or hidden, also against subtraction."
    return Section(
        "people",
        heading,
        sentences=(Remark(_most(found)),),
        figures=(Figure(chart_of("at_risk", result), tabled=True),),
        tables=tuple(_table(grouping, found) for grouping in found.tables),
        notes=(pooled,),
        outputs=SCREENS,
    )


def _most(found: AtRisk) -> str:
    most = found.maximum
    if most.estimate is None:
        return (
            f"All rates of groups are hidden: they would say too much about fewer than {found.suppress_below} people. "
            f"On average {percent(found.average)} are linked, so in some group at least as many."
        )
    ends = span(most.low, most.high)
    rate = f"{percent(most.estimate)} ({ends})" if ends else percent(most.estimate)
    least = "at least " if most.at_least else ""
    line = f"Most: {least}{rate}, {where(most)}; on average {percent(found.average)}."
    return f"{line} {maximum_attributable_words(found)}".rstrip()


def _table(grouping: GroupRates, found: AtRisk) -> Table:
    name = printable(grouping.name)
    columns = (
        Column(name, "left"),
        Column("originals"),
        Column("linked"),
        Column("95% interval", least_width=_WIDE),
        Column("control"),
        Column("attributable"),
    )
    rows = tuple(
        (
            f"{row.groups} small groups" if row.label is None else named(row.label),
            f"{row.records:,}",
            linked_words(row),
            interval_words(row),
            control_words(row, found),
            attributable_words(row, found),
        )
        for row in grouping.rows
    )
    return Table(f"Rates by {name}", columns, rows)
