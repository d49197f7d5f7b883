"""Charts of the main figures: the risk on a scale, and the rates over thresholds."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt

from cvpl.answers.headline import comparison_group
from cvpl.answers.ruler import scale_ends
from cvpl.charts.style import (
    BLUE,
    FAINT,
    GREY,
    HEIGHT,
    INK,
    MUTED,
    ORANGE,
    PALE,
    Chart,
    colours,
    data,
    finish,
    percent_axis,
)
from cvpl.estimates import FALSE_RATE
from cvpl.result import AuditResult
from cvpl.wording import in_words, percent, span

_STROKES = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=240, columns=2)


def scale(result: AuditResult) -> Chart | None:
    """The risk on a scale from a release with nobody in it to the originals themselves.

    None if the risk is unknown, is based on the true matches, or has no interval. Without canaries the ends are 0% and
    100%.
    """
    own = result.risk
    known = result.verdict.kind in ("linkable", "indistinguishable_from_zero")
    if own is None or not known or own.low is None or own.high is None:
        return None
    ends = scale_ends(result)
    low, high = ends or (0.0, 1.0)
    names = ("nobody in it", "the originals") if ends else ("nobody", "everybody")
    here_at = min(1.0, max(0.0, own.estimate))
    rows: list[dict[str, Any]] = [
        {"at": low, "label": f"{names[0]} {percent(low)}"},
        {"at": high, "label": f"{names[1]} {percent(high)}"},
    ]
    x = alt.X("at:Q", scale=alt.Scale(domain=[0, 1]), axis=None)
    line = alt.Chart(data([{"at": 0, "to": 1}])).mark_bar(height=6, color=FAINT, cornerRadius=3).encode(x=x, x2="to:Q")
    between = alt.Chart(data([{"at": min(low, high), "to": max(low, high)}]))
    layers: list[Any] = [line, between.mark_bar(height=6, color=PALE, cornerRadius=3).encode(x=x, x2="to:Q")]
    marks = alt.Chart(data(rows))
    layers.append(marks.mark_tick(thickness=3, size=22, color=MUTED).encode(x=x))
    for row in rows:
        text = alt.Chart(data([row])).mark_text(align=_side(row["at"]), dy=24, fontSize=12, color=MUTED)
        layers.append(text.encode(x=x, text="label:N"))
    reach = [None if end is None else max(0.0, end) for end in (own.low, own.high)]
    label = f"this release {percent(own.estimate, k=result.suppress_below)}"
    here = data([{"at": here_at, "low": reach[0], "high": reach[1], "label": label}])
    if own.low is not None and own.high is not None:
        error = alt.Chart(here).mark_rule(strokeWidth=3, color=BLUE)
        layers.append(error.encode(x=alt.X("low:Q", scale=alt.Scale(domain=[0, 1]), axis=None), x2="high:Q"))
    layers.append(alt.Chart(here).mark_point(filled=True, size=170, color=BLUE, opacity=1).encode(x=x))
    name = alt.Chart(here).mark_text(align=_side(here_at), dy=-20, fontSize=13, fontWeight="bold", color=INK)
    layers.append(name.encode(x=x, text="label:N"))
    words = f" (95% interval {span(own.low, own.high)})" if own.low is not None else ""
    description = (
        f"The risk on a scale from 0% to 100%: {names[0]} at {percent(low)}, {names[1]} at {percent(high)}, this "
        f"release at {in_words(own.estimate, k=result.suppress_below)}{words}."
    )
    table = [
        (names[0], percent(low), ""),
        ("this release", percent(own.estimate, k=result.suppress_below), span(own.low, own.high)),
        (names[1], percent(high), ""),
    ]
    drawn = alt.layer(*layers).properties(height=74)
    return finish(drawn, "Where the release lies", description, ("release", "risk", "95% interval"), table, fitted=True)


def _side(at: float) -> Literal["left", "center", "right"]:
    """The alignment of a label at a position on the scale that keeps it inside the chart."""
    return "left" if at < 0.25 else "right" if at > 0.75 else "center"


def risk_curve(result: AuditResult) -> Chart | None:
    """Linkage, control and attributable rates over thresholds, or over false-positive rates without a scale."""
    if not result.risk_curve:
        return None
    by_rate = result.risk_curve[0].threshold is None
    title = f"linked share of {comparison_group(result)}" if by_rate else "threshold"
    base = "control" if comparison_group(result) == "the control" else "own record left out"
    series = {"linked": BLUE, "attributable": ORANGE, base: GREY}
    rows, bands, table = [], [], []
    for point in result.risk_curve:
        at = point.false_rate if by_rate else point.threshold
        values = {"linked": point.linkage_rate, "attributable": point.attributable_rate, base: point.control_rate}
        ends = {
            "linked": (point.low, point.high),
            "attributable": (point.attributable_low, point.attributable_high),
        }
        rows += [{"at": at, "series": name, "rate": value} for name, value in values.items() if value is not None]
        bands += [
            {"at": at, "series": name, "low": max(0.0, low), "high": max(0.0, high)}
            for name, (low, high) in ends.items()
            if low is not None and high is not None and values[name] is not None
        ]
        table.append(
            (
                percent(at) if by_rate else f"{at:.3g}",
                percent(values["linked"], k=result.suppress_below),
                span(*ends["linked"]),
                percent(values[base], k=result.suppress_below),
                percent(values["attributable"], k=result.suppress_below),
                span(*ends["attributable"]),
            )
        )
    known = {name: colour for name, colour in series.items() if any(row["series"] == name for row in rows)}
    x = alt.X(
        "at:Q",
        scale=alt.Scale(nice=False, zero=False),
        axis=percent_axis(title) if by_rate else alt.Axis(title=title, format=".2~f"),
    )
    y = alt.Y("rate:Q", scale=alt.Scale(domain=[0, 1], clamp=True), axis=percent_axis("share of people"))
    dashes = {"linked": [1, 0], "attributable": [7, 3], base: [2, 3]}
    dash = alt.StrokeDash(
        "series:N", scale=alt.Scale(domain=list(known), range=[dashes[name] for name in known]), legend=_STROKES
    )
    layers: list[Any] = []
    if bands:
        band = alt.Chart(data(bands)).mark_area(opacity=0.18)
        layers.append(
            band.encode(
                x=x,
                y=alt.Y("low:Q", scale=alt.Scale(domain=[0, 1])),
                y2="high:Q",
                color=colours(known, legend=_STROKES),
            )
        )
    line = alt.Chart(data(rows)).mark_line(strokeWidth=2)
    layers.append(line.encode(x=x, y=y, color=colours(known, legend=_STROKES), strokeDash=dash))
    read_at = FALSE_RATE if by_rate else result.threshold
    if read_at is not None:
        rule = alt.Chart(data([{"at": read_at}])).mark_rule(color=MUTED, strokeDash=[1, 2])
        layers.append(rule.encode(x=x))
    drawn = alt.layer(*layers).properties(height=HEIGHT)
    first, last, k = result.risk_curve[0], result.risk_curve[-1], result.suppress_below
    where = (
        f"when 1% to 30% of {comparison_group(result)} are linked"
        if by_rate
        else f"as the threshold rises to {last.threshold:.3g}"
    )
    description = (
        f"The share of originals linked {where}: from {in_words(first.linkage_rate, k=k)} to "
        f"{in_words(last.linkage_rate, k=k)}"
        + (
            ""
            if first.control_rate is None or by_rate
            else f", the {base}'s from {in_words(first.control_rate, k=k)} to {in_words(last.control_rate, k=k)}"
        )
        + ". Bands are 95% intervals; the dotted line marks the headline rate."
    )
    columns = (title, "linked", "95% interval", base, "attributable", "95% interval")
    return finish(drawn, "Rates over thresholds", description, columns, table, fitted=True)
