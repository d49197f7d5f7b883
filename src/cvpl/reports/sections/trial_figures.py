"""The main figures of a trial, as cards."""

from __future__ import annotations

from cvpl.answers.trial_answer import stated_budget
from cvpl.reports.sections.facts import Fact
from cvpl.reports.sections.figures import figures_table
from cvpl.reports.sections.section import EVERYWHERE, ReportSection
from cvpl.result import TrialResult
from cvpl.wording import UNKNOWN, percent, points, span


def trial_figures(result: TrialResult) -> ReportSection:
    """The risk, the spread, the most exposed, the planted, and the bound on epsilon."""
    k, risk, found = result.suppress_below, result.risk, []
    if risk is not None:
        at = f"{risk.false_rate:.0%}"
        found.append(
            Fact(
                "risk",
                percent(risk.estimate, k=k),
                span(risk.low, risk.high),
                f"linked because of the release, beyond the {at} who would be linked anyway",
            )
        )
        power = result.power_at(risk.false_rate)
        ends = "" if power is None else span(power.low, power.high)
        found.append(
            Fact(f"power at {at}", percent(risk.power, k=k), ends, f"linked when {at} of those who are out are linked")
        )
    if result.spread is not None:
        found.append(
            Fact(
                "spread",
                f"{points(result.spread.deviation).removeprefix('+')} points",
                "",
                "the standard deviation of the power from draw to draw; the rounds go from "
                f"{percent(result.spread.smallest, k=k)} to {percent(result.spread.largest, k=k)}",
            )
        )
    exposed = result.exposure
    if exposed is not None and exposed.top_inside is not None:
        found.append(
            Fact(
                "most exposed tenth",
                percent(exposed.top_inside, k=k),
                span(exposed.top_inside_low, exposed.top_inside_high),
                f"how often they are linked when in; when out {percent(exposed.top_outside, k=k)}",
            )
        )
    if result.planted is not None:
        made = result.planted
        found.append(
            Fact(
                "planted people",
                percent(made.power),
                span(made.low, made.high),
                f"the power over {made.planted} made-up people with unusual values; everybody: "
                f"{percent(made.everybody, k=k)}",
            )
        )
    if result.budget is not None:
        bound = result.budget.lower_bound
        stated = stated_budget(result.budget) or "none was stated"
        value = UNKNOWN if bound is None else f"at least {bound:.2f}"
        what = f"with {result.budget.confidence:.0%} confidence; {stated}"
        found.append(Fact("epsilon", value, "", what))
    return ReportSection(
        "figures", "The figures", tables=(figures_table("Figures", found, "cards"),), outputs=EVERYWHERE
    )
