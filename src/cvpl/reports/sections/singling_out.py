"""Who can be singled out: predicates from the release, unique records, and the sets of columns that do it."""

from __future__ import annotations

from cvpl.reports.sections.section import PAGE, SCREENS, Column, Remark, Section, Table
from cvpl.result import AuditResult, SinglingOut, UniqueRecords
from cvpl.wording import UNKNOWN, counted, named, percent, span

_SETS = 10
"""The sets of columns that are shown."""


def singling_out_section(result: AuditResult) -> Section:
    """The rate of predicates, then unique records; nothing if it was not measured."""
    found = result.singling_out
    if found is None:
        return Section("singling_out", "Singling out")
    return Section(
        "singling_out",
        "Singling out",
        sentences=tuple(Remark(text) for text in (_rate(found, result), _exact(found, result)) if text),
        tables=tuple(table for table in (_predicates(found, result), _uniques(found, result)) if table.rows),
        notes=_notes(found, result),
        outputs=SCREENS,
    )


def _rate(found: SinglingOut, result: AuditResult) -> str:
    rate = found.rate
    if rate is None:
        return "No predicate of up to three columns describes exactly one released record."
    ends = span(rate.low, rate.high)
    share = f"{percent(rate.estimate, k=result.suppress_below)}{f' ({ends})' if ends else ''}"
    columns = counted(rate.columns, "column")
    if rate.basis == "none":
        return (
            f"Of the predicates of {columns} that describe exactly one released record, {share} describe exactly one "
            "original. Without a control it is not known how many would do so by chance."
        )
    return (
        f"Of the predicates of {columns} that describe exactly one released record, {share} describe exactly one "
        "original, beyond the share that describes exactly one of as many people who are not in the release."
    )


def _exact(found: SinglingOut, result: AuditResult) -> str:
    exact = found.exact_rows
    if exact is None or exact.released is None:
        return ""
    k = result.suppress_below
    control = "" if exact.control_released is None else f"; of unique controls, {percent(exact.control_released, k=k)}"
    return (
        f"{percent(exact.unique, k=k)} of the originals are unique on the shared columns. The exact row of "
        f"{percent(exact.released, k=k)} of them is in the release{control}."
    )


def _predicates(found: SinglingOut, result: AuditResult) -> Table:
    k = result.suppress_below
    heads = ("columns of a predicate", "predicates", "single out an original", "a control", "attributable", "interval")
    rows = tuple(
        (
            str(row.columns),
            f"{row.predicates:,}",
            percent(row.rate, k=k),
            UNKNOWN if row.control_rate is None else percent(row.control_rate, k=k),
            UNKNOWN if row.attributable is None else percent(row.attributable, k=k),
            span(row.low, row.high) if row.attributable is None else span(row.attributable_low, row.attributable_high),
        )
        for row in found.predicates
    )
    return Table("Predicates from the release", tuple(Column(head) for head in heads), rows)


def _uniques(found: SinglingOut, result: AuditResult) -> Table:
    k = result.suppress_below
    first: list[tuple[str, UniqueRecords]] = [("all compared columns", found.all_columns)]
    if found.quasi_identifiers is not None:
        first.append(("all quasi-identifiers", found.quasi_identifiers))
    largest = sorted(found.sets, key=lambda item: (-item.both, -item.original, len(item.columns)))[:_SETS]
    listed = [*first, *((", ".join(map(named, item.columns)), item) for item in largest if item.original > 0)]
    heads = (Column("columns", "left"), Column("unique originals"), Column("unique records"), Column("unique in both"))
    rows = tuple(
        (name, percent(item.original, k=k), percent(item.released, k=k), percent(item.both, k=k))
        for name, item in listed
    )
    return Table("Unique records by columns", heads, rows, outputs=PAGE)


def _notes(found: SinglingOut, result: AuditResult) -> tuple[str, ...]:
    notes = ["Unique in both: an original that is unique, and whose values exactly one released record has."]
    if found.sets_left_out:
        notes.append(
            f"The tables are large: {counted(found.sets_searched, 'set')} of columns were searched, and "
            f"{found.sets_left_out:,} were not."
        )
    if found.suda is not None:
        scored = percent(found.suda.scored, k=result.suppress_below)
        notes.append(f"By SUDA2, {scored} of the originals have a score above 0; the mean is {found.suda.mean:g}.")
    return tuple(notes)
