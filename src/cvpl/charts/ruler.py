"""The risk ruler as an SVG that is as wide as the page.

Positions are percentages of the width and sizes are pixels, so text and marks keep their size at every width. Altair
scales a whole picture, so this one is written by hand. Each mark has its own shape, and a `<title>` for hovering.
"""

from __future__ import annotations

from html import escape

from cvpl.answers.ruler import Mark, MarkKind, Ruler
from cvpl.charts.style import BLUE, FAINT, INK, MUTED, PALE, RED

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
