"""Charts of the releases of a comparison or a benchmark: a ruler for each, the risk-utility map, and the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product, starmap

from cvpl.answers.releases import (
    IN_SENTENCES,
    NAMES,
    ColumnDrop,
    ComparedDrops,
    ReleaseFigure,
    benchmark_figures,
    compared_drops,
    compared_figures,
    limit_in_words,
    limit_shown,
)
from cvpl.charts.drawing import (
    BLUE,
    FAINT,
    GREY,
    INK,
    MUTED,
    NARROWEST,
    PALE,
    PAPER,
    RED,
    SHADES,
    SIZE,
    Drawing,
    Side,
    add_title,
    box,
    finish_drawing,
    line,
    nice_end,
    place_shape,
    position_at,
    short_labels,
    text,
    text_width,
    tick_label,
    unique_labels,
)
from cvpl.result import BenchmarkRow, ComparisonResult
from cvpl.wording import UNKNOWN, count_phrase, points, printable


def compared_rulers(result: ComparisonResult) -> Drawing | None:
    """The figure of every release on one axis, best first; None if none is known."""
    return release_rulers(compared_figures(result), limit_shown(result))


def frontier(result: ComparisonResult) -> Drawing | None:
    """Utility against risk, with the efficient frontier as steps; None if no release has both."""
    comparable = [figure for figure in compared_figures(result) if figure.efficient is not None]
    return risk_utility_map(comparable, limit_shown(result))


def contributions(result: ComparisonResult) -> Drawing | None:
    """The change without each column in each release, in points; None if none is known or all are within error."""
    found = compared_drops(result)
    return None if found is None else column_heat_map(found)


def release_risks(rows: Sequence[BenchmarkRow], name: str) -> Drawing | None:
    """The risk of every release with its interval, in the order of the rows.

    `name` is the name of the data set. Without a control the figure is how often the best candidate is right. None if
    no release has one of these figures.
    """
    return release_rulers(benchmark_figures(rows), title=f"Risk of each release of {printable(name)}")


def release_utilities(rows: Sequence[BenchmarkRow], name: str) -> Drawing | None:
    """Utility against risk, with a mark for the basis of the risk; None if no release has both."""
    return risk_utility_map(benchmark_figures(rows), title=f"Utility against risk in {printable(name)}")


_RULER_ROW, _BAR = 44, 28
"""The height of a release, and of its bar below its top, in pixels."""
_RULER_TOP, _RULER_BOTTOM = 22, 24
_RULER_LEFT, _RULER_RIGHT = 0.02, 0.98
_LONGEST_LABEL = 23
_SHAPES = {
    "risk": f'<circle r="6" fill="{BLUE}"/>',
    "best_candidate": f'<path d="M0 -7L7 5H-7Z" fill="{BLUE}"/>',
}
"""The mark of each figure: they also differ in shape."""


def release_rulers(
    figures: Sequence[ReleaseFigure], limit: float | None = None, title: str = "The releases on one axis"
) -> Drawing | None:
    """The figure of every release on one axis from 0, in the given order; None if none is known.

    `limit` is the limit of a policy on this figure. The axis ends at 5%, 10%, 25%, 50% or 100%, whichever holds all.
    """
    known = [figure for figure in figures if figure.estimate is not None]
    if not known:
        return None
    end = nice_end(max([*(_largest(figure) for figure in known), 1.2 * (limit or 0.0)]))
    labels = short_labels([printable(figure.name) for figure in figures], _LONGEST_LABEL)
    height = _RULER_TOP + _RULER_ROW * len(figures) + _RULER_BOTTOM
    parts = [] if limit is None else [text(f"limit {limit_in_words(limit)}", "100%", 12, "end", RED, bold=True)]
    for number, (label, figure) in enumerate(zip(labels, figures, strict=True)):
        parts += _row(label, figure, _RULER_TOP + _RULER_ROW * number, end, limit)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(tick_label(_tick(share * end), share, position_at(share, _RULER_LEFT, _RULER_RIGHT), height - 6))
    kinds = list(dict.fromkeys(figure.kind for figure in known if figure.kind is not None))
    what = " or ".join(NAMES[kind] for kind in kinds)
    parts.insert(0, text(f"{what[0].upper()}{what[1:]}, with its 95% interval", "0%", 12, fill=MUTED))
    first, last = known[0], known[-1]
    names = " or ".join(IN_SENTENCES[kind] for kind in kinds)
    description = (
        f"{names[0].upper()}{names[1:]}, in {count_phrase(len(known), 'release')}, on an axis from 0% to {_tick(end)}: "
        f"{printable(first.name)} {first.value_and_interval}"
        + ("." if first is last else f", to {printable(last.name)} {last.value_and_interval}.")
    )
    if len(kinds) > 1:
        description += " A circle is a risk; a triangle is how often the best candidate is right."
    if any(not figure.ranked for figure in known):
        description += " A star marks a figure that is measured in another way than the others, so it has no place."
    if limit is not None:
        description += f" The shaded zone is allowed: at most {limit_in_words(limit)}, for the whole interval."
    rows = [
        (printable(figure.name), "" if figure.kind is None else NAMES[figure.kind], figure.value, figure.interval)
        for figure in figures
    ]
    return finish_drawing(title, description, parts, height, ("release", "figure", "value", "95% interval"), rows)


def _row(label: str, figure: ReleaseFigure, top: float, end: float, limit: float | None) -> list[str]:
    axis = top + _BAR
    parts = [
        text(label if figure.ranked or figure.estimate is None else f"{label} *", "0%", top + 14, bold=True),
        text(figure.value_and_interval, "100%", top + 14, "end", INK if figure.estimate is not None else MUTED),
    ]
    if figure.estimate is None or figure.kind is None:
        dashed = line(
            position_at(0, _RULER_LEFT, _RULER_RIGHT),
            axis,
            position_at(1, _RULER_LEFT, _RULER_RIGHT),
            axis,
            FAINT,
            5,
            'stroke-dasharray="3 5"',
        )
        return [*parts, add_title(f"{printable(figure.name)}: {figure.value}", dashed)]
    parts.append(
        line(position_at(0, _RULER_LEFT, _RULER_RIGHT), axis, position_at(1, _RULER_LEFT, _RULER_RIGHT), axis, FAINT, 5)
    )
    if limit is not None:
        parts.append(line(position_at(0, _RULER_LEFT, _RULER_RIGHT), axis, _x(limit, end), axis, PALE, 5))
        parts.append(line(_x(limit, end), axis - 9, _x(limit, end), axis + 9, RED, 2))
    marks = []
    if figure.low is not None and figure.high is not None:
        marks.append(line(_x(figure.low, end), axis, _x(figure.high, end), axis, BLUE, 5))
    marks.append(place_shape(_x(figure.estimate, end), axis, _SHAPES[figure.kind]))
    return [*parts, add_title(f"{printable(figure.name)}: {figure.value_and_interval}", *marks)]


def _largest(figure: ReleaseFigure) -> float:
    return max(figure.estimate or 0.0, figure.high or 0.0)


def _x(value: float, end: float) -> str:
    return position_at(min(1.0, max(0.0, value / end)), _RULER_LEFT, _RULER_RIGHT)


def _tick(value: float) -> str:
    return f"{100 * value:.4g}%"


_MAP_LEFT, _MAP_RIGHT = 0.11, 0.97
_MAP_TOP, _MAP_HEIGHT, _MAP_BOTTOM = 26, 240, 44
_LONGEST_NAME = 20
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
    height = max(_MAP_HEIGHT, 26 * len(known))
    bottom, top = _utility_axis([figure.utility or 0.0 for figure in known])
    labels = short_labels([printable(figure.name) for figure in known], _LONGEST_NAME)
    points = [
        _Point(
            figure,
            label,
            min(1.0, max(0.0, (figure.estimate or 0.0) / end)),
            _MAP_TOP + height * (top - (figure.utility or 0.0)) / (top - bottom),
        )
        for figure, label in zip(known, labels, strict=True)
    ]
    kinds = list(dict.fromkeys(figure.kind for figure in known if figure.kind is not None))
    name = " or ".join(NAMES[kind] for kind in kinds)
    parts = [*_axes(end, bottom, top, height, name), *_allowed_zone(limit, end, height)]
    steps = _corners([point for point in points if point.figure.efficient], height)
    parts += [
        line(
            position_at(x1, _MAP_LEFT, _MAP_RIGHT),
            y1,
            position_at(x2, _MAP_LEFT, _MAP_RIGHT),
            y2,
            BLUE,
            1.5,
            'stroke-dasharray="5 3"',
        )
        for (x1, y1), (x2, y2) in pairwise(steps)
    ]
    for point in points:
        parts += _mark(point, end)
    edge = [] if limit is None else [_line_box((limit / end, _MAP_TOP), (limit / end, _MAP_TOP + height))]
    parts += _labels(
        points, [*edge, *starmap(_line_box, pairwise(steps)), *(_reach(point, end) for point in points)], height
    )
    efficient = [printable(figure.name) for figure in known if figure.efficient]
    names = " or ".join(IN_SENTENCES[kind] for kind in kinds)
    description = (
        f"Utility against {names}, in {count_phrase(len(known), 'release')}; the best corner is at the top left."
    )
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
    return finish_drawing(title, description, parts, _MAP_TOP + height + _MAP_BOTTOM, columns, rows)


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
        y = _MAP_TOP + height * (1 - step / steps)
        parts.append(line(position_at(0, _MAP_LEFT, _MAP_RIGHT), y, position_at(1, _MAP_LEFT, _MAP_RIGHT), y))
        parts.append(
            text(f"{bottom + (top - bottom) * step / steps:.1f}", position_at(_MAP_LEFT - 0.015), y + 4, "end", MUTED)
        )
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = position_at(share, _MAP_LEFT, _MAP_RIGHT)
        parts.append(line(x, _MAP_TOP + height, x, _MAP_TOP + height + 4))
        side: Side = "end" if share == 1 else "middle"
        parts.append(text(f"{100 * share * end:.4g}%", x, _MAP_TOP + height + 17, side, MUTED))
    parts.append(text("utility, from 0 to 1", "0%", 12, fill=MUTED))
    parts.append(text(name, position_at(1, _MAP_LEFT, _MAP_RIGHT), _MAP_TOP + height + 35, "end", MUTED))
    return parts


def _allowed_zone(limit: float | None, end: float, height: float) -> list[str]:
    if limit is None:
        return []
    width = f"{100 * (_MAP_RIGHT - _MAP_LEFT) * min(1.0, limit / end):.2f}%"
    zone = box(position_at(0, _MAP_LEFT, _MAP_RIGHT), _MAP_TOP, width, height, SHADES[1], 'fill-opacity="0.6"')
    edge = line(
        position_at(limit / end, _MAP_LEFT, _MAP_RIGHT),
        _MAP_TOP,
        position_at(limit / end, _MAP_LEFT, _MAP_RIGHT),
        _MAP_TOP + height,
        RED,
        2,
    )
    words = text(
        f"allowed: up to {limit_in_words(limit)}",
        position_at(0, _MAP_LEFT, _MAP_RIGHT),
        _MAP_TOP + height + 35,
        "start",
        RED,
        bold=True,
    )
    return [add_title(f"allowed: at most {limit_in_words(limit)}", zone, edge), words]


def _corners(efficient: Sequence[_Point], height: float) -> list[tuple[float, float]]:
    """The frontier: up at the lowest risk, then right and up at each efficient release, and right to the end."""
    found = sorted(efficient, key=lambda point: (point.x, -point.y))
    if not found:
        return []
    corners = [(found[0].x, float(_MAP_TOP + height)), (found[0].x, found[0].y)]
    for before, after in pairwise(found):
        corners += [(after.x, before.y), (after.x, after.y)]
    return [*dict.fromkeys([*corners, (1.0, found[-1].y)])]


def _mark(point: _Point, end: float) -> list[str]:
    figure = point.figure
    shape, colour = (_BEATEN, GREY) if figure.efficient is False else (_EFFICIENT, BLUE)
    marks = []
    if figure.low is not None and figure.high is not None:
        low, high = (
            position_at(min(1.0, max(0.0, value / end)), _MAP_LEFT, _MAP_RIGHT) for value in (figure.low, figure.high)
        )
        marks.append(line(low, point.y, high, point.y, colour, 2))
    marks.append(place_shape(position_at(point.x, _MAP_LEFT, _MAP_RIGHT), point.y, shape))
    words = f"{printable(figure.name)}: {figure.value_and_interval}, utility {figure.utility or 0.0:.3f}"
    return [add_title(words, *marks)]


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
            f'paint-order="stroke">{_escape_text(point.label)}</text>'
        )
        parts.append(place_shape(position_at(point.x, _MAP_LEFT, _MAP_RIGHT), point.y, lead + words))
    return parts


def _room(point: _Point, taken: Sequence[_Box], steps: Sequence[_Box], height: float) -> tuple[Side, float, _Box]:
    """The side and the shift at which a label meets nothing, or at least no label and no mark."""
    here = _pixel(point.x)
    length = text_width(point.label)
    lines = int(height / _LETTERING) + 1
    shifts = sorted((sign * _LETTERING * step for step in range(lines) for sign in (-1, 1)), key=abs)
    free = []
    for shift, side in product(dict.fromkeys(shifts), ("start", "end")):
        left = here + 10 if side == "start" else here - 10 - length
        middle = point.y + shift
        place = _Box(left, middle - 7, left + length, middle + 7, here, here)
        inside = left >= 0 and left + length <= NARROWEST and _MAP_TOP - 8 <= middle <= _MAP_TOP + height - 8
        if inside and not any(place.meets(other) for other in taken):
            free.append((side, float(shift), place))
    clear = [item for item in free if not any(item[2].meets(step) for step in steps)]
    # The numbers of the axis are left of it, so labels stay right of it if they can.
    best = [item for item in clear if item[2].left >= _pixel(0)]
    side, shift, place = next(iter([*best, *clear, *free]), ("end", 0.0, _mark_box(point)))
    return "start" if side == "start" else "end", shift, place


def _pixel(share: float) -> float:
    """A position on a page of the narrowest width."""
    return NARROWEST * (_MAP_LEFT + (_MAP_RIGHT - _MAP_LEFT) * share)


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


def _escape_text(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_STEPS = (0.01, 0.03, 0.10, 0.25, 0.50)
"""Drops at which the shade changes."""
_INKS = (INK, INK, INK, "#000000", PAPER, PAPER)
"""The colour of the text on each shade, readable on a light and on a dark page."""
_MOST_COLUMNS = 10
_ABREAST = 5
"""Releases side by side; more are in further panels below."""
_CELL_HEIGHT = 24
_CELLS_LEFT = 0.36
_LONGEST_COLUMN = 15
_NAMES_IN_HEADS = 8


Drops = Mapping[str, ColumnDrop]


def column_heat_map(found: ComparedDrops) -> Drawing | None:
    """The drops of each column in each release; None if all of them are within error.

    Columns are sorted by their largest drop; the ten largest are drawn, and the table has all of them. A drop within
    error has the lightest shade.
    """
    columns, releases, drops, figure = found.columns, found.releases, found.by_release, found.figure
    if found.within_error:
        return None
    drawn = columns[:_MOST_COLUMNS]
    labels = unique_labels([printable(name) for name in drawn], _LONGEST_COLUMN)
    short = all(len(printable(name)) <= _NAMES_IN_HEADS for name in releases)
    parts = [text(f"change of {figure}, in points", "0%", 12, fill=MUTED)]
    top = 22.0
    for first in range(0, len(releases), _ABREAST):
        part = range(first, min(first + _ABREAST, len(releases)))
        heads = [printable(releases[number]) if short else str(number + 1) for number in part]
        parts += _panel(
            heads, [releases[number] for number in part], [drops[number] for number in part], drawn, labels, top
        )
        top += _CELL_HEIGHT * (len(drawn) + 1) + 10
    if not short:
        for number, name in enumerate(unique_labels([printable(name) for name in releases], 40)):
            parts.append(text(f"{number + 1}  {name}", "0%", top + 10, fill=MUTED))
            top += 17
    most = columns[0]
    where, largest = max(
        ((name, those[most].drop) for name, those in zip(releases, drops, strict=True) if most in those),
        key=lambda pair: pair[1],
    )
    description = (
        f"Change of {figure} without a column, in points, for {count_phrase(len(drawn), 'column')} in "
        f"{count_phrase(len(releases), 'release')}; the darker, the more a column gives people away. Largest: "
        f"{printable(most)}, {points(-largest)} points in {printable(where)}. The lightest shade is a change below 1 "
        "point or within error."
    )
    rows = [(printable(name), *(_cell(those.get(name)) for those in drops)) for name in columns]
    return finish_drawing(
        "Which columns give people away, by release", description, parts, top + 4,
        ("column", *map(printable, releases)), rows,
    )  # fmt: skip


def _panel(
    heads: Sequence[str],
    names: Sequence[str],
    drops: Sequence[Drops],
    columns: Sequence[str],
    labels: Sequence[str],
    top: float,
) -> list[str]:
    each = (1 - _CELLS_LEFT) / _ABREAST
    parts = []
    for number, (head, name) in enumerate(zip(heads, names, strict=True)):
        middle = position_at(_CELLS_LEFT + each * (number + 0.5))
        parts.append(add_title(printable(name), text(head, middle, top + 15, "middle", MUTED, bold=True)))
    for place, (column, label) in enumerate(zip(columns, labels, strict=True), start=1):
        y = top + _CELL_HEIGHT * place
        parts.append(text(label, "0%", y + 16))
        for number, found in enumerate(drops):
            drop = found.get(column)
            level = 0 if drop is None or drop.within_error else sum(drop.drop > step for step in _STEPS)
            words = _cell(drop)
            shade = box(
                position_at(_CELLS_LEFT + each * number),
                y,
                f"{100 * each - 0.6:.2f}%",
                _CELL_HEIGHT - 2,
                SHADES[level],
                'rx="2"',
            )
            inside = text(
                words, position_at(_CELLS_LEFT + each * (number + 0.5) - 0.003), y + 15, "middle", _INKS[level]
            )
            parts.append(add_title(f"{printable(names[number])}, {printable(column)}: {words} points", shade, inside))
    return parts


def _cell(drop: ColumnDrop | None) -> str:
    return UNKNOWN if drop is None else points(-drop.drop)
