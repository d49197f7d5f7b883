"""The sections of a report on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cvpl.reports.brief import LINES, brief_sections
from cvpl.reports.layout import (
    figure_widths,
    figures_heading,
    hanging,
    heading,
    plain,
    show_figures,
    show_table,
)
from cvpl.reports.sections.results import sections_of
from cvpl.reports.sections.section import TITLE, Output, Remark, ReportSection, sections_for
from cvpl.reports.summary import show_summary, show_top
from cvpl.result import AuditResult, ComparisonResult, SurfaceResult
from cvpl.result.file import AnyResult

_FIGURES = ("figures", "cards")
_STYLES = {"plain": "", "quiet": "dim", "notice": "bold yellow", "alarm": "bold red", "good": "bold green"}


def show(result: AnyResult, console: Console, *, details: bool = False, most: int = LINES) -> None:
    """Print a result: of an audit, a comparison or a surface at most `most` lines, and everything with `details`."""
    sections = sections_of(result)
    if isinstance(result, AuditResult):
        if not details:
            show_summary(result, console, most)
            return
        show_top(result, console)
        sections = [section for section in sections if section.anchor != TITLE]
    elif isinstance(result, ComparisonResult | SurfaceResult) and not details:
        sections = brief_sections(sections, console, show_sections, most)
    show_sections(sections, console)


def show_sections(sections: Sequence[ReportSection], console: Console) -> None:
    """Print the sections that the terminal shows, each after an empty line."""
    shown = [section for section in sections_for(sections, Output.TERMINAL) if not _empty(section)]
    widths = figure_widths([table for section in shown for table in section.tables if table.style in _FIGURES])
    for section in shown:
        console.print()
        if section.anchor == TITLE:
            for remark in section.sentences:
                console.print(Text(plain(remark.text), style="bold"))
            continue
        _show(section, widths, console)


def _empty(section: ReportSection) -> bool:
    return not (section.sentences or section.tables or section.items or section.code or section.notes)


def _show(section: ReportSection, widths: Sequence[int], console: Console) -> None:
    if section.heading:
        style = "bold yellow" if section.items_as == "boxes" else "bold"
        first = next((table for table in section.tables if table.style in _FIGURES), None)
        text = section.heading if first is None else figures_heading(section.heading, first, widths)
        heading(text, console, style)
    for remark in section.sentences:
        _show_remark(remark, console)
    for table in section.tables:
        if table.style in _FIGURES:
            show_figures(table, widths, console)
        else:
            if table.captioned:
                console.print()
                console.print(Text(plain(table.label), style="bold"))
            show_table(table, console)
    style = "dim" if section.items_as == "quiet" else ""
    for at, item in enumerate(section.items, start=1):
        hanging(f"{at}." if section.items_as == "steps" else "-", item.text, console, style)
        for line in item.more:
            hanging(" ", line, console, style="dim")
    if section.code:
        console.print(Padding(Text(section.code), (0, 0, 0, 2)))
    for note in section.notes:
        console.print(Text(plain(note), style="dim"))


def _show_remark(remark: Remark, console: Console) -> None:
    style = _STYLES[remark.tone]
    text = f"{remark.label}: {remark.text}" if remark.label else remark.text
    if remark.tone == "alarm":
        hanging("!", text, console, style)
    else:
        console.print(Text(plain(text), style=style))
    for line in remark.points:
        hanging("-", line, console)
