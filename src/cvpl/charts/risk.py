"""Charts of the risk: on a scale, over thresholds, on the ruler of a page, and as a hundred people.

The risk ruler as an SVG that is as wide as the page. Positions are percentages of the width and sizes are pixels, so
text and marks keep their size at every width. Altair scales a whole picture, so this one is written by hand. Each mark
has its own shape, and a `<title>` for hovering.
"""

from __future__ import annotations

from html import escape
from typing import Any, Literal

import altair as alt

from cvpl.answers.headline import (
    Headline,
    Kind,
    Mark,
    MarkKind,
    Ruler,
    Square,
    comparison_group,
    hundred_people,
    scale_ends,
)
from cvpl.charts.drawing import (
    BLUE,
    FAINT,
    GREY,
    HEIGHT,
    INK,
    MUTED,
    ORANGE,
    PALE,
    PAPER,
    RED,
    Chart,
    colours,
    data,
    finish,
    percent_axis,
)
from cvpl.estimates import FALSE_RATE
from cvpl.result import AuditResult
from cvpl.wording import percent, share_words, span

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
        f"release at {share_words(own.estimate, k=result.suppress_below)}{words}."
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
        f"The share of originals linked {where}: from {share_words(first.linkage_rate, k=k)} to "
        f"{share_words(last.linkage_rate, k=k)}"
        + (
            ""
            if first.control_rate is None or by_rate
            else f", the {base}'s from {share_words(first.control_rate, k=k)} to {share_words(last.control_rate, k=k)}"
        )
        + ". Bands are 95% intervals; the dotted line marks the headline rate."
    )
    columns = (title, "linked", "95% interval", base, "attributable", "95% interval")
    return finish(drawn, "Rates over thresholds", description, columns, table, fitted=True)


_LINE, _HEIGHT = 38, 66
"""The height of the axis, and of the whole picture, in pixels."""
_MARGIN = 1.5
"""Room at both ends, in percent of the width."""
_SHAPES: dict[MarkKind, str] = {
    "chance": f'<path d="M0 0V11" stroke="{INK}" stroke-width="3"/>',
    "nobody": f'<path d="M0 -4L-6 -14H6Z" fill="{MUTED}"/>',
    "limit": f'<path d="M0 -22V12" stroke="{RED}" stroke-width="3"/><path d="M0 -22H13L9 -17L13 -12H0Z" fill="{RED}"/>',
    "release": f'<circle r="8" fill="{BLUE}"/>',
    "originals": f'<path d="M0 -9L9 0L0 9L-9 0Z" fill="{MUTED}"/>',
}
"""The shape of each mark around its position on the axis."""
_BOXES: dict[MarkKind, str] = {
    "chance": "-10 -4.5 20 20",
    "nobody": "-10 -19 20 20",
    "limit": "-12 -23 36 36",
    "release": "-10 -10 20 20",
    "originals": "-10 -10 20 20",
}
"""The box around each shape."""


def ruler_svg(ruler: Ruler) -> str:
    """The ruler as an SVG element."""
    release = ruler.release
    parts = [_rule(0.0, 1.0, FAINT, 6)]
    limit = next((mark for mark in ruler.marks if mark.kind == "limit"), None)
    if limit is not None:
        parts.append(_rule(0.0, limit.at, PALE, 6))
    parts += [_tick(at) for at in (0.0, 0.25, 0.5, 0.75, 1.0)]
    if release.low is not None and release.high is not None:
        inside = _rule(release.low, release.high, BLUE, 6)
        parts.append(f"<g><title>{escape(_words(release))}</title>{inside}</g>")
    # The release is drawn last: nothing may hide it.
    others = [mark for mark in ruler.marks if mark is not release]
    parts += [_mark(mark) for mark in (*others, release)]
    side = "start" if release.at < 0.15 else "end" if release.at > 0.85 else "middle"
    parts.append(
        f'<text x="{_x(release.at)}" y="12" text-anchor="{side}" font-size="14" font-weight="bold" fill="{INK}">'
        f"this release {escape(release.value.split(' (')[0])}</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart ruler" width="100%" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(ruler.description)}">{"".join(parts)}</svg>'
    )


def mark_svg(kind: MarkKind) -> str:
    """The shape of a mark alone, for a legend."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sign" width="18" height="18" viewBox="{_BOXES[kind]}" '
        f'aria-hidden="true">{_SHAPES[kind]}</svg>'
    )


def _mark(mark: Mark) -> str:
    title = f"<title>{escape(_words(mark))}</title>"
    return f'<svg x="{_x(mark.at)}" y="{_LINE}" overflow="visible">{title}{_SHAPES[mark.kind]}</svg>'


def _words(mark: Mark) -> str:
    return f"{mark.name}: {mark.value}"


def _rule(low: float, high: float, colour: str, width: int) -> str:
    return (
        f'<line x1="{_x(low)}" x2="{_x(high)}" y1="{_LINE}" y2="{_LINE}" stroke="{colour}" stroke-width="{width}" '
        'stroke-linecap="round"/>'
    )


def _tick(at: float) -> str:
    side = "start" if at == 0 else "end" if at == 1 else "middle"
    return f'<text x="{_x(at)}" y="{_HEIGHT - 3}" text-anchor="{side}" font-size="12" fill="{MUTED}">{at:.0%}</text>'


def _x(at: float) -> str:
    return f"{_MARGIN + at * (100 - 2 * _MARGIN):.2f}%"


_SIDE, _STEP = 12, 15
"""The side of a square, and the distance between two, in pixels."""
_COLOURS: dict[Kind, str] = {"linked": BLUE, "look-alike": ORANGE, "neither": PAPER}


def people_grid_svg(found: Headline, description: str) -> str:
    """The grid as an SVG element; `description` is its alternative text."""
    squares = hundred_people(found)
    drawn = [_square(square, _STEP * (at % 10) + 2, _STEP * (at // 10) + 2) for at, square in enumerate(squares)]
    groups = []
    for kind in ("linked", "look-alike", "neither"):
        own = [shape for square, shape in zip(squares, drawn, strict=True) if square.kind == kind]
        if own:
            title = f"{len(own)} of 100: {_NAMES[found.kind][kind]}"
            groups.append(f"<g><title>{escape(title)}</title>{''.join(own)}</g>")
    size = 10 * _STEP + 1
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="people" width="{size}" height="{size}" '
        f'viewBox="0 0 {size} {size}" role="img" aria-label="{escape(description)}">'
        f"{_patterns()}{''.join(groups)}</svg>"
    )


def square_svg(square: Square) -> str:
    """One mark of the grid alone, for a legend."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sign" width="{_SIDE + 4}" height="{_SIDE + 4}" '
        f'aria-hidden="true">{_square(square, 2, 2)}</svg>'
    )


_NAMES: dict[str, dict[str, str]] = {
    "risk": {
        "linked": "linked because of the release",
        "look-alike": "linked, as people outside the release are too",
        "neither": "not linked",
    },
    "best_candidate": {"linked": "the best candidate is the right person", "neither": "it is not"},
}


def _square(square: Square, left: int, top: int) -> str:
    """A filled square, a disc for a look-alike, an empty square for neither; hatched if the interval includes it."""
    colour, line = _COLOURS[square.kind], GREY if square.kind == "neither" else _COLOURS[square.kind]
    shapes = [_shape(square.kind, left, top, colour, line)]
    if square.uncertain:
        hatch = "url(#hatch-open)" if square.kind == "neither" else "url(#hatch-filled)"
        shapes.append(_shape(square.kind, left, top, hatch, BLUE if square.kind == "neither" else line))
    return "".join(shapes)


def _shape(kind: Kind, left: int, top: int, fill: str, line: str) -> str:
    half = _SIDE / 2
    if kind == "look-alike":
        return f'<circle cx="{left + half:g}" cy="{top + half:g}" r="{half:g}" fill="{fill}" stroke="{line}"/>'
    return f'<rect x="{left}" y="{top}" width="{_SIDE}" height="{_SIDE}" rx="2" fill="{fill}" stroke="{line}"/>'


def _patterns() -> str:
    """White stripes for filled squares, coloured ones for empty squares."""
    stripe = '<path d="M-1 1L1 -1M0 5L5 0M4 6L6 4" stroke="{}" stroke-width="1.5"/>'
    both = (("hatch-filled", PAPER), ("hatch-open", BLUE))
    made = (
        f'<pattern id="{name}" width="5" height="5" patternUnits="userSpaceOnUse">{stripe.format(colour)}</pattern>'
        for name, colour in both
    )
    return f"<defs>{''.join(made)}</defs>"
