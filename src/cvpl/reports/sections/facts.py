"""The main figures of an audit, each with its interval and its meaning."""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.result import AuditResult
from cvpl.wording import percent, printable, span


@dataclass(frozen=True)
class Fact:
    """One figure: its name, its value, its interval (empty if there is none) and its meaning."""

    name: str
    value: str
    interval: str
    meaning: str


def facts(result: AuditResult) -> list[Fact]:
    """The known figures, the risk first."""
    found = []
    risk = result.risk
    if risk is not None and result.verdict.kind != "not_assessable":
        found.append(
            Fact(
                "risk", percent(risk.estimate, k=result.suppress_below), span(risk.low, risk.high), risk_meaning(result)
            )
        )
        if risk.power is not None and risk.false_rate is not None:
            power = result.power_at(risk.false_rate)
            ends = "" if power is None else span(power.low, power.high)
            meaning = f"originals linked when {risk.false_rate:.0%} of the control is linked"
            found.append(
                Fact(f"power at {risk.false_rate:.0%}", percent(risk.power, k=result.suppress_below), ends, meaning)
            )
    certain = result.certain
    if certain is not None and certain.false_rate is not None:
        meaning = f"when {certain.false_rate:.0%} of the control is linked, attacker '{printable(certain.attacker)}'"
        found.append(
            Fact(
                f"risk at {certain.false_rate:.0%}",
                percent(certain.estimate, k=result.suppress_below),
                span(certain.low, certain.high),
                meaning,
            )
        )
    best = result.best_candidate
    if best is not None:
        meaning = f"the best candidate is the right person, attacker '{printable(best.attacker)}'"
        found.append(
            Fact("top-1 hit rate", percent(best.estimate, k=result.suppress_below), span(best.low, best.high), meaning)
        )
    if result.at_risk is not None and result.at_risk.maximum.estimate is not None:
        most = result.at_risk.maximum
        least = "at least " if most.at_least else ""
        value = f"{least}{percent(most.estimate, k=result.suppress_below)}"
        meaning = "linked, look-alikes included"
        found.append(Fact("largest rate of a group", value, span(most.low, most.high), meaning))
    rate = result.linkage_rate
    if risk is None and rate.estimate is not None:
        meaning = "originals with a candidate, look-alikes included"
        found.append(
            Fact("linkage rate", percent(rate.estimate, k=result.suppress_below), span(rate.low, rate.high), meaning)
        )
    return found


def risk_meaning(result: AuditResult) -> str:
    """The meaning of the risk, and the share expected by chance."""
    risk = result.risk
    if risk is None:
        return ""
    if result.verdict.kind == "undetermined" and risk.basis == "control":
        return "not reliable: see the verdict"
    if risk.basis == "true_matches" or risk.false_rate is None:
        return "right best candidate, beyond a blind guess; there is no control"
    rate = f"{risk.false_rate:.0%}"
    return f"linked because of the release, beyond chance ({rate}): (power - {rate}) / {1 - risk.false_rate:.0%}"
