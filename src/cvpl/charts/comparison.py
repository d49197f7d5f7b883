"""Charts of the releases of a comparison or a benchmark: a ruler for each, the risk-utility map, and the columns."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.answers.column_effects import compared_drops
from cvpl.answers.recommendation import limit_shown
from cvpl.answers.release_figure import benchmark_figures, compared_figures
from cvpl.charts.column_heat_map import column_heat_map
from cvpl.charts.drawing import Drawing
from cvpl.charts.release_rulers import release_rulers
from cvpl.charts.risk_utility_map import risk_utility_map
from cvpl.result import BenchmarkRow, ComparisonResult
from cvpl.wording import printable


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
