"""Make what the docs show from the product itself: `make docs`.

Writes docs/images/demo.svg (the first part of the summary that `cvpl demo` prints) and checks that every link between
pages leads somewhere.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from cvpl.cli.main import run
from cvpl.reports.terminal import show
from cvpl.result import AuditResult
from cvpl.result_file import read_result

DOCS = Path(__file__).parent
WIDTH = 100
UNTIL = "What other choices would have read"
"""The heading that ends the picture: the whole summary is too long for one."""
THEME = TerminalTheme((255, 255, 255), (33, 37, 41), [(33, 37, 41)] * 8)
# The stock frame asks a host for a font; this one uses what the reader has.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>The first part of the summary that cvpl demo prints</title>
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


def picture() -> None:
    """The first part of the demo's summary as an SVG without script or request."""
    with tempfile.TemporaryDirectory() as folder:
        if run(["demo", "--out", folder]) != 0:
            sys.exit("the demo failed")
        result = read_result(Path(folder))
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(first_part(result))
    images = DOCS / "images"
    images.mkdir(exist_ok=True)
    svg = console.export_svg(theme=THEME, code_format=FRAME, unique_id="demo")
    (images / "demo.svg").write_text(svg, encoding="utf-8")


def first_part(result: AuditResult) -> Text:
    """The summary up to and including the table of attackers, with its styles."""
    page = io.StringIO()
    show(result, Console(width=WIDTH, file=page, force_terminal=True, color_system="standard"))
    told, found, _ = page.getvalue().partition(UNTIL)
    if not found:
        sys.exit(f"the summary has no heading '{UNTIL}'")
    return Text.from_ansi(told.strip())


def broken_links() -> list[str]:
    """Links in Markdown pages to files that are not there."""
    found = []
    for page in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                found.append(f"{page.relative_to(DOCS.parent)}: {target}")
    return found


if __name__ == "__main__":
    picture()
    if broken := broken_links():
        sys.exit("broken links:\n" + "\n".join(broken))
