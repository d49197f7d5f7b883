"""What regulators and standards ask for: formal criteria, clauses, and what reports on a release contain.

Which clause of a standard, or which part of a template, each figure of the report is about. Clauses of ISO/IEC 27559
are named as in its table of contents. A figure informs a clause; it does not comply with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from cvpl.answers.releases import column_effects
from cvpl.estimates import FALSE_RATE, beyond_chance
from cvpl.reports.sections.section import PAGE, REPORTS, SCREENS, Column, Remark, ReportSection, ReportTable, table_of
from cvpl.result import AuditResult, ColumnTechnique, Compliance, ComplianceRow, Criteria, Recipient
from cvpl.wording import (
    UNKNOWN,
    bracketed_span,
    count_in_words,
    count_phrase,
    mark_name,
    people_in_words,
    percent,
    points,
    printable,
    sentence,
    share_words,
    span,
)

HEADING = "Compliance beside attack"
_STATUS: Mapping[str, str] = {
    "contradicted": "contradicted",
    "not_contradicted": "not contradicted",
    "promises_nothing": "promises nothing",
    "not_comparable": "not comparable",
    "not_known": "not known",
}
_WHY_NOTHING: Mapping[str, str] = {
    "k": ": a class has one record",
    "no_unique_record": ": a record is alone in its class",
    "distinct_l": ": all records of a class have one value",
}
_FIGURES: Mapping[str, str] = {
    "top1_hit_rate": "best candidate right",
    "singled_out_rate": "singled out beyond chance",
    "membership_precision": "right of those found to be in it",
    "risk": "risk",
    "inference_accuracy": "value guessed right",
}
_MISSING: Mapping[str, str] = {
    "top1_hit_rate": "not measured: no true match is known",
    "singled_out_rate": "not measured against a control",
    "membership_precision": "not measured: no control, or too few",
    "risk": "not measured: no control and no true match",
    "inference_accuracy": "inference was not measured",
}


def compliance_section(result: AuditResult) -> ReportSection:
    """A sentence on the promises that are contradicted, and the table; nothing without formal criteria."""
    found = result.compliance
    if found is None:
        return ReportSection("compliance", HEADING)
    columns: tuple[Column[ComplianceRow], ...] = (
        Column("criterion", lambda row: _criterion(row, result), "left"),
        Column("it promises", _promise, "left"),
        Column("attackers achieve", lambda row: _achieved_in_words(row, result), "left"),
        Column("comparison", lambda row: _STATUS[row.status], "left"),
    )
    return ReportSection(
        "compliance",
        HEADING,
        sentences=_sentences(found, result),
        tables=(table_of(HEADING, found.rows, columns, style="stacked"),),
        notes=_notes(found),
        outputs=REPORTS,
    )


def _sentences(found: Compliance, result: AuditResult) -> tuple[Remark, ...]:
    if result.verdict.kind == "not_assessable":
        return (Remark("The release is not assessable, so no attacker tests what the criteria promise.", "notice"),)
    broken = len(found.contradicted)
    tested = broken + sum(row.status == "not_contradicted" for row in found.rows)
    if not tested:
        return (Remark("No promise of a formal criterion could be tested against an attacker."),)
    if not broken:
        return (Remark("Tested against the attackers, no promise of a formal criterion is contradicted."),)
    which = f"{broken} of the {count_phrase(tested, 'promise')} that could be tested {'is' if broken == 1 else 'are'}"
    which = {1: "The one promise that could be tested is", 2: "Both promises that could be tested are"}.get(
        tested if broken == tested else 0, which
    )
    first = Remark(f"{which} contradicted: the attackers achieve more than the criterion allows.", "notice")
    if not found.beyond:
        return (first,)
    names = ", ".join(map(mark_name, found.beyond))
    why = "The criteria count only the quasi-identifiers as known to an attacker. These attackers also compare"
    return (first, Remark(f"{why} {names}."))


def _criterion(row: ComplianceRow, result: AuditResult) -> str:
    value, k = row.value, result.suppress_below
    if value is None:
        return "no criterion"
    if row.criterion == "no_unique_record" and row.promised is not None:
        return "no record is alone in its class"
    column = "" if row.column is None else f" of {mark_name(row.column)}"
    names = {
        "k": f"k = {value:,.0f}",
        "average_class_risk": f"average 1 / class size: {percent(value, k=k, of='records')}",
        "no_unique_record": f"records alone in their class: {percent(value, k=k, of='records')}",
        "journalist_risk": f"journalist, largest: {percent(value)}",
        "population_uniques": f"unique in the population: {count_in_words(value, k)}",
        "presence": f"δ-presence: at most {percent(value)}",
        "distinct_l": f"distinct l{column} = {value:,.0f}",
        "t_closeness": f"t{column} = {value:.3g}",
    }
    return names[row.criterion]


def _promise(row: ComplianceRow) -> str:
    if row.status == "promises_nothing":
        return "nothing" + _WHY_NOTHING.get(row.criterion, "")
    bound = percent(row.promised)
    texts = {
        "k": f"nobody is matched more often than {bound}",
        "average_class_risk": f"on average at most {bound} are matched",
        "no_unique_record": "nobody is singled out",
        "journalist_risk": "a match to the population is right that often at most",
        "population_uniques": "nothing about people who are not unique",
        "presence": f"of those taken to be in the release, at most {bound} are",
        "distinct_l": "no class tells the value for certain",
        "t_closeness": "no class differs from the release by more than t",
        "none": "nothing bounds the people linked because of the release",
    }
    return texts[row.criterion]


def _achieved_in_words(row: ComplianceRow, result: AuditResult) -> str:
    if row.figure is None:
        return "inference was not measured"
    if row.estimate is None:
        return "not assessable" if result.verdict.kind == "not_assessable" else _MISSING[row.figure]
    share = percent(row.estimate, k=1 if row.figure == "membership_precision" else result.suppress_below)
    return f"{_FIGURES[row.figure]}: {share}{bracketed_span(row.low, row.high)}"


def _notes(found: Compliance) -> tuple[str, ...]:
    notes = [
        "Contradicted: the lower end of what was measured is above what the criterion allows. A promise that is not "
        "contradicted is not confirmed: a stronger attacker may contradict it."
    ]
    if any(row.criterion in ("journalist_risk", "population_uniques") for row in found.rows):
        notes.append(
            "The figures of a population are about matches to everybody in it. The attackers here match to the "
            "originals, so neither figure confirms or contradicts the other."
        )
    return tuple(notes)


_BASES = {
    "release": "the population is not known, so journalist and marketer have the prosecutor's risk",
    "estimated": "journalist and marketer are estimated under the Poisson-gamma model",
    "population": "journalist and marketer are counted in the known population",
}

_MEANINGS = (
    "c: that of recursive (c, l)-diversity. t, equal and t, ordered: t-closeness by the equal and ordered distance."
)


def criteria_section(result: AuditResult) -> ReportSection:
    """A sentence on k, the risks, and each sensitive column; nothing if there are no quasi-identifiers."""
    found = result.criteria
    if found is None:
        return ReportSection("criteria", "Formal criteria")
    return ReportSection(
        "criteria",
        "Formal criteria",
        sentences=(*_caveat(found, result), Remark(_sentence(found, result))),
        tables=tuple(
            table for table in (_figures(found, result), _sensitive(found), _sizes(found, result)) if table.rows
        ),
        notes=(
            *((_MEANINGS,) if found.sensitive else ()),
            "The criteria describe the release alone. They do not tell what an attacker achieves: the risk above does.",
        ),
        outputs=SCREENS,
    )


def _caveat(found: Criteria, result: AuditResult) -> tuple[Remark, ...]:
    """What the criteria are worth where attackers can say nothing of the release."""
    if result.verdict.kind != "not_assessable":
        return ()
    equal = "k is high because records are equal; it" if 2 * found.largest_class > found.records else "k"
    return (Remark(f"The release is not assessable. {equal} says nothing of the risk.", "notice"),)


def _sentence(found: Criteria, result: AuditResult) -> str:
    names = ", ".join(map(mark_name, found.quasi_identifiers))
    names = f"{count_phrase(len(found.quasi_identifiers), 'quasi-identifier')} ({names})"
    unique = share_words(found.unique, k=result.suppress_below, of="")
    other = ""
    if found.k_suppressed_as_any not in (None, found.k):
        other = f" ({found.k_suppressed_as_any:,} if a suppressed cell matches every value, as in sdcMicro)"
    return (
        f"By {names} the release has k = {found.k:,}{other}: its smallest equivalence class has "
        f"{count_phrase(found.k, 'record')}. {sentence(f'{unique} of the released records are unique')}"
    )


def _figures(found: Criteria, result: AuditResult) -> ReportTable:
    k, risk = result.suppress_below, found.risk
    rows = [
        ("prosecutor", percent(risk.prosecutor_maximum), percent(risk.prosecutor_average, k=k, of="records")),
        ("journalist", percent(risk.journalist_maximum), percent(risk.journalist_average, k=k, of="records")),
        ("marketer", UNKNOWN, percent(risk.marketer, k=k, of="records")),
    ]
    if (uniques := found.population_uniques) is not None:
        for name, value in (("Zayatz", uniques.zayatz), ("Pitman", uniques.pitman)):
            count = UNKNOWN if value is None else count_in_words(value, k)
            rows.append((f"people unique in the population, {name}", "", count))
    if found.presence is not None:
        rows.append(("δ-presence", percent(found.presence.high), f"least {percent(found.presence.low)}"))
    columns: tuple[Column[tuple[str, str, str]], ...] = (
        Column("attacker", lambda row: row[0], "left"),
        Column("largest", lambda row: row[1]),
        Column("average", lambda row: row[2]),
    )
    return table_of(f"Risk by class size; {_BASES.get(risk.basis, risk.basis)}", rows, columns, captioned=True)


def _sensitive(found: Criteria) -> ReportTable:
    return table_of(
        "Sensitive columns",
        found.sensitive,
        (
            Column("column", lambda item: mark_name(item.column), "name"),
            Column("distinct l", lambda item: f"{item.distinct_l:,}"),
            Column("entropy l", lambda item: _number(item.entropy_l)),
            Column("c", lambda item: _number(item.recursive_c)),
            Column("t, equal", lambda item: _number(item.t_equal)),
            Column("t, ordered", lambda item: _number(item.t_ordered)),
        ),
        captioned=True,
    )


def _number(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3g}"


def _class_size(first: int, last: int | None) -> str:
    if last is None:
        return f"{first} or more"
    return str(first) if first == last else f"{first} to {last}"


def _sizes(found: Criteria, result: AuditResult) -> ReportTable:
    return table_of(
        "Class sizes",
        found.class_sizes,
        (
            Column("records in a class", lambda item: _class_size(item.first, item.last), "left"),
            Column("share of the records", lambda item: percent(item.share, k=result.suppress_below, of="records")),
        ),
        outputs=PAGE,
        captioned=True,
    )


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
            Column("column", lambda item: mark_name(item.column), "name"),
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
            Column("recipient", lambda item: mark_name(item.name), "name"),
            Column("holds", lambda item: ", ".join(map(mark_name, item.columns)), "left"),
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


ISO = "ISO/IEC 27559:2022"
WP29 = "WP29 opinion 05/2014"
EDPB = "EDPB opinion 28/2024"
TEMPLATE = "EMA and Health Canada, anonymisation report"


class Clause(NamedTuple):
    """A clause, the sections of the report that inform it, and whether this audit has them."""

    source: str
    clause: str
    answered: str
    has: Callable[[AuditResult], bool]


def _always(result: AuditResult) -> bool:
    return bool(result.attackers)


CLAUSES: tuple[Clause, ...] = (
    Clause(WP29, "singling out", "Singling out", lambda result: result.singling_out is not None),
    Clause(WP29, "linkability", "The answer; The attackers", lambda result: result.risk is not None),
    Clause(WP29, "inference", "Attribute inference", lambda result: result.inference is not None),
    Clause(
        EDPB,
        "insignificant for each data subject (about AI models)",
        "The mean and the tail; Who is at risk",
        lambda result: bool(result.tail) or result.at_risk is not None,
    ),
    Clause(ISO, "6.2.3 Motives and capacity to re-identify", "The attackers; Scenario, if one was set", _always),
    Clause(ISO, "7.2.4 Attribute types", "What was done to each column", lambda result: bool(result.techniques)),
    Clause(
        ISO,
        "7.3.2 Maximum or average risk",
        "The figures behind the verdict; Who is at risk; The mean and the tail",
        lambda result: result.risk is not None,
    ),
    Clause(
        ISO,
        "7.3.3 Population or sample-based attack",
        "Membership; How often a link is right",
        lambda result: result.population is not None or result.membership is not None,
    ),
    Clause(
        ISO,
        "7.3.4 Data privacy models",
        "Formal criteria; Compliance beside attack",
        lambda result: result.criteria is not None,
    ),
    Clause(
        ISO,
        "8.2.2 Quantifying identifiability",
        "The figures behind the verdict",
        lambda result: result.risk is not None or result.best_candidate is not None,
    ),
    Clause(ISO, "8.2.3 Adversarial testing", "The attackers", _always),
    Clause(ISO, "8.3.3 Transforming the data", "What was done to each column", lambda result: bool(result.techniques)),
    Clause(ISO, "8.3.4 Re-evaluation", "What to do next: audit again, and compare the results", _always),
    Clause(
        TEMPLATE,
        "identification of data variables, and the technique for each",
        "What was done to each column",
        lambda result: bool(result.techniques),
    ),
    Clause(
        TEMPLATE,
        "initial risk, threshold, residual risk",
        "Initial risk, threshold, residual risk",
        lambda result: result.risk is not None or result.criteria is not None,
    ),
)


def clauses_section(result: AuditResult) -> ReportSection:
    """Every clause with the sections that inform it, folded on a page."""
    columns: tuple[Column[Clause], ...] = (
        Column("source", lambda item: item.source, "left"),
        Column("clause or topic", lambda item: item.clause, "left"),
        Column(
            "sections of this report",
            lambda item: item.answered if item.has(result) else "not measured in this audit",
            "left",
        ),
    )
    return ReportSection(
        "clauses",
        "Clauses that the figures are about",
        sentences=(
            Remark(
                "A figure informs a clause. It does not show that the clause is met: context, contracts and governance "
                "are not measured here."
            ),
        ),
        tables=(table_of("Clauses that the figures are about", CLAUSES, columns, style="stacked"),),
        outputs=PAGE,
    )
