"""A risk surface on the terminal: the answer, a line for each strength, the rates over thresholds, what to doubt."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from cvpl.reports.layout import bullets, hanging, heading, plain_table
from cvpl.result import SurfaceCell, SurfaceResult, SurfaceSetting
from cvpl.result.surface_answer import (
    answer,
    figure_of,
    figure_shown,
    gathered_warnings,
    named,
    risk_read,
    score,
    setting,
)
from cvpl.wording import UNKNOWN, percent, printable, sentence, span

_WIDE = 96
"""From this width on the linkage rate and the control's stand beside the risk."""
_COLUMN = 10
"""Signs that one threshold takes in the table of rates."""


def show(result: SurfaceResult, console: Console) -> None:
    """Print the summary."""
    console.print()
    console.print(Text(answer(result), style="bold"))
    console.print(Text(setting(result), style="dim"))
    _show_settings(result, console)
    _show_cells(result, console)
    _show_doubts(result, console)
    warnings = gathered_warnings(result)
    if warnings:
        heading("Read this before using a figure", console, style="bold yellow")
        for warning, where in warnings:
            hanging("-", sentence(printable(warning.message)) + where, console)
    console.print()
    console.print(
        Text("These are estimates under the stated attacker, no guarantee. Audit a release before it leaves the house.")
    )


def _show_settings(result: SurfaceResult, console: Console) -> None:
    turned, title = "strength", "The strengths, weakest first"
    if result.sweep == "blocking":
        turned, title = "blocking", "The blockings, coarsest first"
    heading(title, console)
    wide = console.width >= _WIDE
    names = [figure_shown(result), "95% interval", "top-1", "utility"]
    if wide:
        names = ["linked", "control", *names]
    if result.target is not None:
        names.append(f"<= {result.target.rate:.4g}")
    table = plain_table((turned, "left"), *((name, "right") for name in names))
    for row in result.settings:
        estimate, low, high = figure_of(result, row)
        figures = [percent(estimate), span(low, high), percent(row.top1_hit_rate)]
        figures.append(score(row.utility.mean))
        if wide:
            base = None if row.control is None else row.control.rate
            figures = [percent(row.linkage_rate.estimate), percent(base), *figures]
        if result.target is not None:
            figures.append("yes" if row.safe else "no")
        table.add_row(Text(printable(str(row.strength))), *figures)
    console.print(table)
    hanging("", risk_read(result), console, style="dim")
    for failed in result.failed:
        reason = sentence(printable(failed.reason))
        hanging("-", f"No release at {named(failed.strength)}: {reason}", console)


def _show_cells(result: SurfaceResult, console: Console) -> None:
    widest = max(len(str(row.strength)) for row in result.settings)
    room = max(2, (console.width - widest) // _COLUMN)
    columns = _spread(len(result.settings[0].cells), room)
    if not columns:
        return
    heading(
        "The rate over thresholds" if result.axis == "threshold" else "The rate where so many others are linked",
        console,
    )
    first = result.settings[0].cells
    heads = [_at(first[at]) for at in columns]
    table = plain_table(("", "left"), *((head, "right") for head in heads))
    for row in result.settings:
        cells = [_cell(row, row.cells[at]) if at < len(row.cells) else UNKNOWN for at in columns]
        table.add_row(Text(printable(str(row.strength))), *cells)
    console.print(table)
    marks = []
    if result.target is not None:
        marks.append(f"* within the target: at most {percent(result.target.rate)} by the upper interval end")
    marks.append("? another figure says that more people are found")
    marks.append(f"! a neighbour differs by more than {100 * result.high_sensitivity:.0f} points")
    hanging("", "; ".join(marks) + ".", console, style="dim")


def _show_doubts(result: SurfaceResult, console: Console) -> None:
    doubted = [row for row in result.settings if row.doubts]
    if doubted:
        heading("Why a low figure would not count", console, style="bold yellow")
        bullets((f"{named(row.strength)}: {'; '.join(row.doubts)}." for row in doubted), console)


def _cell(row: SurfaceSetting, cell: SurfaceCell) -> Text:
    rate = cell.linkage_rate if cell.attributable_rate is None else cell.attributable_rate
    marks = ("*" if cell.safe else "?" if cell.contradicted else " ") + ("!" if cell.steep else " ")
    return Text(percent(rate) + marks)


def _at(cell: SurfaceCell) -> str:
    return (f"{cell.threshold:.2f}" if cell.threshold is not None else percent(cell.false_rate)) + "  "


def _spread(count: int, room: int) -> list[int]:
    """Evenly spaced places, the first and the last among them."""
    if count <= room:
        return list(range(count))
    return sorted({round(at * (count - 1) / (room - 1)) for at in range(room)})
