"""The chart of a risk surface: the rate over strength and threshold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from cvpl.answers.surface_answer import FIGURES
from cvpl.charts.style import (
    BAR,
    INK,
    PAPER,
    SHADES,
    WIDTH,
    Chart,
    colours,
    data,
    finish,
    unique_labels,
)
from cvpl.result import SurfaceCell, SurfaceResult, SurfaceSetting
from cvpl.wording import UNKNOWN, counted, percent, printable

_STEPS = (0.02, 0.05, 0.10, 0.25, 0.50)
"""Rates at which the shade changes: finer at low rates, where targets are."""
_LEVELS = dict(zip(("to 2%", "to 5%", "to 10%", "to 25%", "to 50%", "above 50%"), SHADES, strict=True))
_DARK_FROM = 4
"""From this shade on, marks have the colour of the page."""
_LABELLED = 5
"""The axis labels every fifth threshold."""
_WITHIN, _STEEP, _CONTRADICTED = "within the target", "steep", "contradicted"
_FRAME = "M-1,-1L1,-1L1,1L-1,1ZM-0.6,-0.6L-0.6,0.6L0.6,0.6L0.6,-0.6Z"
"""An SVG path of a square frame, for the legend."""
_SHAPES = {_STEEP: "circle", _CONTRADICTED: "cross"}
_HEIGHTS = {_STEEP: 0.3, _CONTRADICTED: 0.7}
"""The vertical position of each mark in a cell, so that both fit."""


def heat_map(result: SurfaceResult) -> Chart | None:
    """The rate at every strength and every threshold or false-positive rate; None if no rate is known.

    Darker shades are higher rates. Cells within the target are framed; a dot marks a cell of high sensitivity, a cross
    a cell whose rate is contradicted by other figures.
    """
    width = max((len(row.cells) for row in result.settings), default=0)
    if not width:
        return None
    labels = unique_labels([printable(str(row.strength)) for row in result.settings])
    first = next(row for row in result.settings if len(row.cells) == width)
    places = [_place(cell) for cell in first.cells]
    rows, marks = [], []
    for label, row in zip(labels, result.settings, strict=True):
        for place, cell in zip(places, row.cells, strict=False):
            rate = _rate(cell)
            if rate is None:
                continue
            level = sum(rate > step for step in _STEPS)
            rows.append({"strength": label, "at": place, "series": list(_LEVELS)[level]})
            pen = PAPER if level >= _DARK_FROM else INK
            kinds = [kind for kind, there in ((_STEEP, cell.steep), (_CONTRADICTED, cell.contradicted)) if there]
            marks += [{"strength": label, "at": place, "mark": kind, "ink": pen} for kind in kinds]
    by_rate = result.axis == "false_rate"
    title = "false-positive rate" if by_rate else "threshold"
    x = alt.X(
        "at:O",
        sort=places,
        scale=alt.Scale(domain=places, paddingInner=0, paddingOuter=0),
        axis=alt.Axis(title=title, values=places[::_LABELLED], labelAngle=0, ticks=False, domain=False),
    )
    y = alt.Y(
        "strength:O",
        sort=labels,
        scale=alt.Scale(domain=labels, paddingInner=0, paddingOuter=0),
        axis=alt.Axis(title=None, ticks=False, domain=False),
    )
    shade = colours(_LEVELS, legend=alt.Legend(orient="bottom"))
    layers: list[Any] = [alt.Chart(data(rows)).mark_rect().encode(x=x, y=y, color=shade)]
    for kind, height in _HEIGHTS.items():
        of_kind = [mark for mark in marks if mark["mark"] == kind]
        if of_kind:
            layers.append(_marks(of_kind, height, labels, places, framed=result.target is not None))
    frame = list(_frame(result.settings, labels, places))
    for colour, thickness in ((PAPER, 5), (INK, 2)):
        for side in ("top", "bottom", "left", "right"):
            if edges := [item for item in frame if item["side"] == side]:
                layers.append(_edges(edges, side, labels, places, colour, thickness))
    drawn = alt.layer(*layers).resolve_scale(color="independent").properties(width=WIDTH, height=BAR * len(labels))
    heads = ("strength" if result.sweep == "mechanism" else "blocking", *places)
    table = [
        (
            printable(str(row.strength)),
            *(_cell_text(cell) for cell in row.cells),
            *([UNKNOWN] * (width - len(row.cells))),
        )
        for row in result.settings
    ]
    named = f"The rate over strength and {'false-positive rate' if by_rate else 'threshold'}"
    return finish(drawn, named, _described(result, by_rate), heads, table, labels)


def _rate(cell: SurfaceCell) -> float | None:
    return cell.linkage_rate if cell.attributable_rate is None else cell.attributable_rate


def _place(cell: SurfaceCell) -> str:
    return f"{cell.threshold:.3g}" if cell.threshold is not None else percent(cell.false_rate)


def _cell_text(cell: SurfaceCell) -> str:
    marks = [
        name
        for name, there in ((_WITHIN, cell.safe), (_STEEP, cell.steep), (_CONTRADICTED, cell.contradicted))
        if there
    ]
    return percent(_rate(cell)) + (f" ({', '.join(marks)})" if marks else "")


def _marks(
    marks: list[dict[str, Any]], height: float, labels: list[str], places: list[str], *, framed: bool
) -> alt.Chart:
    """Marks of one kind; their legend also explains the frame if there is one."""
    shapes = ({_WITHIN: _FRAME} if framed else {}) | _SHAPES
    scale = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    legend = alt.Legend(symbolFillColor=INK, symbolStrokeWidth=0)
    shape = alt.Shape("mark:N", scale=scale, legend=legend)
    x, y = alt.X("at:O", sort=places), alt.Y("strength:O", sort=labels, bandPosition=height)
    points = alt.Chart(data(marks)).mark_point(filled=True, size=14, opacity=1)
    drawn: alt.Chart = points.encode(x=x, y=y, shape=shape, color=alt.Color("ink:N", scale=None, legend=None))
    return drawn


def _edges(
    edges: list[dict[str, Any]], side: str, labels: list[str], places: list[str], colour: str, thickness: int
) -> alt.Chart:
    """Lines along one side of the cells."""
    at, down = alt.X("at:O", sort=places), alt.Y("strength:O", sort=labels)
    line = alt.Chart(data(edges)).mark_rule(color=colour, strokeWidth=thickness, strokeCap="square")
    drawn: alt.Chart
    if side in ("top", "bottom"):
        y = down.bandPosition(0 if side == "top" else 1)
        drawn = line.encode(x=at.bandPosition(0), x2=alt.X2("at", bandPosition=1), y=y)
    else:
        x = at.bandPosition(0 if side == "left" else 1)
        drawn = line.encode(x=x, y=down.bandPosition(0), y2=alt.Y2("strength", bandPosition=1))
    return drawn


def _frame(settings: list[SurfaceSetting], labels: list[str], places: list[str]) -> Iterator[dict[str, Any]]:
    """The edges of the region within the target, each along one side of a cell."""
    safe = [[bool(cell.safe) for cell in row.cells] for row in settings]

    def is_cell(row: int, column: int) -> bool:
        return 0 <= row < len(safe) and 0 <= column < len(safe[row]) and safe[row][column]

    for row in range(len(safe)):
        for column in range(len(safe[row])):
            if not safe[row][column]:
                continue
            corner = {"strength": labels[row], "at": places[column]}
            for side, (a, b) in {"top": (-1, 0), "bottom": (1, 0), "left": (0, -1), "right": (0, 1)}.items():
                if not is_cell(row + a, column + b):
                    yield corner | {"side": side}


def _described(result: SurfaceResult, by_rate: bool) -> str:
    known = any(cell.attributable_rate is not None for row in result.settings for cell in row.cells)
    judged = FIGURES["attributable_rate" if known else "linkage_rate"]
    over = "false-positive rates" if by_rate else "thresholds"
    cells = [cell for row in result.settings for cell in row.cells]
    text = f"The {judged} over {counted(len(result.settings), 'setting')} and {over}, {counted(len(cells), 'cell')}; "
    text += "a stronger shade is a higher rate."
    if result.target is not None:
        count = sum(bool(cell.safe) for cell in cells)
        limit = percent(result.target.rate)
        text += f" Framed: {counted(count, 'cell')} within the target (upper interval end at most {limit})."
    text += (
        f" Dot: a neighbouring cell differs by more than {100 * result.high_sensitivity:.0f} points"
        f" ({counted(sum(cell.steep for cell in cells), 'cell')})."
        f" Cross: another figure shows a higher risk ({counted(sum(cell.contradicted for cell in cells), 'cell')})."
    )
    return text
