"""The chart of the columns that give people away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from cvpl.charts.style import (
    BAR,
    BLUE,
    GREY,
    INK,
    TEXT,
    Chart,
    data,
    finish,
    percent_axis,
    title_of,
    titled,
    unique_labels,
)
from cvpl.result import AuditResult, Contribution
from cvpl.wording import counted, percent, points, printable, span

_FALSE_RATE = 0.05
_LONGEST = 18
_HEADS = (
    "column",
    "role",
    "power without it, points",
    "spread",
    "links",
    "structure",
    "spread",
    "rate without it, points",
)


def contributions(result: AuditResult) -> Chart | None:
    """The share linked with all columns and without each of them, at a false-positive rate of 5%.

    The power without a column is power - drop. Without drops, the chart shows each column's share in the links, or in
    the comparison space. None if every drop lies within error (its interval includes 0), or nothing is known.
    """
    columns = result.feature_contribution.columns
    own = result.power_at(_FALSE_RATE)
    drops = sorted((item for item in columns if item.power_drop is not None), key=lambda item: -(item.power_drop or 0))
    if drops and own is not None:
        return _removals(result, own.power, drops) if any(certain(item) for item in drops) else None
    for field, title in (("link", "share of the similarity of links"), ("structural", "share of the comparison space")):
        known = [item for item in columns if getattr(item, field) is not None]
        if known:
            return _shares(result, field, title, sorted(known, key=lambda item: -getattr(item, field)))
    return None


def certain(item: Contribution) -> bool:
    """Whether the power falls without a column beyond error: its interval excludes 0."""
    return (item.power_drop_low or 0.0) > 0


def _removals(result: AuditResult, power: float, known: Sequence[Contribution]) -> Chart:
    k = result.suppress_below
    labels = unique_labels([printable(item.column) for item in known], _LONGEST)
    rows: list[dict[str, Any]] = []
    for label, item in zip(labels, known, strict=True):
        after = min(1.0, max(0.0, power - (item.power_drop or 0.0)))
        words = f"{percent(power, k=k)} \u2192 {percent(after, k=k)}"
        rows.append(
            {
                "name": label,
                "before": power,
                "after": after,
                "label": words if certain(item) else "within error",
                "title": title_of(f"{words} without {printable(item.column)}"),
            }
        )
    sure = [row for row, item in zip(rows, known, strict=True) if certain(item)]
    unsure = [row for row, item in zip(rows, known, strict=True) if not certain(item)]
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    top = max(power, *(row["after"] for row in rows))
    # The labels stand right of the largest value.
    scale = alt.Scale(domain=[0, top * 1.75], nice=False)
    ticks = [tick for tick in (0, 0.25, 0.5, 0.75, 1.0) if tick <= top + 0.02] if top > 0.3 else None
    axis = percent_axis(
        "linked at 5%, with all columns and without one", **({"values": ticks} if ticks else {"tickCount": 4})
    )
    x = alt.X("after:Q", scale=scale, axis=axis)
    layers: list[Any] = [alt.Chart(data([{"after": power}])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(x=x)]
    for own, colour in ((sure, BLUE), (unsure, GREY)):
        if not own:
            continue
        line = alt.Chart(data(own)).mark_rule(color=colour, strokeWidth=3)
        layers.append(line.encode(x=x, x2="before:Q", y=y))
        dots = alt.Chart(data(own)).mark_point(filled=True, size=80, opacity=1, color=colour)
        layers.append(dots.encode(x=x, y=y, description=titled()))
    places = [row | {"place": top * 1.04} for row in rows]
    texts = alt.Chart(data(places)).mark_text(align="left", color=INK, fontSize=TEXT)
    layers.append(texts.encode(x=alt.X("place:Q", scale=scale, axis=axis), y=y, text="label:N"))
    drawn = alt.layer(*layers).properties(height=BAR * len(rows))
    first = known[0]
    description = (
        f"Originals linked at a false-positive rate of 5%: {rows[0]['title'][1:]}. Each dot is the share without one "
        f"of {counted(len(known), 'column')}; the dashed line is the share with all of them."
    )
    if not certain(first):
        description += " Grey: within error."
    elif unsure:
        description += " Grey: the change lies within error."
    table = _table(result.feature_contribution.columns, known)
    return finish(drawn, "Which columns give people away", description, _HEADS, table, labels, fitted=True)


def _shares(result: AuditResult, field: str, title: str, known: Sequence[Contribution]) -> Chart:
    labels = unique_labels([printable(item.column) for item in known])
    rows = [
        {
            "name": label,
            "value": getattr(item, field),
            "low": item.structural_low if field == "structural" else None,
            "high": item.structural_high if field == "structural" else None,
            "title": title_of(f"{printable(item.column)}: {percent(getattr(item, field))}"),
        }
        for label, item in zip(labels, known, strict=True)
    ]
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    x = alt.X("value:Q", axis=percent_axis(title, tickCount=4, titleAnchor="end"))
    bars = alt.Chart(data(rows)).mark_bar(color=BLUE, height=BAR - 10)
    layers: list[Any] = [bars.encode(x=x, y=y, description=titled())]
    spread = [row for row in rows if row["low"] is not None]
    if spread:
        rule = alt.Chart(data(spread)).mark_rule(color=INK, strokeWidth=1.5)
        layers.append(rule.encode(x=alt.X("low:Q"), x2="high:Q", y=y))
    drawn = alt.layer(*layers).properties(height=BAR * len(rows))
    most = known[0]
    description = (
        f"{title.capitalize()}, for {counted(len(known), 'column')}. Largest: {printable(most.column)} with "
        f"{percent(getattr(most, field))}."
    )
    if spread:
        description += " Lines show the spread over resamples of people or records."
    table = _table(result.feature_contribution.columns, known)
    return finish(drawn, "Which columns give people away", description, _HEADS, table, labels, fitted=True)


def _table(columns: Sequence[Contribution], known: Sequence[Contribution]) -> list[tuple[str, ...]]:
    return [
        (
            printable(column.column),
            column.role.replace("_", "-"),
            points(None if column.power_drop is None else -column.power_drop),
            _ends(column.power_drop_low, column.power_drop_high),
            percent(column.link),
            percent(column.structural),
            span(column.structural_low, column.structural_high),
            points(None if column.removal is None else -column.removal),
        )
        for column in sorted(columns, key=lambda item: known.index(item) if item in known else len(known))
    ]


def _ends(low: float | None, high: float | None) -> str:
    """The interval of a drop, as changes."""
    return "" if low is None or high is None else f"{points(-high)} to {points(-low)}"
