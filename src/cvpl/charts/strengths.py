"""Charts of a mechanism: risk and utility over its strength, the risk surface, and the rounds of a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt

from cvpl.answers.sentences import FIGURES, bin_words, figure_of, figure_shown, score
from cvpl.charts.drawing import (
    BAR,
    BLUE,
    FAINT,
    GREY,
    HEIGHT,
    INK,
    MUTED,
    NARROWEST,
    ORANGE,
    PALE,
    PAPER,
    RED,
    SHADES,
    WIDTH,
    Chart,
    Drawing,
    Side,
    add_title,
    colours,
    data,
    finish,
    finish_drawing,
    full_percent_axis,
    line,
    nice_end,
    percent_axis,
    place_shape,
    position_at,
    text,
    text_width,
    unique_labels,
)
from cvpl.estimates import FALSE_RATE
from cvpl.result import SurfaceCell, SurfaceResult, SurfaceSetting, TrialResult
from cvpl.wording import UNKNOWN, count_phrase, percent, printable, share_words, span

_STEPS = (0.02, 0.05, 0.10, 0.25, 0.50)
"""Rates at which the shade changes: finer at low rates, where targets are."""
_LEVELS = dict(zip(("to 2%", "to 5%", "to 10%", "to 25%", "to 50%", "above 50%"), SHADES, strict=True))
_DARK_FROM = 4
"""From this shade on, marks have the colour of the page."""
_LABELLED = 5
"""The axis labels every fifth threshold."""
_WITHIN, _STEEP, _CONTRADICTED = "within the target", "steep", "contradicted"
_FRAME = "M-1,-1L1,-1L1,1L-1,1ZM-0.6,-0.6L-0.6,0.6L0.6,0.6L0.6,-0.6Z"
"""An SVG path of a square frame, for the legend."""
_SHAPES = {_STEEP: "circle", _CONTRADICTED: "cross"}
_HEIGHTS = {_STEEP: 0.3, _CONTRADICTED: 0.7}
"""The vertical position of each mark in a cell, so that both fit."""


def heat_map(result: SurfaceResult) -> Chart | None:
    """The rate at every strength and every threshold or false-positive rate; None if no rate is known.

    Darker shades are higher rates. Cells within the target are framed; a dot marks a cell of high sensitivity, a cross
    a cell whose rate is contradicted by other figures.
    """
    width = max((len(row.cells) for row in result.settings), default=0)
    if not width:
        return None
    labels = unique_labels([printable(str(row.strength)) for row in result.settings])
    first = next(row for row in result.settings if len(row.cells) == width)
    places = [_place(cell) for cell in first.cells]
    rows, marks = [], []
    for label, row in zip(labels, result.settings, strict=True):
        for place, cell in zip(places, row.cells, strict=False):
            rate = _rate(cell)
            if rate is None:
                continue
            level = sum(rate > step for step in _STEPS)
            rows.append({"strength": label, "at": place, "series": list(_LEVELS)[level]})
            pen = PAPER if level >= _DARK_FROM else INK
            kinds = [kind for kind, there in ((_STEEP, cell.steep), (_CONTRADICTED, cell.contradicted)) if there]
            marks += [{"strength": label, "at": place, "mark": kind, "ink": pen} for kind in kinds]
    by_rate = result.axis == "false_rate"
    title = "false-positive rate" if by_rate else "threshold"
    x = alt.X(
        "at:O",
        sort=places,
        scale=alt.Scale(domain=places, paddingInner=0, paddingOuter=0),
        axis=alt.Axis(title=title, values=places[::_LABELLED], labelAngle=0, ticks=False, domain=False),
    )
    y = alt.Y(
        "strength:O",
        sort=labels,
        scale=alt.Scale(domain=labels, paddingInner=0, paddingOuter=0),
        axis=alt.Axis(title=None, ticks=False, domain=False),
    )
    shade = colours(_LEVELS, legend=alt.Legend(orient="bottom"))
    layers: list[Any] = [alt.Chart(data(rows)).mark_rect().encode(x=x, y=y, color=shade)]
    for kind, height in _HEIGHTS.items():
        of_kind = [mark for mark in marks if mark["mark"] == kind]
        if of_kind:
            layers.append(_marks(of_kind, height, labels, places, framed=result.target is not None))
    frame = list(_frame(result.settings, labels, places))
    for colour, thickness in ((PAPER, 5), (INK, 2)):
        for side in ("top", "bottom", "left", "right"):
            if edges := [item for item in frame if item["side"] == side]:
                layers.append(_edges(edges, side, labels, places, colour, thickness))
    drawn = alt.layer(*layers).resolve_scale(color="independent").properties(width=WIDTH, height=BAR * len(labels))
    heads = ("strength" if result.sweep == "mechanism" else "blocking", *places)
    table = [
        (
            printable(str(row.strength)),
            *(_cell_text(cell) for cell in row.cells),
            *([UNKNOWN] * (width - len(row.cells))),
        )
        for row in result.settings
    ]
    named = f"The rate over strength and {'false-positive rate' if by_rate else 'threshold'}"
    return finish(drawn, named, _surface_in_words(result, by_rate), heads, table, labels)


def _rate(cell: SurfaceCell) -> float | None:
    return cell.linkage_rate if cell.attributable_rate is None else cell.attributable_rate


def _place(cell: SurfaceCell) -> str:
    return f"{cell.threshold:.3g}" if cell.threshold is not None else percent(cell.false_rate)


def _cell_text(cell: SurfaceCell) -> str:
    marks = [
        name
        for name, there in ((_WITHIN, cell.safe), (_STEEP, cell.steep), (_CONTRADICTED, cell.contradicted))
        if there
    ]
    return percent(_rate(cell)) + (f" ({', '.join(marks)})" if marks else "")


def _marks(
    marks: list[dict[str, Any]], height: float, labels: list[str], places: list[str], *, framed: bool
) -> alt.Chart:
    """Marks of one kind; their legend also explains the frame if there is one."""
    shapes = ({_WITHIN: _FRAME} if framed else {}) | _SHAPES
    scale = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    legend = alt.Legend(symbolFillColor=INK, symbolStrokeWidth=0)
    shape = alt.Shape("mark:N", scale=scale, legend=legend)
    x, y = alt.X("at:O", sort=places), alt.Y("strength:O", sort=labels, bandPosition=height)
    points = alt.Chart(data(marks)).mark_point(filled=True, size=14, opacity=1)
    drawn: alt.Chart = points.encode(x=x, y=y, shape=shape, color=alt.Color("ink:N", scale=None, legend=None))
    return drawn


def _edges(
    edges: list[dict[str, Any]], side: str, labels: list[str], places: list[str], colour: str, thickness: int
) -> alt.Chart:
    """Lines along one side of the cells."""
    at, down = alt.X("at:O", sort=places), alt.Y("strength:O", sort=labels)
    line = alt.Chart(data(edges)).mark_rule(color=colour, strokeWidth=thickness, strokeCap="square")
    drawn: alt.Chart
    if side in ("top", "bottom"):
        y = down.bandPosition(0 if side == "top" else 1)
        drawn = line.encode(x=at.bandPosition(0), x2=alt.X2("at", bandPosition=1), y=y)
    else:
        x = at.bandPosition(0 if side == "left" else 1)
        drawn = line.encode(x=x, y=down.bandPosition(0), y2=alt.Y2("strength", bandPosition=1))
    return drawn


def _frame(settings: list[SurfaceSetting], labels: list[str], places: list[str]) -> Iterator[dict[str, Any]]:
    """The edges of the region within the target, each along one side of a cell."""
    safe = [[bool(cell.safe) for cell in row.cells] for row in settings]

    def is_cell(row: int, column: int) -> bool:
        return 0 <= row < len(safe) and 0 <= column < len(safe[row]) and safe[row][column]

    for row in range(len(safe)):
        for column in range(len(safe[row])):
            if not safe[row][column]:
                continue
            corner = {"strength": labels[row], "at": places[column]}
            for side, (a, b) in {"top": (-1, 0), "bottom": (1, 0), "left": (0, -1), "right": (0, 1)}.items():
                if not is_cell(row + a, column + b):
                    yield corner | {"side": side}


def _surface_in_words(result: SurfaceResult, by_rate: bool) -> str:
    known = any(cell.attributable_rate is not None for row in result.settings for cell in row.cells)
    judged = FIGURES["attributable_rate" if known else "linkage_rate"]
    over = "false-positive rates" if by_rate else "thresholds"
    cells = [cell for row in result.settings for cell in row.cells]
    text = f"The {judged} over {count_phrase(len(result.settings), 'setting')} and {over}, "
    text += f"{count_phrase(len(cells), 'cell')}; "
    text += "a stronger shade is a higher rate."
    if result.target is not None:
        count = sum(bool(cell.safe) for cell in cells)
        limit = percent(result.target.rate)
        text += f" Framed: {count_phrase(count, 'cell')} within the target (upper interval end at most {limit})."
    text += (
        f" Dot: a neighbouring cell differs by more than {100 * result.high_sensitivity:.0f} points"
        f" ({count_phrase(sum(cell.steep for cell in cells), 'cell')})."
        " Cross: another figure shows a higher risk "
        f"({count_phrase(sum(cell.contradicted for cell in cells), 'cell')})."
    )
    return text


_LEFT, _RIGHT = 0.13, 0.97
_TOP, _PANEL, _GAP = 24, 130, 40
_BAND = "#f3d9a8"
"""The band of the utility on a light page; it is drawn half transparent, so that it is visible on a dark one too."""
_DOT = f'<circle r="5" fill="{BLUE}"/>'
_HOLLOW = f'<circle r="5" fill="{PAPER}" stroke="{BLUE}" stroke-width="2"/>'
_DIAMOND = f'<path d="M0 -6L6 0L0 6L-6 0Z" fill="{ORANGE}"/>'

Ends = tuple[float | None, float | None]


@dataclass(frozen=True)
class _Line:
    """One figure over the settings: its values and its bands, on an axis from 0 to `end`."""

    name: str
    values: Sequence[float | None]
    bands: Sequence[Ends]
    words: Sequence[str]
    end: float
    colour: str
    shade: str
    shape: str
    doubted: str
    doubts: Sequence[Sequence[str]]
    ticks: Sequence[str]
    joined: bool


def risk_and_utility(result: SurfaceResult) -> Drawing | None:
    """The risk and the utility over the strength, one line each, with bands; None if neither is known.

    The band of the risk is its 95% interval, widened to the smallest and the largest risk of several draws. The band of
    the utility goes over the draws. A dashed line is the target; a ring is the weakest setting that meets it. If the
    risk is unknown, a rate is shown instead under its own name.
    """
    rows, name, k = result.settings, figure_shown(result), result.suppress_below
    figures = [figure_of(result, row) for row in rows]
    utilities = [row.utility.mean for row in rows]
    if all(figure[0] is None for figure in figures) and all(value is None for value in utilities):
        return None
    target = None if result.target is None else result.target.rate
    bands = [_risk_band(row, figure[1:]) for row, figure in zip(rows, figures, strict=True)]
    largest = max([*(end for band in bands for end in band if end is not None), *(f[0] or 0.0 for f in figures)])
    end = nice_end(max(largest, 1.2 * (target or 0.0)))
    joined = result.sweep == "mechanism"
    strengths = [printable(str(row.strength)) for row in rows]
    said = [f"{name} {percent(f[0], k=k)}{f' ({span(f[1], f[2])})' if span(f[1], f[2]) else ''}" for f in figures]
    doubts = [_doubts(row, figure[0], target) for row, figure in zip(rows, figures, strict=True)]
    risk = _Line(
        name, [figure[0] for figure in figures], bands, said, end, BLUE, PALE, _DOT, _HOLLOW, doubts,
        [f"{100 * share * end:.4g}%" for share in (0, 0.5, 1)], joined,
    )  # fmt: skip
    useful = _Line(
        "utility, from 0 to 1", utilities, [_utility_band(row) for row in rows],
        [f"utility {score(value)}" for value in utilities], 1.0, ORANGE, _BAND, _DIAMOND, _DIAMOND,
        [()] * len(rows), ["0", "0.5", "1"], joined,
    )  # fmt: skip
    second = _TOP + _PANEL + _GAP
    parts = [*_panel(risk, strengths, _TOP), *_panel(useful, strengths, second)]
    if target is not None:
        parts += _target(target, end)
    met = _setting_that_meets(result)
    if met is not None:
        words = f"{strengths[met]}: the weakest setting that meets the target"
        rings = (
            place_shape(
                _x(met, len(rows)),
                _y(item.values[met] or 0.0, item.end, top),
                f'<circle r="10" fill="none" stroke="{INK}" stroke-width="2"/>',
            )
            for item, top in ((risk, _TOP), (useful, second))
            if item.values[met] is not None
        )
        parts.append(add_title(words, *rings))
    labels, below = _labels(strengths, second + _PANEL)
    parts += labels
    return finish_drawing(
        f"{name.capitalize()} and utility",
        _lines_in_words(result, name, figures[0][0], figures[-1][0], met)
        + (" A hollow mark does not count: another figure shows a higher risk." if any(doubts) else ""),
        parts,
        below,
        ("strength" if joined else "blocking", name, "95% interval", "draws", "utility", "target"),
        [_row(result, row) for row in rows],
    )


def _doubts(row: SurfaceSetting, estimate: float | None, target: float | None) -> Sequence[str]:
    """Why a figure that is at or below the target does not count; empty if it counts, or is above."""
    low = estimate is not None and target is not None and estimate <= target
    return [printable(doubt) for doubt in row.doubts] if low else ()


def _risk_band(row: SurfaceSetting, ends: Ends) -> Ends:
    """The interval, widened to the draws."""
    low, high = ends
    if not row.draws:
        return low, high
    return min([*row.draws, *([] if low is None else [low])]), max([*row.draws, *([] if high is None else [high])])


def _utility_band(row: SurfaceSetting) -> Ends:
    return (min(row.utilities), max(row.utilities)) if row.utilities else (None, None)


def _setting_that_meets(result: SurfaceResult) -> int | None:
    """The number of the weakest setting that meets the target; None if none does, or if there is no target."""
    if result.target is None or result.target.weakest is None:
        return None
    strengths = [row.strength for row in result.settings]
    return strengths.index(result.target.weakest.strength) if result.target.weakest.strength in strengths else None


def _panel(own: _Line, strengths: Sequence[str], top: float) -> list[str]:
    count = len(strengths)
    parts = [text(own.name, "0%", top - 10, fill=MUTED)]
    for share, label in zip((0.0, 0.5, 1.0), own.ticks, strict=True):
        y = top + _PANEL * (1 - share)
        parts += [
            line(position_at(0, _LEFT, _RIGHT), y, position_at(1, _LEFT, _RIGHT), y),
            text(label, position_at(_LEFT - 0.015), y + 4, "end", MUTED),
        ]
    parts += _bands(own, count, top)
    known = [(number, value) for number, value in enumerate(own.values) if value is not None]
    if own.joined:
        for (i, one), (j, other) in pairwise(known):
            parts.append(
                line(_x(i, count), _y(one, own.end, top), _x(j, count), _y(other, own.end, top), own.colour, 2)
            )
    for number, value in known:
        shape = own.doubted if own.doubts[number] else own.shape
        mark = place_shape(_x(number, count), _y(value, own.end, top), shape)
        words = [own.words[number], *own.doubts[number]]
        parts.append(add_title(f"{strengths[number]}: {'; '.join(words)}", mark))
    return parts


def _bands(own: _Line, count: int, top: float) -> list[str]:
    """The band between neighbouring settings; a bar at a setting that stands alone."""
    parts, shapes = [], []
    for number, (low, high) in enumerate(own.bands):
        if low is None or high is None:
            continue
        x, ends = _x(number, count), (_y(low, own.end, top), _y(high, own.end, top))
        parts.append(line(x, ends[0], x, ends[1], own.shade, 9, 'stroke-opacity="0.8"'))
    if own.joined:
        for number in range(count - 1):
            (low, high), (next_low, next_high) = own.bands[number], own.bands[number + 1]
            if low is None or high is None or next_low is None or next_high is None:
                continue
            xs = [100 * _share(item, count) for item in (number, number + 1)]
            ys = [_y(value, own.end, 0) for value in (high, next_high, next_low, low)]
            corners = ((xs[0], ys[0]), (xs[1], ys[1]), (xs[1], ys[2]), (xs[0], ys[3]))
            listed = " ".join(f"{x:.2f},{y:.2f}" for x, y in corners)
            shapes.append(f'<polygon points="{listed}" fill="{own.shade}" fill-opacity="0.55"/>')
    if shapes:
        inner = "".join(shapes)
        parts.insert(0, (
            f'<svg x="0" y="{top:g}" width="100%" height="{_PANEL}" viewBox="0 0 100 {_PANEL}" '
            f'preserveAspectRatio="none">{inner}</svg>'
        ))  # fmt: skip
    return parts


def _target(target: float, end: float) -> list[str]:
    y = _y(target, end, _TOP)
    rule = line(position_at(0, _LEFT, _RIGHT), y, position_at(1, _LEFT, _RIGHT), y, RED, 2, 'stroke-dasharray="6 4"')
    words = f"target {percent(target)}"
    return [add_title(words, rule), text(words, position_at(1, _LEFT, _RIGHT), _TOP - 10, "end", RED, bold=True)]


def _labels(strengths: Sequence[str], top: float) -> tuple[list[str], float]:
    """The strengths below the axis, and the end of the picture; numbers and a list if the names have no room."""
    count = len(strengths)
    each = NARROWEST * (_RIGHT - _LEFT) / max(1, count)
    fits = max(map(text_width, strengths)) < each - 6
    parts = []
    for number, name in enumerate(strengths):
        side: Side = "middle"
        parts.append(add_title(name, text(name if fits else str(number + 1), _x(number, count), top + 18, side, INK)))
    if fits:
        return parts, top + 28
    for number, name in enumerate(unique_labels(strengths, 44)):
        parts.append(text(f"{number + 1}  {name}", "0%", top + 42 + 17 * number, fill=MUTED))
    return parts, top + 42 + 17 * count


def _lines_in_words(result: SurfaceResult, name: str, first: float | None, last: float | None, met: int | None) -> str:
    rows, k = result.settings, result.suppress_below
    weak, strong = rows[0], rows[-1]
    words = (
        f"{name.capitalize()} and utility at {count_phrase(len(rows), 'setting')}: from {share_words(first, k=k)} and "
        f"{score(weak.utility.mean)} at {printable(str(weak.strength))} to {share_words(last, k=k)} and "
        f"{score(strong.utility.mean)} at {printable(str(strong.strength))}. The band of the {name} is its 95% interval"
    )
    words += (
        ", widened to all draws; that of the utility goes over the draws." if any(row.draws for row in rows) else "."
    )
    if result.target is not None:
        words += f" The dashed line is the target, {percent(result.target.rate)}"
        words += (
            "."
            if met is None
            else f"; the ring is the weakest setting that meets it, {printable(str(rows[met].strength))}."
        )
    return words


def _row(result: SurfaceResult, row: SurfaceSetting) -> tuple[str, ...]:
    estimate, low, high = figure_of(result, row)
    return (
        printable(str(row.strength)),
        percent(estimate, k=result.suppress_below),
        span(low, high),
        span(min(row.draws), max(row.draws)) if row.draws else "",
        score(row.utility.mean),
        {True: "within", False: "outside", None: ""}[row.safe],
    )


def _share(number: int, count: int) -> float:
    return _LEFT + (_RIGHT - _LEFT) * (number + 0.5) / count


def _x(number: int, count: int) -> str:
    return position_at(_share(number, count))


def _y(value: float, end: float, top: float) -> float:
    return round(top + _PANEL * (1 - min(1.0, max(0.0, value / end))), 2)


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
        f"{count_phrase(len(result.finished), 'round')}. Dashed: chance."
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
        f"The power at false-positive rates of 1%, 5% and 10% over {count_phrase(len(result.finished), 'round')}; "
        f"at 5% {share_words(None if middle is None else middle.power, k=result.suppress_below)}. Dots are single "
        "rounds, "
        "lines are intervals over people and draws."
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
        f"How often people are linked: {share_words(first.inside, k=k)} never when they are in and "
        f"{share_words(first.outside, k=k)} never when they are out; {share_words(last.inside, k=k)} in more than "
        f"three quarters of the rounds when in, {share_words(last.outside, k=k)} when out."
    )
    heads = ("linked", "when in", "when out")
    return finish(drawn, "How often people are linked", description, heads, table, labels)
