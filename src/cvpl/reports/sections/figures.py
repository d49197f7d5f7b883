"""The figures of an audit: the main ones, at other false-positive rates, the paper's, and from the true matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
from cvpl.wording import UNKNOWN, percent, printable, span


@dataclass(frozen=True)
class Fact:
    """One figure: its name, its value, its interval (empty if there is none) and its meaning."""

    name: str
    value: str
    interval: str
    meaning: str


def facts(result: AuditResult) -> list[Fact]:
    """The known figures, the risk first."""
    found = []
    risk = result.risk
    if risk is not None and result.verdict.kind != "not_assessable":
        found.append(
            Fact(
                "risk", percent(risk.estimate, k=result.suppress_below), span(risk.low, risk.high), risk_meaning(result)
            )
        )
        if risk.power is not None and risk.false_rate is not None:
            power = result.power_at(risk.false_rate)
            ends = "" if power is None else span(power.low, power.high)
            meaning = f"originals linked when {risk.false_rate:.0%} of the control is linked"
            found.append(
                Fact(f"power at {risk.false_rate:.0%}", percent(risk.power, k=result.suppress_below), ends, meaning)
            )
    certain = result.certain
    if certain is not None and certain.false_rate is not None:
        meaning = f"when {certain.false_rate:.0%} of the control is linked, attacker '{printable(certain.attacker)}'"
        found.append(
            Fact(
                f"risk at {certain.false_rate:.0%}",
                percent(certain.estimate, k=result.suppress_below),
                span(certain.low, certain.high),
                meaning,
            )
        )
    best = result.best_candidate
    if best is not None:
        meaning = f"the best candidate is the right person, attacker '{printable(best.attacker)}'"
        found.append(
            Fact("top-1 hit rate", percent(best.estimate, k=result.suppress_below), span(best.low, best.high), meaning)
        )
    if result.at_risk is not None and result.at_risk.maximum.estimate is not None:
        most = result.at_risk.maximum
        least = "at least " if most.at_least else ""
        value = f"{least}{percent(most.estimate, k=result.suppress_below)}"
        meaning = "linked, look-alikes included"
        found.append(Fact("largest rate of a group", value, span(most.low, most.high), meaning))
    rate = result.linkage_rate
    if risk is None and rate.estimate is not None:
        meaning = "originals with a candidate, look-alikes included"
        found.append(
            Fact("linkage rate", percent(rate.estimate, k=result.suppress_below), span(rate.low, rate.high), meaning)
        )
    return found


def risk_meaning(result: AuditResult) -> str:
    """The meaning of the risk, and the share expected by chance."""
    risk = result.risk
    if risk is None:
        return ""
    if result.verdict.kind == "undetermined" and risk.basis == "control":
        return "not reliable: see the verdict"
    if risk.basis == "true_matches" or risk.false_rate is None:
        return "right best candidate, beyond a blind guess; there is no control"
    rate = f"{risk.false_rate:.0%}"
    return f"linked because of the release, beyond chance ({rate}): (power - {rate}) / {1 - risk.false_rate:.0%}"


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


def matches_section(result: AuditResult) -> ReportSection:
    """Precision and recall, and how many true pairs remain after each step."""
    heading, truth = "Figures from the true matches", result.truth
    if truth is None:
        return ReportSection("matches", heading)
    found = [
        Fact(
            "precision at 1",
            percent(truth.precision_at_1, k=result.suppress_below),
            "",
            "linked originals whose best candidate is right",
        ),
        Fact(
            "blocking recall",
            percent(truth.blocking_recall, k=result.suppress_below),
            "",
            "true pairs that share a block",
        ),
        Fact(
            "matching recall",
            percent(truth.matching_recall, k=result.suppress_below),
            "",
            "of these, pairs above the threshold",
        ),
        Fact("total recall", percent(truth.total_recall, k=result.suppress_below), "", "true pairs that are linked"),
        Fact(
            "false link rate",
            percent(truth.false_link_rate, k=result.suppress_below),
            "",
            "originals with a wrong candidate",
        ),
    ]
    # Without a threshold there are no links, only best candidates.
    known = [fact for fact in found if result.threshold is not None or fact.value != UNKNOWN]
    tables = (figures_table(heading, known),) if known else ()
    return ReportSection(
        "matches", heading, figures=(Figure(chart_of("funnel", result)),), tables=tables, outputs=SCREENS
    )


def similarities_section(result: AuditResult) -> ReportSection:
    """The evidence for links, and the similarities of matches and of wrong candidates."""
    known = result.truth is not None and result.truth.similarities is not None
    unknown = "Matches and wrong candidates cannot be distinguished: the true matches are not known."
    return ReportSection(
        "similarities",
        "Similarities",
        figures=(Figure(chart_of("evidence", result)), Figure(chart_of("similarities", result))),
        notes=() if known else (unknown,),
    )
