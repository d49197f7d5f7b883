"""The summary of an audit on the terminal: what a decision needs, in a limited number of lines.

It holds the parts of the sheet: the verdict, the ruler, three figures, the warnings and the next steps. Words are never
broken unless they are longer than a line. External text is printed as Text, never as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from cvpl.answers.ruler import risk_ruler
from cvpl.reports.brief import LINES
from cvpl.reports.layout import plain
from cvpl.reports.sections.next_steps import next_steps
from cvpl.reports.sections.population import population_section
from cvpl.reports.sections.provenance import command
from cvpl.reports.sections.sheet.cards import NO_REFERENCE, Card, cards
from cvpl.reports.sections.sheet.first_warning import GATE, serious_lines
from cvpl.reports.sections.sheet.strip import NO_CONFIGURATION, State, verdict_strip
from cvpl.reports.sections.top import answer_section
from cvpl.reports.text_ruler import ruler_lines
from cvpl.result import AuditResult
from cvpl.wording import printable, typed

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
    _print(_fixed(result, _LineWrapper(console, min(console.width, WIDEST))), console)


def _print(lines: Sequence[Text], console: Console) -> None:
    for line in lines:
        console.print(line, overflow="fold", no_wrap=True)


def _summary_lines(result: AuditResult, page: _LineWrapper, most: int) -> list[Text]:
    fixed = _fixed(result, page)
    ending = [Text(), *page.wrapped(f"{_NO_GUARANTEE} Everything else: {typed('--details')}", style="dim")]
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
            *_listed("Warnings", "bold yellow", warnings, shown[0], page),
            *_listed("Next steps", "bold", steps, shown[1], page),
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


def _fixed(result: AuditResult, page: _LineWrapper) -> list[Text]:
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
    full = [f"Run the full audit before you decide: {typed(command(result))}"] if quick else []
    return [*full, *next_steps(result)]


def _listed(heading: str, style: str, entries: Sequence[_ListEntry], shown: int, page: _LineWrapper) -> list[Text]:
    """A list under its heading, and how many entries are left out, by their rules; nothing if there are none."""
    if not entries:
        return []
    lines = [Text(), Text(heading, style=style)]
    for entry in entries[:shown]:
        lines += entry.lines
    left = entries[shown:]
    rules = ", ".join(dict.fromkeys(printable(entry.rule) for entry in left if entry.rule))
    if left:
        text = f"and {len(left)} more{f' ({rules})' if rules else ''}: {typed('--details')}"
        lines += page.wrapped(text, first="  ", indent="  ", style="dim")
    return lines
