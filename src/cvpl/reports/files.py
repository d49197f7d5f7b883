"""A report as a file: a page, the same on paper, or a comment for a pull request; the name's ending says which."""

from __future__ import annotations

from pathlib import Path

from cvpl.errors import UsageError
from cvpl.files import write_whole
from cvpl.reports.leaderboard import leaderboard_markdown
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.pdf import to_pdf
from cvpl.reports.sections.results import sections_of
from cvpl.result import BenchmarkResult
from cvpl.result.file import AnyResult

FORMATS = ("html", "pdf", "md")


def write_report(result: AnyResult, path: str | Path) -> Path:
    """Write the report of an audit, a comparison, a surface or a benchmark to `path`, whole or not at all.

    The ending says how: `.html`, `.pdf` or `.md`. HTML is one file without a script or a request to anywhere. PDF takes
    an installed Chromium, or the extra `cvpl[pdf]`. Markdown is short, as for a pull request. Raises UsageError for
    another ending, and where there is nothing to make a PDF with.
    """
    file = Path(path)
    kind = file.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise UsageError(f"{file}: the ending of a report is .html, .pdf or .md. Name the file so.")
    content: str | bytes
    if kind == "html":
        content = report_page(result)
    elif kind == "pdf":
        content = to_pdf(report_page(result, opened=True))
    else:
        content = report_markdown(result)
    write_whole(file, content)
    return file


def report_markdown(result: AnyResult) -> str:
    """The report of a result in Markdown, short."""
    if isinstance(result, BenchmarkResult):
        return leaderboard_markdown(result)
    return sections_markdown(sections_of(result))
