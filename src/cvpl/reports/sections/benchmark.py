"""The report of a benchmark as a list of sections: the ranked releases of each data set, with notes and warnings.

The terminal has narrower tables than the page; the text of the cells comes from `cvpl.reports.leaderboard` in both.
"""

from __future__ import annotations

from cvpl.reports.leaderboard import (
    READ,
    InferredRelease,
    as_code,
    comparison_group,
    details_table,
    false_rate_note,
    mechanism_in_words,
    messages,
    note,
    place,
    risk_table,
    seconds,
    utility,
)
from cvpl.reports.sections.comparison import compared_inference_section
from cvpl.reports.sections.reviewers import versions
from cvpl.reports.sections.section import (
    CLOSING,
    EVERYWHERE,
    PAGE,
    SCREENS,
    TERMINAL,
    TITLE,
    Column,
    Figure,
    Item,
    Remark,
    ReportSection,
    ReportTable,
    chart_of,
    table_of,
)
from cvpl.reports.sections.warnings import shared_items
from cvpl.result import Attributable, BenchmarkCriteria, BenchmarkGroup, BenchmarkResult, BenchmarkRow, Rate
from cvpl.wording import (
    UNKNOWN,
    count_phrase,
    mark_name,
    mark_typed,
    percent,
    printable,
    rounding_in_words,
    share_words,
    span,
)

BESIDE = (
    "The same manifests and tables give the same figures. The full result of every audit is saved next to this page, "
    f"in {mark_typed('results')}; {mark_typed('cvpl report')} turns it into a report."
)


def benchmark_sections(result: BenchmarkResult) -> list[ReportSection]:
    """All sections of the report: how to read it, the data sets, and their files."""
    closing = (
        "The largest top-1 is over all attackers, and inference has attackers of its own; all other figures are those "
        "of the attacker named in the row. These are estimates under the stated attackers, no guarantee; a stronger "
        "attacker may do better."
    )
    return [
        ReportSection(
            TITLE,
            "Linkage risk of protected releases",
            sentences=(Remark(benchmark_headline(result)),),
            outputs=EVERYWHERE,
        ),
        ReportSection("read", sentences=(Remark(READ, "quiet"),), outputs=SCREENS),
        *(section for at, group in enumerate(result.groups, start=1) for section in _group(result, group, at)),
        _provenance(result),
        ReportSection(CLOSING, sentences=(Remark(closing, "quiet"),), outputs=SCREENS),
    ]


def benchmark_headline(result: BenchmarkResult) -> str:
    """The number of audited releases, the one with the highest risk, and the number without figures."""
    rows, groups = len(result.rows), len(result.groups)
    dead = sum(row.status == "not_assessable" for row in result.rows)
    failed = sum(row.status == "failed" for row in result.rows)
    text = f"{count_phrase(rows, 'release')} of {count_phrase(groups, 'data set')}."
    known = [row for row in result.rows if row.risk is not None and row.risk.basis == "control"]
    if known:
        most = max(known, key=lambda row: row.shown[0] or 0.0)
        risk = share_words(most.shown[0], k=most.suppress_below)
        text += f" The risk is highest in '{printable(most.name)}' of {printable(most.group)}: {risk}."
    without = [f"{dead} not assessable"] * bool(dead) + [f"{failed} could not be audited"] * bool(failed)
    return text + (f" Without figures: {', '.join(without)}." if without else "")


def _group(result: BenchmarkResult, group: BenchmarkGroup, at: int) -> list[ReportSection]:
    """The releases of one manifest, the details behind their figures, and their warnings."""
    rows, name = result.of(group.name), printable(group.name)
    figures = ", ".join(group.utility_figures).replace("_", " ") or "no figure"
    text = (
        "All figures in a row are those of the named attacker, except those of the paper's attacker. Utility is the "
        f"mean of {figures}, over the columns of the release."
    )
    warnings = shared_items([(row.name, messages(row)) for row in rows])
    return [
        ReportSection(
            f"group-{at}",
            printable(group.title),
            sentences=tuple(Remark(line, "quiet") for line in _origin(group)),
            figures=tuple(
                Figure(chart_of(chart, rows, group.name)) for chart in ("release_risks", "release_utilities")
            ),
            tables=(
                risk_table(f"Risk in {name}", rows),
                _risks(rows, name),
                _rates(rows, name),
                _releases_table(rows, name),
            ),
            items=tuple(Item(f"{mark_name(row.name)}: {as_code(note(row))}") for row in rows if note(row)),
            outputs=SCREENS,
        ),
        ReportSection(
            f"behind-{at}",
            f"Details behind the figures of {name}",
            level=3,
            tables=(details_table(f"Figures behind the risk in {name}", rows),),
            notes=(text,),
            folded=PAGE,
        ),
        _criteria(rows, name, at),
        compared_inference_section(
            [InferredRelease(row.name, row.inference, row.suppress_below) for row in rows],
            f"inference-{at}",
            f"Attribute inference in {name}",
            folded=PAGE,
        ),
        ReportSection(
            f"warnings-{at}",
            f"{count_phrase(len(warnings), 'warning')} for {name}",
            level=3,
            items=tuple(warnings),
            items_as="boxes",
            folded=PAGE,
        ),
    ]


def _criteria(rows: list[BenchmarkRow], name: str, at: int) -> ReportSection:
    """The formal criteria of each release, who is singled out, and how many promises attackers contradict."""
    found = [(row, row.criteria) for row in rows if row.criteria is not None]
    heading = f"Formal criteria and singling out of {name}"
    if not found:
        return ReportSection(f"criteria-{at}", heading, level=3, folded=PAGE)
    columns: tuple[Column[tuple[BenchmarkRow, BenchmarkCriteria]], ...] = (
        Column("release", lambda row: mark_name(row[0].name), "name"),
        Column("k", lambda row: f"{row[1].k:,}"),
        Column("unique", lambda row: percent(row[1].unique, k=row[0].suppress_below, of="records")),
        Column(
            "average 1 / class size",
            lambda row: percent(row[1].average_class_risk, k=row[0].suppress_below, of="records"),
        ),
        Column("l", lambda row: UNKNOWN if row[1].least_l is None else f"{row[1].least_l:,}"),
        Column("singled out", lambda row: percent(row[1].singled_out, k=row[0].suppress_below, of="predicates")),
        Column("interval", lambda row: span(row[1].singled_out_low, row[1].singled_out_high)),
        Column(
            "promises contradicted",
            lambda row: f"{row[1].contradicted} of {row[1].tested}" if row[1].tested else "none tested",
        ),
    )
    return ReportSection(
        f"criteria-{at}",
        heading,
        level=3,
        tables=(table_of(heading, found, columns, style="stacked"),),
        notes=("A promise is contradicted if attackers achieve more than a criterion allows, beyond error.",),
        folded=PAGE,
    )


def _origin(group: BenchmarkGroup) -> list[str]:
    """The origin of the tables; the texts of a manifest are not changed."""
    control = {None: "none", "absent": "the originals that are not released"}
    people = control.get(group.control, printable(group.control or ""))
    return [
        f"Source: {printable(group.source)}",
        f"Licence: {printable(group.licence)}",
        f"Original: {printable(group.original)}; control: {people}.",
    ]


def _risks(rows: list[BenchmarkRow], name: str) -> ReportTable:
    columns: tuple[Column[BenchmarkRow], ...] = (
        Column("place", lambda row: place(row, rows)),
        Column("release", lambda row: mark_name(row.name), "name"),
        Column("risk", _risk_or_status),
        Column("95% interval", lambda row: span(row.shown[1], row.shown[2])),
        Column("top-1", lambda row: percent(row.top1_hit_rate, k=row.suppress_below)),
        Column("largest", _largest),
        Column("compared with", _compared_with, "left"),
    )
    return table_of(f"Risk in {name}", rows, columns, outputs=TERMINAL)


def _risk_or_status(row: BenchmarkRow) -> str:
    return percent(row.shown[0], k=row.suppress_below) if row.status == "assessed" else row.status.replace("_", " ")


def _largest(row: BenchmarkRow) -> str:
    return percent(None if row.largest_top1 is None else row.largest_top1.top1_hit_rate, k=row.suppress_below)


def _compared_with(row: BenchmarkRow) -> str:
    rate = false_rate_note(row)
    return f"{comparison_group(row)}, {rate}" if rate else comparison_group(row)


def _rates(rows: list[BenchmarkRow], name: str) -> ReportTable:
    columns: tuple[Column[BenchmarkRow], ...] = (
        Column("release", lambda row: mark_name(row.name), "name"),
        Column("attributable", lambda row: _rate(row.attributable_rate, row.suppress_below)),
        Column("95% interval", _attributable_interval),
        Column("linked", lambda row: _rate(row.linkage_rate, row.suppress_below)),
        Column("control", lambda row: percent(None if row.control is None else row.control.rate, k=row.suppress_below)),
        Column("attacker", lambda row: UNKNOWN if row.attacker is None else mark_name(row.attacker), "left"),
    )
    return table_of(f"Rates in {name}", rows, columns, outputs=TERMINAL)


def _rate(rate: Attributable | Rate | None, k: int) -> str:
    return percent(None if rate is None else rate.estimate, k=k)


def _attributable_interval(row: BenchmarkRow) -> str:
    return "" if row.attributable_rate is None else span(row.attributable_rate.low, row.attributable_rate.high)


def _releases_table(rows: list[BenchmarkRow], name: str) -> ReportTable:
    columns: tuple[Column[BenchmarkRow], ...] = (
        Column("release", lambda row: mark_name(row.name), "name"),
        Column("utility", lambda row: utility(row.utility, short=True)),
        Column("seconds", seconds),
        Column("how it was made", mechanism_in_words, "left"),
    )
    return table_of(f"Utility in {name}", rows, columns, outputs=TERMINAL)


def _provenance(result: BenchmarkResult) -> ReportSection:
    """Every release with its SHA-256 checksum."""
    columns: tuple[Column[BenchmarkRow], ...] = (
        Column("release", lambda row: mark_name(f"{row.group}/{row.name}"), "left"),
        Column("file", lambda row: mark_name(row.file), "left"),
        Column(
            "SHA-256",
            lambda row: printable(row.inputs["protected"].sha256 or UNKNOWN) if "protected" in row.inputs else UNKNOWN,
            "left",
        ),
    )
    return ReportSection(
        "provenance",
        "Provenance",
        sentences=(Remark(f"{versions(result.versions)} {BESIDE} {rounding_in_words(_rounded_for(result))}"),),
        tables=(table_of("Files", result.rows, columns),),
        starts_sheet=True,
    )


def _rounded_for(result: BenchmarkResult) -> int:
    """The smallest k of the audited releases."""
    return min((row.suppress_below for row in result.rows if row.status != "failed"), default=1)
