"""What reports on a release contain: initial and residual risk, techniques by column, the tail, recipients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cvpl.answers.column_effects import column_effects
from cvpl.estimates import FALSE_RATE, beyond_chance
from cvpl.reports.sections.section import SCREENS, Column, Remark, ReportSection, table_of
from cvpl.result import AuditResult, ColumnTechnique, Recipient
from cvpl.wording import UNKNOWN, bracketed_span, named, people_in_words, percent, points, printable, span

_NONE_SET = "none set"
_EFFECT = "Kept: the share of people whose value is the same. Points: the change of {} when the column is left out."
_TAIL = {0.01: "rarest hundredth", 0.1: "rarest tenth", 1.0: "everybody"}


class _InitialFigure(NamedTuple):
    """A figure of the originals as they are, its limit, and the same figure of the release."""

    name: str
    initial: str
    threshold: str
    residual: str


def initial_risk_section(result: AuditResult) -> ReportSection:
    """The figures of the originals as they are, the limits, and those of the release."""
    heading = "Initial risk, threshold, residual risk"
    table = table_of(
        heading,
        _initial_figures(result),
        (
            Column("figure", lambda row: row.name, "left"),
            Column("initial", lambda row: row.initial, "left"),
            Column("threshold", lambda row: row.threshold, "left"),
            Column("residual", lambda row: row.residual, "left"),
        ),
    )
    if not table.rows:
        return ReportSection("initial")
    notes = [
        "Initial: the originals as they are. Threshold: the limit of the policy on this figure. Residual: this release."
    ]
    if result.canaries is not None:
        notes.append(
            "The initial figures of attackers are those of the headline attacker on the originals themselves, over "
            f"{people_in_words(result.canaries.identity.asked, 1)}."
        )
    return ReportSection("initial", heading, tables=(table,), notes=tuple(notes), outputs=SCREENS)


def _initial_figures(result: AuditResult) -> Iterator[_InitialFigure]:
    k, risk, best, found = result.suppress_below, result.risk, result.best_candidate, result.criteria
    dead = result.verdict.kind == "not_assessable"
    identity = None if result.canaries is None else result.canaries.identity
    if risk is not None:
        initial = "not measured"
        if identity is not None and identity.power is not None and risk.false_rate == FALSE_RATE:
            initial = percent(beyond_chance(identity.power, FALSE_RATE), k=k)
        residual = f"{percent(risk.estimate, k=k)}{bracketed_span(risk.low, risk.high)}"
        yield _InitialFigure("risk", initial, _threshold(result, "risk"), "not assessable" if dead else residual)
    if best is not None:
        initial = "not measured"
        if identity is not None and identity.top1_hit_rate is not None:
            initial = percent(identity.top1_hit_rate, k=k)
        residual = f"{percent(best.estimate, k=k)}{bracketed_span(best.low, best.high)}"
        limit = _threshold(result, "top1_hit_rate")
        yield _InitialFigure("best candidate is right", initial, limit, "not assessable" if dead else residual)
    if found is not None:
        unique, average = found.original_unique, found.original_average
        yield _InitialFigure(
            "unique by quasi-identifiers",
            percent(unique, "not known", k=k),
            _NONE_SET,
            percent(found.unique, k=k, of="records"),
        )
        yield _InitialFigure(
            "average 1 / class size",
            percent(average, "not known", k=k),
            _NONE_SET,
            percent(found.risk.prosecutor_average, k=k, of="records"),
        )


def _threshold(result: AuditResult, figure: str) -> str:
    policies = result.policies or ([] if result.policy is None else [result.policy])
    limits = [policy for policy in policies if policy.figure == figure and policy.max is not None]
    if not limits:
        return _NONE_SET
    first = min(limits, key=lambda policy: policy.max or 0.0)
    return f"{percent(first.max)}{', upper end' if first.bound == 'high' else ''}"


def techniques_section(result: AuditResult) -> ReportSection:
    """Every declared column with its role, what was done to it, and what it does to the risk."""
    if not result.techniques:
        return ReportSection("techniques")
    effects = column_effects(result)
    effect = Column[ColumnTechnique](
        f"{effects.name}, points",
        lambda item: points(-effects.drops[item.column].drop) if item.column in effects.drops else UNKNOWN,
        shown=bool(effects.drops),
    )
    table = table_of(
        "Columns, roles and techniques",
        result.techniques,
        (
            Column("column", lambda item: named(item.column), "name"),
            Column("role", lambda item: item.role.replace("_", "-"), "name", least_width=70),
            Column("technique seen", _technique, "left"),
            Column("kept", lambda item: percent(item.kept, k=result.suppress_below, of="values")),
            effect,
        ),
    )
    note = (
        "Seen by comparing people before and after; a technique is named if it shows in 1% of the values. Perturbed "
        "values still have to do with the person's, swapped or synthetic ones do not."
        if any(item.told for item in result.techniques)
        else "Without true matches, only ranges, groups and missing values can be seen in the release. Whether other "
        "values are kept, perturbed, swapped or synthetic cannot be told."
    )
    return ReportSection(
        "techniques",
        "What was done to each column",
        tables=(table,),
        notes=(note, *((_EFFECT.format(effects.name),) if effects.drops else ())),
        outputs=SCREENS,
    )


def _technique(item: ColumnTechnique) -> str:
    if item.role not in ("quasi_identifier", "attribute"):
        return "not compared"
    words = ", ".join(printable(name) for name in item.techniques)
    if item.told:
        return words or "cannot be told"
    return f"{words}; the rest cannot be told" if words else "cannot be told"


def tail_section(result: AuditResult) -> ReportSection:
    """The most exposed people beside the mean; nothing if there are too few people for a tail."""
    if len(result.tail) < 2:
        return ReportSection("tail")
    k, heading = result.suppress_below, "The mean and the tail"
    table = table_of(
        heading,
        result.tail,
        (
            Column("people", lambda item: _TAIL.get(item.share, percent(item.share)), "name"),
            Column("number", lambda item: f"{item.people:,}"),
            Column("linked", lambda item: percent(item.linked, k=k)),
            Column("95% interval", lambda item: span(item.low, item.high)),
            Column("best candidate right", lambda item: percent(item.right, k=k)),
        ),
    )
    return ReportSection(
        "tail",
        heading,
        tables=(table,),
        notes=(
            "Guidelines ask about each person, and a mean hides the most exposed. Exposed means rare: the fewer others "
            "have a person's values, settled before the attack. Linked counts look-alikes.",
        ),
        outputs=SCREENS,
    )


def recipients_section(result: AuditResult) -> ReportSection:
    """Who gets the release, which columns each holds, and what one attacker achieves with them."""
    if not result.recipients:
        return ReportSection("recipients")
    dead = result.verdict.kind == "not_assessable"
    table = table_of(
        "Recipients",
        result.recipients,
        (
            Column("recipient", lambda item: named(item.name), "name"),
            Column("holds", lambda item: ", ".join(map(named, item.columns)), "left"),
            Column("risk", lambda item: "not assessable" if dead else _recipient_risk(item, result.suppress_below)),
            Column(
                "95% interval", lambda item: "" if item.risk is None or dead else span(item.risk.low, item.risk.high)
            ),
        ),
        style="stacked",
    )
    used = sorted({item.risk.attacker for item in result.recipients if item.risk is not None})
    by = f"attacker '{printable(used[0])}'" if used else "one attacker"
    return ReportSection(
        "recipients",
        "Recipients",
        sentences=(Remark("What each recipient can do with the columns that it holds about the people."),),
        tables=(table,),
        notes=(
            f"Measured with {by} alone, who knows these columns without error; the whole family may achieve more. The "
            "columns are those that the configuration states. Others that a recipient has are not counted.",
        ),
        outputs=SCREENS,
    )


def _recipient_risk(item: Recipient, k: int) -> str:
    if item.risk is None:
        return f"not measured: {printable(item.reason or UNKNOWN)}"
    return percent(item.risk.estimate, k=k)
