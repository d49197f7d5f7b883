"""Charts of who is at risk, and of the columns that give people away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from cvpl.answers.releases import ColumnDrop, ColumnEffects, EffectFigure, column_effects
from cvpl.charts.drawing import (
    BAR,
    BLUE,
    GREY,
    HATCHED,
    HEIGHT,
    INK,
    ORANGE,
    TEXT,
    Chart,
    data,
    finish,
    full_percent_axis,
    percent_axis,
    title_channel,
    title_of,
    unique_labels,
)
from cvpl.evaluation.groups.subgroups import BY_RARITY
from cvpl.result import AuditResult, Contribution
from cvpl.result.figures import (
    AtRisk,
    GroupRate,
    GroupRates,
    attributable_words,
    control_words,
    interval_words,
    linked_words,
)
from cvpl.wording import HIDDEN, count_phrase, percent, points, printable, share_words, span

_LONGEST = 18
_MANY, _FEWEST = 12, 8
"""With more columns than the first, only those with a certain drop are drawn, and others until there are the second."""
_AXES: dict[EffectFigure, str] = {
    "risk": "risk, with all columns and without one",
    "top1_hit_rate": "top-1 hits, with all columns and without one",
    "power": "linked at 5%, with all columns and without one",
}
_MEANINGS: dict[EffectFigure, str] = {
    "risk": "Risk",
    "top1_hit_rate": "How often the best candidate is right",
    "power": "Originals linked at a false-positive rate of 5%",
}


def contributions(result: AuditResult) -> Chart | None:
    """The figure that counts with all columns and without each of them: the risk, the top-1 hit rate, or the power.

    Without drops, the chart shows each column's share in the links, or in the comparison space. None if every drop lies
    within error (its interval includes 0), or nothing is known.
    """
    columns = result.feature_contribution.columns
    effects = column_effects(result)
    if effects.drops and effects.before is not None:
        return None if effects.none_certain else _removals(result, effects, effects.before)
    for field, title in (("link", "share of the similarity of links"), ("structural", "share of the comparison space")):
        known = [item for item in columns if getattr(item, field) is not None]
        if known:
            return _shares(result, field, title, sorted(known, key=lambda item: -getattr(item, field)))
    return None


def _removals(result: AuditResult, effects: ColumnEffects, before: float) -> Chart:
    k, known = result.suppress_below, _columns_to_draw(effects)
    labels = unique_labels([printable(column) for column in known], _LONGEST)
    rows: list[dict[str, Any]] = []
    for label, column in zip(labels, known, strict=True):
        after = effects.after(column) or 0.0
        words = f"{percent(before, k=k)} \u2192 {percent(after, k=k)}"
        rows.append(
            {
                "name": label,
                "before": before,
                "after": after,
                "label": words if effects.drops[column].certain else "within error",
                "title": title_of(f"{words} without {printable(column)}"),
            }
        )
    sure = [row for row, column in zip(rows, known, strict=True) if effects.drops[column].certain]
    unsure = [row for row, column in zip(rows, known, strict=True) if not effects.drops[column].certain]
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    top = max(before, *(row["after"] for row in rows))
    # The labels stand right of the largest value.
    scale = alt.Scale(domain=[0, top * 1.75], nice=False)
    step = 0.5 if top > 0.6 else 0.25
    ticks = [tick for tick in (0, step, 2 * step) if tick <= top + 0.02] if top > 0.3 else None
    axis = percent_axis(_AXES[effects.figure], **({"values": ticks} if ticks else {"tickCount": 4}))
    x = alt.X("after:Q", scale=scale, axis=axis)
    layers: list[Any] = [alt.Chart(data([{"after": before}])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(x=x)]
    for own, colour in ((sure, BLUE), (unsure, GREY)):
        if not own:
            continue
        line = alt.Chart(data(own)).mark_rule(color=colour, strokeWidth=3)
        layers.append(line.encode(x=x, x2="before:Q", y=y))
        dots = alt.Chart(data(own)).mark_point(filled=True, size=80, opacity=1, color=colour)
        layers.append(dots.encode(x=x, y=y, description=title_channel()))
    places = [row | {"place": top * 1.04} for row in rows]
    texts = alt.Chart(data(places)).mark_text(align="left", color=INK, fontSize=TEXT)
    layers.append(texts.encode(x=alt.X("place:Q", scale=scale, axis=axis), y=y, text="label:N"))
    drawn = alt.layer(*layers).properties(height=BAR * len(rows))
    description = (
        f"{_MEANINGS[effects.figure]}: {rows[0]['title'][1:]}. Each dot is the share without one "
        f"of {count_phrase(len(known), 'column')}; the dashed line is the share with all of them."
    )
    if not effects.drops[known[0]].certain:
        description += " Grey: within error."
    elif unsure:
        description += " Grey: the change lies within error."
    more = len(effects.drops) - len(known)
    if more:
        description += f" Not drawn: {count_phrase(more, 'more column')} within error."
    return finish(
        drawn,
        "Which columns give people away",
        description,
        _heads(effects),
        _table(result, list(effects.drops)),
        labels,
        fitted=True,
    )


def _columns_to_draw(effects: ColumnEffects) -> list[str]:
    """The columns to draw: all if they are few, else those with a certain drop and some of the others."""
    columns = list(effects.drops)
    if len(columns) <= _MANY:
        return columns
    certain = [column for column in columns if effects.drops[column].certain]
    others = [column for column in columns if not effects.drops[column].certain]
    chosen = {*certain, *others[: max(0, _FEWEST - len(certain))]}
    return [column for column in columns if column in chosen]


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
    layers: list[Any] = [bars.encode(x=x, y=y, description=title_channel())]
    spread = [row for row in rows if row["low"] is not None]
    if spread:
        rule = alt.Chart(data(spread)).mark_rule(color=INK, strokeWidth=1.5)
        layers.append(rule.encode(x=alt.X("low:Q"), x2="high:Q", y=y))
    drawn = alt.layer(*layers).properties(height=BAR * len(rows))
    most = known[0]
    description = (
        f"{title.capitalize()}, for {count_phrase(len(known), 'column')}. Largest: {printable(most.column)} with "
        f"{percent(getattr(most, field))}."
    )
    if spread:
        description += " Lines show the spread over resamples of people or records."
    heads, table = _heads(column_effects(result)), _table(result, [item.column for item in known])
    return finish(drawn, "Which columns give people away", description, heads, table, labels, fitted=True)


def _heads(effects: ColumnEffects) -> tuple[str, ...]:
    figure = effects.name.removeprefix("the ")
    drops = (f"{figure} without it, points", "spread")
    return ("column", "role", *drops, "links", "structure", "spread", "rate without it, points")


def _table(result: AuditResult, known: Sequence[str]) -> list[tuple[str, ...]]:
    drops, place = column_effects(result).drops, {column: at for at, column in enumerate(known)}
    return [
        (
            printable(item.column),
            item.role.replace("_", "-"),
            points(-drops[item.column].drop if item.column in drops else None),
            _ends(drops.get(item.column)),
            percent(item.link),
            percent(item.structural),
            span(item.structural_low, item.structural_high),
            points(None if item.removal is None else -item.removal),
        )
        for item in sorted(result.feature_contribution.columns, key=lambda item: place.get(item.column, len(known)))
    ]


def _ends(drop: ColumnDrop | None) -> str:
    """The interval of a drop, as changes."""
    return (
        "" if drop is None or drop.low is None or drop.high is None else f"{points(-drop.high)} to {points(-drop.low)}"
    )


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
        layers.append(bars.encode(x=left, x2="right:Q", y=low, y2="high:Q", description=title_channel()))
    shown = [row for row in known if not row["hidden"]]
    if shown:
        layers.append(alt.Chart(data(shown)).mark_rule(color=BLUE, strokeWidth=2).encode(x=x, y=low, y2="high:Q"))
        line = alt.Chart(data(_runs(shown))).mark_line(color=BLUE, strokeWidth=1.5)
        layers.append(line.encode(x=x, y=y, detail="run:N"))
        points = alt.Chart(data(shown)).mark_point(filled=True, size=70, opacity=1, color=BLUE)
        layers.append(points.encode(x=x, y=y, description=title_channel()))
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
        layers.append(bars.encode(x=low, x2="high:Q", y=y, description=title_channel()))
    shown = [row for row in drawn_rows if not row["hidden"]]
    if shown:
        layers.append(alt.Chart(data(shown)).mark_rule(color=BLUE, strokeWidth=2).encode(x=low, x2="high:Q", y=y))
        points = alt.Chart(data(shown)).mark_point(filled=True, size=70, opacity=1, color=BLUE)
        layers.append(points.encode(x=x, y=y, description=title_channel()))
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
    name = count_phrase(row.groups, "small group") if row.label is None else printable(row.label)
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
    encoded: alt.Chart = drawn.encode(side, description=title_channel())
    return encoded


def _legend(found: AtRisk, hidden: bool) -> str:
    text = f"The dashed line is the average, {share_words(found.average, k=found.suppress_below)}."
    return f"{text} Hatched: the range in which a hidden share lies." if hidden else text
