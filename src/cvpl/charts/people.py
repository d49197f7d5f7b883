"""The chart of rates by group."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.charts.style import (
    BAR,
    BLUE,
    ORANGE,
    PALE,
    WIDTH,
    Chart,
    colours,
    data,
    finish,
    full_percent_axis,
    unique_labels,
)
from cvpl.result import AuditResult
from cvpl.result.people import attributable_words, control_words, interval_words, linked_words, where
from cvpl.wording import counted, percent, printable

_LONGEST = 32
"""Labels are longer here: the name of the grouping and the name of the group."""
_LINKED, _RANGE = "linked", "hidden: range"


def at_risk(result: AuditResult) -> Chart | None:
    """The rate of every group, or its range if it is hidden, and the average; None if no rate is known.

    Rows without any known rate are only in the table.
    """
    found = result.at_risk
    if found is None or not found.tables:
        return None
    rows, labels, table = [], [], []
    for grouping in found.tables:
        for row in grouping.rows:
            name = counted(row.groups, "small group") if row.label is None else printable(row.label)
            group = printable(grouping.name)
            words = (
                linked_words(row, found),
                interval_words(row),
                control_words(row, found),
                attributable_words(row, found),
            )
            table.append((group, name, f"{row.records:,}", *words))
            if row.linked is None and row.at_least is None and row.at_most is None:
                continue
            labels.append(f"{group}: {name}")
            ends = (row.at_least or 0.0, 1.0 if row.at_most is None else row.at_most)
            low, high = (row.low, row.high) if row.linked is not None else ends
            series = _RANGE if row.linked is None else _LINKED
            rows.append({"rate": row.linked, "low": low, "high": high, "series": series})
    if not rows:
        return None
    names = unique_labels(labels, _LONGEST)
    rows = [{**row, "name": name} for row, name in zip(rows, names, strict=True)]
    shown = [row for row in rows if row["series"] == _LINKED]
    ranges = [row for row in rows if row["series"] == _RANGE]
    y = alt.Y("name:N", sort=names, axis=alt.Axis(title=None))
    x = alt.X("rate:Q", scale=alt.Scale(domain=[0, 1]), axis=full_percent_axis("share linked"))
    from_low = alt.X("low:Q", scale=alt.Scale(domain=[0, 1]), axis=full_percent_axis("share linked"))
    used = {_LINKED: BLUE, _RANGE: PALE} if shown else {_RANGE: PALE}
    colour = colours(used, legend=alt.Legend(symbolType="square", symbolStrokeWidth=0) if ranges else None)
    layers: list[Any] = [
        alt.Chart(data([{"rate": found.average}]))
        .mark_rule(color=ORANGE, strokeDash=[6, 3], strokeWidth=1.5)
        .encode(x=x)
    ]
    if ranges:
        bars = alt.Chart(data(ranges)).mark_bar(height=BAR // 2, stroke=PALE, strokeWidth=2)
        layers.append(bars.encode(x=from_low, x2="high:Q", y=y, color=colour))
    if shown:
        intervals = alt.Chart(data(shown)).mark_rule(color=BLUE, strokeWidth=2)
        points = alt.Chart(data(shown)).mark_point(filled=True, size=70, opacity=1)
        layers += [intervals.encode(x=from_low, x2="high:Q", y=y), points.encode(x=x, y=y, color=colour)]
    drawn = alt.layer(*layers).properties(width=WIDTH - 120, height=BAR * len(rows))
    most = found.maximum
    least = "at least " if most.at_least else ""
    bar = " A pale bar is the range of a hidden share." if ranges else ""
    description = (
        f"The share linked in {counted(len(rows), 'group')}. The largest is {least}{percent(most.estimate)}, "
        f"{where(most)}; the dashed line is the average, {percent(found.average)}.{bar}"
    )
    heads = ("by", "group", "originals", "linked", "95% interval", "control", "attributable")
    return finish(drawn, "Who is at risk", description, heads, table, names)
