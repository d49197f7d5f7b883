"""Who can be singled out: predicates from the release, unique records, and the sets of columns that do it."""

from __future__ import annotations

from cvpl.reports.sections.section import PAGE, SCREENS, Column, Remark, ReportSection, ReportTable, table_of
from cvpl.result import AuditResult, PredicateRow, SinglingOut, UniqueRecords
from cvpl.wording import bracketed_span, counted, in_words, named, percent, sentence, span

_SETS = 10
"""The sets of columns that are shown."""
CHANCE = (
    "The released record can belong to somebody else with the same values. How often that happens to strangers was not "
    "measured, so this share cannot be judged alone."
)
"""How to read the share that is unique in both tables."""


def singling_out_section(result: AuditResult) -> ReportSection:
    """The rate of predicates, then unique records; nothing if it was not measured."""
    found = result.singling_out
    if found is None:
        return ReportSection("singling_out", "Singling out")
    return ReportSection(
        "singling_out",
        "Singling out",
        sentences=tuple(Remark(text) for text in (_rate(found, result), _exact(found, result)) if text),
        tables=tuple(table for table in (_predicates(found, result), _uniques(found, result)) if table.rows),
        notes=_notes(found, result),
        outputs=SCREENS,
    )


def singled_out_words(found: SinglingOut, k: int) -> str:
    """The singled-out rate with its interval, as its row of the table has them; empty if there is no rate.

    The upper end over all rows, which a policy bounds, is added if it is higher.
    """
    rate = found.rate
    if rate is None:
        return ""
    row = next((row for row in found.predicates if row.columns == rate.columns), None)
    estimate, low, high = rate.estimate, rate.low, rate.high
    if row is not None:
        estimate, low, high = _figures(row)
    text = f"{in_words(estimate, k=k, of='predicates')}{bracketed_span(low, high)}"
    if row is not None and rate.high is not None and (high is None or rate.high > high):
        text += f", at most {percent(rate.high)} for any number of columns"
    return text


def _figures(row: PredicateRow) -> tuple[float, float | None, float | None]:
    """The attributable share of a row with its interval; without a control the plain share."""
    if row.attributable is None:
        return row.rate, row.low, row.high
    return row.attributable, row.attributable_low, row.attributable_high


def _rate(found: SinglingOut, result: AuditResult) -> str:
    rate = found.rate
    if rate is None:
        return "No predicate of up to three columns describes exactly one released record."
    text = (
        f"Singled-out rate: {singled_out_words(found, result.suppress_below)}. It is the share of the predicates of "
        f"{counted(rate.columns, 'column')}, each of which describes exactly one released record, that describe "
        "exactly one original"
    )
    if rate.basis == "none":
        return f"{text}. Without a control it is not known how many would do so by chance."
    return f"{text}, beyond the share that describes exactly one of as many people who are not in the release."


def _exact(found: SinglingOut, result: AuditResult) -> str:
    exact = found.exact_rows
    if exact is None or exact.released is None:
        return ""
    k = result.suppress_below
    control = ""
    if exact.control_released is not None:
        control = f"; of unique controls, that of {in_words(exact.control_released, k=k)}"
    return (
        f"{in_words(exact.unique, k=k, of='')} of the originals are unique on the shared columns. The exact row of "
        f"{in_words(exact.released, k=k, of='')} of them is in the release{control}."
    )


def _predicates(found: SinglingOut, result: AuditResult) -> ReportTable:
    k = result.suppress_below
    return table_of(
        "Predicates from the release",
        found.predicates,
        (
            Column("columns", lambda row: str(row.columns)),
            Column("predicates", lambda row: f"{row.predicates:,}"),
            Column("single out an original", lambda row: percent(row.rate, k=k, of="predicates")),
            Column("a control", lambda row: percent(row.control_rate, k=k, of="predicates")),
            Column("attributable", lambda row: percent(row.attributable, k=k, of="predicates")),
            Column("interval", lambda row: span(*_figures(row)[1:])),
        ),
        captioned=True,
    )


def _uniques(found: SinglingOut, result: AuditResult) -> ReportTable:
    k = result.suppress_below
    first: list[tuple[str, UniqueRecords]] = [("all compared columns", found.all_columns)]
    if found.quasi_identifiers is not None:
        first.append(("all quasi-identifiers", found.quasi_identifiers))
    largest = sorted(found.sets, key=lambda item: (-item.both, -item.original, len(item.columns)))[:_SETS]
    listed = [*first, *((", ".join(map(named, item.columns)), item) for item in largest if item.original > 0)]
    columns: tuple[Column[tuple[str, UniqueRecords]], ...] = (
        Column("columns", lambda row: row[0], "left"),
        Column("unique originals", lambda row: percent(row[1].original, k=k)),
        Column("unique records", lambda row: percent(row[1].released, k=k, of="records")),
        Column("unique in both", lambda row: percent(row[1].both, k=k)),
    )
    return table_of("Unique records by columns", listed, columns, outputs=PAGE, captioned=True)


def _notes(found: SinglingOut, result: AuditResult) -> tuple[str, ...]:
    notes = [f"Unique in both: an original that is unique, and whose values exactly one released record has. {CHANCE}"]
    if found.quasi_identifiers is not None:
        names = ", ".join(map(named, found.quasi_identifiers.columns))
        notes.append(f"The quasi-identifiers are {names}.")
    if found.sets_left_out:
        notes.append(
            f"The tables are large: {counted(found.sets_searched, 'set')} of columns were searched, and "
            f"{found.sets_left_out:,} were not."
        )
    if found.suda is not None:
        scored = in_words(found.suda.scored, k=result.suppress_below, of="")
        notes.append(
            "SUDA2 scores an original by the sets of quasi-identifiers that make it unique: 0 means that no set of "
            "fewer than all of them does. The score is higher the fewer columns are needed, and the more such sets "
            "there are. "
            f"{sentence(f'{scored} of the originals have a score above 0; the mean is {found.suda.mean:g}')}"
        )
    return tuple(notes)
