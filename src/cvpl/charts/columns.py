"""The chart of the columns that give people away."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.charts.style import BAR, INK, PALE, WIDTH, Chart, data, finish, percent_axis, unique_labels
from cvpl.result import AuditResult
from cvpl.wording import counted, percent, points, printable, span


def contributions(result: AuditResult) -> Chart | None:
    """How much each column gives people away: the drop in power without it, else its share in the links or space."""
    columns = result.feature_contribution.columns
    measures: list[tuple[str, str, Any]] = [
        (
            "power_drop",
            "drop in power at 5% without the column",
            lambda item: (item.power_drop_low, item.power_drop_high),
        ),
        ("link", "share of the similarity of links", lambda item: (None, None)),
        ("structural", "share of the comparison space", lambda item: (item.structural_low, item.structural_high)),
    ]
    chosen = next((item for item in measures if any(getattr(column, item[0]) is not None for column in columns)), None)
    if chosen is None:
        return None
    field, title, ends_of = chosen
    known = [column for column in columns if getattr(column, field) is not None]
    known.sort(key=lambda item: -getattr(item, field))
    labels = unique_labels([printable(item.column) for item in known])
    rows = []
    for label, item in zip(labels, known, strict=True):
        low, high = ends_of(item)
        rows.append({"name": label, "value": getattr(item, field), "low": low, "high": high, "zero": 0})
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    x = alt.X("value:Q", axis=percent_axis(title, tickCount=4))
    layers: list[Any] = [
        alt.Chart(data(rows)).mark_bar(color=PALE, height=BAR - 8).encode(x=x, y=y),
    ]
    spread = [row for row in rows if row["low"] is not None]
    if spread:
        rule = alt.Chart(data(spread)).mark_rule(color=INK, strokeWidth=1.5)
        layers.append(rule.encode(x=alt.X("low:Q"), x2="high:Q", y=y))
    drawn = alt.layer(*layers).properties(width=WIDTH - 90, height=BAR * len(rows))
    most = known[0]
    description = (
        f"{title.capitalize()}, for {counted(len(known), 'column')}. Largest: {printable(most.column)} with "
        f"{percent(getattr(most, field))}."
    )
    if spread:
        description += " Lines show the spread over resamples of people or records."
    table = [
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
    heads = ("column", "role", "power without it", "spread", "links", "structure", "spread", "rate without it")
    return finish(drawn, "Which columns give people away", description, heads, table, labels)


def _ends(low: float | None, high: float | None) -> str:
    """The interval of a drop, as changes."""
    return "" if low is None or high is None else f"{points(-high)} to {points(-low)}"
