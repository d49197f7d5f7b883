"""Reports as files: HTML, PDF or Markdown, depending on the file extension."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cvpl.errors import UsageError
from cvpl.files import naming, private_folder, whole_files, write_whole
from cvpl.reports.leaderboard import leaderboard_csv, leaderboard_markdown
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import Printing, report_page
from cvpl.reports.sections.results import sections_of
from cvpl.result import AuditResult, BenchmarkResult
from cvpl.result.file import AnyResult
from cvpl.wording import printable

FORMATS = ("html", "pdf", "md")
PAPERS = ("a4", "letter")
MOST_PAGES = 8
"""The most pages of an audit's PDF."""
_SMALLER = (0.92, 0.84, 0.76)
"""The sizes that are tried, one after the other, until an audit fits on these pages."""


def write_report(
    result: AnyResult,
    path: str | Path,
    *,
    date: date | None = None,
    paper: Literal["a4", "letter"] = "a4",
    one_page: bool = False,
) -> Path:
    """Write the report of an audit, a comparison, a surface or a benchmark to `path`, atomically.

    The format depends on the file extension: `.html`, `.pdf` or `.md`. HTML is a single file without scripts or network
    requests. PDF needs an installed Chromium or the extra `cvpl[pdf]`; `paper` is its size, and `one_page` prints only
    the sheet of an audit. Markdown is a short version, as for a pull request. The sheet of an audit names `date`, the
    day of the report; without it, the same result gives the same page. Raises UsageError for any other extension or
    paper, for one page of anything else, and if PDF cannot be written.
    """
    file = Path(path)
    kind = file.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise UsageError(f"{file}: unknown report format. Use a file name that ends in .html, .pdf or .md.")
    if paper not in PAPERS:
        raise UsageError(f"unknown paper '{printable(paper)}'. Use one of: {', '.join(PAPERS)}.")
    if one_page and (kind != "pdf" or not isinstance(result, AuditResult)):
        raise UsageError(f"{file}: one page is the sheet of an audit as a PDF. Use a result of `cvpl audit` and .pdf.")
    write_whole(file, _content(result, file.suffix, date, Printing(paper, one_page)))
    return file


def write_result(
    result: AnyResult, folder: Path, *names: str, more: Mapping[str, str] | None = None, date: date | None = None
) -> tuple[Path, ...]:
    """Write the JSON file of a result, and reports of it by these names, as one set; return their paths, JSON first.

    An ending of `.csv` is the table of a leaderboard. `more` are further files by name, `date` is the day that pages
    name. Files of two results are never
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
                content = texts.get(draft.name) or _content(result, draft.suffix, date, Printing())
                with naming(folder / draft.name):
                    draft.write_bytes(content if isinstance(content, bytes) else content.encode())
        except BaseException as error:
            failed = error
            for draft in others:
                draft.unlink(missing_ok=True)
    if failed is not None:
        raise failed
    return files


def _content(result: AnyResult, ending: str, date: date | None, printing: Printing) -> str | bytes:
    """A report in the format of this file extension."""
    kind = ending.removeprefix(".").lower()
    if kind == "html":
        return report_page(result, date=date)
    if kind == "pdf":
        return _print_pdf(result, date, printing)
    if kind == "csv" and isinstance(result, BenchmarkResult):
        return leaderboard_csv(result)
    return report_markdown(result)


def _print_pdf(result: AnyResult, date: date | None, printing: Printing) -> bytes:
    """The PDF; what follows the sheet of an audit is smaller where it would otherwise take too many pages."""
    made = to_pdf(report_page(result, printing, date=date))
    for scale in _SMALLER:
        if not isinstance(result, AuditResult) or page_count(made) <= MOST_PAGES:
            break
        made = to_pdf(report_page(result, replace(printing, scale=scale), date=date))
    return made


def report_markdown(result: AnyResult) -> str:
    """The short report of a result as Markdown."""
    if isinstance(result, BenchmarkResult):
        return leaderboard_markdown(result)
    return sections_markdown(sections_of(result))


BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_SECONDS = 120
_OFFLINE = (
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-pings",
    # What is still on finds nobody: every name is unknown, that of the only proxy too.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://nowhere.invalid:9",
    "--proxy-bypass-list=<-loopback>",
)
"""A browser contacts its maker for updates, accounts and the time. A report is nobody else's business."""


def to_pdf(page: str) -> bytes:
    """Print an HTML page to PDF. Raises UsageError if neither Chromium nor WeasyPrint is installed."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is not None:
        return _by_browser(browser, page)
    if find_spec("weasyprint") is not None:
        from weasyprint import HTML  # noqa: PLC0415 - an extra

        return bytes(HTML(string=page).write_pdf())
    raise UsageError(
        "no PDF printer found. Install Chromium, run `pip install cvpl[pdf]`, or print report.html from any browser."
    )


def page_count(pdf: bytes) -> int:
    """The number of pages of a PDF from a browser; 0 if the file hides it in compressed objects."""
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def _by_browser(browser: str, page: str) -> bytes:
    with private_folder() as folder:
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_bytes(page.encode())
        call = [browser, "--headless", "--disable-gpu", "--no-pdf-header-footer", "--no-first-run", *_OFFLINE]
        call += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            call.append("--no-sandbox")  # Chromium does not start as root otherwise
        try:
            subprocess.run([*call, source.as_uri()], capture_output=True, check=True, timeout=_SECONDS)  # noqa: S603 - ours
            return target.read_bytes()
        except (subprocess.SubprocessError, OSError):
            raise UsageError(
                f"{browser} could not print the page. Print report.html from any browser, or `pip install cvpl[pdf]`."
            ) from None
