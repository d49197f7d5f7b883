"""Next steps after a trial, the most urgent first."""

from __future__ import annotations

from cvpl.result import TrialResult
from cvpl.wording import percent, typed

_FEW_ROUNDS = 8
_WIDE = 0.2
"""An interval of the risk that is wider than this says little."""
_UNEVEN = 0.2
"""A group that is linked this much more often than everybody needs more protection."""


def trial_steps(result: TrialResult) -> list[str]:
    """At least one sentence."""
    risk = result.risk
    if risk is None:
        return [
            "Do not base a decision on this trial: no attacker can distinguish people in the releases. Compare only "
            f"columns that they have, and let attackers coarsen their data like them ({typed('alignment: release')})."
        ]
    steps = [*_budget(result), *_failures(result)]
    if result.preflight:
        steps.append(
            "Do not take the risk for low: attackers cannot see through these releases, and whoever can may find more "
            "people. Let the mechanism keep the names, the units and the labels of columns, or leave such columns out."
        )
    if risk.low > 0:
        steps.append(
            "Strengthen the mechanism, or release fewer columns, and run the trial again with the same seed. "
            f"{typed('cvpl audit')} of one release shows which columns give people away."
        )
    if risk.high - risk.low > _WIDE:
        more = "more rounds" if len(result.finished) < _FEW_ROUNDS else "more people or more rounds"
        steps.append(f"The interval is wide: {more} narrow it.")
    steps += _people(result)
    steps.append(
        "These figures are for releases made from half of the people. Audit the release that you will publish as well "
        f"({typed('cvpl audit')}): it is one more draw, and made from all of them."
    )
    if result.budget is None:
        steps.append(
            f"If the mechanism states a privacy budget, hold it against the rounds: {typed('--epsilon NUMBER')}."
        )
    return steps


def _budget(result: TrialResult) -> list[str]:
    budget = result.budget
    if budget is None or budget.alarm is None:
        return []
    if budget.alarm:
        return [
            "Do not rely on the stated budget: look for a bug in the mechanism, for preprocessing on the data itself "
            "(bounds, categories, scaling), or for a budget that counts another unit than a row."
        ]
    return ["A bound below the stated budget proves nothing: rely on the mechanism's proof, and review its code."]


def _failures(result: TrialResult) -> list[str]:
    if len(result.finished) == len(result.rounds):
        return []
    return ["Find out why rounds failed before you use the figures: the mechanism may fail for certain people."]


def _people(result: TrialResult) -> list[str]:
    k, steps = result.suppress_below, []
    risk, exposed, planted = result.risk, result.exposure, result.planted
    if risk is not None and exposed is not None and (exposed.top_inside_low or 0.0) > risk.power + _UNEVEN:
        steps.append(
            f"Protect some people more than others: the most exposed tenth are linked in "
            f"{percent(exposed.top_inside, k=k)} of the rounds, everybody in {percent(risk.power, k=k)}."
        )
    if planted is not None and (planted.low or 0.0) > planted.everybody + _UNEVEN:
        steps.append(
            "Treat rare and extreme values: people with unusual values are linked far more often than others. Suppress "
            "or coarsen them, or bound numbers."
        )
    return steps
