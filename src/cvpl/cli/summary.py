"""The summary of an audit and what else a command tells, together on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cvpl.cli.output import page, reader_may_leave, say

if TYPE_CHECKING:
    from cvpl.result import AuditResult
    from cvpl.workflows.proposal import Proposal


def show_assumptions(guessed: Proposal, *, details: bool) -> int:
    """Show what is assumed without a configuration, with the reasons if `details`; return the number of lines."""
    from cvpl.reports.sections.assumptions import assumptions_section, brief_assumptions  # noqa: PLC0415
    from cvpl.reports.sections.section import TERMINAL  # noqa: PLC0415
    from cvpl.reports.terminal import show_sections  # noqa: PLC0415

    console, found = page(), guessed.assumptions
    with reader_may_leave(), console.capture() as shown:
        show_sections([assumptions_section(found, TERMINAL) if details else brief_assumptions(found)], console)
    text = shown.get().removeprefix("\n")
    with reader_may_leave():
        typer.echo(text, nl=False)
    return text.count("\n")


def show_result(result: AuditResult, lines: list[str], *, details: bool, used: int) -> None:
    """Print the summary and what else is told in the lines that are left of a screen, or everything."""
    from cvpl.reports.brief import LINES  # noqa: PLC0415
    from cvpl.reports.terminal import show  # noqa: PLC0415

    console = page()
    after = sum(max(1, -(-len(line) // console.width)) for text in lines for line in text.split("\n"))
    console.print()
    show(result, console, details=details, most=LINES - used - after - 1)
    for text in lines:
        say(text)
