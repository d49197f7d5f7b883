"""How a page on the terminal is laid out: titles, figures in columns, tables, hanging lines.

Whatever comes from outside (names of columns, files and attackers) is printed as Text, never as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cvpl.wording import printable

NARROW = 76
"""Below this width a figure's meaning stands under it, not beside it."""


class Figure(NamedTuple):
    """One line of the summary."""

    name: str
    value: str
    interval: str
    meaning: str


def show_figures(groups: dict[str, list[Figure]], console: Console) -> None:
    """All groups with the same widths, so that the values stand in one column."""
    lines = [figure for figures in groups.values() for figure in figures]
    widths = [max(len(figure[at]) for figure in lines) for at in range(3)]
    for name, figures in groups.items():
        ends = "95% interval" if any(figure.interval for figure in figures) else ""
        start = widths[0] + 2 + widths[1] + 2
        heading(f"{name:<{start}}{ends:>{widths[2]}}".rstrip(), console)
        if console.width >= NARROW:
            table = _grid(widths)
            table.add_column()
            for figure in figures:
                table.add_row(*figure)
            console.print(table)
            continue
        for figure in figures:
            table = _grid(widths)
            table.add_row(*figure[:3])
            console.print(table)
            console.print(Padding(Text(figure.meaning, style="dim"), (0, 0, 0, 4)))


def _grid(widths: Sequence[int]) -> Table:
    """Name, value and interval, with the given widths."""
    table = Table.grid(padding=(0, 2))
    name, *figures = widths
    table.add_column(width=name, no_wrap=True)
    for width in figures:
        table.add_column(width=width, no_wrap=True, justify="right")
    return table


def heading(text: str, console: Console, style: str = "bold") -> None:
    """A title, after an empty line."""
    console.print()
    console.print(Text(text, style=style))


def bullets(lines: Iterable[str], console: Console) -> None:
    """Lines with a dash before each."""
    for line in lines:
        hanging("-", printable(line), console)


def hanging(mark: str, text: str, console: Console, style: str = "") -> None:
    """A mark, and the text beside it however many lines it takes."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, min_width=len(mark) + 2)
    grid.add_column()
    grid.add_row(Text(f"  {mark}", style=style), Text(text, style=style))
    console.print(grid)


def plain_table(*columns: Sequence[str]) -> Table:
    """A plain table: figures (`right`) and names (`name`) are never cut, words (`left`) are folded where too long."""
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    for name, side in columns:
        words = side == "left"
        table.add_column(name, justify="right" if side == "right" else "left", no_wrap=not words, overflow="fold")
    return table
