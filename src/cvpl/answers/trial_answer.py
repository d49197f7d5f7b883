"""The answer of a trial in a few sentences, for every output."""

from __future__ import annotations

from cvpl.result.mechanisms import ExposedShare, TrialBudget, TrialResult
from cvpl.wording import count_in, counted, printable, share_in

_NAMES = {"command": "the command", "function": "the function", "built_in": "the mechanism"}
HALF = "a release that this mechanism makes from half of these people"


def answer(result: TrialResult) -> str:
    """The risk of the mechanism's releases in one sentence and, if a budget was audited, another on it."""
    parts = [_risk(result)]
    if result.budget is not None:
        parts.append(budget_sentence(result.budget))
    return " ".join(parts)


def _risk(result: TrialResult) -> str:
    risk, blind = result.risk, result.blind
    if risk is None:
        return "The mechanism cannot be assessed: no attacker can distinguish people in its releases."
    if risk.low > 0:
        people = count_in(risk.estimate, risk.low, None if blind is not None else risk.high)
        if blind is None:
            return f"{people} can be linked because of {HALF}{_declared(result)}."
        return f"At least {people} can be linked because of {HALF}, and perhaps more: {printable(blind)}."
    if blind is not None:
        return f"The risk of {HALF} cannot be told: {printable(blind)}."
    return f"The risk of {HALF} cannot be told from 0 (at most {share_in(max(0.0, risk.high))}){_declared(result)}."


def _declared(result: TrialResult) -> str:
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


def setting(result: TrialResult) -> str:
    """What was run, how often, and by whom it was attacked."""
    rounds, finished = len(result.rounds), len(result.finished)
    done = f"{finished} of {rounds} rounds" if finished < rounds else counted(rounds, "round")
    who = counted(result.people, "person", "people") if result.unit == "row" else counted(result.people, "unit")
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
