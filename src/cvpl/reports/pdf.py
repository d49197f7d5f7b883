"""PDF reports, printed by an installed browser or by WeasyPrint."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec

from cvpl.errors import UsageError
from cvpl.files import private_folder

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
