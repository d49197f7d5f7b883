"""`cvpl diff`: what changed between two audits."""

from __future__ import annotations

from pathlib import Path

import typer

from cvpl.cli.output import page, reader_may_leave


def command(
    before: Path = typer.Argument(metavar="BEFORE", help="The earlier result.json, or its folder.", show_default=False),
    after: Path = typer.Argument(metavar="AFTER", help="The later one.", show_default=False),
) -> None:
    """Compare two results: figures side by side, whether they differ significantly, and what else changed."""
    from cvpl.result.file import read_results  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    results = read_results(before, after)
    from cvpl.reports.difference import difference, difference_sections  # noqa: PLC0415 - only if there are results
    from cvpl.reports.terminal import show_sections  # noqa: PLC0415

    found = difference(*results)
    with reader_may_leave():
        show_sections(difference_sections(found), page())
