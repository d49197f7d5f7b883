"""A chart as an object that displays itself: its picture, its alternative text and its numbers.

A notebook shows a drawing without a script and without a network. Charts that are drawn by hand are drawings from the
start; `drawing` makes one of an Altair chart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import vl_convert

from cvpl.charts.style import Chart, ChartText
from cvpl.charts.style import numbers as numbers_of_chart
from cvpl.charts.style import png as png_of_chart
from cvpl.charts.style import svg as svg_of_chart
from cvpl.errors import UsageError
from cvpl.files import write_whole

WIDE = 640
"""The width of a drawing outside a page, in pixels."""
_DISPLAY = "max-width: 44rem; margin: 0; padding: .5rem; background: #ffffff; color: #1f2933"


@dataclass(frozen=True)
class Drawing:
    """A picture as an SVG element, with its title, its alternative text and its numbers as a table of text.

    A notebook displays it. `save` writes it to a file.
    """

    title: str
    description: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    svg: str

    def _repr_html_(self) -> str:
        """The picture with its title and its alternative text, for a notebook."""
        return (
            f'<figure style="{_DISPLAY}"><strong>{escape(self.title)}</strong>{self.svg}'
            f"<figcaption>{escape(self.description)}</figcaption></figure>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the picture to `path`, as `.svg` or `.png`, and return it. Raises UsageError for another ending."""
        file = Path(path)
        ending = file.suffix.lower()
        if ending not in (".svg", ".png"):
            raise UsageError(f"{file}: unknown picture format. Use a file name that ends in .svg or .png.")
        write_whole(file, self._standalone_svg if ending == ".svg" else png(self))
        return file

    @property
    def _standalone_svg(self) -> str:
        """The picture with a width of its own, since there is no page around it."""
        return re.sub(r'width="100%"', f'width="{WIDE}"', self.svg, count=1)


def drawing(chart: Chart | Drawing) -> Drawing:
    """A chart as a drawing. A drawing stays as it is."""
    if isinstance(chart, Drawing):
        return chart
    found = numbers_of_chart(chart)
    return Drawing(found.title, found.description, found.columns, found.rows, svg_of_chart(chart))


def numbers(chart: Chart | Drawing) -> ChartText:
    """The title, the alternative text and the table of a chart."""
    if isinstance(chart, Drawing):
        return ChartText(chart.title, chart.description, chart.columns, chart.rows)
    return numbers_of_chart(chart)


def svg(chart: Chart | Drawing) -> str:
    """The chart as an SVG element for a web page: it scales with the page, and its label is the description."""
    return chart.svg if isinstance(chart, Drawing) else svg_of_chart(chart)


def png(chart: Chart | Drawing, scale: float = 2.0) -> bytes:
    """The chart as a PNG on a white background, scaled by `scale`."""
    if not isinstance(chart, Drawing):
        return png_of_chart(chart, scale)
    white: Any = re.sub(
        r"(<svg [^>]*>)", r'\1<rect width="100%" height="100%" fill="#ffffff"/>', chart._standalone_svg, count=1
    )
    return bytes(vl_convert.svg_to_png(white, scale=scale))
