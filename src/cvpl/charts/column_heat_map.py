"""The heat map of columns by release: how far the figure falls without the column, in points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cvpl.answers.column_effects import ColumnDrop, ComparedDrops
from cvpl.charts.drawing import Drawing
from cvpl.charts.fluid import at, box, finished, text, titled
from cvpl.charts.style import INK, MUTED, PAPER, SHADES, unique_labels
from cvpl.wording import UNKNOWN, counted, points, printable

_STEPS = (0.01, 0.03, 0.10, 0.25, 0.50)
"""Drops at which the shade changes."""
_INKS = (INK, INK, INK, "#000000", PAPER, PAPER)
"""The colour of the text on each shade, readable on a light and on a dark page."""
_MOST_COLUMNS = 10
_ABREAST = 5
"""Releases side by side; more are in further panels below."""
_ROW = 24
_LEFT = 0.36
_LONGEST = 15
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
    labels = unique_labels([printable(name) for name in drawn], _LONGEST)
    short = all(len(printable(name)) <= _NAMES_IN_HEADS for name in releases)
    parts = [text(f"change of {figure}, in points", "0%", 12, fill=MUTED)]
    top = 22.0
    for first in range(0, len(releases), _ABREAST):
        part = range(first, min(first + _ABREAST, len(releases)))
        heads = [printable(releases[number]) if short else str(number + 1) for number in part]
        parts += _panel(
            heads, [releases[number] for number in part], [drops[number] for number in part], drawn, labels, top
        )
        top += _ROW * (len(drawn) + 1) + 10
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
        f"Change of {figure} without a column, in points, for {counted(len(drawn), 'column')} in "
        f"{counted(len(releases), 'release')}; the darker, the more a column gives people away. Largest: "
        f"{printable(most)}, {points(-largest)} points in {printable(where)}. The lightest shade is a change below 1 "
        "point or within error."
    )
    rows = [(printable(name), *(_cell(those.get(name)) for those in drops)) for name in columns]
    return finished(
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
    each = (1 - _LEFT) / _ABREAST
    parts = []
    for number, (head, name) in enumerate(zip(heads, names, strict=True)):
        middle = at(_LEFT + each * (number + 0.5))
        parts.append(titled(printable(name), text(head, middle, top + 15, "middle", MUTED, bold=True)))
    for line, (column, label) in enumerate(zip(columns, labels, strict=True), start=1):
        y = top + _ROW * line
        parts.append(text(label, "0%", y + 16))
        for number, found in enumerate(drops):
            drop = found.get(column)
            level = 0 if drop is None or drop.within_error else sum(drop.drop > step for step in _STEPS)
            words = _cell(drop)
            shade = box(at(_LEFT + each * number), y, f"{100 * each - 0.6:.2f}%", _ROW - 2, SHADES[level], 'rx="2"')
            inside = text(words, at(_LEFT + each * (number + 0.5) - 0.003), y + 15, "middle", _INKS[level])
            parts.append(titled(f"{printable(names[number])}, {printable(column)}: {words} points", shade, inside))
    return parts


def _cell(drop: ColumnDrop | None) -> str:
    return UNKNOWN if drop is None else points(-drop.drop)
