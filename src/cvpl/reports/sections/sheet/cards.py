"""Three figures of the sheet, each with the value to compare it with."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.answers.headline import headline_risk
from cvpl.answers.ruler import scale_ends
from cvpl.result import AuditResult
from cvpl.result.figures import LOOK_ALIKES, stands_out, where
from cvpl.wording import percent, span

NOT_MEASURED = "not measured"
NOT_ASSESSABLE = "not assessable"
NO_REFERENCE = "Chance is 0%, everybody is 100%."
"""The reference of a risk without a limit or canaries: the ends of its axis."""


@dataclass(frozen=True)
class Card:
    """A figure: its name, value, interval (empty if there is none), meaning and reference value.

    `group` is the group that the figure belongs to, or the highest if none stands out; empty if it is everybody's.
    """

    name: str
    value: str
    interval: str
    meaning: str
    reference: str
    group: str = ""


def cards(result: AuditResult) -> tuple[Card, Card, Card]:
    """The risk, how often the best candidate is right, and the group that is linked most, if one stands out.

    Figures that were not measured say so: a missing card could be read as nothing found.
    """
    return _risk(result), _best(result), _group(result)


def _risk(result: AuditResult) -> Card:
    name, risk, k = "Risk", headline_risk(result), result.suppress_below
    meaning = "linked because of the release, beyond look-alikes"
    if result.verdict.kind == "not_assessable":
        return Card(name, NOT_ASSESSABLE, "", meaning, "")
    if risk is None:
        reason = "There is no control, so look-alikes cannot be told from links."
        if result.control is not None:
            reason = "The verdict says why."
        return Card(name, NOT_MEASURED, "", meaning, reason)
    least = "at least " if result.lower_bound else ""
    limits = [policy.max for policy in result.policies if policy.figure == "risk" and policy.max is not None]
    ends = scale_ends(result)
    reference = NO_REFERENCE
    if ends is not None and risk is result.risk:
        reference = f"A release with nobody in it: {percent(ends[0])}."
    if limits:
        reference = f"Policy limit: {percent(min(limits))}."
    if risk.false_rate is not None and risk is not result.risk:
        meaning += f", where {risk.false_rate:.0%} of the control is linked"
    return Card(name, f"{least}{percent(risk.estimate, k=k)}", span(risk.low, risk.high), meaning, reference)


def _best(result: AuditResult) -> Card:
    name, best, k = "Best candidate is right", result.best_candidate, result.suppress_below
    meaning = "of people in the release whose true match is known"
    if result.verdict.kind == "not_assessable":
        return Card(name, NOT_ASSESSABLE, "", meaning, "")
    if best is None:
        return Card(name, NOT_MEASURED, "", meaning, "The true matches are not known.")
    rows = result.inputs["protected"].rows
    least = "at least " if result.lower_bound else ""
    limits = [policy.max for policy in result.policies if policy.figure == "top1_hit_rate" and policy.max is not None]
    reference = f"Policy limit: {percent(min(limits))}." if limits else f"A blind guess: 1 in {max(1, rows):,}."
    return Card(name, f"{least}{percent(best.estimate, k=k)}", span(best.low, best.high), meaning, reference)


def _group(result: AuditResult) -> Card:
    name, found, k = "Most exposed group", result.at_risk, result.suppress_below
    meaning = "linked in this group, look-alikes included"
    if result.verdict.kind == "not_assessable":
        return Card(name, NOT_ASSESSABLE, "", meaning, "")
    if found is None:
        return Card(name, NOT_MEASURED, "", meaning, "It is not known who is linked.")
    if result.control is None:
        return Card(name, NOT_MEASURED, "", meaning, f"There is no control: {LOOK_ALIKES}.")
    average = f"Average over everybody, look-alikes included: {percent(found.average, k=k)}."
    most = found.maximum
    if most.estimate is None:
        return Card(name, "hidden", "", "every group is too small to publish", average)
    if not stands_out(found):
        highest = f"the highest: {span(most.low, most.high)}"
        return Card(name, "none stands out", "", f"{highest}, look-alikes included", average, highest)
    least = "at least " if most.at_least else ""
    value = f"{least}{percent(most.estimate, k=k)}"
    group = where(most)
    return Card(name, value, span(most.low, most.high), f"{group}; {meaning}", average, group)
