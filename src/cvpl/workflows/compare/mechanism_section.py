"""The section of a mechanism in a comparison: the first draw's figures, with those over all draws in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cvpl import result as out
from cvpl.assessment.decision import (
    bounded,
    closing_reasons,
    control_fault,
    control_hides,
    copied_rows,
    findings_of_draws,
)
from cvpl.config.written import PolicyConfig
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.intervals.intervals import attributable_from_power
from cvpl.evaluation.intervals.paired import attributable_by_power
from cvpl.evaluation.trials.rounds import MeanOverDraws
from cvpl.result.publishing import Disclosure
from cvpl.result.verdict import TOO_FEW, blind, caveats
from cvpl.wording import counted, share_in
from cvpl.workflows.compare.draw_readings import DrawFindings, DrawsReading
from cvpl.workflows.compare.ranking import ReleaseFigures
from cvpl.workflows.draws.mechanism import MechanismRunner
from cvpl.workflows.draws.policies import draw_policies
from cvpl.workflows.draws.strongest import confidence_among

_MEANS = (
    "correlation_preservation",
    "marginal_similarity",
    "downstream_accuracy_ratio",
    "distance_preservation",
    "accuracy_of_originals",
    "accuracy_of_release",
    "accuracy_of_guessing",
)


def over_draws(
    first: ReleaseFigures, mechanism: MechanismRunner, reading: DrawsReading, found: Sequence[DrawFindings]
) -> ReleaseFigures:
    """The figures of a mechanism, not yet rounded, from those of its first draw and what all draws say."""
    disclosure = _disclosure(found)
    preflight = findings_of_draws(draw.preflight for draw in found)
    small = [finding.message for finding in preflight if finding.check == TOO_FEW]
    reasons = [*reading.reasons, *small]
    power = None if reading.headline is None or reasons else reading.powers[reading.headline]
    risk = None if power is None else _risk(power, reading)
    right = _best_candidate(reading)
    exact = all(item.exact for item in found)
    figures = out.VerdictFigures(
        reasons=reasons,
        risk=disclosure.published_or_none(risk),
        certain=None if power is None else disclosure.published_or_none(_certain(found, risk, reading)),
        best_candidate=disclosure.published_or_none(right),
        missing=f"no interval is offered ({reading.unread or 'unmeasured'})",
        copies=copied_rows(preflight, disclosure.k),
        control_fault=control_fault(preflight),
        blind=blind(preflight),
        caveats=caveats(preflight),
        control_hides=control_hides(preflight),
        lower_bound=not exact,
    )
    section = first.section.model_copy(
        update={
            "input": first.section.input.model_copy(update={"name": first.section.name}),
            "assessable": not reasons,
            "reasons": reasons,
            "verdict": _verdict(figures, len(found)),
            "risk": bounded(risk, preflight),
            "power": _power(power, reading),
            "picked": out.Picked(among=reading.among, confidence=reading.confidence) if reading.among > 1 else None,
            "best_candidate": right,
            "preflight": preflight,
            "utility": _utility([item.utility for item in found]),
            "lower_bound": not exact,
            "draws": _draws(mechanism, power, reading, len(found)),
            **_top1(reading, first.section.attacker),
        }
    )
    compared = None
    if power is not None and reading.false_rate is not None:
        compared = attributable_by_power(power.power, reading.false_rate)
    return replace(first, section=section, risk=compared, attributable=None, among=reading.among, disclosure=disclosure)


def judged(found: ReleaseFigures, policies: tuple[PolicyConfig, ...]) -> ReleaseFigures:
    """The published figures of a mechanism with its policies, judged by them."""
    section = found.section
    closing = closing_reasons(section.preflight)
    doubts = (*closing, *section.reasons)

    def power_at(false_rate: float) -> out.Power | None:
        return section.power if section.power is not None and section.power.false_rate == false_rate else None

    outcomes = draw_policies(policies, section.risk, power_at, section.attacker, doubts)
    return replace(found, section=section.model_copy(update={"policies": outcomes}))


def _risk(power: MeanOverDraws, reading: DrawsReading) -> out.Risk:
    """The risk over draws, (power - α) / (1 - α)."""
    assert reading.headline is not None  # noqa: S101 - there is a power
    assert reading.false_rate is not None  # noqa: S101
    rate = reading.false_rate
    found = attributable_from_power(power.interval(reading.confidence), rate)
    return out.Risk.of(
        found,
        power=power.estimate,
        false_rate=rate,
        basis="control",
        attacker=reading.headline,
        among=reading.among,
    )


def _power(power: MeanOverDraws | None, reading: DrawsReading) -> out.Power | None:
    if power is None or reading.false_rate != FALSE_RATE:
        return None
    return out.Power.of(power.interval(reading.confidence), false_rate=FALSE_RATE)


def _certain(found: Sequence[DrawFindings], risk: out.Risk | None, reading: DrawsReading) -> out.Risk | None:
    """The risk of people who are linked for certain in some draw, although the mean may be 0; else None."""
    known = [item.certain for item in found if item.certain is not None]
    if risk is None or risk.low is None or risk.low > 0 or not known:
        return None
    largest = max(known, key=lambda item: item.low or 0.0)
    confidence = confidence_among(2 * reading.among * len(found))
    return largest.model_copy(update={"among": reading.among, "confidence": confidence})


def _verdict(figures: out.VerdictFigures, draws: int) -> out.Verdict:
    """The verdict over draws. People who are linked for certain in one draw are linkable, whatever the mean."""
    mean, certain = figures.risk, figures.certain
    if certain is None:
        found = out.verdict_of(figures)
        return found.model_copy(update={"sentence": f"Over {counted(draws, 'draw')}: {_inner(found.sentence)}"})
    found = out.verdict_of(figures.model_copy(update={"risk": certain, "certain": None}))
    most = "" if mean is None or mean.high is None or figures.blind is not None else f" (at most {share_in(mean.high)})"
    sentence = f"In one of {draws} draws: {_inner(found.sentence).rstrip('.')}"
    return found.model_copy(update={"sentence": f"{sentence}; the mean over draws cannot be told from 0{most}."})


def _inner(sentence: str) -> str:
    """A sentence after a colon."""
    return sentence[:1].lower() + sentence[1:]


def _best_candidate(reading: DrawsReading) -> out.BestCandidate | None:
    """The highest mean top-1 hit rate over attackers."""
    if not reading.hits:
        return None
    name = max(reading.hits, key=lambda item: reading.hits[item].estimate)
    among = len(reading.hits)
    interval = reading.hits[name].interval(confidence_among(among))
    return out.BestCandidate(
        estimate=reading.hits[name].estimate, low=interval.low, high=interval.high, attacker=name, among=among
    )


def _top1(reading: DrawsReading, attacker: str) -> dict[str, float | None]:
    hits = reading.hits.get(attacker)
    if hits is None:
        return {"top1_hit_rate": None, "top1_low": None, "top1_high": None}
    interval = hits.interval(reading.confidence)
    return {"top1_hit_rate": hits.estimate, "top1_low": interval.low, "top1_high": interval.high}


def _draws(
    mechanism: MechanismRunner, power: MeanOverDraws | None, reading: DrawsReading, count: int
) -> out.ComparedDraws:
    by = mechanism.described
    if power is None or reading.false_rate is None:
        return out.ComparedDraws(mechanism=by, count=count, degrees=count - 1)
    left = 1 - reading.false_rate
    return out.ComparedDraws(
        mechanism=by,
        count=count,
        risks=[(value - reading.false_rate) / left for value in power.by_draw],
        deviation=power.deviation / left,
        people_error=power.error.people / left,
        draws_error=power.error.draws / left,
        degrees=power.error.degrees,
    )


def _utility(found: Sequence[out.ComparedUtility]) -> out.ComparedUtility:
    """The mean of each figure over draws; null if a draw lacks it."""
    update: dict[str, object] = {}
    for name in _MEANS:
        values = [getattr(item, name) for item in found]
        update[name] = None if any(value is None for value in values) else float(np.mean(values))
    if any(item.distance_basis != "same_people" for item in found):
        update["distance_basis"] = "distributions"
    update["columns"] = [name for name in found[0].columns if all(name in item.columns for item in found)]
    return found[0].model_copy(update=update)


def _disclosure(found: Sequence[DrawFindings]) -> Disclosure:
    """The rounding by the smallest numbers of people in any draw."""
    sizes: dict[str, int] = {}
    for draw in found:
        for name, size in draw.disclosure.sizes.items():
            sizes[name] = min(size, sizes.get(name, size))
    return Disclosure(min(draw.disclosure.k for draw in found), sizes)
