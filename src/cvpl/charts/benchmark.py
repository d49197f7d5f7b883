"""The releases of one data set: their risks and their utilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from cvpl.charts.style import (
    BLUE,
    FAINT,
    GREY,
    HEIGHT,
    INK,
    ORANGE,
    WIDTH,
    Chart,
    colours,
    data,
    finish,
    full_percent_axis,
    percent_axis,
    spread_out,
    unique_labels,
)
from cvpl.result import BenchmarkRow
from cvpl.wording import UNKNOWN, counted, percent, printable, span

_SERIES = {"risk": BLUE, "attributable": ORANGE, "top-1": GREY}
_SHAPES = {"risk": "circle", "attributable": "square", "top-1": "triangle-up"}
_OFFSET = {"risk": -8, "attributable": 0, "top-1": 8}
"""Vertical offsets in pixels that keep the points of a release from overlapping."""
_BASES = {"a control": BLUE, "true matches": GREY}
"""The basis of a risk."""
_BASE_SHAPES = {"a control": "circle", "true matches": "triangle-up"}
_EACH = 30
"""Height of one release in pixels."""
_LONGEST = 22
_LINE = 15
"""Height of a name beside the plot, in pixels."""

Ends = tuple[float, float | None, float | None]


def release_risks(rows: Sequence[BenchmarkRow], name: str) -> Chart | None:
    """Risk, attributable rate and top-1 of every release with their intervals, in the order of the rows.

    `name` is the name of the data set. None if no release has any of these figures.
    """
    known = [row for row in rows if _figures(row)]
    if not known:
        return None
    labels = unique_labels([printable(row.name) for row in known], _LONGEST)
    points = [
        {"name": label, "series": series, "value": value, "low": low, "high": high}
        for label, row in zip(labels, known, strict=True)
        for series, (value, low, high) in _figures(row).items()
    ]
    used = {kind: colour for kind, colour in _SERIES.items() if any(point["series"] == kind for point in points)}
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None, labelOverlap=False))
    x = alt.X("value:Q", scale=alt.Scale(domain=[0, 1], clamp=True), axis=full_percent_axis("share of people"))
    layers: list[Any] = []
    for kind in used:
        mine = [point for point in points if point["series"] == kind]
        ends = [item for item in mine if item["low"] is not None and item["high"] is not None]
        if ends:
            bar = alt.Chart(data(ends)).mark_rule(strokeWidth=2, yOffset=_OFFSET[kind])
            low = alt.X("low:Q", scale=alt.Scale(domain=[0, 1], clamp=True))
            layers.append(bar.encode(x=low, x2="high:Q", y=y, color=colours(used)))
        shape = alt.Shape("series:N", scale=alt.Scale(domain=list(used), range=[_SHAPES[item] for item in used]))
        dots = alt.Chart(data(mine)).mark_point(filled=True, size=45, opacity=1, yOffset=_OFFSET[kind])
        layers.append(dots.encode(x=x, y=y, color=colours(used), shape=shape))
    plot = alt.layer(*layers).properties(width=WIDTH - 60, height=_EACH * len(known))
    shown = " and ".join([", ".join(list(used)[:-1]), list(used)[-1]] if len(used) > 1 else used)
    description = f"{shown[0].upper()}{shown[1:]} of {_counted(known)}, with 95% intervals."
    table = [(printable(row.name), *_cells(row)) for row in rows]
    heads = ("release", "risk", "95% interval", "attributable", "95% interval", "top-1", "95% interval")
    return finish(plot, f"Risk of each release of {printable(name)}", description, heads, table, labels)


def release_utilities(rows: Sequence[BenchmarkRow], name: str) -> Chart | None:
    """Utility against risk, with a mark for the basis of the risk; None if no release has both."""
    known = [row for row in rows if _risk(row) is not None and _kept(row) is not None]
    if not known:
        return None
    labels = unique_labels([printable(row.name) for row in known], _LONGEST)
    height = max(HEIGHT, _LINE * (len(known) + 1))
    utilities = [_kept(row) or 0.0 for row in known]
    room = max(0.03, 0.08 * (max(utilities) - min(utilities)))
    bottom, top = min(utilities) - room, min(1.01, max(utilities) + room)
    most = min(1.0, max(0.01, 1.08 * max(_risk(row) or 0.0 for row in known)))
    beside = spread_out(utilities, (top - bottom) * _LINE / height, bottom, top)
    points = [
        {"name": label, "series": _basis(row), "risk": _risk(row), "utility": item, "edge": most, "beside": place}
        for label, row, item, place in zip(labels, known, utilities, beside, strict=True)
    ]
    used = {kind: colour for kind, colour in _BASES.items() if any(point["series"] == kind for point in points)}
    x = alt.X("risk:Q", scale=alt.Scale(domain=[0, most], nice=False), axis=percent_axis("risk", tickCount=4))
    scale = alt.Scale(domain=[bottom, top], nice=False)
    y = alt.Y("utility:Q", scale=scale, axis=alt.Axis(title="utility", tickCount=5, format=".2f"))
    base = alt.Chart(data(points))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=list(used), range=[_BASE_SHAPES[item] for item in used]))
    names = base.mark_text(align="left", baseline="middle", dx=5, color=INK, fontSize=11)
    layers: list[Any] = [
        base.mark_rule(color=FAINT).encode(x=x, y=y, x2="edge:Q", y2="beside:Q"),
        base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=colours(used), shape=shape),
        names.encode(x=alt.X("edge:Q"), y=alt.Y("beside:Q", scale=scale), text="name:N"),
    ]
    plot = alt.layer(*layers).properties(width=WIDTH - 110, height=height)
    description = (
        f"Utility against risk of {_counted(known)}; lower risk is to the left, higher utility at the top. "
        "Utility covers the columns of each release."
    )
    heads = ("release", "basis of the risk", "risk", "utility", "columns")
    table = [
        (
            printable(row.name),
            _basis(row) or UNKNOWN,
            percent(_risk(row), k=row.suppress_below),
            UNKNOWN if (kept := _kept(row)) is None else f"{kept:.3f}",
            UNKNOWN if row.utility is None else str(len(row.utility.columns)),
        )
        for row in rows
    ]
    return finish(plot, f"Utility against risk in {printable(name)}", description, heads, table)


def _counted(rows: Sequence[BenchmarkRow]) -> str:
    return counted(len(rows), "release")


def _figures(row: BenchmarkRow) -> dict[str, Ends]:
    """The known figures of a row, each with the ends of its interval."""
    found: dict[str, Ends] = {}
    value, low, high = row.shown
    if value is not None:
        found["risk"] = value, low, high
    if row.attributable_rate is not None and row.attributable_rate.estimate is not None:
        beyond = row.attributable_rate
        found["attributable"] = row.attributable_rate.estimate, beyond.low, beyond.high
    if row.top1_hit_rate is not None:
        found["top-1"] = row.top1_hit_rate, row.top1_low, row.top1_high
    return found


def _cells(row: BenchmarkRow) -> list[str]:
    found = _figures(row)
    nothing: tuple[None, None, None] = None, None, None
    parts = [found.get(kind, nothing) for kind in _SERIES]
    return [cell for value, low, high in parts for cell in (percent(value, k=row.suppress_below), span(low, high))]


def _kept(row: BenchmarkRow) -> float | None:
    return None if row.utility is None else row.utility.score


def _risk(row: BenchmarkRow) -> float | None:
    if row.ranked_by is None:
        return None
    return None if row.shown[0] is None else max(0.0, row.shown[0])


def _basis(row: BenchmarkRow) -> str | None:
    return None if row.ranked_by is None else "true matches" if row.ranked_by == "top1_hit_rate" else "a control"
