"""Charts of what attackers found: their powers, the ROC curve, the evidence, and what became of true pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log
from typing import Any, Literal

import altair as alt
import numpy as np

from cvpl.answers.headline import comparison_group
from cvpl.charts.drawing import (
    BAR,
    BLUE,
    GREY,
    HEIGHT,
    INK,
    MUTED,
    ORANGE,
    RED,
    TEXT,
    Chart,
    colours,
    data,
    finish,
    full_percent_axis,
    percent_axis,
    title_channel,
    title_of,
    unique_labels,
)
from cvpl.result import AuditResult
from cvpl.result.figures import near_zero
from cvpl.wording import count_in_words, count_phrase, people_in_words, percent, printable, share_words, span


def attackers(result: AuditResult) -> Chart | None:
    """Every attacker's risk with its interval, the strongest first.

    None if fewer than two have a risk, or if all risks are near 0: dots in one place say less than a sentence.
    """
    known = [(row, row.risk) for row in result.attackers if row.risk is not None]
    if len(known) < 2 or near_zero(result.attackers):
        return None
    known.sort(key=lambda pair: (bool(pair[0].disqualified), -pair[1].estimate))
    labels = unique_labels([printable(row.name) for row, _ in known])
    kinds = {"the headline": BLUE, "other attackers": GREY, "does not count": ORANGE}
    rows, table = [], []
    for label, (row, risk) in zip(labels, known, strict=True):
        kind = "the headline" if row.name == result.attacker else "other attackers"
        kind = "does not count" if row.disqualified else kind
        ends_of = [None if end is None else max(0.0, end) for end in (risk.low, risk.high)]
        at = max(0.0, risk.estimate)
        title = f"{printable(row.name)}: {percent(risk.estimate, k=result.suppress_below)}"
        rows.append(
            {
                "name": label,
                "series": kind,
                "risk": at,
                "low": ends_of[0],
                "high": ends_of[1],
                "title": title_of(title),
            }
        )
        table.append(
            (
                printable(row.name),
                percent(risk.estimate, k=result.suppress_below),
                span(risk.low, risk.high),
                percent(row.linkage_rate.estimate, k=result.suppress_below),
                percent(row.control_rate, k=result.suppress_below),
                percent(
                    None if row.attributable_rate is None else row.attributable_rate.estimate, k=result.suppress_below
                ),
                percent(row.top1_hit_rate, k=result.suppress_below),
                "; ".join(map(printable, row.disqualified)),
            )
        )
    used = {kind: colour for kind, colour in kinds.items() if any(row["series"] == kind for row in rows)}
    shapes = {"the headline": "circle", "other attackers": "circle", "does not count": "cross"}
    title = "risk: linked because of the release"
    y = alt.Y("name:N", sort=labels, axis=alt.Axis(title=None))
    x = alt.X(
        "risk:Q", scale=alt.Scale(domain=[0, 1]), axis=full_percent_axis(title, titleAnchor="end", values=[0, 0.5, 1])
    )
    colour = colours(used, legend=alt.Legend(columns=1))
    base = alt.Chart(data(rows))
    layers: list[Any] = []
    ends = [row for row in rows if row["low"] is not None and row["high"] is not None]
    if ends:
        bar = alt.Chart(data(ends)).mark_rule(strokeWidth=2)
        layers.append(bar.encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour))
    shape = alt.Shape("series:N", scale=alt.Scale(domain=list(used), range=[shapes[kind] for kind in used]))
    points = base.mark_point(filled=True, size=70, opacity=1)
    layers.append(points.encode(x=x, y=y, color=colour, shape=shape, description=title_channel()))
    drawn = alt.layer(*layers).properties(height=BAR * len(rows))
    best, weakest, k = known[0], known[-1], result.suppress_below
    description = (
        f"The risk for {count_phrase(len(known), 'attacker')}, from {printable(best[0].name)} with "
        f"{share_words(best[1].estimate, k=k)} to "
        f"{printable(weakest[0].name)} with {share_words(weakest[1].estimate, k=k)}."
    )
    columns = ("attacker", "risk", "95% interval", "linked", "control", "attributable", "top-1", "does not count")
    return finish(drawn, "The attackers", description, columns, table, labels, fitted=True)


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
    layers.append(spots.encode(x=x, y=y, description=title_channel()))
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
    yield dot.encode(x=x, y=y, description=title_channel()), f" The dot is the headline: {words}."
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
        yield tick.encode(x=x, y=y, description=title_channel()), sentence


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


def funnel(result: AuditResult) -> Chart | None:
    """How many originals remain at each step to a right best candidate; None if no match is known."""
    found = result.truth
    if found is None or not found.originals_with_match:
        return None
    whole = found.originals_with_match
    steps: list[tuple[str, float]] = [
        ("have a match", found.originals_with_match),
        ("share a block with it", found.matches_in_block),
    ]
    if found.top1_hit_rate is not None:
        steps.append(("best candidate is right", round(found.top1_hit_rate * whole)))
    words = [(name, count_in_words(count, result.suppress_below), percent(count / whole)) for name, count in steps]
    rows = [
        {"name": name, "count": count, "label": share, "title": title_of(f"{number} of the originals: {name}")}
        for (_, count), (name, number, share) in zip(steps, words, strict=True)
    ]
    y = alt.Y("name:N", sort=[name for name, _ in steps], axis=alt.Axis(title=None))
    x = alt.X("count:Q", scale=alt.Scale(domain=[0, whole * 1.4]), axis=None)
    base = alt.Chart(data(rows))
    bars = base.mark_bar(color=BLUE, height=BAR - 8).encode(x=x, y=y, description=title_channel())
    texts = base.mark_text(align="left", dx=5, color=INK, fontSize=TEXT).encode(x=x, y=y, text="label:N")
    drawn = alt.layer(bars, texts).properties(height=(BAR + 6) * len(rows))
    description = "Of the originals, " + ", ".join(f"{number}: {name}" for name, number, _ in words) + "."
    heads = ("originals that", "number", "share")
    names = [name for name, _ in steps]
    return finish(drawn, "How true pairs are found", description, heads, words, names, fitted=True)


_STROKES = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=240)


def evidence(result: AuditResult) -> Chart | None:
    """The evidence for a link, for originals and for the control; None if it is unknown."""
    found = result.evidence
    if found is None:
        return None
    series = {"originals": BLUE, "control": GREY}
    shares = {"originals": found.originals, "control": found.controls}
    return _histogram(
        "Evidence for a link",
        "the attacker's evidence, low to high",
        found.edges,
        {name: share for name, share in shares.items() if share is not None},
        series,
        found.read_at,
        "The best evidence for each original"
        + (" and for people who are not in the release" if found.controls is not None else "")
        + ". A person to the right of the dotted line is linked."
        + (" The further apart the two curves, the more the release gives away." if found.controls is not None else ""),
    )


def similarities(result: AuditResult) -> Chart | None:
    """The similarities of true pairs and of wrong candidates; None if no match is known."""
    found = None if result.truth is None else result.truth.similarities
    if found is None:
        return None
    return _histogram(
        "True pairs and wrong pairs",
        "similarity of a pair",
        found.edges,
        {"true matches": found.matches, "wrong candidates": found.non_matches},
        {"true matches": BLUE, "wrong candidates": GREY},
        result.threshold,
        f"Similarities of true pairs and of wrong candidates. The distributions overlap by {percent(found.overlap)}, "
        f"and a true pair scores above a wrong one in {percent(found.separation)} of cases.",
    )


def _histogram(
    title: str,
    axis: str,
    edges: list[float],
    shares: dict[str, list[float]],
    series: dict[str, str],
    read_at: float | None,
    description: str,
) -> Chart:
    # The last value is repeated, so that the last bin is as wide as the others.
    steps = [
        {"at": edge, "series": name, "share": value}
        for name, values in shares.items()
        for edge, value in zip(edges, [*values, values[-1]], strict=True)
    ]
    known = {name: series[name] for name in shares}
    x = alt.X("at:Q", scale=alt.Scale(nice=False, zero=False), axis=alt.Axis(title=axis, tickCount=6))
    y = alt.Y("share:Q", axis=percent_axis("share"), stack=None)
    dash = alt.StrokeDash(
        "series:N", scale=alt.Scale(domain=list(known), range=[[1, 0], [4, 2]][: len(known)]), legend=_STROKES
    )
    area = alt.Chart(data(steps)).mark_area(opacity=0.25, interpolate="step-after")
    line = alt.Chart(data(steps)).mark_line(strokeWidth=2, interpolate="step-after")
    layers: list[Any] = [
        area.encode(x=x, y=y, color=colours(known, legend=_STROKES)),
        line.encode(x=x, y=y, color=colours(known, legend=_STROKES), strokeDash=dash),
    ]
    if read_at is not None and edges[0] <= read_at <= edges[-1]:
        rule = alt.Chart(data([{"at": read_at}])).mark_rule(color=MUTED, strokeDash=[1, 2])
        layers.append(rule.encode(x=x))
    table = [
        (f"{edges[at]:.3g} to {edges[at + 1]:.3g}", *(percent(values[at]) for values in shares.values()))
        for at in range(len(edges) - 1)
    ]
    drawn = alt.layer(*layers).properties(height=HEIGHT - 40)
    return finish(drawn, title, description, (axis, *shares), table, fitted=True)


def block_sizes(result: AuditResult) -> Chart | None:
    """The number of blocks of each size; None without blocking."""
    scheme = next((item for item in result.blocks.schemes if item.count != 1 and item.sizes), None)
    if scheme is None:
        return None
    names = [
        f"{size.fewest}" if size.fewest == size.most else f"{size.fewest:,}-{size.most:,}" for size in scheme.sizes
    ]
    rows = [
        {
            "name": name,
            "blocks": item.blocks,
            "title": title_of(f"{name} records: {count_in_words(item.blocks, result.suppress_below)} blocks"),
        }
        for name, item in zip(names, scheme.sizes, strict=True)
    ]
    base = alt.Chart(data(rows))
    x = alt.X("name:N", sort=names, axis=alt.Axis(title="released records in a block", labelAngle=-40))
    y = alt.Y("blocks:Q", axis=alt.Axis(title="blocks", tickMinStep=1))
    drawn = base.mark_bar(color=BLUE).encode(x=x, y=y, description=title_channel())
    k = result.suppress_below
    description = (
        f"{people_in_words(scheme.count, k, 'block', None)} with {count_in_words(scheme.smallest, k)} to "
        f"{count_phrase(scheme.largest, 'released record')} (median {count_in_words(scheme.median, k)}); "
        f"{count_in_words(scheme.blocks_with_80_percent_of_work, k)} of them contain 80% of all pairs."
    )
    pairs = max(1, scheme.pairs)
    table = [
        (name, count_in_words(item.blocks, k), f"{item.pairs:,}", percent(item.pairs / pairs))
        for name, item in zip(names, scheme.sizes, strict=True)
    ]
    heads = ("records in a block", "blocks", "pairs", "share of pairs")
    sized = drawn.properties(height=HEIGHT - 60)
    return finish(sized, "Block sizes", description, heads, table, fitted=True)
