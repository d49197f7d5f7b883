"""The three most effective changes to a release, each with what it gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cvpl.answers.column_effects import MATTERS, ColumnEffects, EffectFigure, column_effects
from cvpl.answers.headline import comparison_group, headline_risk
from cvpl.estimates import FALSE_RATE
from cvpl.reports.sections.next_steps import column_steps, evaluation_keys, next_steps
from cvpl.result import AuditResult
from cvpl.wording import named, percent, points, printable

MOST = 3
_HEADS: dict[EffectFigure, str] = {
    "risk": "risk \u2192 risk if removed",
    "top1_hit_rate": "best candidate right \u2192 if removed",
    "power": "linked \u2192 if removed",
}


@dataclass(frozen=True)
class Action:
    """A column, the figure with and without it, and the gain in points with its interval."""

    column: str
    before: str
    after: str
    gain: str
    interval: str


@dataclass(frozen=True)
class Actions:
    """What to remove in any case, the changes that were measured, notes on them, and sentences if there are none.

    `head` names the figure with and without a column.
    """

    first: tuple[str, ...]
    rows: tuple[Action, ...]
    head: str
    notes: tuple[str, ...]
    sentences: tuple[str, ...]


def actions(result: AuditResult) -> Actions:
    """The columns without which the figure that counts falls most, for certain and by at least 2 points.

    The figure without a column is before - drop, both measured on this release. Without such a column there are
    sentences instead: every effect lies within error, nothing needs to change, or the effects were not measured. A key
    that was only for the evaluation is named before all of them.
    """
    effects, k, first = column_effects(result), result.suppress_below, tuple(evaluation_keys(result))
    assessable = result.validity.assessable and result.verdict.kind != "not_assessable"
    telling = effects.telling if assessable and result.verdict.kind != "indistinguishable_from_zero" else []
    if not telling:
        found = column_steps(result) if assessable else next_steps(result)
        return Actions(first, (), "", (), tuple(found[:1]) or (nothing_gained(effects),))
    shown = telling[:MOST]
    rows = tuple(
        Action(
            named(column),
            "" if effects.before is None else percent(effects.before, k=k),
            "" if effects.before is None else percent(effects.after(column)),
            points(-effects.drops[column].drop),
            _ends(effects, column),
        )
        for column in shown
    )
    return Actions(first, rows, _HEADS[effects.figure], (*_limit(result, effects, shown), _method(result, effects)), ())


def nothing_gained(effects: ColumnEffects) -> str:
    """The sentence where no single column gains enough for certain."""
    if not effects.drops:
        return "How much each column gives away was not measured."
    if effects.none_certain:
        return f"Whichever single column is left out, the change of {effects.name} lies within error."
    least = f"{100 * MATTERS:.0f} points"
    return f"Whichever single column is left out, {effects.name} falls by less than {least}, or within error."


def _ends(effects: ColumnEffects, column: str) -> str:
    drop = effects.drops[column]
    return f"{points(-(drop.high or 0.0))} to {points(-(drop.low or 0.0))}"


def _limit(result: AuditResult, effects: ColumnEffects, columns: Sequence[str]) -> list[str]:
    """Whether the estimate without a column is within the limit of a policy on the same figure."""
    found = [policy for policy in result.policies if policy.figure == effects.figure and policy.max is not None]
    if not found or effects.before is None:
        return []
    strictest = min(found, key=lambda policy: policy.max or 0.0)
    limit = strictest.max or 0.0
    sufficient = [column for column in columns if (effects.after(column) or 0.0) <= limit]
    if not sufficient:
        return [f"None of these alone brings the estimate within the policy's limit of {percent(limit)}."]
    names = ", ".join(f"'{printable(column)}'" for column in sufficient)
    upper = " The upper end decides, and needs a new audit." if strictest.bound == "high" else ""
    return [f"Without {names} the estimate is within the policy's limit of {percent(limit)}.{upper}"]


def _method(result: AuditResult, effects: ColumnEffects) -> str:
    again = "measured again on this release without the column"
    advice = "Coarsening gains less than removing, and gains do not add up: audit again."
    if effects.figure == "power":
        return f"Originals linked when 5% of {comparison_group(result)} are linked, {again}. {advice}"
    if effects.figure == "top1_hit_rate":
        return f"How often the best candidate is right, {again}. {advice}"
    risk = headline_risk(result)
    same = risk is not None and risk.attacker == result.attacker and risk.false_rate == FALSE_RATE
    whose = "" if same else f" of attacker '{printable(result.attacker)}' where 5% of the control is linked"
    return f"Risk{whose}, {again}. {advice}"
