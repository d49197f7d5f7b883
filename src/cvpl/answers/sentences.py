"""The answers of a surface and of a trial in a few sentences, for every output."""

from __future__ import annotations

import re
from itertools import pairwise

from cvpl.result.mechanisms import (
    ExposedShare,
    Strength,
    SurfaceResult,
    SurfaceSetting,
    SurfaceTarget,
    TrialBudget,
    TrialResult,
)
from cvpl.result.setting import Warning_
from cvpl.wording import UNKNOWN, count_in, count_phrase, percent, points, printable, share_in, span

_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
FIGURES = {"risk": "risk", "attributable_rate": "attributable rate", "linkage_rate": "linkage rate"}
"""The names of the figures that a row can show."""
_CHANCE = "but not at a stronger setting, so this may be chance."


def surface_answer(result: SurfaceResult) -> str:
    """The outcome of the sweep: the weakest setting that meets the target or, without one, how the risk falls."""
    return _course(result) if result.target is None else _target_sentence(result, result.target)


def reservations(result: SurfaceResult) -> list[str]:
    """What has to be said beside the answer: settings that may be below by chance, and where the risk rises."""
    parts, target = [], result.target
    if target is not None and target.weakest is not None:
        if target.weakest.strength != result.settings[-1].strength:
            parts.append(f"All stronger settings that were tried also stay at or below {percent(target.rate)}.")
        if len(target.weakest.held_against) > 1:
            among, name = len(target.weakest.held_against), printable(target.weakest.attacker)
            parts.append(f"It was audited with all {among} attackers; '{name}' is the strongest there.")
    if target is not None and target.isolated:
        also = "also " if target.weakest is not None else ""
        parts.append(f"The risk is {also}below at {_printable_list(target.isolated)}, {_CHANCE}")
    if result.rises_at:
        parts.append(_monotonicity_sentence(result))
    return parts


def surface_setting(result: SurfaceResult) -> str:
    """What was swept, with which attacker, and how it was chosen."""
    names = {"original": "originals", "control": "in the control"}
    sizes = ", ".join(f"{table.rows:,} {names.get(role, role)}" for role, table in result.inputs.items())
    what = "the blocking" if result.sweep == "blocking" else f"mechanism '{printable(result.mechanism)}'"
    text = f"Sweep of {what} with attacker '{printable(result.attacker)}': {sizes}."
    if result.picked is not None:
        where = "the release" if result.sweep == "blocking" else "the weakest release"
        text += (
            f" Of {result.picked.among} attackers, it has the largest risk on {where}; intervals are corrected for "
            "this choice."
        )
    return text


def gathered_warnings(result: SurfaceResult) -> list[tuple[Warning_, str]]:
    """Each warning once, at the weakest strength that raised it, with the other strengths that raised it."""
    found: dict[tuple[str, str], tuple[Warning_, list[Strength]]] = {}
    for row in result.settings:
        for warning in row.warnings:
            key = warning.rule, _NUMBERS.sub("", warning.message)
            found.setdefault(key, (warning, []))[1].append(row.strength)
    gathered = [(warning, "") for warning in result.warnings]
    for warning, (first, *others) in found.values():
        where = f" (At {printable_strength(first)}{f'; also at {_printable_list(others)}' if others else ''}.)"
        gathered.append((warning, "" if len(others) + 1 == len(result.settings) and not _figures(warning) else where))
    return gathered


def figure_shown(result: SurfaceResult) -> str:
    """The name of the figure shown for each setting: the risk, or a rate if the risk is unknown."""
    if any(row.risk is not None for row in result.settings):
        return FIGURES["risk"]
    return " or ".join(words for name, words in FIGURES.items() if any(row.judged == name for row in result.settings))


def figure_of(result: SurfaceResult, row: SurfaceSetting) -> tuple[float | None, float | None, float | None]:
    """The figure of one setting with its interval; None if other settings have a risk and this one has none."""
    if row.risk is None and figure_shown(result) == FIGURES["risk"]:
        return None, None, None
    return row.shown.estimate, row.shown.low, row.shown.high


def risk_read(result: SurfaceResult) -> str:
    """The meaning of the risk column, or of the figure shown if no risk is known."""
    risks = [row.risk for row in result.settings if row.risk is not None]
    if not risks:
        return f"Without a control or true matches the risk is unknown; the {figure_shown(result)} is shown instead."
    rate = risks[0].false_rate
    if rate is None:
        return "Risk: how often the best candidate is the right person, beyond a blind guess; there is no control."
    return f"Risk: the share of people linked because of the release, beyond chance ({rate:.0%} of the control)."


def printable_strength(strength: Strength) -> str:
    """A strength in printable form."""
    return printable(str(strength))


def score(value: float | None) -> str:
    """A utility from 0 to 1; "n/a" if it is unknown."""
    return UNKNOWN if value is None else f"{value:.2f}"


def _figures(warning: Warning_) -> bool:
    return _NUMBERS.search(warning.message) is not None


def _course(result: SurfaceResult) -> str:
    """The risk at both ends of the sweep, if no target is set."""
    first, last = result.settings[0], result.settings[-1]
    if result.sweep == "blocking":
        risks = [row.shown.estimate for row in result.settings if row.shown.estimate is not None]
        ends = span(min(risks, default=None), max(risks, default=None)) or "not known"
        return f"Over {count_phrase(len(result.settings), 'blocking')} the {FIGURES[first.judged]} is {ends}."
    text = f"At {printable_strength(first.strength)}, the weakest, the {_setting_risk(first)}"
    return (
        f"{text}; at {printable_strength(last.strength)}, the strongest, the {_setting_risk(last)}."
        if first is not last
        else f"{text}."
    )


def _target_sentence(result: SurfaceResult, target: SurfaceTarget) -> str:
    limit = percent(target.rate)
    if result.sweep == "blocking":
        outside = [row for row in result.settings if not row.safe]
        if not outside:
            whole = len(result.settings)
            every = f"all {whole} blockings" if whole > 1 else "the one blocking"
            return f"Under {every} the risk stays at or below {limit}."
        return (
            f"Under {len(outside)} of {count_phrase(len(result.settings), 'blocking')} the risk is above {limit}, "
            "or not "
            "reliably below it. The attacker chooses the blocking, so the highest risk counts."
        )
    weakest = target.weakest
    if weakest is None:
        last = result.settings[-1]
        text = f"No setting that was tried reliably stays at or below {limit}."
        return f"{text} At {printable_strength(last.strength)}, the strongest, the {_setting_risk(last, target.rate)}."
    ends = span(weakest.low, weakest.high)
    return (
        f"The weakest setting that meets {limit} is {printable(result.mechanism)} at "
        f"{printable_strength(weakest.strength)}: the "
        f"{FIGURES[weakest.figure]} is {percent(weakest.estimate)} (95% interval {ends}), and the utility is "
        f"{score(weakest.utility.mean)} of 1."
    )


def _monotonicity_sentence(result: SurfaceResult) -> str:
    rows = [row for row in result.settings if row.shown.estimate is not None]
    steps = [(before, row) for before, row in pairwise(rows) if row.strength in result.rises_at]
    most = max((row.shown.estimate or 0.0) - (before.shown.estimate or 0.0) for before, row in steps)
    beyond = any(_exceeds(row.shown.low, before.shown.high) for before, row in steps)
    return (
        f"The {figure_shown(result)} does not always fall with strength: "
        f"it rises at {_printable_list(result.rises_at)}, by up to {points(most).lstrip('+')} points, "
        f"{'beyond error' if beyond else 'which may be sampling error'}."
    )


def _exceeds(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low > high


def _setting_risk(row: SurfaceSetting, target: float | None = None) -> str:
    """The figure of a setting, with a note if it is low but unreliable."""
    ends = span(row.shown.low, row.shown.high)
    text = f"{FIGURES[row.judged]} is {percent(row.shown.estimate)}" + (f" (95% interval {ends})" if ends else "")
    low = target is None or row.shown.estimate is None or row.shown.estimate <= target
    return text + (f", but {printable(row.doubts[0])}" if row.doubts and low else "")


def _printable_list(strengths: list[Strength]) -> str:
    return ", ".join(printable_strength(strength) for strength in strengths)


_NAMES = {"command": "the command", "function": "the function", "built_in": "the mechanism"}
HALF = "a release that this mechanism makes from half of these people"


def trial_answer(result: TrialResult) -> str:
    """The risk of the mechanism's releases in one sentence and, if a budget was audited, another on it."""
    parts = [_trial_risk(result)]
    if result.budget is not None:
        parts.append(budget_sentence(result.budget))
    return " ".join(parts)


def _trial_risk(result: TrialResult) -> str:
    risk, blind = result.risk, result.blind
    if risk is None:
        return "The mechanism cannot be assessed: no attacker can distinguish people in its releases."
    if risk.low > 0:
        people = count_in(risk.estimate, risk.low, None if blind is not None else risk.high)
        if blind is None:
            return f"{people} can be linked because of {HALF}{_declaration(result)}."
        return f"At least {people} can be linked because of {HALF}, and perhaps more: {printable(blind)}."
    if blind is not None:
        return f"The risk of {HALF} cannot be told: {printable(blind)}."
    return f"The risk of {HALF} cannot be told from 0 (at most {share_in(max(0.0, risk.high))}){_declaration(result)}."


def _declaration(result: TrialResult) -> str:
    """What was declared, and cannot be checked by a figure."""
    return "".join(f"; {printable(finding.message)}" for finding in result.preflight if not finding.closes_gate)


def budget_sentence(budget: TrialBudget) -> str:
    """The lower bound on epsilon, beside the stated budget if there is one."""
    if budget.lower_bound is None:
        return "There is no lower bound on epsilon: it needs every round."
    if budget.lower_bound > 0:
        shown = f"Its epsilon is at least {budget.lower_bound:.2f} ({budget.confidence:.0%} confidence)"
    else:
        shown = "The guesses who is in show no epsilon above 0"
    stated = stated_budget(budget)
    if stated is None:
        return f"{shown}."
    if budget.epsilon is not None and budget.lower_bound > budget.epsilon:
        return f"{shown}: {stated} is not kept."
    if budget.alarm:
        return f"{shown}. The power lies above what {stated} allows: the budget is not kept."
    return f"{shown}, which does not contradict {stated}."


def stated_budget(budget: TrialBudget) -> str | None:
    """The stated budget in words; None if none was stated."""
    if budget.noise is not None:
        return f"the stated noise multiplier of {budget.noise.multiplier:g}"
    if budget.epsilon is None:
        return None
    return f"the stated epsilon of {budget.epsilon:g}" + (f" (delta {budget.delta:g})" if budget.delta else "")


def trial_setting(result: TrialResult) -> str:
    """What was run, how often, and by whom it was attacked."""
    rounds, finished = len(result.rounds), len(result.finished)
    done = f"{finished} of {rounds} rounds" if finished < rounds else count_phrase(rounds, "round")
    who = (
        count_phrase(result.people, "person", "people") if result.unit == "row" else count_phrase(result.people, "unit")
    )
    text = f"{done} with {who}, of whom about half are in each time and the others are the control."
    if result.attacker is not None:
        text += f" The strongest attacker is '{printable(result.attacker)}'"
        among = 1 if result.picked is None else result.picked.among
        text += f" of {among}; intervals are corrected for this choice." if among > 1 else "."
    return text


def mechanism_name(result: TrialResult) -> str:
    """The mechanism in words: its command, or its name and strength."""
    strength = "" if result.mechanism.strength is None else f" at {result.mechanism.strength}"
    return f"{_NAMES[result.mechanism.kind]} '{printable(result.mechanism.name)}{printable(strength)}'"


def bin_words(share: ExposedShare) -> str:
    """A class of link rates in words: never, or in up to so many of a person's rounds."""
    if share.above is None:
        return "never"
    return "in more than 75%" if share.up_to == 1 else f"in up to {share.up_to:.0%}"
