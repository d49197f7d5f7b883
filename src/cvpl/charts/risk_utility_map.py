"""The risk-utility map: every release at its risk and its utility, with the efficient frontier drawn as steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product, starmap

from cvpl.answers.release_figure import IN_SENTENCES, NAMES, ReleaseFigure, limit_in_words
from cvpl.charts.drawing import Drawing
from cvpl.charts.fluid import (
    NARROWEST,
    SIZE,
    Side,
    at,
    box,
    finished,
    line,
    nice_end,
    placed,
    short_labels,
    text,
    titled,
    wide,
)
from cvpl.charts.style import BLUE, GREY, INK, MUTED, PAPER, RED, SHADES
from cvpl.wording import UNKNOWN, counted, printable

_LEFT, _RIGHT = 0.11, 0.97
_TOP, _HEIGHT, _BOTTOM = 26, 240, 44
_LONGEST = 20
"""Letters of a label: on the narrowest page there is room for them on one side of every point."""
_LETTERING = 15
"""The height of a line of labels, in pixels."""
_EFFICIENT = f'<circle r="6.5" fill="{BLUE}"/>'
_BEATEN = f'<rect x="-5" y="-5" width="10" height="10" fill="{GREY}"/>'


@dataclass(frozen=True)
class _Box:
    """A rectangle in pixels on a page of the narrowest width.

    `starts` and `ends` are the positions on the axis to which its left and right sides are fixed: on a wider page the
    sides keep their distance from them.
    """

    left: float
    top: float
    right: float
    bottom: float
    starts: float
    ends: float

    def meets(self, other: _Box) -> bool:
        """Whether the two overlap, on this page or on a wider one."""
        high = self.top < other.bottom and other.top < self.bottom
        return high and not (self._stays_left_of(other) or other._stays_left_of(self))

    def _stays_left_of(self, other: _Box) -> bool:
        return self.right <= other.left and self.ends <= other.starts


@dataclass(frozen=True)
class _Point:
    figure: ReleaseFigure
    label: str
    x: float
    y: float


def risk_utility_map(
    figures: Sequence[ReleaseFigure], limit: float | None = None, title: str = "Risk and utility"
) -> Drawing | None:
    """Every release at its figure and its utility; None if no release has both.

    The steps are the efficient frontier: the largest utility at most this risk. `limit` is the limit of a policy on
    this figure; the zone up to it is shaded.
    """
    known = [figure for figure in figures if figure.estimate is not None and figure.utility is not None]
    if not known:
        return None
    end = nice_end(max([*(max(item.estimate or 0.0, item.high or 0.0) for item in known), 1.2 * (limit or 0.0)]))
    height = max(_HEIGHT, 26 * len(known))
    bottom, top = _utility_axis([figure.utility or 0.0 for figure in known])
    labels = short_labels([printable(figure.name) for figure in known], _LONGEST)
    points = [
        _Point(
            figure,
            label,
            min(1.0, max(0.0, (figure.estimate or 0.0) / end)),
            _TOP + height * (top - (figure.utility or 0.0)) / (top - bottom),
        )
        for figure, label in zip(known, labels, strict=True)
    ]
    kinds = list(dict.fromkeys(figure.kind for figure in known if figure.kind is not None))
    name = " or ".join(NAMES[kind] for kind in kinds)
    parts = [*_axes(end, bottom, top, height, name), *_allowed(limit, end, height)]
    steps = _corners([point for point in points if point.figure.efficient], height)
    parts += [
        line(at(x1, _LEFT, _RIGHT), y1, at(x2, _LEFT, _RIGHT), y2, BLUE, 1.5, 'stroke-dasharray="5 3"')
        for (x1, y1), (x2, y2) in pairwise(steps)
    ]
    for point in points:
        parts += _mark(point, end)
    edge = [] if limit is None else [_line_box((limit / end, _TOP), (limit / end, _TOP + height))]
    parts += _labels(
        points, [*edge, *starmap(_line_box, pairwise(steps)), *(_reach(point, end) for point in points)], height
    )
    efficient = [printable(figure.name) for figure in known if figure.efficient]
    names = " or ".join(IN_SENTENCES[kind] for kind in kinds)
    description = f"Utility against {names}, in {counted(len(known), 'release')}; the best corner is at the top left."
    if efficient:
        description += f" The steps are the efficient frontier: {', '.join(efficient)}."
    if any(figure.efficient is False for figure in known):
        description += " Squares are releases that another one beats."
    if limit is not None:
        description += f" The shaded zone is allowed: at most {limit_in_words(limit)}, for the whole interval."
    rows: list[tuple[str, ...]] = [
        (
            printable(figure.name),
            figure.value,
            figure.interval,
            UNKNOWN if figure.utility is None else f"{figure.utility:.3f}",
            UNKNOWN if figure.efficient is None else "yes" if figure.efficient else "no",
        )
        for figure in figures
    ]
    columns: tuple[str, ...] = ("release", name, "95% interval", "utility", "efficient")
    if all(figure.efficient is None for figure in figures):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return finished(title, description, parts, _TOP + height + _BOTTOM, columns, rows)


def _utility_axis(values: Sequence[float]) -> tuple[float, float]:
    """The ends of the axis of utility, at tenths around the values."""
    bottom = max(0.0, int(10 * min(values) - 0.3) / 10)
    top = min(1.0, -int(-10 * max(values) - 0.999) / 10)
    return (bottom, top) if top > bottom else (max(0.0, top - 0.1), top or 0.1)


def _axes(end: float, bottom: float, top: float, height: float, name: str) -> list[str]:
    parts = []
    steps = max(1, round((top - bottom) * 10))
    every = 1 if steps <= 5 else 2
    for step in range(0, steps + 1, every):
        y = _TOP + height * (1 - step / steps)
        parts.append(line(at(0, _LEFT, _RIGHT), y, at(1, _LEFT, _RIGHT), y))
        parts.append(text(f"{bottom + (top - bottom) * step / steps:.1f}", at(_LEFT - 0.015), y + 4, "end", MUTED))
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = at(share, _LEFT, _RIGHT)
        parts.append(line(x, _TOP + height, x, _TOP + height + 4))
        side: Side = "end" if share == 1 else "middle"
        parts.append(text(f"{100 * share * end:.4g}%", x, _TOP + height + 17, side, MUTED))
    parts.append(text("utility, from 0 to 1", "0%", 12, fill=MUTED))
    parts.append(text(name, at(1, _LEFT, _RIGHT), _TOP + height + 35, "end", MUTED))
    return parts


def _allowed(limit: float | None, end: float, height: float) -> list[str]:
    if limit is None:
        return []
    width = f"{100 * (_RIGHT - _LEFT) * min(1.0, limit / end):.2f}%"
    zone = box(at(0, _LEFT, _RIGHT), _TOP, width, height, SHADES[1], 'fill-opacity="0.6"')
    edge = line(at(limit / end, _LEFT, _RIGHT), _TOP, at(limit / end, _LEFT, _RIGHT), _TOP + height, RED, 2)
    words = text(
        f"allowed: up to {limit_in_words(limit)}", at(0, _LEFT, _RIGHT), _TOP + height + 35, "start", RED, bold=True
    )
    return [titled(f"allowed: at most {limit_in_words(limit)}", zone, edge), words]


def _corners(efficient: Sequence[_Point], height: float) -> list[tuple[float, float]]:
    """The frontier: up at the lowest risk, then right and up at each efficient release, and right to the end."""
    found = sorted(efficient, key=lambda point: (point.x, -point.y))
    if not found:
        return []
    corners = [(found[0].x, float(_TOP + height)), (found[0].x, found[0].y)]
    for before, after in pairwise(found):
        corners += [(after.x, before.y), (after.x, after.y)]
    return [*dict.fromkeys([*corners, (1.0, found[-1].y)])]


def _mark(point: _Point, end: float) -> list[str]:
    figure = point.figure
    shape, colour = (_BEATEN, GREY) if figure.efficient is False else (_EFFICIENT, BLUE)
    marks = []
    if figure.low is not None and figure.high is not None:
        low, high = (at(min(1.0, max(0.0, value / end)), _LEFT, _RIGHT) for value in (figure.low, figure.high))
        marks.append(line(low, point.y, high, point.y, colour, 2))
    marks.append(placed(at(point.x, _LEFT, _RIGHT), point.y, shape))
    words = f"{printable(figure.name)}: {figure.value_and_interval}, utility {figure.utility or 0.0:.3f}"
    return [titled(words, *marks)]


def _labels(points: Sequence[_Point], steps: Sequence[_Box], height: float) -> list[str]:
    """The names at their points, moved up or down where they would meet a name, a mark or, if possible, a line."""
    taken = [_mark_box(point) for point in points]
    parts = []
    for point in points:
        side, shift, found = _room(point, taken, steps, height)
        taken.append(found)
        away = 10 if side == "start" else -10
        lead = ""
        if abs(shift) > SIZE:
            lead = f'<path d="M0 0L{away * 0.8:g} {shift:g}" stroke="{MUTED}" stroke-width="1"/>'
        words = (
            f'<text x="{away}" y="{shift + 4:g}" text-anchor="{side}" fill="{INK}" stroke="{PAPER}" stroke-width="3" '
            f'paint-order="stroke">{_escaped(point.label)}</text>'
        )
        parts.append(placed(at(point.x, _LEFT, _RIGHT), point.y, lead + words))
    return parts


def _room(point: _Point, taken: Sequence[_Box], steps: Sequence[_Box], height: float) -> tuple[Side, float, _Box]:
    """The side and the shift at which a label meets nothing, or at least no label and no mark."""
    here = _pixel(point.x)
    length = wide(point.label)
    lines = int(height / _LETTERING) + 1
    shifts = sorted((sign * _LETTERING * step for step in range(lines) for sign in (-1, 1)), key=abs)
    free = []
    for shift, side in product(dict.fromkeys(shifts), ("start", "end")):
        left = here + 10 if side == "start" else here - 10 - length
        middle = point.y + shift
        place = _Box(left, middle - 7, left + length, middle + 7, here, here)
        inside = left >= 0 and left + length <= NARROWEST and _TOP - 8 <= middle <= _TOP + height - 8
        if inside and not any(place.meets(other) for other in taken):
            free.append((side, float(shift), place))
    clear = [item for item in free if not any(item[2].meets(step) for step in steps)]
    # The numbers of the axis are left of it, so labels stay right of it if they can.
    best = [item for item in clear if item[2].left >= _pixel(0)]
    side, shift, place = next(iter([*best, *clear, *free]), ("end", 0.0, _mark_box(point)))
    return "start" if side == "start" else "end", shift, place


def _pixel(share: float) -> float:
    """A position on a page of the narrowest width."""
    return NARROWEST * (_LEFT + (_RIGHT - _LEFT) * share)


def _line_box(one: tuple[float, float], other: tuple[float, float]) -> _Box:
    """The space that a step takes."""
    (x1, y1), (x2, y2) = one, other
    left, right = sorted((_pixel(x1), _pixel(x2)))
    return _Box(left - 1, min(y1, y2) - 1, right + 1, max(y1, y2) + 1, left, right)


def _reach(point: _Point, end: float) -> _Box:
    """The space that an interval takes."""
    low, high = (point.figure.estimate if value is None else value for value in (point.figure.low, point.figure.high))
    ends = [min(1.0, max(0.0, (value or 0.0) / end)) for value in (low, high)]
    return _line_box((ends[0], point.y), (ends[1], point.y))


def _mark_box(point: _Point) -> _Box:
    here = _pixel(point.x)
    return _Box(here - 7, point.y - 7, here + 7, point.y + 7, here, here)


def _escaped(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
