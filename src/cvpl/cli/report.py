"""`cvpl report`: a page from a result alone."""

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
        metavar="RESULT",
        help="A result.json, comparison.json, surface.json or benchmark.json, or the folder that holds it.",
        show_default=False,
    ),
    kind: Format = typer.Option(
        Format.html,
        "--format",
        help="html: one page to hand over. pdf: the same on paper; takes an installed Chromium, or the extra "
        "cvpl\\[pdf]. md: a short one for a pull request.",
    ),
    out: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="The file; by default report.html (comparison.html, surface.html), .pdf or .md beside the result.",
    ),
) -> None:
    """Write the report of an audit, comparison, surface or benchmark that was made before: nothing is computed anew."""
    if out is not None and out.suffix.lower() != f".{kind}":
        raise typer.BadParameter(f"the file's ending must be .{kind}, as in report.{kind}", param_hint="--out")

    from cvpl.reports.files import write_report  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy
    from cvpl.result.file import read_any  # noqa: PLC0415

    found, source = read_any(result)
    stem = "report" if source.stem in ("result", "benchmark") else source.stem
    file = source.with_name(f"{stem}.{kind}") if out is None else out
    check_file(file, "--out")
    typer.echo(f"Written: {write_report(found, file)}")
