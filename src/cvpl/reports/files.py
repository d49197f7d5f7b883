"""Reports as files: HTML, PDF or Markdown, depending on the file extension."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cvpl.errors import UsageError
from cvpl.files import naming, whole_files, write_whole
from cvpl.reports.leaderboard import leaderboard_csv, leaderboard_markdown
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
    if file.suffix.removeprefix(".").lower() not in FORMATS:
        raise UsageError(f"{file}: unknown report format. Use a file name that ends in .html, .pdf or .md.")
    write_whole(file, _content(result, file.suffix))
    return file


def write_result(
    result: AnyResult, folder: Path, *names: str, more: Mapping[str, str] | None = None
) -> tuple[Path, ...]:
    """Write the JSON file of a result, and reports of it by these names, as one set; return their paths, JSON first.

    An ending of `.csv` is the table of a leaderboard. `more` are further files by name. Files of two results are never
    together in the folder: those that belong to an old result are removed before the new one is put in place. If a
    report cannot be made, the result is written without it, and then the error is raised.
    """
    folder.mkdir(parents=True, exist_ok=True)
    texts = dict(more or {})
    files = tuple(folder / name for name in (result.FILE, *names, *texts))
    failed: BaseException | None = None
    with whole_files(*files) as (first, *others):
        first.write_bytes(result.to_json().encode())
        try:
            for draft in others:
                content = texts.get(draft.name) or _content(result, draft.suffix)
                with naming(folder / draft.name):
                    draft.write_bytes(content if isinstance(content, bytes) else content.encode())
        except BaseException as error:
            failed = error
            for draft in others:
                draft.unlink(missing_ok=True)
    if failed is not None:
        raise failed
    return files


def _content(result: AnyResult, ending: str) -> str | bytes:
    """A report in the format of this file extension."""
    kind = ending.removeprefix(".").lower()
    if kind == "html":
        return report_page(result)
    if kind == "pdf":
        return to_pdf(report_page(result, opened=True))
    if kind == "csv" and isinstance(result, BenchmarkResult):
        return leaderboard_csv(result)
    return report_markdown(result)


def report_markdown(result: AnyResult) -> str:
    """The short report of a result as Markdown."""
    if isinstance(result, BenchmarkResult):
        return leaderboard_markdown(result)
    return sections_markdown(sections_of(result))
