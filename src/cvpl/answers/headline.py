"""The figure that answers the question of an audit: the one that its verdict is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cvpl.result.audit import AuditResult
from cvpl.result.verdict import Risk


@dataclass(frozen=True)
class Headline:
    """A share of people with its interval.

    `kind` is `risk` (linked because of the release, beyond chance) or `best_candidate` (the best candidate is the right
    person). `linked` is the share linked with look-alikes included: the power of a risk, None for a best candidate.
    `attacker` is the attacker that the figure belongs to.
    """

    kind: Literal["risk", "best_candidate"]
    estimate: float
    low: float
    high: float
    linked: float | None
    attacker: str


def headline(result: AuditResult) -> Headline | None:
    """The figure behind the verdict's sentence; None if the sentence rests on no figure with an interval.

    A verdict `linkable` is about the risk, or about `certain` where the interval of the risk includes 0. A verdict
    `undetermined` is about the best candidate, if the true matches are known. Nothing was measured if a release is not
    assessable.
    """
    if result.verdict.kind in ("linkable", "indistinguishable_from_zero"):
        return _of_risk(headline_risk(result))
    best = result.best_candidate
    if result.verdict.kind == "not_assessable" or best is None or best.low is None or best.high is None:
        return None
    return Headline("best_candidate", best.estimate, best.low, best.high, None, best.attacker)


def headline_risk(result: AuditResult) -> Risk | None:
    """The risk that the verdict's sentence reports; None if it reports none."""
    risk, certain = result.risk, result.certain
    if result.verdict.kind not in ("linkable", "indistinguishable_from_zero"):
        return None
    if result.verdict.kind == "linkable" and certain is not None and (risk is None or (risk.low or 0.0) <= 0):
        return certain
    return risk


def _of_risk(risk: Risk | None) -> Headline | None:
    if risk is None or risk.low is None or risk.high is None:
        return None
    return Headline("risk", risk.estimate, risk.low, risk.high, risk.power, risk.attacker)


def comparison_group(result: AuditResult) -> str:
    """The people that originals are compared with: the control, or the originals without their own record."""
    rate = result.attributable_rate
    return "people without their own record" if rate is not None and rate.basis != "control" else "the control"
