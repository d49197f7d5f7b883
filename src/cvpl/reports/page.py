"""A page that can be handed over: one file, no script, no request to anywhere, made from the sections of a report.

Jinja2 escapes whatever comes from the data or the configuration; only pictures that `cvpl.charts` has drawn go in as
they are, and Vega has escaped the text in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cvpl.reports.sections.results import sections_of
from cvpl.reports.sections.section import CLOSING, TITLE, Column, Figure, Output, Section, Table, belonging
from cvpl.result.file import AnyResult
from cvpl.wording import marked_parts

_MOST_ROWS = 14
"""On paper longer tables of numbers stand in an appendix."""


@dataclass(frozen=True)
class Drawn:
    """A chart on a page: its picture, its title, its alternative text, and its numbers."""

    svg: Markup
    title: str
    description: str
    tables: tuple[Table, ...]

    @property
    def long(self) -> bool:
        """Whether paper has its numbers in the appendix."""
        return sum(len(table.rows) for table in self.tables) > _MOST_ROWS


@dataclass(frozen=True)
class Shown:
    """A section with its charts drawn; `tables` are those that do not stand under a chart."""

    section: Section
    figures: tuple[Drawn, ...]
    tables: tuple[Table, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing would stand under the heading."""
        own = self.section
        return not (
            own.sentences or self.figures or own.without_figure or self.tables or own.items or own.code or own.notes
        )


def report_page(result: AnyResult, *, opened: bool = False) -> str:
    """The page of a result as HTML, from the result alone; `opened` for paper."""
    return sections_page(sections_of(result), opened=opened)


def sections_page(sections: Sequence[Section], *, opened: bool = False) -> str:
    """The page of a report; with `opened` nothing is folded away, for paper."""
    of = {section.anchor: section for section in sections}
    inner = [section for section in belonging(sections, Output.PAGE) if section.anchor not in (TITLE, CLOSING)]
    return _page(
        "sections.html",
        style=_style(),
        opened=opened,
        on_page=True,
        title=of[TITLE],
        closing=of[CLOSING],
        shown=[found for section in inner if not (found := _shown(section)).empty],
    )


def sections_markup(sections: Sequence[Section]) -> str:
    """The sections for a notebook: a part of its page, without charts and without a style of its own."""
    title, *others = belonging(sections, Output.NOTEBOOK)
    inner = [Shown(section, (), section.tables) for section in others]
    shown = [found for found in inner if not found.empty]
    return _page("notebook.html", opened=True, on_page=False, title=title, shown=shown)


def _shown(section: Section) -> Shown:
    drawn = [found for figure in section.figures if (found := _drawn(figure, section.tables)) is not None]
    under = any(found.tables is section.tables for found in drawn)
    return Shown(section, tuple(drawn), () if under else section.tables)


def _drawn(figure: Figure, tables: tuple[Table, ...]) -> Drawn | None:
    """A chart as a page takes it; None where there is nothing to draw."""
    chart = figure.draw()
    if chart is None:
        return None
    from cvpl.charts import numbers, svg  # noqa: PLC0415 - heavy, and a notebook draws nothing

    found = numbers(chart)
    own = Table(found.title, tuple(Column(name) for name in found.columns), found.rows)
    picture = Markup(svg(chart))  # noqa: S704 - Vega has escaped it
    return Drawn(picture, found.title, found.description, tables if figure.tabled and tables else (own,))


def _page(template: str, **context: Any) -> str:
    made = _environment().get_template(template).render(folding=Output.PAGE, **context)
    return made.replace("\r\n", "\n")


def _words(text: str) -> Markup:
    """A text of a section: words to be typed as code, everything else escaped."""
    parts = ((kind, escape(part)) for kind, part in marked_parts(text))
    made = (Markup("<code>{}</code>").format(part) if kind == "typed" else part for kind, part in parts)
    return Markup("").join(made)


def _plain(text: str) -> str:
    """A text of a section where no markup can stand, as in the title of a window."""
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
    found.filters |= {"words": _words, "plain": _plain}
    return found


@cache
def _style() -> Markup:
    from cvpl.charts.style import DARK  # noqa: PLC0415 - heavy

    return Markup(_environment().get_template("style.css").render(dark_colours=list(DARK.items())))  # noqa: S704 - ours
