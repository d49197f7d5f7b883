"""Charts of a result, for notebooks, reports and files.

Each function takes a result and returns an Altair chart, or None if there is nothing to draw. A notebook displays the
chart; `chart.save("risk.png")` or `.svg` writes it to a file; `numbers(chart)` returns its table and alternative text.
"""

from cvpl.charts.answer import risk_curve, scale
from cvpl.charts.attackers import attackers
from cvpl.charts.benchmark import release_risks, release_utilities
from cvpl.charts.columns import contributions
from cvpl.charts.comparison import contributions as compared_contributions
from cvpl.charts.comparison import frontier
from cvpl.charts.funnel import funnel
from cvpl.charts.histograms import block_sizes, evidence, similarities
from cvpl.charts.people import at_risk, rarity
from cvpl.charts.roc import roc
from cvpl.charts.style import Chart, Numbers, numbers, png, svg
from cvpl.charts.surface import heat_map, risk_and_utility
from cvpl.charts.trial import exposure, round_curves, round_powers

__all__ = [
    "Chart",
    "Numbers",
    "at_risk",
    "attackers",
    "block_sizes",
    "compared_contributions",
    "contributions",
    "evidence",
    "exposure",
    "frontier",
    "funnel",
    "heat_map",
    "numbers",
    "png",
    "rarity",
    "release_risks",
    "release_utilities",
    "risk_and_utility",
    "risk_curve",
    "roc",
    "round_curves",
    "round_powers",
    "scale",
    "similarities",
    "svg",
]
