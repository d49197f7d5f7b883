"""Compliance beside attack: what the formal criteria promise, and what the attackers achieve."""

from __future__ import annotations

from collections.abc import Mapping

from cvpl.reports.sections.section import REPORTS, Column, Remark, ReportSection, table_of
from cvpl.result import AuditResult, Compliance, ComplianceRow
from cvpl.wording import bracketed_span, count_in_words, counted, named, percent

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
        Column("attackers achieve", lambda row: _achieved(row, result), "left"),
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
    which = f"{broken} of the {counted(tested, 'promise')} that could be tested {'is' if broken == 1 else 'are'}"
    which = {1: "The one promise that could be tested is", 2: "Both promises that could be tested are"}.get(
        tested if broken == tested else 0, which
    )
    first = Remark(f"{which} contradicted: the attackers achieve more than the criterion allows.", "notice")
    if not found.beyond:
        return (first,)
    names = ", ".join(map(named, found.beyond))
    why = "The criteria count only the quasi-identifiers as known to an attacker. These attackers also compare"
    return (first, Remark(f"{why} {names}."))


def _criterion(row: ComplianceRow, result: AuditResult) -> str:
    value, k = row.value, result.suppress_below
    if value is None:
        return "no criterion"
    if row.criterion == "no_unique_record" and row.promised is not None:
        return "no record is alone in its class"
    column = "" if row.column is None else f" of {named(row.column)}"
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


def _achieved(row: ComplianceRow, result: AuditResult) -> str:
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
