"""What attackers found: the figures of an audit, the attackers side by side, and how far to trust them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cvpl.reports.sections.section import (
    EVERYWHERE,
    PAGE,
    REPORTS,
    SCREENS,
    Column,
    Figure,
    Item,
    Output,
    Remark,
    ReportSection,
    ReportTable,
    chart_of,
    table_of,
)
from cvpl.result import AttackerRow, AuditResult, SelfRate, Sensitivity
from cvpl.result.figures import NEAR_ZERO, near_zero
from cvpl.wording import UNKNOWN, count_phrase, mark_name, people_in_words, percent, points, printable, sentence, span

_WIDE_COLUMN = 90
"""Terminals at least this wide show the interval beside the risk."""


def attackers_section(result: AuditResult) -> ReportSection:
    """One row per attacker, the strongest first; * marks the headline attacker, x those that do not count."""
    several = len(result.attackers) > 1
    k = result.suppress_below
    columns: tuple[Column[AttackerRow], ...] = (
        Column("attacker", lambda row: f"{_mark(row, result)} {mark_name(row.name)}", "left"),
        Column("risk", lambda row: percent(None if row.risk is None else row.risk.estimate, k=k)),
        Column(
            "95% interval",
            lambda row: "" if row.risk is None else span(row.risk.low, row.risk.high),
            least_width=_WIDE_COLUMN,
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


def blocks_section(result: AuditResult) -> ReportSection:
    """The number of blocks, pairs and candidates."""
    return ReportSection(
        "blocks",
        "Blocks",
        sentences=(Remark(block_words(result)),),
        figures=(Figure(chart_of("block_sizes", result)),),
        outputs=SCREENS,
    )


def block_words(result: AuditResult) -> str:
    """The blocks of the headline attacker in words."""
    found = result.blocks
    if found.count == 1 and not found.without_candidates:
        return f"The headline attacker compares all records: {count_phrase(found.pairs, 'pair')} in one block."
    k = result.suppress_below
    each = f"on average {found.mean_candidates:,.1f} candidates per person"
    if k > 1:
        each = f"on average {people_in_words(int(found.mean_candidates), k, 'candidate', None)} per person"
    share = "shares" if found.pairs == 1 else "share"
    text = f"{count_phrase(found.pairs, 'pair')} {share} one of {_count_in_words(found.count, 'block', k)}, {each}."
    if k > 1:
        people = people_in_words(found.without_candidates, k, "original", None)
        text += f" {sentence(people + ' have no candidate and cannot be linked')}"
    elif found.without_candidates:
        have = "has" if found.without_candidates == 1 else "have"
        text += f" {count_phrase(found.without_candidates, 'original')} {have} no candidate and cannot be linked."
    return text


def _count_in_words(count: int, noun: str, k: int) -> str:
    return count_phrase(count, noun) if count == 1 else people_in_words(count, k, noun, None)


def trust_section(result: AuditResult) -> ReportSection:
    """Self-linkage, canaries and validity, one row each."""
    heading = "Can the attacker distinguish people at all?"
    columns: tuple[Column[tuple[str, str, str]], ...] = (
        Column("check", lambda row: row[0], "left"),
        Column("value", lambda row: row[1]),
        Column("note", lambda row: row[2], "left"),
    )
    rows = [*_self_linkage(result), *_canaries(result)]
    projection, valid = result.projection, result.validity
    if projection.components is not None:
        kept = projection.explained_variance
        note = f"of {_count_in_words(projection.features, 'feature', result.suppress_below)}"
        note += "" if kept is None else f", {percent(kept)} of the variance"
        rows.append(("components used to compare records", f"{projection.components:,}", note))
    if valid.shift is not None:
        rows.append(("shift between originals and release", f"{valid.shift:.2f}", "standard deviations"))
    if result.control_likeness is not None:
        alike = "alike" if result.control_likeness.alike else "unlike"
        note = "" if result.control_likeness.enough else "too few people for a reliable check"
        rows.append(("control and originals", alike, note))
    reasons = printable("; ".join(valid.reasons))
    rows.append(("result", "assessable" if valid.assessable else "not assessable", reasons))
    return ReportSection("trust", heading, tables=(table_of(heading, rows, columns),), outputs=SCREENS)


def _self_linkage(result: AuditResult) -> list[tuple[str, str, str]]:
    found, rows = result.self_linkage, []
    if found.perturbed is not None:
        what = "found again in a slightly perturbed copy of the originals"
        rows.append((what, percent(found.perturbed.top1_hit_rate, k=result.suppress_below), _sample(found.perturbed)))
    looks = {
        "originals that look like another original": found.original,
        "released records that look like another one": found.protected,
    }
    rows += [
        (what, percent(own.rate, k=result.suppress_below), _sample(own))
        for what, own in looks.items()
        if own.rate is not None
    ]
    return rows


def _canaries(result: AuditResult) -> list[tuple[str, str, str]]:
    ends = result.canaries
    if ends is None:
        return []
    figures = {"originals released unchanged, top-1 hit rate": ends.identity.top1_hit_rate}
    if ends.identity.power is not None:
        figures["originals released unchanged, power at 5%"] = ends.identity.power
        figures["independently drawn columns, power at 5%"] = ends.independent.power
    return [(f"canary: {what}", percent(figure, k=result.suppress_below), "") for what, figure in figures.items()]


def _sample(rate: SelfRate) -> str:
    return "" if rate.asked >= rate.records else f"sample of {rate.asked:,} of {rate.records:,}"


def sensitivity_section(result: AuditResult) -> ReportSection:
    """How much the figures change under other choices of blocking, encoding and scaling."""
    heading, found = "Figures under other choices", result.sensitivity
    if found is None or len(found.variations) < 2:
        return ReportSection("sensitivity", heading)
    choices = dict.fromkeys(variation.choice for variation in found.variations)
    return ReportSection(
        "sensitivity",
        heading,
        level=3,
        sentences=(Remark(_sensitivity_sentence(found)),),
        tables=tuple(_choices(found, choice, result.suppress_below) for choice in choices),
        outputs=SCREENS,
    )


def _sensitivity_sentence(found: Sensitivity) -> str:
    figure = "the power at 5%" if found.variations[0].power is not None else "the linkage rate"
    spreads = {"blocking": found.spread_by_blocking, "encoding and scaling": found.spread_by_encoding}
    text = "; ".join(
        f"over choices of {name}, {figure} varies by {points(spread).lstrip('+')} points"
        for name, spread in spreads.items()
        if spread is not None
    )
    who = f"Attacker '{printable(found.attacker)}', {count_phrase(found.asked, 'original')}"
    return f"{who}: {text}." if text else f"{who}."


def _choices(found: Sensitivity, choice: str, k: int) -> ReportTable:
    return table_of(
        f"Other choices: {printable(choice)}",
        [item for item in found.variations if item.choice == choice],
        (
            Column(printable(choice), lambda item: mark_name(item.name), "left"),
            Column("power at 5%", lambda item: percent(item.power, k=k)),
            Column("linked", lambda item: percent(item.linkage_rate, k=k)),
            Column("attributable", lambda item: percent(item.attributable_rate, k=k)),
        ),
        folded=True,
    )
