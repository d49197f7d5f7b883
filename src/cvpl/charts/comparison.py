"""Charts of a comparison: a ruler for each release, the risk-utility map, and the columns in each release."""

from __future__ import annotations

from cvpl.answers.column_drops import compared_drops
from cvpl.answers.recommendation import limit_shown
from cvpl.answers.release_figure import compared_figures
from cvpl.charts.column_heat_map import column_heat_map
from cvpl.charts.drawing import Drawing
from cvpl.charts.release_rulers import release_rulers
from cvpl.charts.risk_utility_map import risk_utility_map
from cvpl.result import ComparisonResult


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
