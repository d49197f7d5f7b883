"""`cvpl report`: a page from a result.json alone."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from cvpl.cli.output import check_file


class Format(StrEnum):
    """What a report can be."""

    html = "html"
    pdf = "pdf"
    md = "md"


def command(
    result: Path = typer.Argument(
        metavar="RESULT", help="A result.json, or the folder that holds it.", show_default=False
    ),
    kind: Format = typer.Option(
        Format.html,
        "--format",
        help="html: one page to hand over. pdf: the same on paper; takes an installed Chromium, or the extra "
        "cvpl\\[pdf]. md: a short one for a pull request.",
    ),
    out: Path | None = typer.Option(
        None, metavar="FILE", help="The file; by default report.html, .pdf or .md beside the result."
    ),
) -> None:
    """Write the report of an audit that was done before: nothing is computed anew."""
    folder = result if result.is_dir() else result.parent
    file = folder / f"report.{kind}" if out is None else out
    if file.suffix.lower() != f".{kind}":
        raise typer.BadParameter(f"the file's ending must be .{kind}, as in report.{kind}", param_hint="--out")

    from cvpl.reports.files import write_report  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy
    from cvpl.result_file import read_result  # noqa: PLC0415

    found = read_result(result)
    check_file(file, "--out")
    typer.echo(f"Written: {write_report(found, file)}")
