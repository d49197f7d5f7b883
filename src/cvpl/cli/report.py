"""`cvpl report`: a page from a result alone."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import typer

from cvpl.cli.output import check_file, say
from cvpl.cli.values import DATE, OVERWRITE, report_date
from cvpl.errors import UsageError
from cvpl.files import check_outputs


class Format(StrEnum):
    """The formats of a report."""

    html = "html"
    pdf = "pdf"
    md = "md"


class Paper(StrEnum):
    """The sizes of paper."""

    a4 = "a4"
    letter = "letter"


def command(
    result: Path = typer.Argument(
        metavar="RESULT",
        help="A result.json, comparison.json, surface.json, benchmark.json or trial.json, or its folder.",
        show_default=False,
    ),
    kind: Format = typer.Option(
        Format.html,
        "--format",
        help="html: one page to share. pdf: the same for printing; needs an installed Chromium, or the extra "
        "cvpl\\[pdf]. md: a short version for a pull request.",
    ),
    out: Path | None = typer.Option(
        None,
        metavar="FILE",
        help="The file; by default report.html (comparison.html, surface.html, trial.html), .pdf or .md beside the "
        "result.",
    ),
    date: str | None = DATE,
    paper: Paper = typer.Option(Paper.a4, "--paper", help="The paper of a PDF."),
    one_page: bool = typer.Option(
        False, "--one-page", help="Print only the sheet of an audit, the first page of its PDF."
    ),
    overwrite: bool = OVERWRITE,
) -> None:
    """Write the report of a finished audit, comparison, surface, benchmark or trial: nothing is recomputed."""
    if out is not None and out.suffix.lower() != f".{kind}":
        raise typer.BadParameter(f"the file's extension must be .{kind}, as in report.{kind}", param_hint="--out")

    day = report_date(date)
    if one_page and kind is not Format.pdf:
        raise UsageError("--one-page is for a PDF of an audit. Add --format pdf.")

    from cvpl.result.file import read_any  # noqa: PLC0415 - so that `cvpl --help` loads nothing heavy

    found, source = read_any(result)
    stem = "report" if source.stem in ("result", "benchmark") else source.stem
    file = source.with_name(f"{stem}.{kind}") if out is None else out
    check_file(file, "--out")
    check_outputs([file], [source], overwrite=overwrite)
    from cvpl.reports.files import write_report  # noqa: PLC0415 - only if there is a result

    say(f"Written: {write_report(found, file, date=day, paper=paper.value, one_page=one_page)}")
