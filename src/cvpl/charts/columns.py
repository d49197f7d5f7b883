"""The chart of the columns that give people away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from cvpl.answers.column_effects import ColumnDrop, ColumnEffects, EffectFigure, column_effects
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
    k, known = result.suppress_below, _drawn(effects)
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
        layers.append(dots.encode(x=x, y=y, description=titled()))
    places = [row | {"place": top * 1.04} for row in rows]
    texts = alt.Chart(data(places)).mark_text(align="left", color=INK, fontSize=TEXT)
    layers.append(texts.encode(x=alt.X("place:Q", scale=scale, axis=axis), y=y, text="label:N"))
    drawn = alt.layer(*layers).properties(height=BAR * len(rows))
    description = (
        f"{_MEANINGS[effects.figure]}: {rows[0]['title'][1:]}. Each dot is the share without one "
        f"of {counted(len(known), 'column')}; the dashed line is the share with all of them."
    )
    if not effects.drops[known[0]].certain:
        description += " Grey: within error."
    elif unsure:
        description += " Grey: the change lies within error."
    more = len(effects.drops) - len(known)
    if more:
        description += f" Not drawn: {counted(more, 'more column')} within error."
    return finish(
        drawn,
        "Which columns give people away",
        description,
        _heads(effects),
        _table(result, list(effects.drops)),
        labels,
        fitted=True,
    )


def _drawn(effects: ColumnEffects) -> list[str]:
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
