"""The parts of a drawing that is as wide as its page: positions in percent of the width, sizes in pixels.

Altair scales a whole picture with its text. In these drawings text and marks keep one size at every width. Every mark
may have a `<title>`, which a browser shows when the pointer is over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Literal

from cvpl.charts.drawing import Drawing
from cvpl.charts.style import FAINT, INK, MUTED, unique_labels

Side = Literal["start", "middle", "end"]

SIZE = 12
"""The size of text in pixels."""
NARROWEST = 320
"""The narrowest page for which labels are placed, in pixels: on a wider one they are further apart."""
_LETTER = 0.6
"""The width of a letter, as a share of the size of the text; a wide font is assumed."""
_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"


def finished(
    title: str,
    description: str,
    parts: Sequence[str],
    height: float,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> Drawing:
    """The parts as one drawing of this height in pixels, with its numbers."""
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="100%" height="{height:g}" role="img" '
        f'style="height: {height:g}px; max-width: 48rem" font-family="{_FONT}" font-size="{SIZE}" '
        f'aria-label="{escape(description)}">'
    )
    table = tuple(tuple(row) for row in rows)
    return Drawing(title, description, tuple(columns), table, f"{opening}{''.join(parts)}</svg>")


def at(share: float, left: float = 0.0, right: float = 1.0) -> str:
    """The position of a share of the way from `left` to `right`, both shares of the width, as a percentage."""
    return f"{100 * (left + (right - left) * share):.2f}%"


def text(
    words: str, x: str, y: float, side: Side = "start", fill: str = INK, *, bold: bool = False, size: int = SIZE
) -> str:
    """A line of text."""
    weight = ' font-weight="bold"' if bold else ""
    larger = "" if size == SIZE else f' font-size="{size}"'
    return f'<text x="{x}" y="{y:g}" text-anchor="{side}" fill="{fill}"{weight}{larger}>{escape(words)}</text>'


def line(x1: str, y1: float, x2: str, y2: float, colour: str = FAINT, width: float = 1, more: str = "") -> str:
    """A straight line; `more` are further attributes."""
    return (
        f'<line x1="{x1}" y1="{y1:g}" x2="{x2}" y2="{y2:g}" stroke="{colour}" stroke-width="{width:g}"'
        f"{' ' + more if more else ''}/>"
    )


def box(x: str, y: float, width: str, height: float, fill: str, more: str = "") -> str:
    """A rectangle."""
    return f'<rect x="{x}" y="{y:g}" width="{width}" height="{height:g}" fill="{fill}"{" " + more if more else ""}/>'


def placed(x: str, y: float, shape: str) -> str:
    """A shape in pixels around a position."""
    return f'<svg x="{x}" y="{y:g}" overflow="visible">{shape}</svg>'


def titled(words: str, *parts: str) -> str:
    """Parts with a title that a browser shows when the pointer is over them."""
    return f"<g><title>{escape(words)}</title>{''.join(parts)}</g>"


def tick_label(words: str, share: float, x: str, y: float) -> str:
    """The label of a tick below an axis; the first and the last stay inside the picture."""
    side: Side = "start" if share <= 0 else "end" if share >= 1 else "middle"
    return text(words, x, y, side, MUTED)


def wide(words: str, size: int = SIZE) -> float:
    """The width of a text in pixels, rather too wide than too narrow."""
    return _LETTER * size * len(words)


def short_labels(names: Sequence[str], longest: int) -> list[str]:
    """Unique labels of at most `longest` letters; a number behind equal ones takes five of them."""
    found = unique_labels(names, longest)
    return found if max(map(len, found), default=0) <= longest else unique_labels(names, longest - 5)


def nice_end(value: float) -> float:
    """The end of an axis of shares: the first of 4%, 8%, 20%, 40%, 60% and 100% that holds `value`."""
    return next((end for end in (0.04, 0.08, 0.20, 0.40, 0.60) if value <= end), 1.0)
