"""How far the figures can be trusted: blocks, validity checks, and sensitivity to other choices."""

from __future__ import annotations

from cvpl.reports.sections.section import (
    SCREENS,
    Column,
    Figure,
    Remark,
    ReportSection,
    ReportTable,
    chart_of,
    table_of,
)
from cvpl.result import AuditResult, SelfRate, Sensitivity
from cvpl.wording import counted, named, people_in_words, percent, points, printable, sentence


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
        return f"The headline attacker compares all records: {counted(found.pairs, 'pair')} in one block."
    k = result.suppress_below
    each = f"on average {found.mean_candidates:,.1f} candidates per person"
    if k > 1:
        each = f"on average {people_in_words(int(found.mean_candidates), k, 'candidate', None)} per person"
    share = "shares" if found.pairs == 1 else "share"
    text = f"{counted(found.pairs, 'pair')} {share} one of {_several(found.count, 'block', k)}, {each}."
    if k > 1:
        people = people_in_words(found.without_candidates, k, "original", None)
        text += f" {sentence(people + ' have no candidate and cannot be linked')}"
    elif found.without_candidates:
        have = "has" if found.without_candidates == 1 else "have"
        text += f" {counted(found.without_candidates, 'original')} {have} no candidate and cannot be linked."
    return text


def _several(count: int, noun: str, k: int) -> str:
    return counted(count, noun) if count == 1 else people_in_words(count, k, noun, None)


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
        note = f"of {_several(projection.features, 'feature', result.suppress_below)}"
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
        sentences=(Remark(_moves(found)),),
        tables=tuple(_choices(found, choice, result.suppress_below) for choice in choices),
        outputs=SCREENS,
    )


def _moves(found: Sensitivity) -> str:
    figure = "the power at 5%" if found.variations[0].power is not None else "the linkage rate"
    spreads = {"blocking": found.spread_by_blocking, "encoding and scaling": found.spread_by_encoding}
    text = "; ".join(
        f"over choices of {name}, {figure} varies by {points(spread).lstrip('+')} points"
        for name, spread in spreads.items()
        if spread is not None
    )
    who = f"Attacker '{printable(found.attacker)}', {counted(found.asked, 'original')}"
    return f"{who}: {text}." if text else f"{who}."


def _choices(found: Sensitivity, choice: str, k: int) -> ReportTable:
    return table_of(
        f"Other choices: {printable(choice)}",
        [item for item in found.variations if item.choice == choice],
        (
            Column(printable(choice), lambda item: named(item.name), "left"),
            Column("power at 5%", lambda item: percent(item.power, k=k)),
            Column("linked", lambda item: percent(item.linkage_rate, k=k)),
            Column("attributable", lambda item: percent(item.attributable_rate, k=k)),
        ),
        folded=True,
    )
