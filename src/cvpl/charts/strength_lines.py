"""Risk and utility over the strength: two lines with bands, the target, and the setting that meets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cvpl.answers.surface_answer import figure_of, figure_shown, score
from cvpl.charts.drawing import Drawing
from cvpl.charts.fluid import NARROWEST, Side, at, finished, line, nice_end, placed, text, titled, wide
from cvpl.charts.style import BLUE, INK, MUTED, ORANGE, PALE, PAPER, RED, unique_labels
from cvpl.result import SurfaceResult, SurfaceSetting
from cvpl.wording import counted, in_words, percent, printable, span

_LEFT, _RIGHT = 0.13, 0.97
_TOP, _PANEL, _GAP = 24, 130, 40
_BAND = "#f3d9a8"
"""The band of the utility on a light page; it is drawn half transparent, so that it is visible on a dark one too."""
_ROUND = f'<circle r="5" fill="{BLUE}"/>'
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
        name, [figure[0] for figure in figures], bands, said, end, BLUE, PALE, _ROUND, _HOLLOW, doubts,
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
    met = _met(result)
    if met is not None:
        words = f"{strengths[met]}: the weakest setting that meets the target"
        rings = (
            placed(
                _x(met, len(rows)),
                _y(item.values[met] or 0.0, item.end, top),
                f'<circle r="10" fill="none" stroke="{INK}" stroke-width="2"/>',
            )
            for item, top in ((risk, _TOP), (useful, second))
            if item.values[met] is not None
        )
        parts.append(titled(words, *rings))
    labels, below = _labels(strengths, second + _PANEL)
    parts += labels
    return finished(
        f"{name.capitalize()} and utility",
        _described(result, name, figures[0][0], figures[-1][0], met)
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


def _met(result: SurfaceResult) -> int | None:
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
            line(at(0, _LEFT, _RIGHT), y, at(1, _LEFT, _RIGHT), y),
            text(label, at(_LEFT - 0.015), y + 4, "end", MUTED),
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
        mark = placed(_x(number, count), _y(value, own.end, top), shape)
        words = [own.words[number], *own.doubts[number]]
        parts.append(titled(f"{strengths[number]}: {'; '.join(words)}", mark))
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
    rule = line(at(0, _LEFT, _RIGHT), y, at(1, _LEFT, _RIGHT), y, RED, 2, 'stroke-dasharray="6 4"')
    words = f"target {percent(target)}"
    return [titled(words, rule), text(words, at(1, _LEFT, _RIGHT), _TOP - 10, "end", RED, bold=True)]


def _labels(strengths: Sequence[str], top: float) -> tuple[list[str], float]:
    """The strengths below the axis, and the end of the picture; numbers and a list if the names have no room."""
    count = len(strengths)
    each = NARROWEST * (_RIGHT - _LEFT) / max(1, count)
    fits = max(map(wide, strengths)) < each - 6
    parts = []
    for number, name in enumerate(strengths):
        side: Side = "middle"
        parts.append(titled(name, text(name if fits else str(number + 1), _x(number, count), top + 18, side, INK)))
    if fits:
        return parts, top + 28
    for number, name in enumerate(unique_labels(strengths, 44)):
        parts.append(text(f"{number + 1}  {name}", "0%", top + 42 + 17 * number, fill=MUTED))
    return parts, top + 42 + 17 * count


def _described(result: SurfaceResult, name: str, first: float | None, last: float | None, met: int | None) -> str:
    rows, k = result.settings, result.suppress_below
    weak, strong = rows[0], rows[-1]
    words = (
        f"{name.capitalize()} and utility at {counted(len(rows), 'setting')}: from {in_words(first, k=k)} and "
        f"{score(weak.utility.mean)} at {printable(str(weak.strength))} to {in_words(last, k=k)} and "
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
    return at(_share(number, count))


def _y(value: float, end: float, top: float) -> float:
    return round(top + _PANEL * (1 - min(1.0, max(0.0, value / end))), 2)
