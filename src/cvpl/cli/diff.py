"""`cvpl diff`: what changed between two audits."""

from __future__ import annotations

from pathlib import Path

import typer


def command(
    before: Path = typer.Argument(help="The earlier result.json, or the folder that holds it."),
    after: Path = typer.Argument(help="The later one."),
) -> None:
    """Compare two results: figures side by side, whether they differ beyond error, and what else changed."""
    from rich.console import Console  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    from cvpl.reports.difference import difference  # noqa: PLC0415
    from cvpl.reports.headline import percent  # noqa: PLC0415
    from cvpl.result_file import read_result  # noqa: PLC0415

    found = difference(read_result(before), read_result(after))
    table = Table(show_header=True, header_style="bold", box=None, pad_edge=False)
    for name in ("figure", "before", "after", "change", "beyond error"):
        table.add_column(name, justify="left" if name == "figure" else "right")
    words = {True: "yes", False: "intervals meet", None: ""}
    for change in found.changes:
        gap = "" if change.difference is None else f"{change.difference:+.1%}"
        row = (change.figure, percent(change.before), percent(change.after), gap, words[change.beyond_error])
        table.add_row(*row)
    console = Console()
    console.print(table, highlight=False)
    sections = {
        "Inputs that differ": found.inputs,
        "Settings that differ": found.settings,
        "New warnings": found.new_warnings,
        "Warnings that went": found.gone_warnings,
    }
    for title, lines in sections.items():
        if lines:
            console.print(f"\n[bold]{title}[/bold]")
            for line in lines:
                console.print(f"  - {escape(line)}", highlight=False)
