"""The attackers side by side, and the linkage rate under progressively looser blocking."""

from __future__ import annotations

from cvpl.reports.sections.section import (
    PAGE,
    REPORTS,
    SCREENS,
    Column,
    Figure,
    Item,
    Output,
    Remark,
    ReportSection,
    chart_of,
    table_of,
)
from cvpl.result import AttackerRow, AuditResult
from cvpl.result.figures import NEAR_ZERO, near_zero
from cvpl.wording import UNKNOWN, named, percent, points, printable, sentence, span

_WIDE = 90
"""Terminals at least this wide show the interval beside the risk."""


def attackers_section(result: AuditResult) -> ReportSection:
    """One row per attacker, the strongest first; * marks the headline attacker, x those that do not count."""
    several = len(result.attackers) > 1
    k = result.suppress_below
    columns: tuple[Column[AttackerRow], ...] = (
        Column("attacker", lambda row: f"{_mark(row, result)} {named(row.name)}", "left"),
        Column("risk", lambda row: percent(None if row.risk is None else row.risk.estimate, k=k)),
        Column(
            "95% interval",
            lambda row: "" if row.risk is None else span(row.risk.low, row.risk.high),
            least_width=_WIDE,
        ),
        Column("linked", lambda row: percent(row.linkage_rate.estimate, k=k)),
        Column("control", lambda row: percent(row.control_rate, k=k)),
        Column(
            "attributable",
            lambda row: percent(None if row.attributable_rate is None else row.attributable_rate.estimate, k=k),
        ),
        Column("top-1", lambda row: percent(row.top1_hit_rate, k=k)),
    )
    return ReportSection(
        "attackers",
        "The attackers",
        sentences=(Remark(_summary(result)),),
        figures=(Figure(chart_of("attackers", result), tabled=True),),
        without_figure=_near_zero(result),
        tables=(table_of("The attackers", sorted(result.attackers, key=_order), columns),),
        tables_open=True,
        items=tuple(Item(line) for line in _not_counted(result)),
        notes=tuple(_notes(result)),
        outputs=REPORTS if several else PAGE,
        folded=frozenset({Output.MARKDOWN}),
    )


def ladder_section(result: AuditResult) -> ReportSection:
    """The linkage rate under progressively looser blocking."""
    heading = "Progressively looser blocking"
    if result.ladder is None:
        return ReportSection("ladder", heading)
    table = table_of(
        heading,
        result.ladder.rungs,
        (
            Column("rung", lambda rung: str(rung.number)),
            Column("linkage rate", lambda rung: percent(rung.linkage_rate, k=result.suppress_below)),
            Column("points gained", lambda rung: UNKNOWN if rung.number == 1 else points(rung.gain)),
            Column("pairs", lambda rung: f"{rung.pairs:,}"),
        ),
    )
    stopped = "Stopped early: the last rate is a lower bound for the remaining rungs."
    return ReportSection(
        "ladder",
        heading,
        tables=(table,),
        notes=(stopped,) if result.ladder.stopped_early else (),
        outputs=SCREENS,
    )


def _near_zero(result: AuditResult) -> str:
    """The sentence that takes the place of a chart with all dots near 0; empty if there is a chart."""
    risks = near_zero(result.attackers)
    if not risks:
        return ""
    highs = [risk.high for risk in risks if risk.high is not None]
    most = f" The largest upper interval end is {percent(max(highs))}." if highs else ""
    return f"The risk is within {100 * NEAR_ZERO:.0f} points of 0 for each of the {len(risks)} attackers.{most}"


def _summary(result: AuditResult) -> str:
    count = len(result.attackers)
    text = f"{count} attackers were run" if count > 1 else "One attacker was run"
    headline = f"'{printable(result.attacker)}'"
    if result.picked is None:
        text += f"; the figures are those of {headline}"
    else:
        text += (
            f"; {headline} has the largest risk of the {result.picked.among} that count, and its intervals are "
            "corrected for this choice"
        )
    return f"{text}. Compare attackers by risk: a threshold means something different to each of them."


def _mark(row: AttackerRow, result: AuditResult) -> str:
    return "*" if row.name == result.attacker else "x" if row.disqualified else " "


def _not_counted(result: AuditResult) -> list[str]:
    """One line per reason for disqualification, with the attackers it applies to."""
    reasons: dict[str, list[str]] = {}
    for row in result.attackers:
        if row.disqualified:
            reasons.setdefault(row.disqualified[0], []).append(f"'{printable(row.name)}'")
    return [
        sentence(f"{', '.join(names)} {'does' if len(names) == 1 else 'do'} not count: {printable(reason)}")
        for reason, names in reasons.items()
    ]


def _notes(result: AuditResult) -> list[str]:
    found = []
    if len(result.attackers) > 1:
        crossed = any(row.disqualified for row in result.attackers)
        found.append("* headline attacker" + ("; x does not count." if crossed else "."))
    rows = result.inputs["original"].rows
    some = {row.asked for row in result.attackers if row.asked is not None and row.asked < rows}
    if some:
        few = f"{min(some):,}" if len(some) == 1 else f"{min(some):,} to {max(some):,}"
        found.append(f"Some attackers searched for {few} of the {rows:,} originals.")
    return found


def _order(row: AttackerRow) -> tuple[bool, float]:
    return bool(row.disqualified), 1.0 if row.risk is None else -row.risk.estimate
