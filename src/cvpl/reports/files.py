"""Reports as files: HTML, PDF or Markdown, depending on the file extension."""

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
    """Write the report of an audit, a comparison, a surface or a benchmark to `path`, atomically.

    The format depends on the file extension: `.html`, `.pdf` or `.md`. HTML is a single file without scripts or network
    requests. PDF needs an installed Chromium or the extra `cvpl[pdf]`. Markdown is a short version, as for a pull
    request. Raises UsageError for any other extension, and if PDF cannot be written.
    """
    file = Path(path)
    kind = file.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise UsageError(f"{file}: unknown report format. Use a file name that ends in .html, .pdf or .md.")
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
    """The short report of a result as Markdown."""
    if isinstance(result, BenchmarkResult):
        return leaderboard_markdown(result)
    return sections_markdown(sections_of(result))
