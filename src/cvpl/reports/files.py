"""A report as a file: a page, the same on paper, or a comment for a pull request; the name's ending says which."""

from __future__ import annotations

from pathlib import Path

from cvpl.errors import UsageError
from cvpl.files import write_whole
from cvpl.reports.audit_page import audit_page
from cvpl.reports.benchmark_page import benchmark_page
from cvpl.reports.comparison_markdown import comparison_markdown
from cvpl.reports.comparison_page import comparison_page
from cvpl.reports.leaderboard import leaderboard_markdown
from cvpl.reports.markdown import audit_markdown
from cvpl.reports.pdf import to_pdf
from cvpl.reports.surface_markdown import surface_markdown
from cvpl.reports.surface_page import surface_page
from cvpl.result import BenchmarkResult, ComparisonResult, SurfaceResult
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
        content = report_html(result)
    elif kind == "pdf":
        content = to_pdf(report_html(result, opened=True))
    else:
        content = report_markdown(result)
    write_whole(file, content)
    return file


def report_html(result: AnyResult, *, opened: bool = False) -> str:
    """The report of a result as one page; with `opened` nothing in it is folded away, as paper needs it."""
    if isinstance(result, ComparisonResult):
        return comparison_page(result, opened=opened)
    if isinstance(result, BenchmarkResult):
        return benchmark_page(result, opened=opened)
    if isinstance(result, SurfaceResult):
        return surface_page(result, opened=opened)
    return audit_page(result, opened=opened)


def report_markdown(result: AnyResult) -> str:
    """The report of a result in Markdown, short."""
    if isinstance(result, ComparisonResult):
        return comparison_markdown(result)
    if isinstance(result, BenchmarkResult):
        return leaderboard_markdown(result)
    if isinstance(result, SurfaceResult):
        return surface_markdown(result)
    return audit_markdown(result)
