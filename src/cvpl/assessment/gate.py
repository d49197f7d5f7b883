"""The gate: whether figures stay below their limits, and what else keeps it closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cvpl import result as out
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.assessment.verdict import missing
from cvpl.config.written import PolicyConfig
from cvpl.estimates import Estimate
from cvpl.evaluation.contradictions import (
    TOP1_ABOVE_ATTRIBUTABLE,
    figures_of,
    power_unexplained,
    recall_near_zero,
    top1_far_above,
    top1_unexplained,
)
from cvpl.evaluation.groups.subgroups import Subgroups
from cvpl.evaluation.measurement import Measurement, best_candidate
from cvpl.evaluation.policy import AT_LEAST, FALSE_RATE_OF, Figure, PolicyDecision, judge
from cvpl.result.audit import NOT_ASSESSABLE
from cvpl.result.publishing import Disclosure
from cvpl.result.verdict import ALIKE, BLIND, UNSEEN, blind

Ends = tuple[float | None, float | None]
"""A figure's estimate and upper interval end."""
_PEOPLE: Mapping[str, str] = {
    "risk": "risk",
    "attributable_rate": "attributable",
    **dict.fromkeys(FALSE_RATE_OF, "risk"),
    "linkage_rate": "originals",
    "top1_hit_rate": "matched",
}
"""The people that a figure is a share of."""
_OF_TABLES = ("k", "singled_out_rate", "inference_rate")
"""Figures that no linkage attacker gives."""
_AT_THE_THRESHOLD = ("attributable_rate", "linkage_rate", "maximum_subgroup_rate")


def gate(
    ensemble: EnsembleOutcome,
    headline: Measurement,
    policy: PolicyConfig | tuple[PolicyConfig, ...] | None,
    fail_above: float | None,
    people: Mapping[str, Subgroups | None],
    findings: Sequence[out.Finding],
    disclosure: Disclosure,
    tables: TableFigures | None = None,
) -> list[out.PolicyOutcome]:
    """One outcome for each policy, those that are not met first; all must be met.

    The risk, power and top-1 are the largest over all attackers that count, with intervals that hold simultaneously.
    Rates at the threshold are those of the headline or, if none was picked, the largest over all attackers that have
    one. `fail_above` replaces a single policy's maximum; with several policies, a preset or a policy on k, it is an
    additional policy on the risk. `people` has the rates by subgroup of each attacker that needs them. A finding in
    `findings` that closes the gate closes it for every policy. Figures are compared as they are published, rounded up.
    `tables` has the figures that no attacker gives.
    """
    outcomes = []
    for one in _policies(policy, fail_above):
        closing = closing_reasons(findings, one.figure)
        exact, attacker, unknown = (
            _table_value(tables or TableFigures(), one)
            if one.figure in _OF_TABLES
            else _value(ensemble, headline, one, people)
        )
        if one.figure == "risk" and one.bound != "estimate" and exact is not None and blind(findings) is not None:
            exact = 1.0  # nothing bounds what attackers cannot see
        plain = attacker is not None and ensemble.outcomes[attacker].measured.threshold is None
        value = _rounded_up(exact, one, disclosure.with_sizes(without_threshold=int(plain)))
        found = (
            *closing,
            *doubts(ensemble, headline, one.figure),
            *_without_control(ensemble, headline, one, disclosure),
        )
        judged = judge(one.figure, one.bound, one.limit, value, found, unknown)
        outcomes.append(policy_outcome(one, judged, attacker))
    return sorted(outcomes, key=lambda outcome: outcome.met)


def closing_reasons(findings: Sequence[out.Finding], figure: Figure = "risk") -> list[str]:
    """The reasons of findings that close the gate; those on what attackers cannot see come after the attack.

    That linkage attackers do not find people says nothing of a figure that is not theirs.
    """
    of_others = (ALIKE, UNSEEN) if figure in _OF_TABLES else ()
    return [
        finding.message if finding.check in BLIND else f"before the attack: {finding.message}"
        for finding in findings
        if finding.closes_gate and finding.check not in of_others
    ]


def policy_outcome(policy: PolicyConfig, judged: PolicyDecision, attacker: str | None) -> out.PolicyOutcome:
    """A decision on a policy, as a result holds it; `attacker` gives the figure."""
    return out.PolicyOutcome(
        figure=policy.figure,
        bound=policy.bound,
        max=policy.max,
        min=policy.min,
        value=judged.value,
        attacker=attacker,
        met=judged.met,
        reasons=list(judged.reasons),
        preset=policy.preset,
    )


@dataclass(frozen=True)
class TableFigures:
    """The figures of a gate that belong to the release, not to a linkage attacker; rates are as they are published."""

    k: int | None = None
    singled_out: out.SingledOutRate | None = None
    inferred: out.Inference | None = None


def _table_value(tables: TableFigures, policy: PolicyConfig) -> tuple[float | None, str | None, str]:
    """The figure that a policy checks, and why it is unknown, if so; no attacker gives it."""
    if policy.figure == "k":
        return tables.k, None, "the release has no quasi-identifier, or this is a quick look"
    if policy.figure == "inference_rate":
        return _inference_value(tables.inferred, policy)
    found = tables.singled_out
    if found is None:
        return None, None, "it was not measured; set `singling_out: true`"
    return found.estimate if policy.bound == "estimate" else found.high, None, "there are too few predicates"


def _inference_value(found: out.Inference | None, policy: PolicyConfig) -> tuple[float | None, str | None, str]:
    """The inference rate, whose attackers have names of their own, and why it is unknown, if so."""
    if found is None:
        return None, None, "it was not measured; give a column the role sensitive, and set `inference: true`"
    refused = next((f"column '{one.column}': {one.refused}" for one in found.secrets if one.refused), "")
    if found.rate is None or refused:
        return None, None, refused
    return found.rate.estimate if policy.bound == "estimate" else found.rate.high, None, "there are too few people"


def _rounded_up(value: float | None, policy: PolicyConfig, disclosure: Disclosure) -> float | None:
    """The value that is compared with the limit: never below the exact one. Rates of subgroups are rounded already."""
    if value is None or policy.figure not in _PEOPLE:
        return value
    grid = disclosure.grid(_PEOPLE[policy.figure])
    return grid.up(value) if policy.bound == "estimate" else grid.high_end(value)


def _policies(policy: PolicyConfig | tuple[PolicyConfig, ...] | None, fail_above: float | None) -> list[PolicyConfig]:
    written = list(policy) if isinstance(policy, tuple) else [] if policy is None else [policy]
    if fail_above is None:
        return written
    if isinstance(policy, PolicyConfig) and policy.preset is None and policy.figure not in AT_LEAST:
        return [policy.model_copy(update={"max": fail_above})]
    return [*written, PolicyConfig(figure="risk", max=fail_above)]


def _value(
    ensemble: EnsembleOutcome, headline: Measurement, policy: PolicyConfig, people: Mapping[str, Subgroups | None]
) -> tuple[float | None, str | None, str]:
    """The end of the figure that the policy checks, its attacker, and why it is unknown, if so."""
    if policy.figure == "risk":
        ends: dict[str, Ends] = {
            name: (None if risk.high is None else risk.estimate, risk.high) for name, risk in ensemble.risks.items()
        }
        if (left := ensemble.not_read) and ensemble.basis == "control":
            return None, None, f"attacker '{left[0]}' cannot be compared with the control"
        if ensemble.certain is not None:
            certain = ensemble.certain
            before = ends.get(certain.attacker, (certain.estimate, certain.high))
            ends[certain.attacker] = _larger(before[0], certain.estimate), _larger(before[1], certain.high)
        unknown = missing(ensemble)
    else:
        ends = _ends_of_all(ensemble, headline, policy.figure, people)
        unknown = ""
    values = {name: pair[0] if policy.bound == "estimate" else pair[1] for name, pair in ends.items()}
    without = [name for name, value in values.items() if value is None]
    if not values or without:
        if policy.figure == "maximum_subgroup_rate" and without:
            unknown = "rates of small groups are hidden, and the largest may be among them"
        elif without and policy.figure != "risk":
            unknown = f"attacker '{without[0]}' has none"
        return None, None, unknown
    name = max(values, key=lambda key: values[key] or 0.0)
    return values[name], name, ""


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _ends_of_all(
    ensemble: EnsembleOutcome, headline: Measurement, figure: Figure, people: Mapping[str, Subgroups | None]
) -> dict[str, Ends]:
    """The ends of a figure for every attacker that has it."""
    running = {name: one.measured for name, one in (ensemble.qualified or ensemble.outcomes).items()}
    if figure in _AT_THE_THRESHOLD and ensemble.basis is not None:
        running = {ensemble.headline: headline}
    elif figure in ("linkage_rate", "attributable_rate"):
        # Without a base, a score that has no threshold has no rate either.
        running = {name: measured for name, measured in running.items() if measured.rate is not None}
    else:
        running = {name: measured.at_confidence(ensemble.confidence) for name, measured in running.items()}
    return {name: figure_ends(measured, figure, people.get(name)) for name, measured in running.items()}


def doubts(ensemble: EnsembleOutcome, headline: Measurement, figure: Figure) -> tuple[str, ...]:
    """Why a figure cannot pass a gate, however low it is."""
    seen = figures_of(headline)
    found = [f"{NOT_ASSESSABLE}{reason}" for reason in ensemble.reasons]
    if not headline.attack.exact:
        found.append("only some of the pairs were searched, and a lower bound cannot pass a gate")
    if figure == "risk":
        risk = ensemble.risk
        if risk is not None and _hits(ensemble) - max(0.0, risk.estimate) > TOP1_ABOVE_ATTRIBUTABLE:
            found.append("the top-1 hit rate is far above the risk")
        if risk is not None and risk.high is not None and risk.high < 0:
            found.append(out.LINKED_MORE_OFTEN)
    elif top1_far_above(seen):
        found.append("the top-1 hit rate is far above the linkage rate")
    if figure == "attributable_rate" and top1_unexplained(seen):
        found.append("the top-1 hit rate is far above the attributable rate")
    if figure in _AT_THE_THRESHOLD and power_unexplained(seen):
        found.append("the power at a 5% false-positive rate is far above the attributable rate")
    if recall_near_zero(seen):
        found.append("blocking recall is near zero")
    return tuple(found)


def _hits(ensemble: EnsembleOutcome) -> float:
    """The share of all originals whose best candidate is right; if not all matches are known, of the known ones."""
    best = ensemble.best_candidate
    if best is None:
        return 0.0
    truth = ensemble.outcomes[best.attacker].measured.truth
    share = float(truth.has_match.mean()) if truth is not None and truth.complete else 1.0
    return best.estimate * share


def _without_control(
    ensemble: EnsembleOutcome, headline: Measurement, policy: PolicyConfig, disclosure: Disclosure
) -> tuple[str, ...]:
    """Doubts without a control: a rate misses releases of equal records, so the top-1 hit rate must be low too."""
    if headline.basis != "own_match_left_out" or policy.figure in ("risk", "top1_hit_rate", *_OF_TABLES):
        return ()
    best = ensemble.best_candidate
    if best is None:
        return ()
    if best.high is None:
        return ("there is no control, and the top-1 hit rate has no interval",)
    hits = disclosure.grid(_PEOPLE["top1_hit_rate"]).up(best.estimate if policy.bound == "estimate" else best.high)
    if policy.max is None or hits <= policy.max:
        return ()
    return (f"there is no control, and the top-1 hit rate of up to {hits:.1%} is above the limit",)


def figure_ends(measured: Measurement, figure: Figure, people: Subgroups | None) -> Ends:
    """The estimate and the upper end of a figure that a policy bounds."""
    if figure in FALSE_RATE_OF:
        at = FALSE_RATE_OF[figure]
        return _of(None if measured.power is None else measured.power.get(at), (measured.power_intervals or {}).get(at))
    if figure == "maximum_subgroup_rate":
        if people is None:
            return None, None
        # A lower bound is not an estimate: a hidden group may exceed it.
        return None if people.maximum.at_least else people.maximum.estimate, people.highest
    if figure == "top1_hit_rate":
        return _of(best_candidate(measured), measured.top1_interval)
    if figure == "attributable_rate":
        return _of(measured.attributable, measured.attributable_interval)
    return _of(measured.rate, measured.rate_interval)


def _of(estimate: float | None, ends: Estimate | None) -> Ends:
    """The ends; without an interval a figure has too few people and is no estimate either."""
    high = None if ends is None else ends.high
    return None if high is None else estimate, high
