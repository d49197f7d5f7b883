"""How every chart looks, what it carries with it, and how it becomes a picture.

A chart is an Altair chart and nothing else: in a notebook it shows itself, and `chart.save("chart.png")` writes it. It
carries a description, which is its alternative text, and its numbers as a table. Colours differ in lightness too, and
whatever they tell apart is told by a dash, a shape or a label as well.
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
BLUE, ORANGE, GREY, PALE = "#0b5fa5", "#e08a00", "#7b8794", "#9cc4e8"
PAPER = "#ffffff"
SHADES = ("#eef4fa", "#cfe1f2", PALE, "#5b9bd0", BLUE, "#08305a")
"""From nothing to everything: ever further from the page, in greyscale too."""
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
    PALE: "#2d5f8a",
}
"""What stands in for each colour on a dark page."""
WIDTH, HEIGHT = 300, 180
"""Narrow enough for a telephone, where letters then keep their size."""
BAR = 22
"""Height of a line in charts with a name on every line."""
_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Nearly everywhere one of them is there, and they are equally wide; `labels` are given room for where none is."""
_META = "cvpl"
_LONGEST = 26
"""Names are cut after so many characters on an axis; the table has them whole."""


@dataclass(frozen=True)
class Numbers:
    """A chart's title, its alternative text, and its numbers as text, row by row."""

    title: str
    description: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def finished(
    chart: Any,
    title: str,
    description: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    labels: Sequence[str] = (),
) -> Chart:
    """The chart in the house's style, with its title, its alternative text and its table.

    `labels` are the names on its left side, for which there is room even in a wider font.
    """
    room = 4 + round(1.3 * max(map(len, labels), default=0))
    meta = {_META: {"title": title, "columns": list(columns), "rows": [list(row) for row in rows]}}
    styled: Chart = (
        chart.properties(description=description, usermeta=meta)
        .configure(
            background="transparent", font=_FONT, aria=False, padding={"left": room, "right": 12, "top": 4, "bottom": 4}
        )
        .configure_axis(
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
            labelColor=INK,
            titleColor=MUTED,
            gridColor=FAINT,
            domainColor=FAINT,
            tickColor=FAINT,
            labelLimit=190,
            labelOverlap="greedy",
            labelFlush=False,
            labelSeparation=10,
            titlePadding=8,
        )
        .configure_legend(
            labelFontSize=11,
            labelColor=INK,
            title=None,
            orient="top",
            direction="horizontal",
            symbolSize=90,
            symbolOpacity=1,
            columnPadding=14,
            labelLimit=0,
            offset=6,
            columns=3,
        )
        .configure_header(labelFontSize=11, labelColor=MUTED, titleColor=MUTED)
        .configure_view(stroke=None)
    )
    return styled


def numbers(chart: Chart) -> Numbers:
    """What a chart carries with it."""
    meta = chart.usermeta[_META]
    rows = tuple(tuple(row) for row in meta["rows"])
    return Numbers(meta["title"], str(chart.description), tuple(meta["columns"]), rows)


def svg(chart: Chart) -> str:
    """The chart as an SVG element that may stand in a page: it scales with it, and has the description for its name."""
    drawn = str(vl_convert.vegalite_to_svg(chart.to_json()))
    box = re.search(r'viewBox="[0-9. -]+"', drawn)
    assert box is not None  # noqa: S101 - every picture of Vega has one
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" {box.group()} role="img" '
    opening += f'aria-label="{escape(str(chart.description))}">'
    inside = drawn[drawn.index(">") + 1 :]
    # Marks have roles of their own, which within one picture with a name only confuse.
    inside = re.sub(r' (role|aria-[a-z]+|class)="[^"]*"', "", inside)
    # Vega counts clips over all pictures of a process; here a picture's are its own, and the same every time.
    own = re.sub(r"\W+", "-", numbers(chart).title.lower())
    for at, name in enumerate(dict.fromkeys(re.findall(r'id="(clip\d+)"', inside))):
        inside = re.sub(rf"\b{name}\b", f"{own}-{at}", inside)
    return opening + inside


def png(chart: Chart, scale: float = 2.0) -> bytes:
    """The chart as a PNG on white, `scale` times its size."""
    drawn: Any = chart.to_dict()
    drawn["background"] = "white"
    return bytes(vl_convert.vegalite_to_png(drawn, scale=scale))


def data(rows: Sequence[Row]) -> alt.InlineData:
    """Rows as they are, inside the chart."""
    return alt.InlineData(values=[dict(row) for row in rows])


def short(name: str, longest: int = _LONGEST) -> str:
    """A name as an axis has room for it."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def unlike(names: Sequence[str], longest: int = _LONGEST) -> list[str]:
    """Short names that are still unlike each other: equal ones get a number."""
    seen: dict[str, int] = {}
    found = []
    for name in (short(item, longest) for item in names):
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def whole_axis(title: str) -> alt.Axis:
    """An axis of shares from 0% to 100% with few labels, which never meet."""
    return percent_axis(title, values=[0, 0.25, 0.5, 0.75, 1], labelOverlap=False)


def percent_axis(title: str, **more: Any) -> alt.Axis:
    """An axis of shares."""
    return alt.Axis(format="~%", title=title, **more)


def colours(named: Mapping[str, str], **more: Any) -> alt.Color:
    """The colour of each series, in the order given."""
    return alt.Color("series:N", scale=alt.Scale(domain=list(named), range=list(named.values())), **more)


def apart(values: Sequence[float], gap: float, bottom: float, top: float) -> list[float]:
    """Places near the values, at least `gap` from each other, between bottom and top as far as there is room."""
    order = sorted(range(len(values)), key=lambda at: values[at])
    found = [0.0] * len(values)
    last = bottom - gap / 2
    for at in order:
        last = found[at] = max(values[at], last + gap)
    limit = top + gap / 2
    for at in reversed(order):
        limit = found[at] = min(found[at], limit - gap)
    return found
