"""A section of a report as a value: heading, sentences, tables, charts and notes, worded and not yet laid out.

Every output (page, terminal, Markdown, notebook) renders the same values, so a figure, its interval and its wording are
the same everywhere. Texts are plain: `typed` and `named` of `cvpl.wording` mark words to be typed and names from the
data, and each output escapes in its own way. Charts are drawn only where an output asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cvpl.charts import Chart


class Output(Enum):
    """Where a section can be shown."""

    PAGE = "page"
    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    NOTEBOOK = "notebook"


PAGE = frozenset({Output.PAGE})
"""Only the page, which has room for everything."""
SCREENS = frozenset({Output.PAGE, Output.TERMINAL})
"""The page and the terminal."""
WRITTEN = frozenset({Output.PAGE, Output.MARKDOWN})
"""The page and a comment for a pull request."""
TERMINAL = frozenset({Output.TERMINAL})
"""Only the terminal."""
REPORTS = frozenset({Output.PAGE, Output.TERMINAL, Output.MARKDOWN})
"""All but a notebook."""
EVERYWHERE = frozenset(Output)
"""What nobody should miss."""

Tone = Literal["plain", "quiet", "notice", "alarm", "good"]
"""How loudly a sentence is said: a notice is to be read first, an alarm closes a gate, good is a policy that is met."""


@dataclass(frozen=True)
class Column:
    """The head of a column, the side its cells stand on, and from which width of a terminal on it is shown.

    `name` is the left side for names that are never folded.
    """

    name: str
    side: Literal["left", "right", "name"] = "right"
    least_width: int = 0


@dataclass(frozen=True)
class Table:
    """Rows of cells that are already worded.

    `outputs` are those that show it: one that draws a chart may have the same numbers under it. Where a terminal has no
    room, `spread` lets it show evenly spaced columns, and `numbered` number the columns and say below which is which.

    `style`: `figures` are figure, value, interval and meaning, the values in one column over all such tables; `cards`
    are the same, shown large on a page; rows of a `stacked` table stand one cell above the other on a narrow screen. A
    page folds a table away that is `folded`.
    """

    label: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    style: Literal["plain", "figures", "cards", "stacked"] = "plain"
    outputs: frozenset[Output] = EVERYWHERE
    spread: bool = False
    numbered: bool = False
    folded: bool = False

    @property
    def named_by(self) -> int:
        """Which column holds the names of the rows: the first that is no figure."""
        return next((at for at, column in enumerate(self.columns) if column.side != "right"), 0)

    def filled(self) -> Table:
        """The same table without columns in which nothing stands."""
        kept = [at for at in range(len(self.columns)) if not self.rows or any(row[at] for row in self.rows)]
        columns = tuple(self.columns[at] for at in kept)
        return replace(self, columns=columns, rows=tuple(tuple(row[at] for at in kept) for row in self.rows))


@dataclass(frozen=True)
class Remark:
    """A sentence or two, with a label before it and points below it; `link` is the anchor of what it is about."""

    text: str
    tone: Tone = "plain"
    label: str = ""
    points: tuple[str, ...] = ()
    link: str = ""


@dataclass(frozen=True)
class Item:
    """One entry of a list, and smaller lines below it."""

    text: str
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A chart that is drawn when it is asked for; None where there is nothing to draw.

    `tabled` says that the section's tables are its numbers; otherwise it brings its own.
    """

    draw: Callable[[], Chart | None]
    tabled: bool = False


@dataclass(frozen=True)
class Bar:
    """A place between two ends, for outputs without charts; `share` is how far it is from the left."""

    share: float
    left: str
    right: str
    meaning: str


@dataclass(frozen=True)
class Section:
    """One section of a report.

    It is shown in this order: sentences, charts, tables, list, code, notes. `without_figure` is said where no chart can
    be drawn, `bar` is drawn where an output has no charts. `tables_open` shows the numbers under a chart unfolded. A
    section without a heading belongs to the top of a report. `folded` are the outputs that fold it away;
    `starts_sheet` begins a new sheet of paper.
    """

    anchor: str
    heading: str = ""
    level: Literal[2, 3] = 2
    sentences: tuple[Remark, ...] = ()
    figures: tuple[Figure, ...] = ()
    without_figure: str = ""
    bar: Bar | None = None
    tables: tuple[Table, ...] = ()
    tables_open: bool = False
    items: tuple[Item, ...] = ()
    items_as: Literal["bullets", "quiet", "steps", "boxes"] = "bullets"
    code: str = ""
    notes: tuple[str, ...] = ()
    outputs: frozenset[Output] = PAGE
    folded: frozenset[Output] = frozenset()
    starts_sheet: bool = False


TITLE = "answer"
"""The anchor of the first section: its heading is the title of the report, its sentence the answer."""
CLOSING = "closing"
"""The anchor of the last section, which says what the figures are not."""


def belonging(sections: Iterable[Section], output: Output) -> list[Section]:
    """The sections that an output shows, with the tables that it shows."""
    return [
        replace(section, tables=tuple(table for table in section.tables if output in table.outputs))
        for section in sections
        if output in section.outputs
    ]


def chart_of(name: str, *subject: object) -> Callable[[], Chart | None]:
    """What draws the chart of this name of `cvpl.charts`; the library that draws is loaded only then."""

    def draw() -> Chart | None:
        from cvpl import charts  # noqa: PLC0415 - heavy, and many outputs draw nothing

        found: Chart | None = getattr(charts, name)(*subject)
        return found

    return draw
