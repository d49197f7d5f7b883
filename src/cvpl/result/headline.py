"""The answer in a few sentences, for the terminal and for every report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cvpl.wording import percent, printable, span

if TYPE_CHECKING:
    from cvpl.result.attackers import AttackerRow
    from cvpl.result.audit import AuditResult


def answer(result: AuditResult) -> str:
    """The answer in one sentence, with what contradicts it."""
    if not result.validity.assessable:
        return f"This release is not assessable: {printable(result.validity.reasons[0])}."
    rate, attributable = result.linkage_rate, result.attributable_rate
    if rate.estimate is None:
        return "No rate can be read: no threshold is attainable, or nothing tells where to read the score."
    who = f"attacker '{printable(result.attacker)}'"
    if result.picked is not None:
        who = f"the strongest of {result.picked.among} attackers"
    if attributable is None or attributable.estimate is None:
        told = f"{percent(rate.estimate)} of the people find a candidate{_interval(rate)} under {who}"
        told += "; how many of them are look-alikes is not known"
    elif attributable.low is not None and attributable.low <= 0:
        told = (
            f"Nothing beyond look-alikes shows under {who}: {percent(attributable.estimate)}{_interval(attributable)}"
        )
    else:
        told = f"{percent(attributable.estimate)} of the people{_interval(attributable)} can be linked to this release "
        told += f"by {who}, beyond what look-alikes explain"
    rules = {warning.rule for warning in result.warnings}
    if attributable is not None and attributable.basis == "own_match_left_out" and result.truth is not None:
        told += "; but there is no control, and without one this figure is blind where records are alike: the best "
        told += f"candidate is the right person for {percent(result.truth.top1_hit_rate)}"
    elif result.truth is not None and {"top1_above_rate", "top1_above_attributable"} & rules:
        told += f"; the best candidate is the right person for {percent(result.truth.top1_hit_rate)}"
    elif "power_above_attributable" in rules:
        own = next((it.power for it in result.power or [] if it.false_rate == 0.05), None)
        told += f"; where 5% of strangers are linked, {percent(own)} of the people are"
    return ("At least " + told[0].lower() + told[1:] if result.lower_bound else told) + "."


def headline(result: AuditResult) -> str:
    """What the audit found, what speaks against reading it as it stands, and what it cannot say."""
    if not result.validity.assessable:
        return "Not assessable: " + "; ".join(printable(reason) for reason in result.validity.reasons) + "."
    rate = result.linkage_rate
    if rate.estimate is None:
        return "No linkage rate: no threshold is attainable, or nothing tells where to read the score."
    least = "At least " if result.lower_bound else ""
    text = f"{least}{percent(rate.estimate)} of the originals find a candidate {_where(result)}{_interval(rate)}."
    return " ".join([text, _beyond_look_alikes(result), *_objections(result)])


def _where(result: AuditResult) -> str:
    """At which threshold the rate is read, or at which false rate for a score without a scale of its own."""
    if result.threshold is not None:
        return f"at threshold {result.threshold:.4g}"
    if result.attributable_rate is not None and result.attributable_rate.basis == "own_match_left_out":
        return "where 5% would do so without their own record"
    return "where 5% of people who are in no release do"


def _interval(rate: object) -> str:
    ends = span(getattr(rate, "low", None), getattr(rate, "high", None))
    return f" (95% interval {ends})" if ends else ""


def _beyond_look_alikes(result: AuditResult) -> str:
    attributable = result.attributable_rate
    if attributable is None:
        return "How many would find one without being in the release is not known."
    share, ends = percent(attributable.estimate), _interval(attributable)
    if result.threshold is None:
        return f"That leaves {share}{ends} attributable to the release."
    if attributable.basis == "control":
        base = None if result.control is None else result.control.rate
        who = f"{percent(base)} of people who are in no release do so too"
    else:
        base = None if result.truth is None else result.truth.false_link_rate
        who = f"{percent(base)} would do so without their own record"
    if attributable.estimate is None:
        return f"{who}: nothing is left to attribute to the release."
    if attributable.estimate <= 0:
        return f"{who}, so nothing beyond look-alikes shows at this threshold: the attributable rate is {share}{ends}."
    return f"{who}, so {share}{ends} is attributable to the release."


def _objections(result: AuditResult) -> list[str]:
    """Findings that contradict the rate, told in one breath with it."""
    rules = {warning.rule for warning in result.warnings}
    found = []
    rate = result.attributable_rate
    if result.truth is not None and rate is not None and rate.basis == "own_match_left_out":
        hits = percent(result.truth.top1_hit_rate)
        found.append(
            "But there is no control, and where records are alike this figure is blind: the best candidate is the "
            f"right person for {hits} of those who have a match."
        )
    elif result.truth is not None and "top1_above_rate" in rules:
        hits = percent(result.truth.top1_hit_rate)
        found.append(
            f"But the best candidate is the right person for {hits} of those who have a match: "
            "the rate understates the risk."
        )
    if "power_above_attributable" in rules:
        own = next((it.power for it in result.power or [] if it.false_rate == 0.05), None)
        found.append(f"But {percent(own)} are linked where 5% of the others are: the threshold hides the risk.")
    if result.truth is not None and "blocking_recall_near_zero" in rules:
        kept = percent(result.truth.blocking_recall)
        found.append(f"But blocking kept only {kept} of the true pairs together: the rate is about other people.")
    return found + _stronger(result)


def _stronger(result: AuditResult) -> list[str]:
    """The attacker that links most where 5% of the others are linked, if the headline is not its own."""
    powers = {row.name: _power(row) for row in result.attackers if not row.disqualified}
    strongest = max(powers, key=lambda name: powers[name], default=result.attacker)
    mine = powers.get(result.attacker, 0.0)
    if not powers or powers[strongest] <= mine:
        return []
    name, most = printable(strongest), percent(powers[strongest])
    return [f"But attacker '{name}' is stronger: its power at 5% is {most}, this one's {percent(mine)}."]


def _power(row: AttackerRow) -> float:
    return next((it.power for it in row.power or [] if it.false_rate == 0.05), 0.0)
