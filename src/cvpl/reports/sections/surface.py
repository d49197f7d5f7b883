"""The report of a risk surface as a list of sections: the answer, the heat map, risk and utility, the warnings."""

from __future__ import annotations

from functools import partial

from cvpl.answers.sentences import (
    figure_of,
    figure_shown,
    gathered_warnings,
    reservations,
    risk_read,
    score,
    surface_answer,
    surface_setting,
)
from cvpl.reports.sections.reviewers import REPRODUCE, SAME, configuration_section, inputs_table, shell, versions
from cvpl.reports.sections.section import (
    CLOSING,
    EVERYWHERE,
    PAGE,
    REPORTS,
    TERMINAL,
    TITLE,
    Column,
    Figure,
    Item,
    Remark,
    ReportSection,
    chart_of,
    table_of,
)
from cvpl.reports.sections.warnings import pointer_section, warning_item, warnings_section
from cvpl.result import SurfaceCell, SurfaceResult, SurfaceSetting
from cvpl.wording import (
    UNKNOWN,
    mark_name,
    mark_typed,
    percent,
    printable,
    rounding_in_words,
    sentence,
    span,
    with_full_stop,
)

_ONE_DRAW = (
    "This report shows one draw of the mechanism at each setting, under the stated attacker. It certifies nothing: "
    "a stronger attacker may do better."
)
_DRAWS = (
    "Each setting shows the draw with the largest risk, under the stated attacker. It certifies nothing: a stronger "
    "attacker may do better."
)
_WIDE_COLUMN = 96
"""Terminals at least this wide show the linkage rate and the control rate beside the risk."""


def surface_sections(result: SurfaceResult) -> list[ReportSection]:
    """All sections of the report, from the answer to the provenance."""
    swept = "the blocking" if result.sweep == "blocking" else mark_name(result.mechanism)
    gathered = gathered_warnings(result)
    closing = "These are estimates under the stated attacker, no guarantee. Audit every table before you release it."
    return [
        ReportSection(
            TITLE,
            f"Risk surface of {swept} on {mark_name(result.inputs['original'].name)}",
            sentences=(Remark(surface_answer(result)),),
            outputs=EVERYWHERE,
        ),
        ReportSection("reservations", sentences=tuple(map(Remark, reservations(result))), outputs=EVERYWHERE),
        pointer_section([warning for warning, _ in gathered], len(gathered)),
        _settings(result),
        _doubts(result),
        _steps_section(_steps(result)),
        warnings_section([warning_item(warning, where) for warning, where in gathered]),
        *_cells(result),
        ReportSection("setting", "How it was measured", sentences=(Remark(surface_setting(result)),), outputs=REPORTS),
        _provenance(result),
        _repeat(result),
        configuration_section(result.provenance.config),
        ReportSection(CLOSING, sentences=(Remark(closing),), outputs=REPORTS),
    ]


def _steps_section(steps: list[str]) -> ReportSection:
    items = tuple(Item(step) for step in steps)
    return ReportSection("next", "What to do next", items=items, items_as="steps", outputs=REPORTS)


def _settings(result: SurfaceResult) -> ReportSection:
    """Risk and utility over the strengths: the chart, and one row per strength."""
    name = figure_shown(result).capitalize()
    varied, heading = "strength", f"{name} and utility, the weakest setting first"
    if result.sweep == "blocking":
        varied, heading = "blocking", f"{name} and utility, the coarsest blocking first"
    k, target = result.suppress_below, "" if result.target is None else f"meets {result.target.rate:.4g}"
    columns: tuple[Column[SurfaceSetting], ...] = (
        Column(varied, lambda row: mark_name(str(row.strength)), "name"),
        Column("linked", lambda row: percent(row.linkage_rate.estimate, k=k), least_width=_WIDE_COLUMN),
        Column("control", partial(_control_rate, k), least_width=_WIDE_COLUMN),
        Column(figure_shown(result), lambda row: percent(figure_of(result, row)[0], k=k)),
        Column("95% interval", lambda row: span(*figure_of(result, row)[1:])),
        Column("top-1", lambda row: percent(row.top1_hit_rate, k=k)),
        Column("utility", lambda row: score(row.utility.mean)),
        Column(
            "draws",
            lambda row: span(min(row.draws), max(row.draws)) if row.draws else "",
            least_width=_WIDE_COLUMN,
            shown=any(row.draws for row in result.settings),
        ),
        Column(target, lambda row: "yes" if row.safe else "no", shown=result.target is not None),
    )
    return ReportSection(
        "settings",
        heading,
        figures=(Figure(chart_of("risk_and_utility", result), tabled=True, in_notebook=True),),
        tables=(table_of("Settings", result.settings, columns, style="stacked"),),
        tables_open=True,
        items=tuple(
            Item(f"No release at {printable(str(failed.strength))}: {sentence(printable(failed.reason))}")
            for failed in result.failed
        ),
        notes=(f"{risk_read(result)} Utility is the mean of four figures, from 0 to 1.",),
        outputs=EVERYWHERE,
    )


def _control_rate(k: int, row: SurfaceSetting) -> str:
    return percent(None if row.control is None else row.control.rate, k=k)


def _doubts(result: SurfaceResult) -> ReportSection:
    limit = None if result.target is None else result.target.rate
    low = [row for row in result.settings if limit is None or (row.shown.estimate or 0.0) <= limit]
    doubted = [row for row in low if row.doubts]
    items = tuple(
        Item(with_full_stop(f"{printable(str(row.strength))}: {printable('; '.join(row.doubts))}")) for row in doubted
    )
    return ReportSection("doubts", "Why a low figure does not count", level=3, items=items, outputs=REPORTS)


def _cells(result: SurfaceResult) -> list[ReportSection]:
    """The rates of every strength at every threshold or false-positive rate; the page shows them as a heat map."""
    by_threshold = result.axis == "threshold"
    heading = "The rate over thresholds" if by_threshold else "The rate over false-positive rates"
    figure = Figure(chart_of("heat_map", result))
    widest = max((row.cells for row in result.settings), key=len, default=[])
    if not widest:
        none = "There is no heat map: without a threshold, a control or true matches, no rate can be computed."
        return [ReportSection("cells", heading, figures=(figure,), without_figure=none, folded=PAGE)]
    columns: list[Column[SurfaceSetting]] = [Column("", lambda row: mark_name(str(row.strength)), "left")]
    columns += [Column(f"{_axis_value(cell)}  ", partial(_cell, at)) for at, cell in enumerate(widest)]
    # On a page, the same numbers are in the table under the chart, with words instead of marks.
    table = table_of(heading, result.settings, columns, outputs=TERMINAL, spread=True)
    marks = ReportSection("cells", heading, tables=(table,), notes=(_marks(result),), outputs=TERMINAL)
    on_page = ReportSection("cells", heading, figures=(figure,), folded=PAGE)
    return [on_page, marks]


def _marks(result: SurfaceResult) -> str:
    marks = []
    if result.target is not None:
        marks.append(f"* within the target: at most {percent(result.target.rate)} by the upper interval end")
    marks.append("? another figure shows a higher risk")
    marks.append(f"! a neighbouring cell differs by more than {100 * result.high_sensitivity:.0f} points")
    return f"{'; '.join(marks)}."


def _cell(at: int, row: SurfaceSetting) -> str:
    if at >= len(row.cells):
        return UNKNOWN
    cell = row.cells[at]
    rate = cell.linkage_rate if cell.attributable_rate is None else cell.attributable_rate
    return percent(rate) + ("*" if cell.safe else "?" if cell.contradicted else " ") + ("!" if cell.steep else " ")


def _axis_value(cell: SurfaceCell) -> str:
    return f"{cell.threshold:.2f}" if cell.threshold is not None else percent(cell.false_rate)


def _steps(result: SurfaceResult) -> list[str]:
    steps = []
    if result.target is not None and result.target.weakest is not None:
        strength, how = printable(str(result.target.weakest.strength)), mark_typed("attacker: default")
        steps.append(f"Make the release at {strength}, and audit it with {how} before you release it.")
    elif result.target is not None and result.sweep == "mechanism":
        steps.append("Try stronger settings or another mechanism: none of these stays at or below the target.")
    return [
        *steps,
        _DRAWS if any(row.draws for row in result.settings) else _ONE_DRAW,
        "If many cells of a row are steep, try a setting in between.",
    ]


def _provenance(result: SurfaceResult) -> ReportSection:
    tables = list(result.inputs.items())
    for row in result.settings if result.sweep == "mechanism" else result.settings[:1]:
        at = "release" if result.sweep == "blocking" else f"release at {row.strength}"
        tables.append((at, row.release))
    text = f"Seed {result.provenance.seed}. {versions(result.provenance.versions)} "
    text += rounding_in_words(result.suppress_below)
    return ReportSection(
        "provenance", "Provenance", sentences=(Remark(text),), tables=(inputs_table(tables),), starts_sheet=True
    )


def _repeat(result: SurfaceResult) -> ReportSection:
    command = _command(result)
    text = f"{SAME}:" if command else f"{SAME}; the mechanism was a user-defined function."
    return ReportSection("repeat", REPRODUCE, level=3, sentences=(Remark(text),), code=command or "")


def _command(result: SurfaceResult) -> str | None:
    """The command that reproduces the sweep, with the configuration in audit.yaml; None for a user-defined function."""
    words = ["cvpl", "surface", result.inputs["original"].name, "--config", "audit.yaml"]
    if result.sweep == "blocking":
        words += ["--blocking", "--release", result.settings[0].release.name]
    elif not result.function:
        tried = [*(row.strength for row in result.settings), *(item.strength for item in result.failed)]
        words += ["--mechanism", result.mechanism, "--strengths", ",".join(map(str, tried))]
    else:
        return None
    if "control" in result.inputs:
        words += ["--control", result.inputs["control"].name]
    if result.asked_for is not None:
        words += ["--attacker", result.asked_for]
    if draws := max(len(row.draws) for row in result.settings):
        words += ["--draws", str(draws)]
    if result.target is not None:
        words += ["--target", f"{result.target.rate:g}"]
    return shell(words)
