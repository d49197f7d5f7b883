"""A report as one self-contained HTML page, without scripts or network requests, and as a part of a notebook.

Jinja2 escapes all text from the data and the configuration. Only charts from `cvpl.charts` are inserted unescaped; Vega
has escaped the text in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from threading import Thread
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cvpl.answers.headline import Headline, MarkKind, Ruler, Square
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.sections.results import sections_of
from cvpl.reports.sections.section import (
    CLOSING,
    TITLE,
    Figure,
    Head,
    Layer,
    Output,
    ReportSection,
    ReportTable,
    sections_for,
)
from cvpl.reports.sections.sheet import Sheet, audit_sheet
from cvpl.result import AuditResult
from cvpl.result.file import AnyResult
from cvpl.wording import marked_parts

_MOST_ROWS = 14
"""Longer tables of the numbers of a chart are left out in print."""
_LONGEST_PRINTED = 30
"""Longer tables are left out in print, as are those that a page folds."""
_OPTION = re.compile(r"(?<= )--(?:config|control|attackers|randomize-seed)(?= )")
"""The options in the command that repeats an audit."""
_NOT_PRINTED = ("configuration",)
"""Sections that are left out in print; the page and the result hold them."""


@dataclass(frozen=True)
class RenderedChart:
    """A chart on a page: its SVG, title, alternative text and numbers."""

    svg: Markup
    title: str
    description: str
    tables: tuple[ReportTable, ...]

    @property
    def long(self) -> bool:
        """Whether its numbers are left out in print."""
        return sum(len(table.rows) for table in self.tables) > _MOST_ROWS


@dataclass(frozen=True)
class RenderedSection:
    """A section with its charts rendered; `tables` are the tables that are not shown below a chart."""

    section: ReportSection
    charts: tuple[RenderedChart, ...]
    tables: tuple[ReportTable, ...]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show below the heading."""
        own = self.section
        return not (
            own.sentences or self.charts or own.without_figure or self.tables or own.items or own.code or own.notes
        )


@dataclass(frozen=True)
class RenderedLayer:
    """A part of a layered page: its anchor, heading, purpose and sections."""

    anchor: str
    heading: str
    purpose: str
    sections: tuple[RenderedSection, ...]


@dataclass(frozen=True)
class Printing:
    """How a page is printed: its paper, `a4` or `letter`, whether the sheet alone, and the scale of what follows it."""

    paper: Literal["a4", "letter"] = "a4"
    one_page: bool = False
    scale: float = 1.0


_LAYERS = {
    Layer.DECIDE: ("Decide", "Who is at risk, which columns give people away, what to do, and what reviewers ask for."),
    Layer.INSPECT: ("Inspect", "How the figures were measured, how far they can be trusted, and how to repeat them."),
}


def report_page(result: AnyResult, printing: Printing | None = None, *, date: date | None = None) -> str:
    """The HTML page of a result, or with `printing` that of its PDF.

    An audit's page starts with its sheet, which names `date` if it is given.
    """
    sections = sections_of(result)
    sheet = audit_sheet(result, sections[0].heading, date) if isinstance(result, AuditResult) else None
    return sections_page(sections, sheet, printing)


def sections_page(
    sections: Sequence[ReportSection], sheet: Sheet | None = None, printing: Printing | None = None
) -> str:
    """The HTML page of a report. Below a sheet, sections are in layers. A page for print unfolds everything."""
    opened = printing is not None
    if sheet is not None and printing is not None and printing.one_page:
        sections = [section for section in sections if section.anchor in (TITLE, CLOSING)]
    if opened:
        sections = [section for section in sections if section.anchor not in _NOT_PRINTED]
    if opened and sheet is not None:
        sections = [_section_for_paper(section) for section in sections]
    if any(section.figures for section in sections):
        start_charts()
    of = {section.anchor: section for section in sections}
    inner = [section for section in sections_for(sections, Output.PAGE) if section.anchor not in (TITLE, CLOSING)]
    shown = [rendered for section in inner if not (rendered := _render_section(section)).empty]
    return _page(
        "sections.html",
        style=_style(printing),
        opened=opened,
        one_page=printing is not None and printing.one_page,
        on_page=True,
        title=of[TITLE],
        closing=of[CLOSING],
        sheet=sheet,
        layers=[
            RenderedLayer(layer.value, *words, tuple(found for found in shown if found.section.layer is layer))
            for layer, words in _LAYERS.items()
        ],
        sections=shown,
    )


def _section_for_paper(section: ReportSection) -> ReportSection:
    """The section without a chart if the same figures stand below it in full: paper has room for one of them."""
    return replace(section, figures=()) if section.tables_open and section.tables else section


def sections_markup(sections: Sequence[ReportSection]) -> str:
    """The sections as an HTML fragment for a notebook, with the main charts and without styles."""
    title, *others = sections_for(sections, Output.NOTEBOOK)
    inner = [RenderedSection(section, _notebook_charts(section), section.tables) for section in others]
    rendered = [section for section in inner if not section.empty]
    return _page("notebook.html", opened=True, on_page=False, title=title, sections=rendered)


def _notebook_charts(section: ReportSection) -> tuple[RenderedChart, ...]:
    shown = [figure for figure in section.figures if figure.in_notebook]
    return tuple(chart for figure in shown if (chart := _render_chart(figure, section.tables)) is not None)


def start_charts() -> None:
    """Load what draws charts, which takes two seconds, in a thread of its own while other work is done."""
    Thread(target=_draw_nothing).start()


def _draw_nothing() -> None:
    import vl_convert  # noqa: PLC0415 - slow to import

    from cvpl import charts  # noqa: F401, PLC0415 - slow to import

    vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point"})


def _render_section(section: ReportSection) -> RenderedSection:
    charts = [chart for figure in section.figures if (chart := _render_chart(figure, section.tables)) is not None]
    below_chart = any(chart.tables is section.tables for chart in charts)
    return RenderedSection(section, tuple(charts), () if below_chart else section.tables)


def _render_chart(figure: Figure, tables: tuple[ReportTable, ...]) -> RenderedChart | None:
    """Render the chart of a figure; None if there is nothing to draw."""
    chart = figure.draw()
    if chart is None:
        return None
    from cvpl.charts import numbers, svg  # noqa: PLC0415 - slow to import, and a notebook draws nothing

    found = numbers(chart)
    own = ReportTable(found.title, tuple(Head(name) for name in found.columns), found.rows, "stacked")
    picture = Markup(svg(chart))  # noqa: S704 - Vega has escaped it
    return RenderedChart(picture, found.title, found.description, tables if figure.tabled and tables else (own,))


def _page(template: str, **context: Any) -> str:
    made = _environment().get_template(template).render(folding=Output.PAGE, longest=_LONGEST_PRINTED, **context)
    return made.replace("\r\n", "\n")


def _words(text: str) -> Markup:
    """The text of a section as HTML: text to type as code, everything else escaped."""
    parts = ((kind, escape(part)) for kind, part in marked_parts(text))
    made = (Markup("<code>{}</code>").format(part) if kind == "typed" else part for kind, part in parts)
    return Markup("").join(made)


def _code(text: str) -> Markup:
    """Code as HTML; a command is not broken after the hyphens of its options."""
    return Markup(_OPTION.sub(r"<span>\g<0></span>", str(escape(text))))  # noqa: S704 - escaped here


def _plain(text: str) -> str:
    """The text of a section without markup, as for the page title."""
    return "".join(part for _, part in marked_parts(text))


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("cvpl.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"words": _words, "plain": _plain, "code": _code}
    found.filters |= PICTURES
    return found


@cache
def _style(printing: Printing | None) -> Markup:
    from cvpl.charts.drawing import DARK  # noqa: PLC0415 - slow to import

    style = _environment().get_template("style.css")
    return Markup(style.render(dark_colours=list(DARK.items()), printing=printing))  # noqa: S704 - ours


def _people_grid(found: Headline, sheet: Sheet) -> Markup:
    from cvpl.charts.risk import people_grid_svg  # noqa: PLC0415 - slow to import

    text = f"A hundred people. {'; '.join(text for _, text in sheet.legend)}."
    return Markup(people_grid_svg(found, text))  # noqa: S704 - it escapes its text


def _square(square: Square) -> Markup:
    from cvpl.charts.risk import square_svg  # noqa: PLC0415 - slow to import

    return Markup(square_svg(square))  # noqa: S704 - ours


def _ruler(ruler: Ruler) -> Markup:
    from cvpl.charts.risk import ruler_svg  # noqa: PLC0415 - slow to import

    return Markup(ruler_svg(ruler))  # noqa: S704 - it escapes its text


def _mark(kind: MarkKind) -> Markup:
    from cvpl.charts.risk import mark_svg  # noqa: PLC0415 - slow to import

    return Markup(mark_svg(kind))  # noqa: S704 - ours


PICTURES: Mapping[str, Callable[..., Markup]] = {
    "people_grid": _people_grid,
    "square": _square,
    "ruler": _ruler,
    "mark": _mark,
}
"""The pictures by the names of their filters."""


def notebook_html(result: AnyResult) -> str:
    """The notebook view as HTML."""
    return sections_markup(sections_of(result))


def notebook_markdown(result: AnyResult) -> str:
    """The notebook view as Markdown."""
    return sections_markdown(sections_of(result), Output.NOTEBOOK)
