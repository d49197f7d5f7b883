"""What reports on a release contain: initial and residual risk, techniques by column, the tail, recipients."""

from __future__ import annotations

from collections.abc import Iterator

from cvpl.answers.column_effects import column_effects
from cvpl.estimates import FALSE_RATE, beyond_chance
from cvpl.reports.sections.section import SCREENS, Head, Remark, ReportSection, ReportTable
from cvpl.result import AuditResult, ColumnTechnique, Recipient, TailShare
from cvpl.wording import UNKNOWN, named, people_in_words, percent, points, printable, span

_NONE_SET = "none set"
_EFFECT = "Kept: the share of people whose value is the same. Points: the change of {} when the column is left out."


def initial_risk_section(result: AuditResult) -> ReportSection:
    """The figures of the originals as they are, the limits, and those of the release."""
    rows = tuple(_initial_rows(result))
    if not rows:
        return ReportSection("initial")
    heads = (
        Head("figure", "left"),
        Head("initial", "left"),
        Head("threshold", "left"),
        Head("residual", "left"),
    )
    notes = [
        "Initial: the originals as they are. Threshold: the limit of the policy on this figure. Residual: this release."
    ]
    if result.canaries is not None:
        notes.append(
            "The initial figures of attackers are those of the headline attacker on the originals themselves, over "
            f"{people_in_words(result.canaries.identity.asked, 1)}."
        )
    return ReportSection(
        "initial",
        "Initial risk, threshold, residual risk",
        tables=(ReportTable("Initial risk, threshold, residual risk", heads, rows),),
        notes=tuple(notes),
        outputs=SCREENS,
    )


def _initial_rows(result: AuditResult) -> Iterator[tuple[str, ...]]:
    k, risk, best, found = result.suppress_below, result.risk, result.best_candidate, result.criteria
    dead = result.verdict.kind == "not_assessable"
    identity = None if result.canaries is None else result.canaries.identity
    if risk is not None:
        initial = "not measured"
        if identity is not None and identity.power is not None and risk.false_rate == FALSE_RATE:
            initial = percent(beyond_chance(identity.power, FALSE_RATE), k=k)
        residual = "not assessable" if dead else f"{percent(risk.estimate, k=k)}{_ends(risk.low, risk.high)}"
        yield "risk", initial, _threshold(result, "risk"), residual
    if best is not None:
        initial = "not measured"
        if identity is not None and identity.top1_hit_rate is not None:
            initial = percent(identity.top1_hit_rate, k=k)
        residual = "not assessable" if dead else f"{percent(best.estimate, k=k)}{_ends(best.low, best.high)}"
        yield "best candidate is right", initial, _threshold(result, "top1_hit_rate"), residual
    if found is not None:
        unique, average = found.original_unique, found.original_average
        yield (
            "unique by quasi-identifiers",
            percent(unique, "not known", k=k),
            _NONE_SET,
            percent(found.unique, k=k, of="records"),
        )
        yield (
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


def _ends(low: float | None, high: float | None) -> str:
    ends = span(low, high)
    return f" ({ends})" if ends else ""


def techniques_section(result: AuditResult) -> ReportSection:
    """Every declared column with its role, what was done to it, and what it does to the risk."""
    if not result.techniques:
        return ReportSection("techniques")
    effects = column_effects(result)
    heads = [
        Head("column", "name"),
        Head("role", "name", least_width=70),
        Head("technique seen", "left"),
        Head("kept"),
    ]
    if effects.drops:
        heads.append(Head(f"{effects.name}, points"))
    rows = []
    for item in result.techniques:
        row = [named(item.column), item.role.replace("_", "-"), _technique(item), _kept(item, result.suppress_below)]
        if effects.drops:
            drop = effects.drops.get(item.column)
            row.append(UNKNOWN if drop is None else points(-drop.drop))
        rows.append(tuple(row))
    told = any(item.told for item in result.techniques)
    note = (
        "Seen by comparing people before and after; a technique is named if it shows in 1% of the values. Perturbed "
        "values still have to do with the person's, swapped or synthetic ones do not."
        if told
        else "Without true matches, only ranges, groups and missing values can be seen in the release. Whether other "
        "values are kept, perturbed, swapped or synthetic cannot be told."
    )
    return ReportSection(
        "techniques",
        "What was done to each column",
        tables=(ReportTable("Columns, roles and techniques", tuple(heads), tuple(rows)),),
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


def _kept(item: ColumnTechnique, k: int) -> str:
    return percent(item.kept, k=k, of="values")


def tail_section(result: AuditResult) -> ReportSection:
    """The most exposed people beside the mean; nothing if there are too few people for a tail."""
    rows = tuple(_tail_row(item, result.suppress_below) for item in result.tail)
    if len(rows) < 2:
        return ReportSection("tail")
    heads = (
        Head("people", "name"),
        Head("number"),
        Head("linked"),
        Head("95% interval"),
        Head("best candidate right"),
    )
    return ReportSection(
        "tail",
        "The mean and the tail",
        tables=(ReportTable("The mean and the tail", heads, rows),),
        notes=(
            "Guidelines ask about each person, and a mean hides the most exposed. Exposed means rare: the fewer others "
            "have a person's values, settled before the attack. Linked counts look-alikes.",
        ),
        outputs=SCREENS,
    )


def _tail_row(item: TailShare, k: int) -> tuple[str, ...]:
    names = {0.01: "rarest hundredth", 0.1: "rarest tenth", 1.0: "everybody"}
    return (
        names.get(item.share, percent(item.share)),
        f"{item.people:,}",
        percent(item.linked, k=k),
        span(item.low, item.high),
        percent(item.right, k=k),
    )


def recipients_section(result: AuditResult) -> ReportSection:
    """Who gets the release, which columns each holds, and what one attacker achieves with them."""
    if not result.recipients:
        return ReportSection("recipients")
    dead = result.verdict.kind == "not_assessable"
    heads = (Head("recipient", "name"), Head("holds", "left"), Head("risk"), Head("95% interval"))
    rows = tuple(_recipient_row(item, result.suppress_below, dead=dead) for item in result.recipients)
    used = sorted({item.risk.attacker for item in result.recipients if item.risk is not None})
    by = f"attacker '{printable(used[0])}'" if used else "one attacker"
    return ReportSection(
        "recipients",
        "Recipients",
        sentences=(Remark("What each recipient can do with the columns that it holds about the people."),),
        tables=(ReportTable("Recipients", heads, rows, "stacked"),),
        notes=(
            f"Measured with {by} alone, who knows these columns without error; the whole family may achieve more. The "
            "columns are those that the configuration states. Others that a recipient has are not counted.",
        ),
        outputs=SCREENS,
    )


def _recipient_row(item: Recipient, k: int, *, dead: bool) -> tuple[str, ...]:
    columns = ", ".join(map(named, item.columns))
    if item.risk is None or dead:
        reason = "not assessable" if dead else f"not measured: {printable(item.reason or UNKNOWN)}"
        return named(item.name), columns, reason, ""
    return named(item.name), columns, percent(item.risk.estimate, k=k), span(item.risk.low, item.risk.high)
