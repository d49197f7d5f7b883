"""A hundred people as a 10 x 10 grid: linked because of the release, look-alikes, and neither."""

from __future__ import annotations

from html import escape

from cvpl.answers.headline import Headline
from cvpl.answers.hundred_people import Kind, Square, hundred_people
from cvpl.charts.style import BLUE, GREY, ORANGE, PAPER

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
