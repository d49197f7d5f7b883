"""The figures of an audit: those behind the verdict, at other false-positive rates, and the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from cvpl.reports.sections.facts import Fact, facts
from cvpl.reports.sections.section import (
    EVERYWHERE,
    SCREENS,
    Column,
    Figure,
    ReportSection,
    ReportTable,
    chart_of,
    table_of,
)
from cvpl.result import AuditResult
from cvpl.wording import UNKNOWN, percent, span

_COLUMNS: tuple[Column[Fact], ...] = (
    Column("figure", lambda fact: fact.name, "left"),
    Column("value", lambda fact: fact.value),
    Column("95% interval", lambda fact: fact.interval),
    Column("meaning", lambda fact: fact.meaning, "left"),
)


def figures_section(result: AuditResult) -> ReportSection:
    """The figures behind the verdict."""
    table = figures_table("Figures", facts(result))
    return ReportSection("figures", "The figures behind the verdict", tables=(table,), outputs=EVERYWHERE)


def false_rates_section(result: AuditResult) -> ReportSection:
    """The power at every false-positive rate except that of the risk; with a control the membership tells it."""
    if result.membership is not None:
        return ReportSection("false_rates")
    linked = "of the control is linked"
    if result.attributable_rate is not None and result.attributable_rate.basis == "own_match_left_out":
        linked = "find a wrong person"
    first = None if result.risk is None else result.risk.false_rate
    found = [
        Fact(
            f"power at {power.false_rate:.0%}",
            UNKNOWN if power.low is None else percent(power.power, k=result.suppress_below),
            span(power.low, power.high),
            f"originals linked when {power.false_rate:.0%} {linked}"
            + ("; too few people to measure" if power.low is None else ""),
        )
        for power in result.power or []
        if power.false_rate != first
    ]
    return _figures("false_rates", "At other false-positive rates", found)


def roc_section(result: AuditResult) -> ReportSection:
    """Power over the false-positive rate."""
    return ReportSection(
        "roc",
        "Power over the false-positive rate (ROC)",
        figures=(Figure(chart_of("roc", result)),),
        without_figure="There is no ROC curve: without a control or true matches, no false-positive rate is known.",
    )


def paper_section(result: AuditResult) -> ReportSection:
    """The paper's figures: rates at the threshold, or at a false-positive rate of 5% if the score has no threshold."""
    where = "a false-positive rate of 5%" if result.threshold is None else f"threshold {result.threshold:.4g}"
    rate, control, attributable = result.linkage_rate, result.control, result.attributable_rate
    what = "originals with a candidate" + (" (a lower bound)" if result.lower_bound else "")
    found = [Fact("linkage rate", percent(rate.estimate, k=result.suppress_below), span(rate.low, rate.high), what)]
    if control is not None:
        ends = span(control.low, control.high)
        found.append(
            Fact(
                "control rate",
                percent(control.rate, k=result.suppress_below),
                ends,
                "the same for people who are not in the release",
            )
        )
    if attributable is not None:
        basis = "" if attributable.basis == "control" else ", own match left out"
        ends = span(attributable.low, attributable.high)
        what = f"linked beyond look-alikes{basis}"
        found.append(Fact("attributable rate", percent(attributable.estimate, k=result.suppress_below), ends, what))
    return _figures("paper", f"The figures of the CVPL paper, at {where}", found)


def thresholds_section(result: AuditResult) -> ReportSection:
    """The linkage rate over all thresholds, with the worst case and the mean."""
    section = ReportSection(
        "thresholds",
        "The linkage rate over all thresholds",
        figures=(Figure(chart_of("risk_curve", result)),),
        without_figure="There is no curve: without a threshold, a control or true matches, no rate can be computed.",
    )
    if result.risk_curve and result.risk_curve[0].threshold is None:
        # Without a threshold the rates are those of the ROC curve.
        return ReportSection("thresholds")
    if result.worst_case_risk is None or not result.risk_curve:
        return section
    ends = [point.threshold for point in (result.risk_curve[0], result.risk_curve[-1])]
    lowest, highest = (f"{end:.4g}" for end in ends if end is not None)
    found = [
        Fact(
            f"rate at {lowest}",
            percent(result.worst_case_risk, k=result.suppress_below),
            "",
            "the lowest threshold: worst case",
        ),
        Fact(
            "mean rate",
            percent(result.integrated_risk, k=result.suppress_below),
            "",
            f"integrated from {lowest} to {highest}",
        ),
    ]
    return replace(section, tables=(figures_table("The linkage rate over all thresholds", found),), outputs=SCREENS)


def _figures(anchor: str, heading: str, found: Sequence[Fact]) -> ReportSection:
    return ReportSection(anchor, heading, tables=(figures_table(heading, found),) if found else (), outputs=SCREENS)


def figures_table(label: str, found: Sequence[Fact], style: Literal["figures", "cards"] = "figures") -> ReportTable:
    """A table of figures with their intervals and meanings."""
    return table_of(label, found, _COLUMNS, style=style)
