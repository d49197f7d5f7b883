"""Charts of a result, for notebooks, reports and files.

Each function takes a result and returns an Altair chart or a `Drawing`, or None if there is nothing to draw. A notebook
displays both; `chart.save("risk.png")` or `.svg` writes it to a file; `numbers(chart)` returns its table and its
alternative text. `drawing(chart)` makes a `Drawing` of any chart, which displays itself without script and network.
"""

from cvpl.charts.answer import risk_curve, scale
from cvpl.charts.attackers import attackers
from cvpl.charts.columns import contributions
from cvpl.charts.comparison import compared_rulers, frontier, release_risks, release_utilities
from cvpl.charts.comparison import contributions as compared_contributions
from cvpl.charts.drawing import Drawing, drawing, numbers, png, svg
from cvpl.charts.funnel import funnel
from cvpl.charts.histograms import block_sizes, evidence, similarities
from cvpl.charts.people import at_risk, rarity
from cvpl.charts.roc import roc
from cvpl.charts.strength_lines import risk_and_utility
from cvpl.charts.style import Chart, ChartText
from cvpl.charts.surface import heat_map
from cvpl.charts.trial import exposure, round_curves, round_powers

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
