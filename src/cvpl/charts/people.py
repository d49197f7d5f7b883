"""Who is at risk."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.charts.style import BAR, BLUE, ORANGE, WIDTH, Chart, data, finished, unlike, whole_axis
from cvpl.result import AuditResult
from cvpl.result.people import where
from cvpl.wording import UNKNOWN, percent, printable, span

_LONGEST = 32
"""A group's name stands behind that of what it is a group of."""


def at_risk(result: AuditResult) -> Chart | None:
    """The rate of every group that is told, beside the average; None where there are none."""
    found = result.at_risk
    if found is None or not found.tables:
        return None
    rows, labels, table = [], [], []
    for grouping in found.tables:
        for row in grouping.rows:
            name = f"{row.groups} small groups" if row.label is None else printable(row.label)
            told = _told(row.linked, row.at_most, row.at_least)
            group = printable(grouping.name)
            table.append(
                (
                    group,
                    name,
                    f"{row.records:,}",
                    told,
                    span(row.low, row.high),
                    percent(row.control),
                    percent(row.attributable),
                )
            )
            value = row.linked if row.linked is not None else row.at_least
            if value is None:
                continue
            labels.append(f"{group}: {name}")
            rows.append(
                {
                    "rate": value,
                    "low": row.low,
                    "high": row.high,
                    "series": "linked" if row.linked is not None else "at least",
                }
            )
    if not rows:
        return None
    names = unlike(labels, _LONGEST)
    rows = [{**row, "name": name} for row, name in zip(rows, names, strict=True)]
    used = {kind: BLUE for kind in ("linked", "at least") if any(row["series"] == kind for row in rows)}
    shapes = {"linked": "circle", "at least": "triangle-right"}
    y = alt.Y("name:N", sort=names, axis=alt.Axis(title=None))
    x = alt.X("rate:Q", scale=alt.Scale(domain=[0, 1]), axis=whole_axis("share linked"))
    layers: list[Any] = [
        alt.Chart(data([{"rate": found.average}]))
        .mark_rule(color=ORANGE, strokeDash=[6, 3], strokeWidth=1.5)
        .encode(x=x)
    ]
    ends = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if ends:
        layers.append(
            alt.Chart(data(ends)).mark_rule(color=BLUE, strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", y=y)
        )
    shape = alt.Shape(
        "series:N",
        scale=alt.Scale(domain=list(used), range=[shapes[kind] for kind in used]),
        legend=alt.Legend() if len(used) > 1 else None,
    )
    layers.append(
        alt.Chart(data(rows)).mark_point(filled=True, size=70, color=BLUE, opacity=1).encode(x=x, y=y, shape=shape)
    )
    drawn = alt.layer(*layers).properties(width=WIDTH - 120, height=BAR * len(rows))
    most = found.maximum
    least = "at least " if most.at_least else ""
    description = (
        f"The share linked in {len(rows)} groups. The largest is {least}{percent(most.estimate)}, {where(most)}; the "
        f"dashed line is the average, {percent(found.average)}."
    )
    heads = ("by", "group", "originals", "linked", "95% interval", "control", "attributable")
    return finished(drawn, "Who is at risk", description, heads, table, names)


def _told(linked: float | None, at_most: float | None, at_least: float | None) -> str:
    if linked is not None:
        return percent(linked)
    if at_most is not None:
        return f"at most {percent(at_most)}"
    return UNKNOWN if at_least is None else f"at least {percent(at_least)}"
