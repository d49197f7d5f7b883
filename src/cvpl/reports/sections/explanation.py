"""The explanation of the verdict in a few sentences: the risk, the attacker behind it, and the paper's figures."""

from __future__ import annotations

from cvpl.estimates import FALSE_RATE
from cvpl.result import AttackerRow, Attributable, AuditResult
from cvpl.wording import BELOW_ZERO, in_words, printable, span


def explanation(result: AuditResult) -> list[str]:
    """Sentences on the risk, on attackers that do not count, and on the figures at the threshold.

    Empty if the release is not assessable: no figure measures the risk then.
    """
    if result.verdict.kind == "not_assessable":
        return []
    return [*_risk(result), *_not_counted(result), *_at_the_threshold(result)]


def _risk(result: AuditResult) -> list[str]:
    risk = result.risk
    if risk is None:
        return []
    k = result.suppress_below
    ends = span(risk.low, risk.high)
    interval = f" (95% interval {ends})" if ends else ""
    who = f"attacker '{printable(risk.attacker)}'"
    if risk.among > 1:
        who += f", the strongest of {risk.among}"
    if risk.basis == "true_matches" or risk.false_rate is None or risk.power is None:
        hits = next((row.top1_hit_rate for row in result.attackers if row.name == risk.attacker), None)
        return [
            f"Risk {in_words(risk.estimate, k=k)}{interval}, based on the true matches because there is no usable "
            "control.",
            f"For {who}, the best candidate is the right person for {in_words(hits, k=k)}; the risk is the part of "
            "this beyond a blind guess.",
        ]
    comma = "," if risk.among > 1 else ""
    text = (
        f"Risk {in_words(risk.estimate, k=k)}{interval}: {who}{comma} links {in_words(risk.power, k=k, of='')} of the "
        f"originals when it links {risk.false_rate:.0%} of the control."
    )
    found = [text]
    if risk.among > 1:
        found.append("The interval is corrected for choosing the strongest attacker.")
    if risk.false_rate != FALSE_RATE:
        found.append(
            f"The control is too small for a false-positive rate of 5%, so {risk.false_rate:.0%} is used; do not "
            "compare this risk with a risk at another rate."
        )
    return found


def _not_counted(result: AuditResult) -> list[str]:
    """Attackers with a larger risk than the headline attacker that do not count, with the reason."""
    if result.risk is None:
        return []
    k = result.suppress_below
    larger = [row for row in result.attackers if row.disqualified and _estimate(row) > result.risk.estimate]
    return [
        f"Attacker '{printable(row.name)}' has a risk of {in_words(_estimate(row), k=k)} and does not count: "
        f"{printable(row.disqualified[0])}."
        for row in larger
    ]


def _estimate(row: AttackerRow) -> float:
    return float("-inf") if row.risk is None else row.risk.estimate


def _at_the_threshold(result: AuditResult) -> list[str]:
    """The paper's figures, which do not affect the verdict."""
    rate = result.linkage_rate
    if rate.estimate is None or result.threshold is None:
        return []
    k = result.suppress_below
    least = "at least " if result.lower_bound else ""
    ends = span(rate.low, rate.high)
    text = f"At threshold {result.threshold:.4g}, this attacker links {least}{in_words(rate.estimate, k=k)}"
    text += f" ({ends})" if ends else ""
    text += " of the originals"
    control, attributable = result.control, result.attributable_rate
    if control is not None and control.rate is not None:
        text += f" and {in_words(control.rate, k=k, of='')} of the control"
    if attributable is not None and attributable.estimate is not None:
        text += f"; {_attributed(attributable, k)}"
        if attributable.basis == "own_match_left_out":
            text += ", with each original's own match left out instead of a control"
    return [f"{text}. These are the figures of the CVPL paper; they do not affect the verdict."]


def _attributed(rate: Attributable, k: int) -> str:
    ends = span(rate.low, rate.high)
    interval = f" ({ends})" if ends else ""
    text = in_words(rate.estimate, k=k)
    if rate.low is not None and rate.low <= 0:
        return f"the attributable rate, {text}{interval}, cannot be distinguished from 0"
    if text == BELOW_ZERO:
        return f"the attributable rate is {text}{interval}"
    return f"{text} is attributable to the release{interval}"
