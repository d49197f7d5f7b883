"""Make what the docs show from the product itself: `make docs`.

Writes docs/images/demo.svg (the summary that `cvpl demo` prints) and, where there is a Chromium, pictures of the report
that it writes, of some of its sections, and of the reports in docs/gallery.md; then checks that every link between
pages leads somewhere.

    python docs/make.py [DATA]     DATA holds public tables; without it the pictures of these stay as they are
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gallery import gallery
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from cvpl.cli.main import run
from cvpl.reports.files import BROWSERS
from cvpl.reports.terminal import show
from cvpl.result import AuditResult
from cvpl.result.file import read_result

DOCS = Path(__file__).parent
WIDTH = 80
THEME = TerminalTheme((255, 255, 255), (33, 37, 41), [(33, 37, 41)] * 8)
# The stock frame asks a host for a font; this one uses what the reader has.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The summary that cvpl prints</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
<rect width="{width}" height="{height}" fill="#ffffff" stroke="#ced4da" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


SHOTS = {(1280, "light"): None, (1280, "dark"): 1_900, (390, "light"): 2_600, (390, "dark"): 2_600}
"""Widths and colour schemes of the windows, and how much of the page is shown from the top (None: all)."""
SECTIONS = ("singling_out", "membership", "criteria", "compliance", "inference")
"""The sections of the report that have a picture of their own."""
SMALLER = 0.65
MANIFEST = """\
name: demo
title: Simulated people
source: cvpl demo
licence: none
original: original.csv
control: {file: holdout.csv}
releases:
  low:       {file: releases/perturbation_low.csv, mechanism: noise, family: perturbation, strength: {level: low}}
  medium:    {file: releases/perturbation_medium.csv, mechanism: noise, family: perturbation, strength: {level: medium}}
  high:      {file: releases/perturbation_high.csv, mechanism: noise, family: perturbation, strength: {level: high}}
  synthetic: {file: releases/synthetic_0.5.csv, mechanism: copula, family: generator, strength: {kept: 0.5}}
"""
"""The releases of the demo as a benchmark; the columns and settings are those of its audit.yaml."""


def pictures(data: Path) -> None:
    """All pictures: of one demo, and of the gallery."""
    (DOCS / "images").mkdir(exist_ok=True)
    # The same pictures on every day.
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1780185600")
    with tempfile.TemporaryDirectory() as folder:
        if run(["demo", "--out", folder]) != 0:
            sys.exit("the demo failed")
        demo = Path(folder)
        summary(read_result(demo), "demo")
        shots(demo / "report.html", "report", SHOTS)
        section_shots(demo / "report.html")
        # The other pages by one attacker, which suffices for a picture.
        config = demo / "paper.yaml"
        written = (demo / "audit.yaml").read_text(encoding="utf-8").replace("attacker: default", "attacker: paper")
        config.write_text(f"{written}sensitivity: true\npolicy: {{figure: risk, max: 0.05}}\n", encoding="utf-8")
        people, text = str(demo / "original.csv"), ["--config", str(config)]
        held = [*text, "--control", str(demo / "holdout.csv"), "--out", folder]
        releases = demo / "releases"
        made = [
            ["protect", people, *text, "--method", "perturbation", "--out", str(releases)],
            ["protect", people, *text, "--method", "synthetic", "--strength", "0.5", "--out", str(releases)],
            ["surface", people, *held, "--mechanism", "perturbation", "--target", "0.25", "--draws", "3"],
        ]
        if any(run(item) != 0 for item in made):
            sys.exit("a command failed")
        if run(["compare", people, *map(str, sorted(releases.glob("*.csv"))), *held]) != 0:
            sys.exit("the comparison failed")
        (demo / "benchmark.yaml").write_text(f"{written}{MANIFEST}", encoding="utf-8")
        if run(["benchmark", str(demo / "benchmark.yaml"), "--out", str(demo / "leaderboard")]) != 0:
            sys.exit("the benchmark failed")
        (demo / "leaderboard" / "report.html").rename(demo / "leaderboard.html")
        for name in ("comparison", "surface", "leaderboard"):
            shots(demo / f"{name}.html", name, dict.fromkeys(SHOTS, 1_700))
    with tempfile.TemporaryDirectory() as folder:
        gallery(Path(folder), DOCS / "images", shots, summary, data)


def shots(page: Path, name: str, windows: Mapping[tuple[int, str], int | None]) -> None:
    """A page as a wide and a narrow window show it, light and dark."""
    browser_at = next((found for item in BROWSERS if (found := shutil.which(item))), None)
    if browser_at is None:
        sys.stderr.write("no Chromium here: the pictures of pages stay as they are\n")
        return
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_at, args=["--no-sandbox", "--disable-lcd-text"])
        for (width, scheme), high in windows.items():
            window = browser.new_page(
                viewport={"width": width, "height": high or 900}, color_scheme=scheme, device_scale_factor=SMALLER
            )
            window.goto(page.as_uri())
            window.screenshot(path=DOCS / "images" / f"{name}-{width}-{scheme}.png", full_page=high is None)
        browser.close()


def section_shots(page: Path) -> None:
    """The sections of a report that the pages on singling out, inference, membership and criteria show."""
    browser_at = next((found for item in BROWSERS if (found := shutil.which(item))), None)
    if browser_at is None:
        return
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_at, args=["--no-sandbox", "--disable-lcd-text"])
        window = browser.new_page(viewport={"width": 1280, "height": 900}, device_scale_factor=SMALLER)
        window.goto(page.as_uri())
        for name in SECTIONS:
            window.locator(f"section#{name}").screenshot(path=DOCS / "images" / f"section-{name}.png")
        browser.close()


def summary(result: AuditResult, name: str) -> None:
    """The summary of an audit as an SVG without script or request."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    page = io.StringIO()
    show(result, Console(width=WIDTH, file=page, force_terminal=True, color_system="standard", highlight=False))
    console.print(Text.from_ansi(page.getvalue().rstrip()))
    svg = console.export_svg(theme=THEME, code_format=FRAME, unique_id=name)
    (DOCS / "images" / f"{name}.svg").write_text(svg, encoding="utf-8")


def broken_links() -> list[str]:
    """Links in Markdown pages to files that are not there."""
    found = []
    for page in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                found.append(f"{page.relative_to(DOCS.parent)}: {target}")
    return found


if __name__ == "__main__":
    pictures(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("data"))
    if broken := broken_links():
        sys.exit("broken links:\n" + "\n".join(broken))
