"""Reports on the terminal: all sections, or a summary of what a decision needs in a limited number of lines.

The summary of an audit on the terminal: what a decision needs, in a limited number of lines. It holds the parts of the
sheet: the verdict, the ruler, three figures, the warnings and the next steps. Words are never broken unless they are
longer than a line. External text is printed as Text, never as markup.

The layout of a report on the terminal: headings, aligned figures, tables and hanging indents. External text (names of
columns, files and attackers) is printed as Text, never as markup, and with control characters escaped.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from cvpl.answers.headline import MarkKind, Ruler, risk_ruler
from cvpl.reports.sections.exposure import next_steps
from cvpl.reports.sections.questions import population_section
from cvpl.reports.sections.results import sections_of
from cvpl.reports.sections.reviewers import command
from cvpl.reports.sections.section import CLOSING, TITLE, Item, Output, Remark, ReportSection, ReportTable, sections_for
from cvpl.reports.sections.sheet import NO_CONFIGURATION, NO_REFERENCE, Card, State, cards, verdict_strip
from cvpl.reports.sections.top import answer_section
from cvpl.reports.sections.warnings import GATE, WARNINGS, serious_lines
from cvpl.result import AuditResult, ComparisonResult, SurfaceResult
from cvpl.result.file import AnyResult
from cvpl.wording import mark_typed, marked_parts, printable

LINES = 40
"""The largest number of lines of a summary on a terminal of 80 columns."""
_KEPT = (TITLE, "reservations", "order", "settings", WARNINGS, "next", CLOSING)
"""The anchors of the sections in a summary."""
_REST = f"The rest: {mark_typed('--details')}."


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
        found = [_cut_section(section, room) for section in kept]
        screen = Console(width=console.width, file=io.StringIO(), highlight=False)
        show(found, screen)
        printed = screen.file
        assert isinstance(printed, io.StringIO)  # noqa: S101 - ours
        if printed.getvalue().count("\n") <= most:
            break
    return found


def _cut_section(section: ReportSection, room: _Room) -> ReportSection:
    if section.anchor == WARNINGS:
        items = [Item(item.text) for item in section.items]
        return replace(section, items=_first(items, room.warnings, "warning"))
    if section.anchor == "next":
        return replace(section, items=tuple(section.items[: room.steps]))
    if section.anchor == CLOSING:
        return replace(section, notes=(*section.notes, _REST))
    tables = tuple(_first_rows(table, room.rows) for table in section.tables)
    left = sum(len(table.rows) for table in section.tables) - sum(len(table.rows) for table in tables)
    cue = (f"{left} more below: {mark_typed('--details')}.",) if left else ()
    return replace(section, tables=tables, notes=(*cue, *section.notes[:1]))


def _first_rows(table: ReportTable, most: int) -> ReportTable:
    return replace(table, rows=table.rows[:most])


def _first(items: Sequence[Item], most: int, noun: str) -> tuple[Item, ...]:
    """The first items; the others are counted."""
    left = len(items) - most
    if left <= 0:
        return tuple(items)
    more = f"{left:,} {'more ' if most else ''}{noun if left == 1 else f'{noun}s'}: {mark_typed('--details')}."
    return (*items[:most], Item(more))


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


WIDEST = 100
"""Longer lines are hard to read, so a wider terminal is not filled."""
_STATES: dict[State, str] = {
    "met": "bold green",
    "not-met": "bold red",
    "no-policy": "bold",
    "not-assessable": "bold magenta",
}
_NO_GUARANTEE = "Estimates under these attackers, no guarantee."


@dataclass(frozen=True)
class _ListEntry:
    """One warning or step in lines, and the rule of a warning."""

    rule: str
    lines: list[Text]


@dataclass(frozen=True)
class _LineWrapper:
    """A terminal, and how much of its width is used."""

    console: Console
    width: int

    def wrapped(self, text: str, *, first: str = "", indent: str = "", style: str = "") -> list[Text]:
        """The text in lines of this width; `first` is before its first line, `indent` before the others."""
        pieces = Text(plain(text)).wrap(self.console, self.width - max(len(first), len(indent)))
        return [
            Text((indent if at else first) + piece.plain.rstrip(), style=style) for at, piece in enumerate(pieces)
        ] or [Text(first, style=style)]


def show_summary(result: AuditResult, console: Console, most: int = LINES) -> None:
    """Print the summary of an audit in at most `most` lines.

    Warnings and next steps take the lines that are left, the most important first. What does not fit is counted, and
    `--details` shows it. The first warning and the first step are there however long they are.
    """
    _print(_summary_lines(result, _LineWrapper(console, min(console.width, WIDEST)), most), console)


def show_top(result: AuditResult, console: Console) -> None:
    """Print the verdict, the ruler and the three figures."""
    _print(_opening_lines(result, _LineWrapper(console, min(console.width, WIDEST))), console)


def _print(lines: Sequence[Text], console: Console) -> None:
    for line in lines:
        console.print(line, overflow="fold", no_wrap=True)


def _summary_lines(result: AuditResult, page: _LineWrapper, most: int) -> list[Text]:
    fixed = _opening_lines(result, page)
    ending = [Text(), *page.wrapped(f"{_NO_GUARANTEE} Everything else: {mark_typed('--details')}", style="dim")]
    warnings = [
        _ListEntry(rule, page.wrapped(text, first="  ! " if rule == GATE else "  - ", indent="    "))
        for rule, text in serious_lines(result)
    ]
    steps = [
        _ListEntry("", page.wrapped(step, first=f"  {at}. ", indent="     "))
        for at, step in enumerate(_steps(result), start=1)
    ]

    def lines(shown: tuple[int, int]) -> list[Text]:
        return [
            *fixed,
            *_list_lines("Warnings", "bold yellow", warnings, shown[0], page),
            *_list_lines("Next steps", "bold", steps, shown[1], page),
            *ending,
        ]

    shown = min(1, len(warnings)), min(1, len(steps))
    # Two steps for each warning: what to do helps more than a further doubt.
    open_lists = [1, 1, 0]
    while open_lists:
        for at in tuple(open_lists):
            tried = shown[0] + (at == 0), shown[1] + (at == 1)
            if tried[at] <= len((warnings, steps)[at]) and len(lines(tried)) <= most:
                shown = tried
            else:
                open_lists = [other for other in open_lists if other != at]
    return lines(shown)


def _opening_lines(result: AuditResult, page: _LineWrapper) -> list[Text]:
    """The verdict, the ruler, the three figures, and the answer for a population if one was stated."""
    found = population_section(result).sentences
    population = [Text(), *page.wrapped(found[0].text)] if found else []
    return [*_top(result, page), *_ruler(result, page), *_figures(result, page), *population]


def _top(result: AuditResult, page: _LineWrapper) -> list[Text]:
    strip = verdict_strip(result)
    details = " ".join(line for line in strip.details if line != NO_CONFIGURATION)
    return [
        *page.wrapped(answer_section(result).heading, style="dim"),
        *page.wrapped(f"{strip.word.upper()}. {details}", style=_STATES[strip.state]),
        Text(),
        *page.wrapped(printable(result.verdict.sentence), style="bold"),
    ]


def _ruler(result: AuditResult, page: _LineWrapper) -> list[Text]:
    found = risk_ruler(result)
    if found is None:
        return []
    axis, key = ruler_lines(found, page.width - 2)
    lines = [Text(f"  {line}") for line in axis]
    title = Text(f"{found.figure}, with its 95% interval", style="bold")
    return [Text(), title, *lines, *page.wrapped(key, first="  ", indent="  ", style="dim")]


def _figures(result: AuditResult, page: _LineWrapper) -> list[Text]:
    found = cards(result)
    first = max(len(card.name) for card in found) + 4
    lines = [Text(), Text("Three figures", style="bold")]
    for card in found:
        lines += page.wrapped(_card(card), first=f"  {card.name}".ljust(first), indent=" " * first)
    return lines


def _card(card: Card) -> str:
    """The value with its interval, whose it is if that is a group, and the reference value."""
    interval = f" ({card.interval})" if card.interval else ""
    group = f", {card.group}" if card.group else ""
    reference = "" if card.reference == NO_REFERENCE else card.reference
    return f"{card.value}{interval}{group}. {reference}".rstrip()


def _steps(result: AuditResult) -> list[str]:
    """The next steps; without a configuration the command says how to go on."""
    quick = result.quick and result.assumptions is None
    full = [f"Run the full audit before you decide: {mark_typed(command(result))}"] if quick else []
    return [*full, *next_steps(result)]


def _list_lines(heading: str, style: str, entries: Sequence[_ListEntry], shown: int, page: _LineWrapper) -> list[Text]:
    """A list under its heading, and how many entries are left out, by their rules; nothing if there are none."""
    if not entries:
        return []
    lines = [Text(), Text(heading, style=style)]
    for entry in entries[:shown]:
        lines += entry.lines
    left = entries[shown:]
    rules = ", ".join(dict.fromkeys(printable(entry.rule) for entry in left if entry.rule))
    if left:
        text = f"and {len(left)} more{f' ({rules})' if rules else ''}: {mark_typed('--details')}"
        lines += page.wrapped(text, first="  ", indent="  ", style="dim")
    return lines


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


SIGNS: dict[MarkKind, str] = {"chance": "c", "nobody": "n", "limit": "L", "release": "X", "originals": "o"}
"""The sign of each mark."""
_INTERVAL, _AXIS = "=", "-"
_LEAST = 30


def ruler_lines(ruler: Ruler, width: int) -> tuple[tuple[str, ...], str]:
    """The labels, the axis and the marks below it, each as wide as `width`, and a key of the signs.

    A share s is at round(s (width - 1)). The interval of this release is drawn as `=`. Marks at the same place move
    right or, at the end of the axis, left; the key has their values. Chance alone needs no line of marks, and no sign.
    """
    wide = max(_LEAST, width)
    release = ruler.release
    axis = [_AXIS] * wide
    if release.low is not None and release.high is not None:
        for at in range(_cell(release.low, wide), _cell(release.high, wide) + 1):
            axis[at] = _INTERVAL
    axis[_cell(release.at, wide)] = SIGNS["release"]
    below = [" "] * wide
    for mark in ruler.marks:
        if mark is not release:
            below[_free(below, _cell(mark.at, wide))] = SIGNS[mark.kind]
    ordered = sorted(ruler.marks, key=lambda mark: mark is not release)
    marks = "".join(below).rstrip()
    alone = marks.strip() == SIGNS["chance"]
    shown = [f"{mark.name} {mark.value}" for mark in ordered]
    signs = ["" if alone and mark is not release else f"{SIGNS[mark.kind]} " for mark in ordered]
    key = "; ".join(f"{sign}{text}" for sign, text in zip(signs, shown, strict=True))
    return (_labels(wide), "".join(axis), *(() if alone else (marks,))), f"{key}."


def _cell(share: float, wide: int) -> int:
    return round(min(1.0, max(0.0, share)) * (wide - 1))


def _free(below: list[str], at: int) -> int:
    """The nearest free cell, to the right first."""
    return min((cell for cell, sign in enumerate(below) if sign == " "), key=lambda cell: (abs(cell - at), -cell))


def _labels(wide: int) -> str:
    """The labels of the axis, each at its place."""
    line = [" "] * wide
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        text = f"{share:.0%}"
        start = min(max(0, _cell(share, wide) - len(text) // 2), wide - len(text))
        line[start : start + len(text)] = text
    return "".join(line).rstrip()
