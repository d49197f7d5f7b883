"""The releases of one data set of a benchmark: a ruler for each, and the risk-utility map."""

from __future__ import annotations

from collections.abc import Sequence

from cvpl.answers.release_figure import benchmark_figures
from cvpl.charts.drawing import Drawing
from cvpl.charts.release_rulers import release_rulers
from cvpl.charts.risk_utility_map import risk_utility_map
from cvpl.result import BenchmarkRow
from cvpl.wording import printable


def release_risks(rows: Sequence[BenchmarkRow], name: str) -> Drawing | None:
    """The risk of every release with its interval, in the order of the rows.

    `name` is the name of the data set. Without a control the figure is how often the best candidate is right. None if
    no release has one of these figures.
    """
    return release_rulers(benchmark_figures(rows), title=f"Risk of each release of {printable(name)}")


def release_utilities(rows: Sequence[BenchmarkRow], name: str) -> Drawing | None:
    """Utility against risk, with a mark for the basis of the risk; None if no release has both."""
    return risk_utility_map(benchmark_figures(rows), title=f"Utility against risk in {printable(name)}")
