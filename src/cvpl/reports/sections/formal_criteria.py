"""Formal criteria of the release: k, l, t, and the risks by class size."""

from __future__ import annotations

from cvpl.reports.sections.section import PAGE, SCREENS, Column, Remark, ReportSection, ReportTable, table_of
from cvpl.result import AuditResult, Criteria
from cvpl.wording import UNKNOWN, count_in_words, counted, in_words, named, percent, sentence

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
    names = ", ".join(map(named, found.quasi_identifiers))
    names = f"{counted(len(found.quasi_identifiers), 'quasi-identifier')} ({names})"
    unique = in_words(found.unique, k=result.suppress_below, of="")
    other = ""
    if found.k_suppressed_as_any not in (None, found.k):
        other = f" ({found.k_suppressed_as_any:,} if a suppressed cell matches every value, as in sdcMicro)"
    return (
        f"By {names} the release has k = {found.k:,}{other}: its smallest equivalence class has "
        f"{counted(found.k, 'record')}. {sentence(f'{unique} of the released records are unique')}"
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
            Column("column", lambda item: named(item.column), "name"),
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
