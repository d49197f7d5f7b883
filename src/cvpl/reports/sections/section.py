"""A section of a report as a value: heading, sentences, tables, charts and notes, worded but not laid out.

Every output (page, terminal, Markdown, notebook) renders the same values, so a figure, its interval and its wording are
the same everywhere. Texts are plain: `mark_typed` and `mark_name` of `cvpl.wording` mark text to type and names from
the data, and each output escapes in its own way. Charts are drawn only for outputs that show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Generic, Literal, TypedDict, TypeVar, Unpack

if TYPE_CHECKING:
    from cvpl.charts import Chart, Drawing

Row = TypeVar("Row")


class Output(Enum):
    """An output that can show a section."""

    PAGE = "page"
    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    NOTEBOOK = "notebook"


PAGE = frozenset({Output.PAGE})
"""Only the page, which has room for everything."""
SCREENS = frozenset({Output.PAGE, Output.TERMINAL})
"""The page and the terminal."""
WRITTEN = frozenset({Output.PAGE, Output.MARKDOWN})
"""The page and Markdown, as in a pull request comment."""
TERMINAL = frozenset({Output.TERMINAL})
"""Only the terminal."""
REPORTS = frozenset({Output.PAGE, Output.TERMINAL, Output.MARKDOWN})
"""Every output except a notebook."""
EVERYWHERE = frozenset(Output)
"""Every output: for what no reader should miss."""

_STACKED_FROM = 4
"""Tables with so many columns do not fit a phone, so their rows become cards."""
_SHORT = 18
"""Cells of at most this many characters stand side by side on a card."""

Tone = Literal["plain", "quiet", "notice", "alarm", "good"]
"""The emphasis of a sentence: `notice` should be read first, `alarm` closes a gate, `good` is a policy that is met."""


Side = Literal["left", "right", "name"]
Style = Literal["plain", "figures", "cards", "stacked"]


@dataclass(frozen=True)
class Head:
    """The head of a column, the alignment of its cells, and the smallest terminal width that shows it.

    The side `name` is left-aligned, for names that are never wrapped. `breaks` lets a page wrap long words anywhere, as
    for fingerprints.
    """

    name: str
    side: Side = "right"
    least_width: int = 0
    breaks: bool = False


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A declared column: its head, and the text of its cell in a row. A table leaves a column out that is not shown."""

    name: str
    cell: Callable[[Row], str]
    side: Side = "right"
    least_width: int = 0
    breaks: bool = False
    shown: bool = True

    @property
    def head(self) -> Head:
        """The head of the column."""
        return Head(self.name, self.side, self.least_width, self.breaks)


class _Look(TypedDict, total=False):
    """How a table is shown, as in `ReportTable`."""

    style: Style
    outputs: frozenset[Output]
    spread: bool
    numbered: bool
    folded: bool
    captioned: bool


@dataclass(frozen=True)
class ReportTable:
    """Rows of cells with their final text.

    `outputs` are the outputs that show the table; an output with a chart may already show the same numbers below it. If
    a terminal is too narrow, `spread` shows evenly spaced columns only, and `numbered` numbers the columns and explains
    the numbers below the table.

    `style`: `figures` has the columns figure, value, interval and meaning, with values aligned over all such tables;
    `cards` is the same, shown large on a page; `stacked` shows the cells of a row below each other on a narrow screen,
    as every table of four or more columns does. A page folds a table that is `folded`. The label of a table that is
    `captioned` stands above it; else only screen readers and folded tables show it.
    """

    label: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
    style: Style = "plain"
    outputs: frozenset[Output] = EVERYWHERE
    spread: bool = False
    numbered: bool = False
    folded: bool = False
    captioned: bool = False

    @property
    def named_by(self) -> int:
        """The index of the column with the row names: the first that is not right-aligned."""
        return next((at for at, column in enumerate(self.heads) if column.side != "right"), 0)

    @property
    def stacks(self) -> bool:
        """Whether a narrow screen shows each row as a card."""
        return self.style == "stacked" or len(self.heads) >= _STACKED_FROM

    @property
    def compact(self) -> bool:
        """Whether a card has two cells in a line: all of them are short."""
        return all(len(cell) <= _SHORT for row in self.rows for at, cell in enumerate(row) if at != self.named_by)

    def filled(self) -> ReportTable:
        """The same table without empty columns."""
        kept = [at for at in range(len(self.heads)) if not self.rows or any(row[at] for row in self.rows)]
        heads = tuple(self.heads[at] for at in kept)
        return replace(self, heads=heads, rows=tuple(tuple(row[at] for at in kept) for row in self.rows))


def table_of(label: str, rows: Iterable[Row], columns: Iterable[Column[Row]], **look: Unpack[_Look]) -> ReportTable:
    """The table with a row for each of `rows`, whose cells are those of the columns."""
    shown = [column for column in columns if column.shown]
    cells = tuple(tuple(column.cell(row) for column in shown) for row in rows)
    return ReportTable(label, tuple(column.head for column in shown), cells, **look)


@dataclass(frozen=True)
class Remark:
    """One or two sentences, with a label before and points below; `link` is the anchor of the related section."""

    text: str
    tone: Tone = "plain"
    label: str = ""
    points: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class Item:
    """One entry of a list, with smaller lines below it."""

    text: str
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A chart that is drawn on demand; `draw` returns None if there is nothing to draw.

    `tabled` is true if the section's tables hold its numbers; otherwise the chart has its own table. `in_notebook` is
    true if a notebook shows the chart too.
    """

    draw: Callable[[], Chart | Drawing | None]
    tabled: bool = False
    in_notebook: bool = False


class Layer(Enum):
    """A part of a layered page: what a decision needs, and what stands behind the figures."""

    DECIDE = "decide"
    INSPECT = "inspect"


@dataclass(frozen=True)
class ReportSection:
    """One section of a report.

    Its parts are shown in this order: sentences, charts, tables, list, code, notes. `without_figure` is the text shown
    if no chart can be drawn. `tables_open` shows the numbers below a chart unfolded. A section without a heading
    belongs to the top of a report. `folded` are the outputs that fold the section; `starts_sheet` starts a new page in
    print. `layer` is the part of a layered page that holds the section.
    """

    anchor: str
    heading: str = ""
    level: Literal[2, 3] = 2
    sentences: tuple[Remark, ...] = ()
    figures: tuple[Figure, ...] = ()
    without_figure: str = ""
    tables: tuple[ReportTable, ...] = ()
    tables_open: bool = False
    items: tuple[Item, ...] = ()
    items_as: Literal["bullets", "quiet", "steps", "boxes"] = "bullets"
    code: str = ""
    notes: tuple[str, ...] = ()
    outputs: frozenset[Output] = PAGE
    folded: frozenset[Output] = frozenset()
    starts_sheet: bool = False
    layer: Layer | None = None


TITLE = "answer"
"""The anchor of the first section: its heading is the title of the report, its sentence the answer."""
CLOSING = "closing"
"""The anchor of the last section, which states what the figures do not guarantee."""


def sections_for(sections: Iterable[ReportSection], output: Output) -> list[ReportSection]:
    """The sections that an output shows, each with the tables that the output shows."""
    return [
        replace(section, tables=tuple(table for table in section.tables if output in table.outputs))
        for section in sections
        if output in section.outputs
    ]


def chart_of(name: str, *subject: object) -> Callable[[], Chart | Drawing | None]:
    """A function that draws the named chart of `cvpl.charts`; the drawing library is loaded only when it is called."""

    def draw() -> Chart | Drawing | None:
        from altair.utils.schemapi import debug_mode  # noqa: PLC0415 - slow to import, and many outputs draw nothing

        from cvpl import charts  # noqa: PLC0415

        # Our own charts need not be held against Altair's schema at every step, which takes as long as drawing them.
        with debug_mode(False):
            found: Chart | Drawing | None = getattr(charts, name)(*subject)
        return found

    return draw
