"""The style and the parts of every chart, and a chart as an object that displays itself.

A notebook shows a drawing without a script and without a network. Charts that are drawn by hand are drawings from the
start; `drawing` makes one of an Altair chart.

The parts of a drawing that is as wide as its page: positions in percent of the width, sizes in pixels. Altair scales a
whole picture with its text. In these drawings text and marks keep one size at every width. Every mark may have a
`<title>`, which a browser shows when the pointer is over it.

The style of all charts, their metadata, and their conversion to images. Every chart is a plain Altair chart: a notebook
displays it, and `chart.save("chart.png")` writes it. It has a description, which is its alternative text, and its
numbers as a table. Series differ in lightness as well as in hue, and also in dash, shape or label.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal

import altair as alt
import vl_convert

from cvpl.errors import UsageError
from cvpl.files import write_whole

_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"


DRAWING_WIDTH = 640
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
        return re.sub(r'width="100%"', f'width="{DRAWING_WIDTH}"', self.svg, count=1)


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


Chart = alt.Chart | alt.LayerChart | alt.VConcatChart
Row = Mapping[str, Any]

INK, MUTED, FAINT = "#1f2933", "#52606d", "#d5dae1"
BLUE, ORANGE, GREY, PALE = "#0b5fa5", "#d07d00", "#7b8794", "#9cc4e8"
RED = "#b42318"
PAPER = "#ffffff"
HATCHED = "#4f94cb"
"""Stands for a hatched area: a page shows stripes of this colour, an image of a chart shows it filled."""
SHADES = ("#eef4fa", "#cfe1f2", PALE, "#5b9bd0", BLUE, "#08305a")
"""Shades from low to high, distinguishable in greyscale too."""
DARK = {
    PAPER: "#14191f",
    SHADES[0]: "#1b2530",
    SHADES[1]: "#22405b",
    SHADES[3]: "#4a8cc4",
    SHADES[5]: "#d4ebff",
    INK: "#e6e9ee",
    MUTED: "#b3bdc9",
    FAINT: "#3d4752",
    BLUE: "#6db6f2",
    ORANGE: "#f5b041",
    GREY: "#98a4b1",
    HATCHED: "#5b9fd6",
    RED: "#ff8a7a",
    PALE: "#2d5f8a",
}
"""The replacement of each colour on a dark page."""
WIDTH, HEIGHT = 300, 180
"""The size of a plot in pixels, narrow enough for a phone without scaling the text."""
WHOLE = 348
"""The width of a whole chart in pixels: that of a phone without its margins, so that text is never scaled."""
TEXT = 12
"""The size of all text in charts, in pixels."""
BAR = 22
"""Height of a row in charts with one name per row, in pixels."""
"""Fonts of equal width; at least one is available on most systems. `labels` leave room for wider fonts."""
_META = "cvpl"
_TITLED = "\u2063"
"""An invisible sign before the title of a mark, which tells it from labels that Vega makes itself."""
_LONGEST = 26
"""The largest number of characters of a name on an axis; the table has the full names."""
_PARTS: Mapping[str, Any] = {
    "axis": {
        "labelFontSize": TEXT,
        "titleFontSize": TEXT,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": MUTED,
        "gridColor": FAINT,
        "domainColor": FAINT,
        "tickColor": FAINT,
        "labelLimit": 190,
        "labelOverlap": "greedy",
        "labelFlush": False,
        "labelSeparation": 10,
        "titlePadding": 8,
    },
    "legend": {
        "labelFontSize": TEXT,
        "labelColor": INK,
        "title": None,
        "orient": "top",
        "direction": "horizontal",
        "symbolSize": 90,
        "symbolOpacity": 1,
        "columnPadding": 14,
        "labelLimit": 0,
        "offset": 6,
        "columns": 3,
    },
    "header": {"labelFontSize": TEXT, "labelColor": MUTED, "titleColor": MUTED},
    "view": {"stroke": None},
}
"""The style of the parts of a chart."""


@dataclass(frozen=True)
class ChartText:
    """The title, the alternative text and the table of a chart, with cells as text."""

    title: str
    description: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def finish(
    chart: Any,
    title: str,
    description: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    labels: Sequence[str] = (),
    *,
    fitted: bool = False,
) -> Chart:
    """Apply the common style to a chart and attach its title, alternative text and table.

    `labels` are the names on the left axis; the padding leaves room for them even in a wider font. A chart that is
    `fitted` is `WHOLE` pixels wide with its labels, so that a page never scales its text.
    """
    room = 4 + round(1.3 * max(map(len, labels), default=0))
    meta = {_META: {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]}}
    padding = {"left": room, "right": 12, "top": 4, "bottom": 4}
    more: dict[str, Any] = {}
    if fitted:
        more = {"width": WHOLE, "autosize": alt.AutoSizeParams(type="fit-x", contains="padding")}
    # All at once: Altair copies a chart with its layers for every call.
    config = alt.Config(background="transparent", font=_FONT, padding=padding, **_PARTS)
    styled: Chart = chart.properties(description=description, usermeta=meta, config=config, **more)
    return styled


def title_channel(field: str = "title") -> alt.Description:
    """The encoding of the titles of marks, which a page shows for hovering; `title_of` makes them."""
    return alt.Description(f"{field}:N")


def title_of(text: str) -> str:
    """The title of a mark, as a value of its data."""
    return _TITLED + text


def numbers_of_chart(chart: Chart) -> ChartText:
    """The title, the alternative text and the table of a chart."""
    meta = chart.usermeta[_META]
    rows = tuple(tuple(row) for row in meta["rows"])
    return ChartText(meta["title"], str(chart.description), tuple(meta["columns"]), rows)


def svg_of_chart(chart: Chart) -> str:
    """The chart as an SVG element for a web page: its size is in pixels, and its label is the description.

    Marks with a title have it as their `<title>`, and hatched areas have stripes.
    """
    drawn = str(vl_convert.vegalite_to_svg(chart.to_json(validate=False)))
    box = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', drawn)
    assert box is not None  # noqa: S101 - every SVG from Vega has one
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{box[1]}" height="{box[2]}" {box[0]} '
    opening += f'role="img" aria-label="{escape(str(chart.description))}">'
    inside = drawn[drawn.index(">") + 1 :]
    inside = re.sub(_MARK, r"<\1\2\4><title>\3</title></\1>", inside)
    # The whole chart has one label; roles of single marks would only confuse screen readers.
    inside = re.sub(r' (role|aria-[a-z]+|class)="[^"]*"', "", inside)
    # Vega numbers clip paths per process; names from the title make them unique on a page and reproducible.
    own = re.sub(r"\W+", "-", numbers_of_chart(chart).title.lower())
    for at, name in enumerate(dict.fromkeys(re.findall(r'id="(clip\d+)"', inside))):
        inside = re.sub(rf"\b{name}\b", f"{own}-{at}", inside)
    hatched = f'fill="{HATCHED}"'
    if hatched in inside:
        striped = inside.replace(hatched, f'fill="url(#{own}-hatch)"')
        inside = _STRIPES.format(own, HATCHED) + striped
    return opening + inside


_MARK = rf'<(path|rect|line|text)([^>]*?) aria-label="{_TITLED}([^"]*)"([^>]*?)(?:/>|></\1>)'
"""A mark with a title, as Vega writes it."""
_STRIPES = (
    '<defs><linearGradient id="{0}-hatch" gradientUnits="userSpaceOnUse" x2="3" y2="3" spreadMethod="repeat">'
    '<stop stop-color="{1}"/><stop offset=".4" stop-color="{1}"/><stop offset=".5" stop-color="{1}" stop-opacity="0"/>'
    '<stop offset=".9" stop-color="{1}" stop-opacity="0"/><stop offset="1" stop-color="{1}"/></linearGradient></defs>'
)
"""A repeated gradient, and not a pattern: a browser prints every use of a pattern as an image of the whole page."""


def png_of_chart(chart: Chart, scale: float = 2.0) -> bytes:
    """The chart as a PNG on a white background, scaled by `scale`."""
    drawn: Any = chart.to_dict()
    drawn["background"] = "white"
    return bytes(vl_convert.vegalite_to_png(drawn, scale=scale))


def data(rows: Sequence[Row]) -> alt.InlineData:
    """The rows as inline data of a chart.

    They are a tuple, which Altair does not copy with a chart.
    """
    return alt.InlineData(values=tuple(dict(row) for row in rows))


def shorten(name: str, longest: int = _LONGEST) -> str:
    """Shorten a name to fit on an axis."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def unique_labels(names: Sequence[str], longest: int = _LONGEST) -> list[str]:
    """Shorten names to unique labels: equal labels get a number."""
    seen: dict[str, int] = {}
    found = []
    for name in (shorten(item, longest) for item in names):
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def full_percent_axis(title: str, **more: Any) -> alt.Axis:
    """An axis from 0% to 100% with few labels, which do not overlap."""
    return percent_axis(title, **({"values": [0, 0.25, 0.5, 0.75, 1], "labelOverlap": False} | more))


def percent_axis(title: str, **more: Any) -> alt.Axis:
    """An axis of percentages."""
    return alt.Axis(format="~%", title=title, **more)


def colours(named: Mapping[str, str], **more: Any) -> alt.Color:
    """The colour encoding of the series, in the given order."""
    return alt.Color("series:N", scale=alt.Scale(domain=list(named), range=list(named.values())), **more)


Side = Literal["start", "middle", "end"]

SIZE = 12
"""The size of text in pixels."""
NARROWEST = 320
"""The narrowest page for which labels are placed, in pixels: on a wider one they are further apart."""
_LETTER = 0.6
"""The width of a letter, as a share of the size of the text; a wide font is assumed."""


def finish_drawing(
    title: str,
    description: str,
    parts: Sequence[str],
    height: float,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> Drawing:
    """The parts as one drawing of this height in pixels, with its numbers."""
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="100%" height="{height:g}" role="img" '
        f'style="height: {height:g}px; max-width: 48rem" font-family="{_FONT}" font-size="{SIZE}" '
        f'aria-label="{escape(description)}">'
    )
    table = tuple(tuple(row) for row in rows)
    return Drawing(title, description, tuple(columns), table, f"{opening}{''.join(parts)}</svg>")


def position_at(share: float, left: float = 0.0, right: float = 1.0) -> str:
    """The position of a share of the way from `left` to `right`, both shares of the width, as a percentage."""
    return f"{100 * (left + (right - left) * share):.2f}%"


def text(
    words: str, x: str, y: float, side: Side = "start", fill: str = INK, *, bold: bool = False, size: int = SIZE
) -> str:
    """A line of text."""
    weight = ' font-weight="bold"' if bold else ""
    larger = "" if size == SIZE else f' font-size="{size}"'
    return f'<text x="{x}" y="{y:g}" text-anchor="{side}" fill="{fill}"{weight}{larger}>{escape(words)}</text>'


def line(x1: str, y1: float, x2: str, y2: float, colour: str = FAINT, width: float = 1, more: str = "") -> str:
    """A straight line; `more` are further attributes."""
    return (
        f'<line x1="{x1}" y1="{y1:g}" x2="{x2}" y2="{y2:g}" stroke="{colour}" stroke-width="{width:g}"'
        f"{' ' + more if more else ''}/>"
    )


def box(x: str, y: float, width: str, height: float, fill: str, more: str = "") -> str:
    """A rectangle."""
    return f'<rect x="{x}" y="{y:g}" width="{width}" height="{height:g}" fill="{fill}"{" " + more if more else ""}/>'


def place_shape(x: str, y: float, shape: str) -> str:
    """A shape in pixels around a position."""
    return f'<svg x="{x}" y="{y:g}" overflow="visible">{shape}</svg>'


def add_title(words: str, *parts: str) -> str:
    """Parts with a title that a browser shows when the pointer is over them."""
    return f"<g><title>{escape(words)}</title>{''.join(parts)}</g>"


def tick_label(words: str, share: float, x: str, y: float) -> str:
    """The label of a tick below an axis; the first and the last stay inside the picture."""
    side: Side = "start" if share <= 0 else "end" if share >= 1 else "middle"
    return text(words, x, y, side, MUTED)


def text_width(words: str, size: int = SIZE) -> float:
    """The width of a text in pixels, rather too wide than too narrow."""
    return _LETTER * size * len(words)


def short_labels(names: Sequence[str], longest: int) -> list[str]:
    """Unique labels of at most `longest` letters; a number behind equal ones takes five of them."""
    found = unique_labels(names, longest)
    return found if max(map(len, found), default=0) <= longest else unique_labels(names, longest - 5)


def nice_end(value: float) -> float:
    """The end of an axis of shares: the first of 4%, 8%, 20%, 40%, 60% and 100% that holds `value`."""
    return next((end for end in (0.04, 0.08, 0.20, 0.40, 0.60) if value <= end), 1.0)
