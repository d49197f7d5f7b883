"""The ROC curve: the share of originals linked against the share of other people linked."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any, Literal

import altair as alt

from cvpl.charts.style import (
    BLUE,
    GREY,
    HEIGHT,
    INK,
    RED,
    TEXT,
    Chart,
    colours,
    data,
    finish,
    percent_axis,
    title_of,
    titled,
)
from cvpl.result import AuditResult
from cvpl.result.comparison_group import comparison_group
from cvpl.wording import percent, span

_LEAST = 0.01
"""The left end of the axis: smaller false-positive rates have too few people."""
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_OWN, _CHANCE = "this attacker", "chance"


def roc(result: AuditResult) -> Chart | None:
    """Power over the false-positive rate of the headline attacker, on a logarithmic axis from 1%.

    Chance is the curve on which both are equal. A dot marks the risk's false-positive rate, and a red line the power
    that the strictest policy on the risk allows there: f + (1 - f) limit. None if fewer than two points are known.
    """
    rows = _points(result)
    if len({row["at"] for row in rows}) < 2:
        return None
    end = max(row["at"] for row in rows)
    ticks = [tick for tick in _TICKS if tick <= end]
    group = comparison_group(result)
    x = alt.X(
        "at:Q",
        scale=alt.Scale(type="log", domain=[_LEAST, end], nice=False),
        axis=percent_axis("false-positive rate", values=ticks, labelOverlap=False),
    )
    y = alt.Y("power:Q", scale=alt.Scale(domain=[0, 1]), axis=percent_axis("share of originals linked", tickCount=5))
    used = {_OWN: BLUE, _CHANCE: GREY}
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=240)
    steps = sorted({_LEAST, end, *ticks, *(row["at"] for row in rows)})
    chance = [{"at": at, "power": at, "series": _CHANCE} for at in steps]
    layers: list[Any] = []
    bands = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if bands:
        # The band is the 95% interval of the share linked.
        area = alt.Chart(data(bands)).mark_area(opacity=0.18, color=BLUE)
        layers.append(area.encode(x=x, y=alt.Y("low:Q"), y2="high:Q"))
    dashed = alt.Chart(data(chance)).mark_line(strokeDash=[4, 3], strokeWidth=2)
    layers.append(dashed.encode(x=x, y=y, color=colours(used, legend=legend)))
    line = alt.Chart(data([{**row, "series": _OWN} for row in rows])).mark_line(strokeWidth=2.5)
    layers.append(line.encode(x=x, y=y, color=colours(used, legend=legend)))
    spots = alt.Chart(data(rows)).mark_point(filled=True, size=60, opacity=0.01, color=BLUE)
    layers.append(spots.encode(x=x, y=y, description=titled()))
    description = (
        f"ROC curve: the share of originals linked when {percent(rows[0]['at'])} to {percent(end)} of {group} are"
    )
    description += " linked. Dashed: chance. The band is the 95% interval."
    for mark, text in _marks(result, x, y, end):
        layers.append(mark)
        description += text
    drawn = alt.layer(*layers).properties(height=HEIGHT + 30)
    columns = ("false-positive rate", "linked", "95% interval")
    table = [
        (percent(row["at"]), percent(row["power"], k=result.suppress_below), span(row["low"], row["high"]))
        for row in rows
    ]
    return finish(drawn, "ROC curve", description, columns, table, fitted=True)


def _points(result: AuditResult) -> list[dict[str, Any]]:
    """The points of the curve with a false-positive rate of 1% or more, from left to right.

    They are those of the risk curve, and the power at 1%, 5% and 10%: thresholds may reach no small rate.
    """
    known = {(_rate(point), point.linkage_rate): (point.low, point.high) for point in result.risk_curve}
    known |= {
        (item.false_rate, item.power): (item.low, item.high) for item in result.power or () if item.low is not None
    }
    found = []
    for (at, power), (low, high) in known.items():
        if at is not None and at >= _LEAST:
            linked = percent(power, k=result.suppress_below)
            title = title_of(f"{linked} linked at a false-positive rate of {percent(at)}")
            found.append({"at": at, "power": power, "low": low, "high": high, "title": title})
    return sorted(found, key=lambda row: (row["at"], row["power"]))


def _marks(result: AuditResult, x: alt.X, y: alt.Y, end: float) -> Iterator[tuple[alt.Chart, str]]:
    """The mark of the headline with its label, and that of the policy limit, each with its sentence."""
    risk = result.risk
    if risk is None or risk.power is None or risk.false_rate is None or not _LEAST <= risk.false_rate <= end:
        return
    words = f"power {percent(risk.power, k=result.suppress_below)} at {risk.false_rate:.0%}"
    here = alt.Chart(data([{"at": risk.false_rate, "power": risk.power, "title": title_of(words), "label": words}]))
    dot = here.mark_point(filled=True, size=110, opacity=1, color=BLUE)
    yield dot.encode(x=x, y=y, description=titled()), f" The dot is the headline: {words}."
    below = risk.power > 0.5
    # The label stays inside the plot, wherever the mark is.
    right = log(risk.false_rate / _LEAST) > log(end / _LEAST) / 2
    side: Literal["left", "right"] = "right" if right else "left"
    down = 16 if below else -14
    text = here.mark_text(align=side, dx=-6 if right else 6, dy=down, fontSize=TEXT, color=INK, fontWeight="bold")
    yield text.encode(x=x, y=y, text="label:N"), ""
    limits = [policy.max for policy in result.policies if policy.figure == "risk" and policy.max is not None]
    if limits:
        allowed = risk.false_rate + (1 - risk.false_rate) * min(limits)
        words = f"policy limit: power {percent(allowed)} at {risk.false_rate:.0%}"
        mark = alt.Chart(data([{"at": risk.false_rate, "power": allowed, "title": title_of(words)}]))
        tick = mark.mark_tick(color=RED, thickness=4, size=34, orient="horizontal")
        sentence = (
            f" The red line is the policy limit: a risk of {percent(min(limits))}, a power of {percent(allowed)}."
        )
        yield tick.encode(x=x, y=y, description=titled()), sentence


def _rate(point: Any) -> float | None:
    """The false-positive rate of a point of the curve: stated, or that of the control at its threshold."""
    found: float | None = point.control_rate if point.threshold is not None else point.false_rate
    return found
