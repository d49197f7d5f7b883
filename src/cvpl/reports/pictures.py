"""The pictures of a sheet as filters of a template: the grid of people, the ruler, and the signs of their legends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from cvpl.answers.headline import Headline
from cvpl.answers.hundred_people import Square
from cvpl.answers.ruler import MarkKind, Ruler
from cvpl.reports.sections.sheet.sheet import Sheet


def _people_grid(found: Headline, sheet: Sheet) -> Markup:
    from cvpl.charts.people_grid import people_grid_svg  # noqa: PLC0415 - slow to import

    text = f"A hundred people. {'; '.join(text for _, text in sheet.legend)}."
    return Markup(people_grid_svg(found, text))  # noqa: S704 - it escapes its text


def _square(square: Square) -> Markup:
    from cvpl.charts.people_grid import square_svg  # noqa: PLC0415 - slow to import

    return Markup(square_svg(square))  # noqa: S704 - ours


def _ruler(ruler: Ruler) -> Markup:
    from cvpl.charts.ruler import ruler_svg  # noqa: PLC0415 - slow to import

    return Markup(ruler_svg(ruler))  # noqa: S704 - it escapes its text


def _mark(kind: MarkKind) -> Markup:
    from cvpl.charts.ruler import mark_svg  # noqa: PLC0415 - slow to import

    return Markup(mark_svg(kind))  # noqa: S704 - ours


PICTURES: Mapping[str, Callable[..., Markup]] = {
    "people_grid": _people_grid,
    "square": _square,
    "ruler": _ruler,
    "mark": _mark,
}
"""The pictures by the names of their filters."""
