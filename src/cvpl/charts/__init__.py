"""Charts of a result, for notebooks, reports and files.

Each function takes a result and returns an Altair chart or a `Drawing`, or None if there is nothing to draw. A notebook
displays both; `chart.save("risk.png")` or `.svg` writes it to a file; `numbers(chart)` returns its table and its
alternative text. `drawing(chart)` makes a `Drawing` of any chart, which displays itself without script and network.
"""

from cvpl.charts.attackers import attackers, block_sizes, evidence, funnel, roc, similarities
from cvpl.charts.comparison import compared_rulers, frontier, release_risks, release_utilities
from cvpl.charts.comparison import contributions as compared_contributions
from cvpl.charts.drawing import Chart, ChartText, Drawing, drawing, numbers, png, svg
from cvpl.charts.exposure import at_risk, contributions, rarity
from cvpl.charts.risk import risk_curve, scale
from cvpl.charts.strengths import exposure, heat_map, risk_and_utility, round_curves, round_powers

__all__ = [
    "Chart",
    "ChartText",
    "Drawing",
    "at_risk",
    "attackers",
    "block_sizes",
    "compared_contributions",
    "compared_rulers",
    "contributions",
    "drawing",
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
