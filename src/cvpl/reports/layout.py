"""The layout of a report on the terminal: headings, aligned figures, tables and hanging indents.

External text (names of columns, files and attackers) is printed as Text, never as markup, and with control characters
escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from cvpl.reports.sections.section import ReportTable
from cvpl.wording import marked_parts

NARROW = 76
"""Terminals narrower than this show the meaning of a figure below it, not beside it."""


def plain(text: str) -> str:
    """The text of a section for a terminal, with text to type in backticks."""
    return "".join(f"`{part}`" if kind == "typed" else part for kind, part in marked_parts(text))


def heading(text: str, console: Console, style: str = "bold") -> None:
    """Print a heading."""
    console.print(Text(plain(text), style=style))


def hanging(mark: str, text: str, console: Console, style: str = "") -> None:
    """Print a mark and the text beside it, with a hanging indent."""
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, min_width=len(mark) + 2)
    grid.add_column()
    grid.add_row(Text(f"  {mark}", style=style), Text(plain(text), style=style))
    console.print(grid)


def show_table(table: ReportTable, console: Console) -> None:
    """Print a table. Figures and names are never cut, long text wraps, and some columns need a wide terminal."""
    table = table.filled()
    kept = [at for at, column in enumerate(table.heads) if column.least_width <= console.width]
    heads = [plain(column.name) for column in table.heads]
    widths = [2 + max(len(heads[at]), *(len(plain(row[at])) for row in table.rows)) for at in kept if table.rows]
    if table.spread and widths:
        room = max(2, (console.width - widths[0]) // max(widths[1:], default=1))
        kept = [0, *(kept[1 + at] for at in _spread(len(kept) - 1, room))]
    numbered = table.numbered and sum(widths) - 2 > console.width
    legend = ", ".join(f"{at}: {heads[at]}" for at in kept[1:])
    grid = Grid(show_header=True, header_style="bold", box=None, pad_edge=False)
    for at in kept:
        column = table.heads[at]
        name = str(at) if numbered and at else heads[at]
        justify: Literal["left", "right"] = "right" if column.side == "right" else "left"
        # The unit of a column goes below its name: the figures are narrower.
        grid.add_column(
            Text(name.replace(", points", ",\npoints")), justify=justify, no_wrap=column.side != "left", overflow="fold"
        )
    for row in table.rows:
        grid.add_row(*(Text(plain(row[at])) for at in kept))
    console.print(grid)
    if numbered:
        console.print(Text(legend, style="dim"))


def _spread(count: int, room: int) -> list[int]:
    """Evenly spaced indices that include the first and the last."""
    if count <= room:
        return list(range(count))
    return sorted({round(at * (count - 1) / (room - 1)) for at in range(room)})


def figure_widths(tables: Sequence[ReportTable]) -> list[int]:
    """The widths of name, value and interval over all tables of figures, so that their columns align."""
    rows = [row for table in tables for row in table.rows]
    return [max((len(plain(row[at])) for row in rows), default=0) for at in range(3)]


def figures_heading(text: str, table: ReportTable, widths: Sequence[int]) -> str:
    """The heading of a table of figures, with the head of the interval column if there are intervals."""
    ends = table.heads[2].name if any(row[2] for row in table.rows) else ""
    start = widths[0] + 2 + widths[1] + 2
    return f"{plain(text):<{start}}{ends:>{widths[2]}}".rstrip()


def show_figures(table: ReportTable, widths: Sequence[int], console: Console) -> None:
    """Print figures with their intervals and meanings; on a narrow terminal the meaning is below the figure."""
    wide = console.width >= NARROW
    grid = _grid(widths, meaning=wide)
    for row in table.rows:
        cells = [Text(plain(cell)) for cell in row]
        if wide:
            grid.add_row(*cells)
            continue
        alone = _grid(widths, meaning=False)
        alone.add_row(*cells[:3])
        console.print(alone)
        console.print(Padding(Text(plain(row[3]), style="dim"), (0, 0, 0, 4)))
    if wide:
        console.print(grid)


def _grid(widths: Sequence[int], *, meaning: bool) -> Grid:
    """A grid for name, value and interval with the given widths, and optionally the meaning."""
    grid = Grid.grid(padding=(0, 2))
    name, *figures = widths
    grid.add_column(width=name, no_wrap=True)
    for width in figures:
        grid.add_column(width=width, no_wrap=True, justify="right")
    if meaning:
        grid.add_column()
    return grid
