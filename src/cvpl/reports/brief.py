"""The summary of a comparison or a surface on the terminal: what a decision needs, in a limited number of lines."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from cvpl.reports.sections.section import CLOSING, TITLE, Item, Output, ReportSection, ReportTable, sections_for
from cvpl.reports.sections.warnings import WARNINGS
from cvpl.wording import typed

LINES = 40
"""The largest number of lines of a summary on a terminal of 80 columns."""
_KEPT = (TITLE, "reservations", "order", "settings", WARNINGS, "next", CLOSING)
"""The anchors of the sections in a summary."""
_REST = f"The rest: {typed('--details')}."


@dataclass(frozen=True)
class _Room:
    """How many rows of a table, warnings and steps are printed."""

    rows: int
    warnings: int
    steps: int


_ROOMS = tuple(
    _Room(rows, warnings, steps)
    for rows, warnings, steps in (
        *((12, 4, 4), (12, 2, 3), (10, 1, 2), (8, 1, 1), (6, 1, 1), (4, 1, 1), (3, 0, 1), (2, 0, 0), (1, 0, 0)),
    )
)
"""From the most to the least that a summary prints."""


def brief_sections(
    sections: Sequence[ReportSection],
    console: Console,
    show: Callable[[Sequence[ReportSection], Console], None],
    most: int = LINES,
) -> list[ReportSection]:
    """The sections of a summary that takes at most `most` lines; what is left out is counted.

    `show` prints sections. The answer, the best releases and the first warning stay longest.
    """
    kept = [section for section in sections_for(sections, Output.TERMINAL) if section.anchor in _KEPT]
    found: list[ReportSection] = []
    for room in _ROOMS:
        found = [_cut(section, room) for section in kept]
        screen = Console(width=console.width, file=io.StringIO(), highlight=False)
        show(found, screen)
        printed = screen.file
        assert isinstance(printed, io.StringIO)  # noqa: S101 - ours
        if printed.getvalue().count("\n") <= most:
            break
    return found


def _cut(section: ReportSection, room: _Room) -> ReportSection:
    if section.anchor == WARNINGS:
        items = [Item(item.text) for item in section.items]
        return replace(section, items=_first(items, room.warnings, "warning"))
    if section.anchor == "next":
        return replace(section, items=tuple(section.items[: room.steps]))
    if section.anchor == CLOSING:
        return replace(section, notes=(*section.notes, _REST))
    tables = tuple(_first_rows(table, room.rows) for table in section.tables)
    left = sum(len(table.rows) for table in section.tables) - sum(len(table.rows) for table in tables)
    cue = (f"{left} more below: {typed('--details')}.",) if left else ()
    return replace(section, tables=tables, notes=(*cue, *section.notes[:1]))


def _first_rows(table: ReportTable, most: int) -> ReportTable:
    return replace(table, rows=table.rows[:most])


def _first(items: Sequence[Item], most: int, noun: str) -> tuple[Item, ...]:
    """The first items; the others are counted."""
    left = len(items) - most
    if left <= 0:
        return tuple(items)
    more = f"{left:,} {'more ' if most else ''}{noun if left == 1 else f'{noun}s'}: {typed('--details')}."
    return (*items[:most], Item(more))
