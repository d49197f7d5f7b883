"""The report of a benchmark as a list of sections: the ranked releases of each data set, with notes and warnings.

The terminal has narrower tables than the page; the text of the cells comes from `cvpl.reports.leaderboard` in both.
"""

from __future__ import annotations

from collections.abc import Iterable

from cvpl.reports.leaderboard import (
    BEHIND,
    READ,
    RISK,
    SIZES,
    as_code,
    behind_cells,
    comparison_group,
    false_rate_note,
    made,
    messages,
    note,
    place,
    risk_cells,
    seconds,
    utility,
)
from cvpl.reports.sections.compared_inference import compared_inference_section
from cvpl.reports.sections.provenance import versions
from cvpl.reports.sections.section import (
    CLOSING,
    EVERYWHERE,
    PAGE,
    SCREENS,
    TERMINAL,
    TITLE,
    Figure,
    Head,
    Item,
    Remark,
    ReportSection,
    ReportTable,
    chart_of,
)
from cvpl.reports.sections.warnings import shared_items
from cvpl.result import BenchmarkGroup, BenchmarkResult, BenchmarkRow
from cvpl.wording import UNKNOWN, counted, in_words, named, percent, printable, rounding_in_words, span, typed

BESIDE = (
    "The same manifests and tables give the same figures. The full result of every audit is saved next to this page, "
    f"in {typed('results')}; {typed('cvpl report')} turns it into a report."
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
    text = f"{counted(rows, 'release')} of {counted(groups, 'data set')}."
    known = [row for row in result.rows if row.risk is not None and row.risk.basis == "control"]
    if known:
        most = max(known, key=lambda row: row.shown[0] or 0.0)
        risk = in_words(most.shown[0], k=most.suppress_below)
        text += f" The risk is highest in '{printable(most.name)}' of {printable(most.group)}: {risk}."
    without = [f"{dead} not assessable"] * bool(dead) + [f"{failed} could not be audited"] * bool(failed)
    return text + (f" Without figures: {', '.join(without)}." if without else "")


def _group(result: BenchmarkResult, group: BenchmarkGroup, at: int) -> list[ReportSection]:
    """The releases of one manifest, the details behind their figures, and their warnings."""
    rows, name = result.of(group.name), printable(group.name)
    risk = ReportTable(f"Risk in {name}", _left(RISK), tuple(risk_cells(row, rows) for row in rows), "stacked", PAGE)
    behind = tuple(behind_cells(row) for row in rows)
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
            tables=(risk, _risks(rows, name), _rates(rows, name), _kept(rows, name)),
            items=tuple(Item(f"{named(row.name)}: {as_code(note(row))}") for row in rows if note(row)),
            outputs=SCREENS,
        ),
        ReportSection(
            f"behind-{at}",
            f"Details behind the figures of {name}",
            level=3,
            tables=(ReportTable(f"Figures behind the risk in {name}", _left((*BEHIND, *SIZES)), behind, "stacked"),),
            notes=(text,),
            folded=PAGE,
        ),
        _criteria(rows, name, at),
        compared_inference_section(
            [(row.name, row.inference, row.suppress_below) for row in rows],
            f"inference-{at}",
            f"Attribute inference in {name}",
            folded=PAGE,
        ),
        ReportSection(
            f"warnings-{at}",
            f"{counted(len(warnings), 'warning')} for {name}",
            level=3,
            items=tuple(warnings),
            items_as="boxes",
            folded=PAGE,
        ),
    ]


def _criteria(rows: list[BenchmarkRow], name: str, at: int) -> ReportSection:
    """The formal criteria of each release, who is singled out, and how many promises attackers contradict."""
    found = [(row, row.criteria) for row in rows if row.criteria is not None]
    heads = ("k", "unique", "average 1 / class size", "l", "singled out", "interval", "promises contradicted")
    cells = tuple(
        (
            named(row.name),
            f"{item.k:,}",
            percent(item.unique, k=row.suppress_below, of="records"),
            percent(item.average_class_risk, k=row.suppress_below, of="records"),
            UNKNOWN if item.least_l is None else f"{item.least_l:,}",
            percent(item.singled_out, k=row.suppress_below, of="predicates"),
            span(item.singled_out_low, item.singled_out_high),
            f"{item.contradicted} of {item.tested}" if item.tested else "none tested",
        )
        for row, item in found
    )
    columns = (Head("release", "name"), *map(Head, heads))
    return ReportSection(
        f"criteria-{at}",
        f"Formal criteria and singling out of {name}",
        level=3,
        tables=(ReportTable(f"Formal criteria and singling out of {name}", columns, cells, "stacked"),)
        if cells
        else (),
        notes=(
            ("A promise is contradicted if attackers achieve more than a criterion allows, beyond error.",)
            if cells
            else ()
        ),
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
    columns = (
        Head("place"),
        Head("release", "name"),
        Head("risk"),
        Head("95% interval"),
        Head("top-1"),
        Head("largest"),
        Head("compared with", "left"),
    )
    cells = tuple(
        (
            place(row, rows),
            named(row.name),
            percent(row.shown[0], k=row.suppress_below) if row.status == "assessed" else row.status.replace("_", " "),
            span(row.shown[1], row.shown[2]),
            percent(row.top1_hit_rate, k=row.suppress_below),
            percent(None if row.largest_top1 is None else row.largest_top1.top1_hit_rate, k=row.suppress_below),
            f"{comparison_group(row)}, {false_rate_note(row)}" if false_rate_note(row) else comparison_group(row),
        )
        for row in rows
    )
    return ReportTable(f"Risk in {name}", columns, cells, outputs=TERMINAL)


def _rates(rows: list[BenchmarkRow], name: str) -> ReportTable:
    heads = ("attributable", "95% interval", "linked", "control")
    cells = tuple(
        (
            named(row.name),
            percent(None if row.attributable_rate is None else row.attributable_rate.estimate, k=row.suppress_below),
            "" if row.attributable_rate is None else span(row.attributable_rate.low, row.attributable_rate.high),
            percent(None if row.linkage_rate is None else row.linkage_rate.estimate, k=row.suppress_below),
            percent(None if row.control is None else row.control.rate, k=row.suppress_below),
            UNKNOWN if row.attacker is None else named(row.attacker),
        )
        for row in rows
    )
    columns = (Head("release", "name"), *map(Head, heads), Head("attacker", "left"))
    return ReportTable(f"Rates in {name}", columns, cells, outputs=TERMINAL)


def _kept(rows: list[BenchmarkRow], name: str) -> ReportTable:
    columns = (Head("release", "name"), Head("utility"), Head("seconds"), Head("how it was made", "left"))
    cells = tuple((named(row.name), utility(row.utility, short=True), seconds(row), made(row)) for row in rows)
    return ReportTable(f"Utility in {name}", columns, cells, outputs=TERMINAL)


def _provenance(result: BenchmarkResult) -> ReportSection:
    """Every release with its SHA-256 checksum."""
    rows = tuple(
        (
            named(f"{row.group}/{row.name}"),
            named(row.file),
            printable(row.inputs["protected"].sha256 or UNKNOWN) if "protected" in row.inputs else UNKNOWN,
        )
        for row in result.rows
    )
    return ReportSection(
        "provenance",
        "Provenance",
        sentences=(Remark(f"{versions(result.versions)} {BESIDE} {rounding_in_words(_rounded_for(result))}"),),
        tables=(ReportTable("Files", _left(("release", "file", "SHA-256")), rows),),
        starts_sheet=True,
    )


def _rounded_for(result: BenchmarkResult) -> int:
    """The smallest k of the audited releases."""
    return min((row.suppress_below for row in result.rows if row.status != "failed"), default=1)


def _left(heads: Iterable[str]) -> tuple[Head, ...]:
    return tuple(Head(head, "left") for head in heads)
