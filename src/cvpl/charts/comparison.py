"""Charts of a comparison: utility against risk, and the columns that give people away in each release."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.charts.style import (
    BLUE,
    FAINT,
    GREY,
    HEIGHT,
    INK,
    PALE,
    WIDTH,
    Chart,
    colours,
    data,
    finish,
    percent_axis,
    spread_out,
    unique_labels,
)
from cvpl.result import ComparedRelease, ComparisonResult, Contribution
from cvpl.wording import UNKNOWN, counted, percent, places, points, printable, span

_LINE = 15
"""Height of a name beside the plot, in pixels."""
_LONGEST = 22
_MOST_COLUMNS = 10
"""The number of columns in the chart; the table has all columns."""
_KINDS = {"efficient": BLUE, "beaten by another": GREY}
_SHAPES = {"efficient": "circle", "beaten by another": "square"}


def frontier(result: ComparisonResult) -> Chart | None:
    """Utility against risk, with the efficient frontier; None if no release has both.

    Names are in a column beside the plot and connected by lines, so that they do not overlap.
    """
    known = [release for release in result.releases if release.on_frontier is not None]
    if not known:
        return None
    labels = unique_labels([printable(item.name) for item in known], _LONGEST)
    height = max(HEIGHT, _LINE * (len(known) + 1))
    utilities = [item.utility.score or 0.0 for item in known]
    room = max(0.01, 0.08 * (max(utilities) - min(utilities)))
    bottom, top = min(utilities) - room, max(utilities) + room
    most = min(1.0, 1.06 * max(_high(item) for item in known))
    beside = spread_out(utilities, (top - bottom) * _LINE / height, bottom, top)
    rows: list[dict[str, Any]] = [
        {
            "name": label,
            "series": "efficient" if item.on_frontier else "beaten by another",
            "risk": _risk(item),
            "low": None if item.shown[1] is None else max(0.0, item.shown[1]),
            "high": None if item.shown[2] is None else max(0.0, item.shown[2]),
            "utility": utility,
            "edge": most,
            "beside": place,
        }
        for label, item, utility, place in zip(labels, known, utilities, beside, strict=True)
    ]
    x = alt.X("risk:Q", scale=alt.Scale(domain=[0, most], nice=False), axis=percent_axis("risk", tickCount=4))
    scale = alt.Scale(domain=[bottom, top], nice=False)
    y = alt.Y("utility:Q", scale=scale, axis=alt.Axis(title="utility", tickCount=5, format=".2f"))
    used = {kind: colour for kind, colour in _KINDS.items() if any(row["series"] == kind for row in rows)}
    base = alt.Chart(data(rows))
    layers: list[Any] = [
        base.mark_rule(color=FAINT).encode(x=x, y=y, x2="edge:Q", y2="beside:Q"),
    ]
    line = sorted((row for row in rows if row["series"] == "efficient"), key=lambda row: row["risk"])
    if len(line) > 1:
        steps = [row | {"order": at} for at, row in enumerate(line)]
        drawn = alt.Chart(data(steps)).mark_line(color=BLUE, strokeDash=[4, 3], strokeWidth=1.5)
        layers.append(drawn.encode(x=x, y=y, order="order:Q"))
    ends = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if ends:
        bars = alt.Chart(data(ends)).mark_rule(strokeWidth=2)
        layers.append(bars.encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colours(used)))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=list(used), range=[_SHAPES[kind] for kind in used]))
    layers.append(base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=colours(used), shape=shape))
    names = base.mark_text(align="left", baseline="middle", dx=5, color=INK, fontSize=11)
    layers.append(names.encode(x=alt.X("edge:Q"), y=alt.Y("beside:Q", scale=scale), text="name:N"))
    plot = alt.layer(*layers).properties(width=WIDTH - 110, height=height)
    efficient = ", ".join(printable(name) for name in result.frontier)
    description = (
        f"Utility against risk of {counted(len(known), 'release')}; lower risk is to the left, higher utility at the "
        f"top. Efficient, from the lowest risk: {efficient}. Horizontal lines are 95% intervals of the risk."
    )
    heads = ("release", "place by risk", "risk", "95% interval", "utility", "efficient", "beaten by")
    return finish(plot, "Utility against risk", description, heads, [_row(release) for release in result.releases])


def contributions(result: ComparisonResult) -> Chart | None:
    """The drop in power without each column, for each release; else its share in the links or the space."""
    measures = (
        ("power_drop", "drop in power at 5% without the column"),
        ("link", "share of the similarity of links"),
        ("structural", "share of the comparison space"),
    )
    parts = [{column.column: column for column in release.feature_contribution.columns} for release in result.releases]
    names = list(dict.fromkeys(name for found in parts for name in found))

    def value(found: dict[str, Contribution], name: str, field: str) -> float | None:
        return None if name not in found else getattr(found[name], field)

    def most(name: str, field: str) -> float:
        return max((value(found, name, field) or 0.0 for found in parts), default=0.0)

    chosen = next(
        (kind for kind in measures if any(value(item, name, kind[0]) is not None for item in parts for name in item)),
        None,
    )
    if chosen is None:
        return None
    field, title = chosen
    names.sort(key=lambda name: -most(name, field))
    releases = unique_labels([printable(item.name) for item in result.releases], _LONGEST)
    drawn = names[:_MOST_COLUMNS]
    columns = unique_labels([printable(name) for name in drawn], _LONGEST)
    rows = [
        {"column": label, "release": release, "value": figure}
        for name, label in zip(drawn, columns, strict=True)
        for release, found in zip(releases, parts, strict=True)
        if (figure := value(found, name, field)) is not None
    ]
    header = alt.Header(
        labelAngle=0, labelAlign="left", labelAnchor="start", labelOrient="top", labelPadding=2, title=None
    )
    plot = (
        alt.Chart(data(rows))
        .mark_bar(color=PALE, height=8)
        .encode(
            x=alt.X("value:Q", axis=percent_axis(title, tickCount=4)),
            y=alt.Y("release:N", sort=releases, axis=alt.Axis(title=None, labelFontSize=10, labelOverlap=False)),
            row=alt.Row("column:N", sort=columns, header=header, spacing=14),
        )
        .properties(width=WIDTH - 90, height=12 * len(releases))
    )
    description = (
        f"{title.capitalize()}, for {counted(len(drawn), 'column')} in {counted(len(releases), 'release')}. Largest: "
        f"{printable(names[0])} "
        f"with up to {percent(most(names[0], field))}."
    )
    table = [
        (printable(name), *(_cell(value(found, name, field), drop=field == "power_drop") for found in parts))
        for name in names
    ]
    heads = ("column", *(printable(item.name) for item in result.releases))
    return finish(plot, "Which columns give people away, by release", description, heads, table, releases)


def _cell(value: float | None, *, drop: bool) -> str:
    return points(None if value is None else -value) if drop else percent(value)


def _risk(release: ComparedRelease) -> float:
    return max(0.0, release.shown[0] or 0.0)


def _high(release: ComparedRelease) -> float:
    return _risk(release) if release.shown[2] is None else max(0.0, release.shown[2])


def _row(release: ComparedRelease) -> tuple[str, ...]:
    ends = span(release.shown[1], release.shown[2])
    efficient = UNKNOWN if release.on_frontier is None else "yes" if release.on_frontier else "no"
    return (
        printable(release.name),
        UNKNOWN if release.risk_places is None else places(release.risk_places.first, release.risk_places.last),
        percent(release.shown[0]) if release.assessable else "not assessable",
        ends if release.assessable else "",
        UNKNOWN if release.utility.score is None else f"{release.utility.score:.3f}",
        efficient,
        ", ".join(map(printable, release.beaten_by)),
    )
