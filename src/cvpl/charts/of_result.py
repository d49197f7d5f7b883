"""The charts of a result by name, each as a drawing that displays itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_type_hints

from cvpl.charts.drawing import Drawing, drawing
from cvpl.errors import UsageError
from cvpl.result import BenchmarkResult
from cvpl.wording import unknown_names

_OF_A_GROUP = ("release_risks", "release_utilities")
_FIRST = ("compared_rulers", "risk_and_utility")
"""The charts that come first for their kind of result."""


def chart_names(result: object) -> list[str]:
    """The names of the charts that this kind of result has, the main one first."""
    if isinstance(result, BenchmarkResult):
        return list(_OF_A_GROUP)
    names = [name for name, draw in _functions().items() if _argument_type(draw) is type(result)]
    return sorted(names, key=lambda name: name not in _FIRST)


def chart_of_result(result: object, name: str | None = None, group: str | None = None) -> Drawing | None:
    """The named chart of a result, or its main one; None if there is nothing to draw.

    `group` is a data set of a benchmark; without it, the first. Raises UsageError for a name that it does not have.
    """
    names = chart_names(result)
    if name is not None and name not in names:
        raise UsageError(unknown_names("chart", [name], names))
    draw = _functions()[name or names[0]]
    if not isinstance(result, BenchmarkResult):
        found = draw(result)
    else:
        groups = [item.name for item in result.groups]
        if group is not None and group not in groups:
            raise UsageError(unknown_names("data set", [group], groups))
        chosen = group or groups[0]
        found = draw(result.of(chosen), chosen)
    return None if found is None else drawing(found)


def _functions() -> dict[str, Callable[..., Any]]:
    from cvpl import charts  # noqa: PLC0415 - loads all charts, which a name that is refused does not need

    return {name: found for name in charts.__all__ if callable(found := getattr(charts, name)) and name[0].islower()}


def _argument_type(draw: Callable[..., Any]) -> object:
    """The type of the first argument."""
    hints = get_type_hints(draw)
    return next(iter(hints.values()), None)
