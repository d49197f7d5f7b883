"""The ROC curve: the share of originals linked against the share of other people linked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from typing import Any, Literal

import altair as alt
import numpy as np

from cvpl.answers.headline import comparison_group
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
from cvpl.wording import percent, span

_LEAST = 0.01
"""The left end of the axis: smaller false-positive rates have too few people."""
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_LABEL = 0.48
"""The width of the label, as a part of the plot."""
_GAP = 0.07
"""Half the height of the label and a distance, as a part of the plot."""
_ROUNDING = 1e-9
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
        axis=percent_axis("false-positive rate, logarithmic", values=ticks, labelOverlap=False),
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
    limits = [policy for policy in result.policies if policy.figure == "risk" and policy.max is not None]
    strictest = min(limits, key=lambda policy: policy.max or 0.0, default=None)
    allowed = None
    if strictest is not None and strictest.max is not None:
        allowed = risk.false_rate + (1 - risk.false_rate) * strictest.max
    side, height = label_place(_points(result), risk.false_rate, risk.power, allowed)
    free = alt.Chart(data([{"at": risk.false_rate, "power": height, "label": words}]))
    text = free.mark_text(align=side, baseline="middle", fontSize=TEXT, color=INK, fontWeight="bold")
    yield text.encode(x=x, y=y, text="label:N"), ""
    if strictest is not None and allowed is not None:
        what = "the upper interval end of the risk" if strictest.bound == "high" else "the risk"
        words = f"policy limit for {what}: power {percent(allowed)} at {risk.false_rate:.0%}"
        mark = alt.Chart(data([{"at": risk.false_rate, "power": allowed, "title": title_of(words)}]))
        tick = mark.mark_tick(color=RED, thickness=4, size=34, orient="horizontal")
        sentence = (
            f" The red line is the policy limit for {what}: {percent(strictest.max)}, or a power of {percent(allowed)}."
        )
        if strictest.bound == "high":
            sentence += " Compare it with the upper end of the band, not with the dot."
        yield tick.encode(x=x, y=y, description=titled()), sentence


def label_place(
    rows: Sequence[Mapping[str, Any]], at: float, power: float, allowed: float | None = None
) -> tuple[Literal["left", "right"], float]:
    """Where the label of the dot stands free of the curve, its band, chance and the policy's mark.

    It begins or ends at the dot's false-positive rate. Its height is the free one nearest to the dot: above everything
    that is drawn over its width, or between the curve and chance. If there is none, it stands at the top.
    """
    places = [log(row["at"] / _LEAST) for row in rows]
    here, across = log(at / _LEAST), max(places)
    sides: dict[Literal["left", "right"], tuple[float, float]] = {
        "left": (here, here + _LABEL * across),
        "right": (here - _LABEL * across, here),
    }
    found: list[tuple[float, Literal["left", "right"], float]] = []
    for side, (first, last) in sides.items():
        if first < -_ROUNDING or last > across + _ROUNDING:
            continue
        inside = [first, last, *(place for place in places if first < place < last)]
        tops = np.interp(inside, places, [max(row["power"], row["high"] or 0.0) for row in rows])
        bottoms = np.interp(
            inside, places, [row["power"] if row["low"] is None else min(row["power"], row["low"]) for row in rows]
        )
        chance = _LEAST * exp(last)
        above, below = max(*tops, chance, power) + _GAP, min(*bottoms, power) - _GAP
        if allowed is not None:
            above = allowed + _GAP if abs(above - allowed) < _GAP else above
            below = allowed - _GAP if abs(below - allowed) < _GAP else below
        free = {above: above <= 1 - _GAP / 2, below: below - _GAP >= chance}
        found += [(abs(height - power), side, float(height)) for height, fits in free.items() if fits]
    _, side, height = min(found, default=(0.0, "left", 1 - _GAP))
    return side, height


def _rate(point: Any) -> float | None:
    """The false-positive rate of a point of the curve: stated, or that of the control at its threshold."""
    found: float | None = point.control_rate if point.threshold is not None else point.false_rate
    return found
