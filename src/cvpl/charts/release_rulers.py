"""One ruler for each release on one axis: the figure with its interval, and the limit of a policy."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.answers.release_figure import IN_SENTENCES, NAMES, ReleaseFigure, limit_in_words
from cvpl.charts.drawing import Drawing
from cvpl.charts.fluid import at, finished, line, nice_end, placed, short_labels, text, tick_label, titled
from cvpl.charts.style import BLUE, FAINT, INK, MUTED, PALE, RED
from cvpl.wording import counted, printable

_ROW, _BAR = 44, 28
"""The height of a release, and of its bar below its top, in pixels."""
_TOP, _BOTTOM = 22, 24
_LEFT, _RIGHT = 0.02, 0.98
_LONGEST = 23
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
    labels = short_labels([printable(figure.name) for figure in figures], _LONGEST)
    height = _TOP + _ROW * len(figures) + _BOTTOM
    parts = [] if limit is None else [text(f"limit {limit_in_words(limit)}", "100%", 12, "end", RED, bold=True)]
    for number, (label, figure) in enumerate(zip(labels, figures, strict=True)):
        parts += _row(label, figure, _TOP + _ROW * number, end, limit)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(tick_label(_tick(share * end), share, at(share, _LEFT, _RIGHT), height - 6))
    kinds = list(dict.fromkeys(figure.kind for figure in known if figure.kind is not None))
    what = " or ".join(NAMES[kind] for kind in kinds)
    parts.insert(0, text(f"{what[0].upper()}{what[1:]}, with its 95% interval", "0%", 12, fill=MUTED))
    first, last = known[0], known[-1]
    names = " or ".join(IN_SENTENCES[kind] for kind in kinds)
    description = (
        f"{names[0].upper()}{names[1:]}, in {counted(len(known), 'release')}, on an axis from 0% to {_tick(end)}: "
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
    return finished(title, description, parts, height, ("release", "figure", "value", "95% interval"), rows)


def _row(label: str, figure: ReleaseFigure, top: float, end: float, limit: float | None) -> list[str]:
    axis = top + _BAR
    parts = [
        text(label if figure.ranked or figure.estimate is None else f"{label} *", "0%", top + 14, bold=True),
        text(figure.value_and_interval, "100%", top + 14, "end", INK if figure.estimate is not None else MUTED),
    ]
    if figure.estimate is None or figure.kind is None:
        dashed = line(at(0, _LEFT, _RIGHT), axis, at(1, _LEFT, _RIGHT), axis, FAINT, 5, 'stroke-dasharray="3 5"')
        return [*parts, titled(f"{printable(figure.name)}: {figure.value}", dashed)]
    parts.append(line(at(0, _LEFT, _RIGHT), axis, at(1, _LEFT, _RIGHT), axis, FAINT, 5))
    if limit is not None:
        parts.append(line(at(0, _LEFT, _RIGHT), axis, _x(limit, end), axis, PALE, 5))
        parts.append(line(_x(limit, end), axis - 9, _x(limit, end), axis + 9, RED, 2))
    marks = []
    if figure.low is not None and figure.high is not None:
        marks.append(line(_x(figure.low, end), axis, _x(figure.high, end), axis, BLUE, 5))
    marks.append(placed(_x(figure.estimate, end), axis, _SHAPES[figure.kind]))
    return [*parts, titled(f"{printable(figure.name)}: {figure.value_and_interval}", *marks)]


def _largest(figure: ReleaseFigure) -> float:
    return max(figure.estimate or 0.0, figure.high or 0.0)


def _x(value: float, end: float) -> str:
    return at(min(1.0, max(0.0, value / end)), _LEFT, _RIGHT)


def _tick(value: float) -> str:
    return f"{100 * value:.4g}%"
