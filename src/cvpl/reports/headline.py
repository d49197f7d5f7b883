"""The answer in one or two sentences, for the terminal and for every report."""

from __future__ import annotations

from cvpl.result import AuditResult


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal; a dash where it is not known."""
    return "–" if value is None else f"{value:.1%}"


def span(low: float | None, high: float | None) -> str:
    """An interval as percentages; empty where it is not given."""
    return "" if low is None or high is None else f"{low:.1%} to {high:.1%}"


def headline(result: AuditResult) -> str:
    """What the audit found, with what it cannot say."""
    if not result.validity.assessable:
        return "Not assessable: " + "; ".join(result.validity.reasons) + "."
    rate = result.linkage_rate
    if rate.estimate is None:
        return "No linkage rate: no threshold is attainable, or nothing tells where to read the score."
    at = "where 5% of the control is linked" if result.threshold is None else f"at threshold {result.threshold:.4g}"
    text = f"{percent(rate.estimate)} of the originals find a candidate {at}"
    text += f" (95% interval {span(rate.low, rate.high)})." if rate.low is not None else "."
    return f"{text} {_beyond_look_alikes(result)}"


def _beyond_look_alikes(result: AuditResult) -> str:
    attributable = result.attributable_rate
    if attributable is None:
        return "How many would find one without being in the release is not known: there is no control."
    if attributable.basis == "control":
        base = None if result.control is None else result.control.rate
        who = "of people who are in no release do so too"
    else:
        base = None if result.truth is None else result.truth.false_link_rate
        who = "would do so without their own record"
    if attributable.estimate is None:
        return f"{percent(base)} {who}: nothing is left to attribute to the release."
    ends = f" (95% interval {span(attributable.low, attributable.high)})" if attributable.low is not None else ""
    return f"{percent(base)} {who}, so {percent(attributable.estimate)}{ends} is attributable to the release."
