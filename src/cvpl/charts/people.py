"""The charts of who is at risk: tenths by rarity as a curve, and the groups of a column as bars."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.charts.style import (
    BAR,
    BLUE,
    HATCHED,
    HEIGHT,
    ORANGE,
    Chart,
    data,
    finish,
    full_percent_axis,
    percent_axis,
    title_of,
    titled,
    unique_labels,
)
from cvpl.evaluation.groups.subgroups import BY_RARITY
from cvpl.result import AuditResult
from cvpl.result.figures import (
    AtRisk,
    GroupRate,
    GroupRates,
    attributable_words,
    control_words,
    interval_words,
    linked_words,
)
from cvpl.wording import HIDDEN, counted, in_words, percent, printable

_HEADS = ("originals", "linked", "95% interval", "control", "attributable")
_HALF = 0.32
"""Half the width of a tenth's range."""


def rarity(result: AuditResult) -> Chart | None:
    """The share linked in each tenth of people, from the commonest to the rarest; hidden shares as hatched ranges.

    None if the tenths are not known, or nothing of them may be shown.
    """
    found = result.at_risk
    table = None if found is None else next((item for item in found.tables if item.name == BY_RARITY), None)
    if found is None or table is None:
        return None
    rows = [_row(item, found) | {"tenth": at} for at, item in enumerate(table.rows, start=1)]
    known = [row for row in rows if row["low"] is not None]
    if not known:
        return None
    last = len(rows)
    axis = alt.Axis(
        title="tenths of people: 1 the commonest, 10 the rarest",
        values=list(range(1, last + 1)),
        format="d",
        grid=False,
    )
    x = alt.X("tenth:Q", scale=alt.Scale(domain=[0.5, last + 0.5], nice=False), axis=axis)
    shares = percent_axis("share linked", tickCount=5)
    y = alt.Y("rate:Q", scale=alt.Scale(domain=[0, 1]), axis=shares)
    low = alt.Y("low:Q", scale=alt.Scale(domain=[0, 1]), axis=shares)
    layers: list[Any] = [_average(found, alt.Y("rate:Q", axis=shares))]
    ranges = [row | {"left": row["tenth"] - _HALF, "right": row["tenth"] + _HALF} for row in known if row["hidden"]]
    if ranges:
        bars = alt.Chart(data(ranges)).mark_rect(fill=HATCHED, stroke=BLUE, strokeWidth=1)
        left = alt.X("left:Q", scale=alt.Scale(domain=[0.5, last + 0.5], nice=False), axis=axis)
        layers.append(bars.encode(x=left, x2="right:Q", y=low, y2="high:Q", description=titled()))
    shown = [row for row in known if not row["hidden"]]
    if shown:
        layers.append(alt.Chart(data(shown)).mark_rule(color=BLUE, strokeWidth=2).encode(x=x, y=low, y2="high:Q"))
        line = alt.Chart(data(_runs(shown))).mark_line(color=BLUE, strokeWidth=1.5)
        layers.append(line.encode(x=x, y=y, detail="run:N"))
        points = alt.Chart(data(shown)).mark_point(filled=True, size=70, opacity=1, color=BLUE)
        layers.append(points.encode(x=x, y=y, description=titled()))
    description = f"The share linked by rarity of values, in tenths of people. {_legend(found, bool(ranges))}"
    cells = [(row["name"], *row["words"]) for row in rows]
    drawn = alt.layer(*layers).properties(height=HEIGHT)
    return finish(drawn, "By rarity", description, ("tenth", *_HEADS), cells, fitted=True)


def at_risk(result: AuditResult, grouping: str | None = None) -> Chart | None:
    """The share linked in every group of a column, the largest risk beyond look-alikes first; None if none is known.

    Hidden shares are hatched ranges, come last and are labelled "hidden". Without `grouping` the chart has the groups
    of all columns and the tenths. Rows without any known share are only in the table.
    """
    found = result.at_risk
    if found is None:
        return None
    chosen = [table for table in found.tables if grouping in (None, table.name)]
    rows = [
        (table, _row(item, found))
        for table in chosen
        for item in (table.rows if table.name == BY_RARITY else sorted(table.rows, key=_first))
    ]
    known = [(table, row) for table, row in rows if row["low"] is not None]
    if not known:
        return None
    names = unique_labels([_label(table, row, grouping) for table, row in known])
    drawn_rows = [row | {"label": name} for (_, row), name in zip(known, names, strict=True)]
    y = alt.Y("label:N", sort=names, axis=alt.Axis(title=None))
    x = alt.X("rate:Q", scale=alt.Scale(domain=[0, 1]), axis=full_percent_axis("share linked", values=[0, 0.5, 1]))
    low = alt.X("low:Q", scale=alt.Scale(domain=[0, 1]), axis=full_percent_axis("share linked", values=[0, 0.5, 1]))
    layers: list[Any] = [_average(found, alt.X("rate:Q", axis=full_percent_axis("share linked", values=[0, 0.5, 1])))]
    ranges = [row for row in drawn_rows if row["hidden"]]
    if ranges:
        bars = alt.Chart(data(ranges)).mark_bar(height=BAR // 2, fill=HATCHED, stroke=BLUE, strokeWidth=1)
        layers.append(bars.encode(x=low, x2="high:Q", y=y, description=titled()))
    shown = [row for row in drawn_rows if not row["hidden"]]
    if shown:
        layers.append(alt.Chart(data(shown)).mark_rule(color=BLUE, strokeWidth=2).encode(x=low, x2="high:Q", y=y))
        points = alt.Chart(data(shown)).mark_point(filled=True, size=70, opacity=1, color=BLUE)
        layers.append(points.encode(x=x, y=y, description=titled()))
    drawn = alt.layer(*layers).properties(height=BAR * len(drawn_rows))
    what = "group" if grouping is None else f"group by {printable(grouping)}"
    description = f"The share linked in every {what}, the largest risk beyond look-alikes first."
    if not any(row["beyond"] for _, row in rows):
        description = f"The share linked in every {what}, the largest first."
    if ranges:
        description = f"{description.removesuffix('.')}; hidden shares come last."
    cells = [
        ((row["name"], *row["words"]) if grouping else (printable(table.name), row["name"], *row["words"]))
        for table, row in rows
    ]
    heads = ("group", *_HEADS) if grouping else ("by", "group", *_HEADS)
    title = "Who is at risk" if grouping is None else f"By {printable(grouping)}"
    return finish(drawn, title, f"{description} {_legend(found, bool(ranges))}", heads, cells, names, fitted=True)


def _label(table: GroupRates, row: dict[str, Any], grouping: str | None) -> str:
    name = f"{row['name']} ({HIDDEN})" if row["hidden"] else row["name"]
    return name if grouping else f"{printable(table.name)}: {name}"


def _runs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tenths with the number of their run: tenths of one run follow each other without a hidden one between."""
    return [row | {"run": row["tenth"] - at} for at, row in enumerate(rows)]


def _first(row: GroupRate) -> tuple[bool, float, float]:
    """The sort key: risk beyond look-alikes, then the share linked, the largest first; hidden shares last."""
    linked = row.linked if row.linked is not None else row.at_least
    beyond = -1.0 if row.attributable is None else row.attributable
    return row.linked is None, -beyond, -(linked or 0.0)


def _row(row: GroupRate, found: AtRisk) -> dict[str, Any]:
    """The marks of a group: its share with its interval, or the range of a hidden share; its cells and its title."""
    name = counted(row.groups, "small group") if row.label is None else printable(row.label)
    linked = linked_words(row, found)
    words = (
        f"{row.records:,}",
        linked,
        interval_words(row),
        control_words(row, found),
        attributable_words(row, found),
    )
    hidden = row.linked is None
    low, high = row.low, row.high
    if hidden and (row.at_least is not None or row.at_most is not None):
        low, high = row.at_least or 0.0, 1.0 if row.at_most is None else row.at_most
    elif hidden:
        low = high = None
    return {
        "name": name,
        "rate": row.linked,
        "low": low if low is not None else row.linked,
        "high": high if high is not None else row.linked,
        "hidden": hidden,
        "beyond": row.attributable is not None,
        "title": title_of(f"{name}: {linked} linked"),
        "words": words,
    }


def _average(found: AtRisk, side: alt.X | alt.Y) -> alt.Chart:
    """The average as a dashed line."""
    text = f"average: {percent(found.average, k=found.suppress_below)}"
    rule = alt.Chart(data([{"rate": found.average, "title": title_of(text)}]))
    drawn = rule.mark_rule(color=ORANGE, strokeDash=[6, 3], strokeWidth=2)
    encoded: alt.Chart = drawn.encode(side, description=titled())
    return encoded


def _legend(found: AtRisk, hidden: bool) -> str:
    text = f"The dashed line is the average, {in_words(found.average, k=found.suppress_below)}."
    return f"{text} Hatched: the range in which a hidden share lies." if hidden else text
