"""Charts of a trial: the power of every round, the power with its intervals, and how often people are linked."""

from __future__ import annotations

from typing import Any

import altair as alt

from cvpl.answers.trial_answer import bin_words
from cvpl.charts.style import (
    BAR,
    BLUE,
    FAINT,
    GREY,
    HEIGHT,
    INK,
    MUTED,
    ORANGE,
    PALE,
    WIDTH,
    Chart,
    colours,
    data,
    finish,
    full_percent_axis,
    percent_axis,
)
from cvpl.estimates import FALSE_RATE
from cvpl.result import TrialResult
from cvpl.wording import counted, in_words, percent, span

_WIDEST = 0.5
"""Beyond this false-positive rate nobody reads a curve."""
_ROUND, _CHANCE, _ALLOWED = "a round", "chance", "allowed by the budget"


def round_curves(result: TrialResult) -> Chart | None:
    """The power of every round against its false-positive rate, over the region that a stated budget allows.

    None if no attacker counts.
    """
    rows = [
        {"round": str(item.number), "at": point.false_rate, "power": point.power}
        for item in result.finished
        for point in item.curve
        if point.false_rate <= _WIDEST
    ]
    if not rows:
        return None
    x = alt.X("at:Q", scale=alt.Scale(domain=[0, _WIDEST]), axis=percent_axis("false-positive rate"))
    y = alt.Y("power:Q", scale=alt.Scale(domain=[0, 1]), axis=percent_axis("power: share of people linked"))
    layers: list[Any] = []
    used = {_ROUND: BLUE, _CHANCE: GREY}
    region = [] if result.budget is None else result.budget.region
    if region:
        used[_ALLOWED] = PALE
        shaded = [{"at": point.false_rate, "power": point.allowed, "series": _ALLOWED} for point in region]
        layers.append(alt.Chart(data(shaded)).mark_area(opacity=0.45).encode(x=x, y=y, color=colours(used)))
    legend = alt.Legend(symbolType="square", symbolStrokeWidth=0, columns=3)
    chance = [{"at": at, "power": at, "series": _CHANCE} for at in (0.0, _WIDEST)]
    dashed = alt.Chart(data(chance)).mark_line(strokeDash=[3, 3], strokeWidth=1.5)
    layers.append(dashed.encode(x=x, y=y, color=colours(used, legend=legend)))
    line = alt.Chart(data([{**row, "series": _ROUND} for row in rows])).mark_line(strokeWidth=1.3, opacity=0.8)
    layers.append(line.encode(x=x, y=y, detail="round:N", color=colours(used, legend=legend)))
    if result.risk is not None:
        rule = alt.Chart(data([{"at": result.risk.false_rate}])).mark_rule(color=MUTED, strokeDash=[1, 2])
        layers.append(rule.encode(x=x))
    drawn = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT + 40)
    rates = [point.false_rate for point in result.finished[0].curve if point.false_rate <= _WIDEST]
    table = [
        (
            percent(rate),
            *(
                percent(next(point.power for point in item.curve if point.false_rate == rate), k=result.suppress_below)
                for item in result.finished
            ),
        )
        for rate in rates
    ]
    heads = ("false-positive rate", *(f"round {item.number}" for item in result.finished))
    description = (
        f"The share of people linked against the false-positive rate, a line for each of "
        f"{counted(len(result.finished), 'round')}. Dashed: chance."
    )
    if region:
        description += " Shaded: what the stated budget allows."
    return finish(drawn, "The power of every round", description, heads, table)


def round_powers(result: TrialResult) -> Chart | None:
    """The power at each false-positive rate with its interval over people and draws, and the rounds as dots.

    None if no attacker counts.
    """
    if not result.power:
        return None
    labels = [f"at {power.false_rate:.0%}" for power in result.power]
    dots, rows, table, allowed = [], [], [], []
    limits = {} if result.budget is None else {item.false_rate: item.allowed for item in result.budget.allowed}
    for label, power in zip(labels, result.power, strict=True):
        rows.append({"name": label, "power": power.power, "low": max(0.0, power.low), "high": power.high})
        values = [one.power for item in result.finished for one in item.power if one.false_rate == power.false_rate]
        dots += [{"name": label, "power": value} for value in values]
        if power.false_rate in limits:
            allowed.append({"name": label, "power": limits[power.false_rate]})
        table.append(
            (
                label,
                percent(power.power, k=result.suppress_below),
                span(power.low, power.high),
                f"{percent(min(values), k=result.suppress_below)} to {percent(max(values), k=result.suppress_below)}",
                *([percent(limits[power.false_rate])] if limits else []),
            )
        )
    used = {"mean": BLUE, "a round": GREY} | ({"allowed": ORANGE} if allowed else {})
    shapes = {"mean": "circle", "a round": "circle", "allowed": "diamond"}
    shape = alt.Shape("series:N", scale=alt.Scale(domain=list(used), range=[shapes[name] for name in used]))
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    x = alt.X("power:Q", scale=alt.Scale(domain=[0, 1]), axis=full_percent_axis("power: share of people linked"))
    ends = alt.Chart(data(rows)).mark_rule(strokeWidth=3, color=BLUE)
    layers: list[Any] = [ends.encode(x=alt.X("low:Q"), x2="high:Q", y=y)]
    for series, points, size in (
        ("a round", dots, 26),
        ("mean", rows, 95),
        ("allowed", allowed, 80),
    ):
        if points:
            marked = alt.Chart(data([{**row, "series": series} for row in points]))
            marks = marked.mark_point(filled=True, size=size, opacity=1 if size > 50 else 0.75)
            layers.append(marks.encode(x=x, y=y, color=colours(used), shape=shape))
    drawn = alt.layer(*layers).properties(width=WIDTH - 20, height=(BAR + 8) * len(labels))
    middle = result.power_at(FALSE_RATE)
    description = (
        f"The power at false-positive rates of 1%, 5% and 10% over {counted(len(result.finished), 'round')}; at 5% "
        f"{in_words(None if middle is None else middle.power, k=result.suppress_below)}. Dots are single rounds, lines "
        "are intervals over people and draws."
    )
    heads = ("false-positive rate", "power", "interval", "rounds", *(["allowed"] if limits else []))
    return finish(drawn, "The power over rounds", description, heads, table, labels)


def exposure(result: TrialResult) -> Chart | None:
    """How often people are linked when they are in and when they are out, as shares of people; None if unknown."""
    found = result.exposure
    if found is None:
        return None
    labels = [bin_words(item) for item in found.shares]
    used = {"when in": BLUE, "when out": GREY}
    rows = [
        {"name": label, "series": series, "share": share}
        for label, item in zip(labels, found.shares, strict=True)
        for series, share in (("when in", item.inside), ("when out", item.outside))
    ]
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    offset = alt.YOffset("series:N", sort=list(used))
    x = alt.X("share:Q", scale=alt.Scale(domain=[0, 1]), axis=full_percent_axis("share of people"))
    bars = (
        alt.Chart(data(rows))
        .mark_bar(stroke=INK, strokeWidth=0)
        .encode(
            x=x, y=y, yOffset=offset, color=colours(used, legend=alt.Legend(symbolType="square", symbolStrokeWidth=0))
        )
    )
    rule = alt.Chart(data([{"share": 0}])).mark_rule(color=FAINT).encode(x=x)
    drawn = alt.layer(rule, bars).properties(width=WIDTH - 90, height=(BAR + 10) * len(labels))
    table = [
        (label, percent(item.inside, k=result.suppress_below), percent(item.outside, k=result.suppress_below))
        for label, item in zip(labels, found.shares, strict=True)
    ]
    first, last = found.shares[0], found.shares[-1]
    k = result.suppress_below
    description = (
        f"How often people are linked: {in_words(first.inside, k=k)} never when they are in and "
        f"{in_words(first.outside, k=k)} never when they are out; {in_words(last.inside, k=k)} in more than three "
        f"quarters of the rounds when in, {in_words(last.outside, k=k)} when out."
    )
    heads = ("linked", "when in", "when out")
    return finish(drawn, "How often people are linked", description, heads, table, labels)
