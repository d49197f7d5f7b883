"""The style of all charts, their metadata, and their conversion to images.

Every chart is a plain Altair chart: a notebook displays it, and `chart.save("chart.png")` writes it. It has a
description, which is its alternative text, and its numbers as a table. Series differ in lightness as well as in hue,
and also in dash, shape or label.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import altair as alt
import vl_convert

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
_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
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


def titled(field: str = "title") -> alt.Description:
    """The encoding of the titles of marks, which a page shows for hovering; `title_of` makes them."""
    return alt.Description(f"{field}:N")


def title_of(text: str) -> str:
    """The title of a mark, as a value of its data."""
    return _TITLED + text


def numbers(chart: Chart) -> ChartText:
    """The title, the alternative text and the table of a chart."""
    meta = chart.usermeta[_META]
    rows = tuple(tuple(row) for row in meta["rows"])
    return ChartText(meta["title"], str(chart.description), tuple(meta["columns"]), rows)


def svg(chart: Chart) -> str:
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
    own = re.sub(r"\W+", "-", numbers(chart).title.lower())
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


def png(chart: Chart, scale: float = 2.0) -> bytes:
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
