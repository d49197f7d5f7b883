"""The figure that answers an audit's question, and how it is shown: on a ruler, and as a hundred people."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Literal

from cvpl.estimates import FALSE_RATE, beyond_chance
from cvpl.result.audit import AuditResult
from cvpl.result.verdict import Risk
from cvpl.wording import percent, span


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
        return _risk_headline(headline_risk(result))
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


def _risk_headline(risk: Risk | None) -> Headline | None:
    if risk is None or risk.low is None or risk.high is None:
        return None
    return Headline("risk", risk.estimate, risk.low, risk.high, risk.power, risk.attacker)


def comparison_group(result: AuditResult) -> str:
    """The people that originals are compared with: the control, or the originals without their own record."""
    rate = result.attributable_rate
    return "people without their own record" if rate is not None and rate.basis != "control" else "the control"


def scale_ends(result: AuditResult) -> tuple[float, float] | None:
    """The risk if no original is in the release, and if the originals are released unchanged.

    It is (power - 0.05) / 0.95 of each canary, at least 0. None if the canaries were not run, or if the risk of the
    release is measured at another false-positive rate.
    """
    risk, ends = result.risk, result.canaries
    if risk is None or risk.false_rate != FALSE_RATE or ends is None:
        return None
    low, high = ends.independent.power, ends.identity.power
    if low is None or high is None:
        return None
    return _risk(low), _risk(high)


def _risk(power: float) -> float:
    return max(0.0, beyond_chance(power, FALSE_RATE))


MarkKind = Literal["chance", "nobody", "limit", "release", "originals"]


@dataclass(frozen=True)
class Mark:
    """A position on the ruler, from 0 to 1, with its name and its value in words.

    `low` and `high` are the ends of the interval of this release; None for the values that it is compared with.
    """

    kind: MarkKind
    name: str
    at: float
    value: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Ruler:
    """The marks of a ruler from left to right, the name of the figure on it, and what 0% means if that is said."""

    figure: str
    marks: tuple[Mark, ...]
    zero: str = ""

    @property
    def release(self) -> Mark:
        """The mark of this release."""
        return next(mark for mark in self.marks if mark.kind == "release")

    @property
    def description(self) -> str:
        """The ruler in a sentence, its alternative text."""
        named = ", ".join(f"{mark.name} {mark.value}" for mark in self.marks)
        return f"{self.figure} on an axis from 0% to 100%: {named}."


def risk_ruler(result: AuditResult) -> Ruler | None:
    """The ruler of the figure behind the verdict; None if nothing was measured.

    Chance is a risk of 0, or the hit rate 1/n of a blind guess among n released records. The limit is the strictest
    policy on this figure. The two other marks are the canaries, if they were run by the same attacker: columns drawn
    independently, with nobody in them, and the originals released as they are.
    """
    found = headline(result)
    if found is None:
        return None
    k = result.suppress_below
    value = f"{percent(found.estimate, k=k)} ({span(found.low, found.high)})"
    marks = [
        Mark("release", "this release", _clip(found.estimate), value, _clip(found.low), _clip(found.high)),
        *_references(result, found),
        *_limit(result, "risk" if found.kind == "risk" else "top1_hit_rate"),
    ]
    name = "Risk" if found.kind == "risk" else "Best candidate is the right person"
    return Ruler(name, tuple(sorted(marks, key=lambda mark: mark.at)), _zero(result, found))


def _zero(result: AuditResult, found: Headline) -> str:
    """What a risk of 0 means: as many links as among people who are not in the release."""
    risk = result.risk
    if found.kind != "risk" or risk is None or risk.false_rate is None or risk.estimate != found.estimate:
        return ""
    strangers = f"{100 * risk.false_rate:g} in 100 people who are not in the release"
    return f"{strangers} are linked too, as look-alikes; the risk is what goes beyond them."


def _references(result: AuditResult, found: Headline) -> list[Mark]:
    if found.kind == "risk":
        ends = scale_ends(result) if result.risk is not None and result.risk.attacker == found.attacker else None
        marks = [Mark("chance", "chance", 0.0, "0% (as strangers)")]
        if ends is not None and result.risk is not None and result.risk.estimate == found.estimate:
            marks.append(Mark("nobody", "test release with nobody in it", _clip(ends[0]), percent(ends[0])))
            marks.append(Mark("originals", "the originals as they are", _clip(ends[1]), percent(ends[1])))
        return marks
    guess = 1 / max(1, result.inputs["protected"].rows)
    marks = [Mark("chance", "a blind guess", guess, percent(guess))]
    hits = None if result.canaries is None else result.canaries.identity.top1_hit_rate
    if hits is not None and found.attacker == result.attacker:
        marks.append(Mark("originals", "the originals as they are", hits, percent(hits)))
    return marks


def _limit(result: AuditResult, figure: str) -> list[Mark]:
    limits = [policy.max for policy in result.policies if policy.figure == figure and policy.max is not None]
    return [Mark("limit", "policy limit", _clip(min(limits)), percent(min(limits)))] if limits else []


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


Kind = Literal["linked", "look-alike", "neither"]
_NOTHING = 1e-9


@dataclass(frozen=True)
class Square:
    """One person in a hundred; `uncertain` is true if the interval leaves open whether this one is linked."""

    kind: Kind
    uncertain: bool


def hundred_people(found: Headline) -> list[Square]:
    """A hundred squares, from the first linked to the last who is neither.

    Square i (from 0) is linked if i < round(100 r), a look-alike if i < round(100 p), and neither otherwise, where r is
    the figure and p the share linked with look-alikes included. It is within the interval if
    floor(100 low) <= i < ceil(100 high). A figure whose interval lies above 0 has at least one linked square.
    """
    linked = max(1 if found.low > _NOTHING else 0, round(100 * found.estimate))
    alike = max(linked, linked if found.linked is None else round(100 * found.linked))
    low, high = floor(100 * max(0.0, found.low) + _NOTHING), ceil(100 * max(0.0, found.high) - _NOTHING)
    return [
        Square("linked" if at < linked else "look-alike" if at < alike else "neither", low <= at < high)
        for at in range(100)
    ]
