"""Who is at risk: rates by group, with small numbers hidden."""

from __future__ import annotations

from cvpl.evaluation.groups.subgroups import BY_RARITY
from cvpl.reports.sections.section import (
    SCREENS,
    TERMINAL,
    Column,
    Figure,
    Remark,
    ReportSection,
    ReportTable,
    chart_of,
    table_of,
)
from cvpl.result import AtRisk, AuditResult, GroupRates
from cvpl.result.figures import (
    LOOK_ALIKES,
    attributable_words,
    control_words,
    interval_words,
    linked_words,
    maximum_attributable_words,
    stands_out,
    where,
)
from cvpl.wording import bracketed_span, counted, in_words, named, printable

_WIDE = 90
"""Terminals at least this wide show intervals."""


def people_section(result: AuditResult) -> ReportSection:
    """The maximum and the average, then one table per grouping."""
    heading, found = "Who is at risk", result.at_risk
    if found is None:
        unknown = "It is not known who is linked, so there are no rates by group."
        return ReportSection("people", heading, sentences=(Remark(unknown),))
    pooled = (
        f"Groups and numbers below {found.suppress_below} are pooled or hidden, so that subtraction cannot reveal them."
    )
    return ReportSection(
        "people",
        heading,
        sentences=tuple(Remark(line) for line in _leads(result, found)),
        figures=(
            Figure(chart_of("rarity", result)),
            *(Figure(chart_of("at_risk", result, table.name)) for table in found.tables if table.name != BY_RARITY),
        ),
        tables=tuple(_table(grouping, found) for grouping in found.tables),
        notes=(pooled,),
        outputs=SCREENS,
    )


def _leads(result: AuditResult, found: AtRisk) -> list[str]:
    """What the rates cannot say, if anything, then the largest rate."""
    if result.control is None:
        unknown = f"Not measured: without a control, {LOOK_ALIKES}. The rates below count both."
        return [unknown, _most(found)]
    counts = result.verdict.kind not in ("not_assessable", "indistinguishable_from_zero")
    beyond = maximum_attributable_words(found) if counts else ""
    none_stands_out = (
        [] if stands_out(found) else ["No group stands out: the interval of the highest includes the average."]
    )
    return [*none_stands_out, f"{_most(found)} {beyond}".rstrip()]


def _most(found: AtRisk) -> str:
    most = found.maximum
    if most.estimate is None:
        return (
            f"All group rates are hidden: they would reveal too much about fewer than {found.suppress_below} people. "
            f"On average {in_words(found.average, k=found.suppress_below)} are linked, so at least as many are linked "
            "in some group."
        )
    rate = in_words(most.estimate, k=found.suppress_below) + bracketed_span(most.low, most.high)
    least = "at least " if most.at_least else ""
    return f"Highest: {least}{rate}, {where(most)}; average: {in_words(found.average, k=found.suppress_below)}."


def _table(grouping: GroupRates, found: AtRisk) -> ReportTable:
    name = printable(grouping.name)
    return table_of(
        f"Rates by {name}",
        grouping.rows,
        (
            Column(
                name,
                lambda row: counted(row.groups, "small group") if row.label is None else named(row.label),
                "left",
            ),
            Column("originals", lambda row: f"{row.records:,}"),
            Column("linked", lambda row: linked_words(row, found)),
            Column("95% interval", interval_words, least_width=_WIDE),
            Column("control", lambda row: control_words(row, found)),
            Column("attributable", lambda row: attributable_words(row, found)),
        ),
        outputs=TERMINAL,
    )
