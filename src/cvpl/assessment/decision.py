"""What follows from the figures of an audit: the warnings, the verdict and the gate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cvpl import result as out
from cvpl.assessment.disclosure import published_figures
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.config.resolved import FEWEST_WITH_REFERENCE
from cvpl.config.written import PolicyConfig
from cvpl.estimates import FALSE_RATE, Estimate
from cvpl.evaluation.contradictions import (
    TOP1_ABOVE_ATTRIBUTABLE,
    AuditWarning,
    contradictions,
    figures_of,
    power_unexplained,
    recall_near_zero,
    top1_far_above,
    top1_unexplained,
)
from cvpl.evaluation.control_likeness import ControlTests
from cvpl.evaluation.groups.subgroups import Subgroups
from cvpl.evaluation.intervals.intervals import FEWEST_RECORDS
from cvpl.evaluation.measurement import Measurement, best_candidate
from cvpl.evaluation.policy import AT_LEAST, FALSE_RATE_OF, Figure, PolicyDecision, judge
from cvpl.operators.vectorization import MOST_LABELS
from cvpl.result import Sensitivity, Warning_
from cvpl.result.audit import NOT_ASSESSABLE
from cvpl.result.publishing import Disclosure
from cvpl.result.verdict import ALIKE, BLIND, TOO_FEW, UNSEEN, blind, caveats
from cvpl.tables.pair import Inputs
from cvpl.wording import people_in_words

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
            *_doubts_without_control(ensemble, headline, one, disclosure),
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
        running = {name: measured for name, measured in running.items() if measured.rate.value is not None}
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


def _doubts_without_control(
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
        return _ends_of_figure(None if measured.power is None else measured.power.get(at))
    if figure == "maximum_subgroup_rate":
        if people is None:
            return None, None
        # A lower bound is not an estimate: a hidden group may exceed it.
        return None if people.maximum.at_least else people.maximum.estimate, people.highest
    if figure == "top1_hit_rate":
        ends = measured.top1_interval
        return _ends_of_figure(None if ends is None else replace(ends, value=best_candidate(measured)))
    if figure == "attributable_rate":
        return _ends_of_figure(measured.attributable)
    return _ends_of_figure(measured.rate)


def _ends_of_figure(figure: Estimate | None) -> Ends:
    """The figure and its upper end; without an interval a figure has too few people and is no estimate either."""
    return (None, None) if figure is None or figure.high is None else (figure.value, figure.high)


CONTROL_FAULTS = {
    "control_overlaps": "the control contains originals",
    "control_related": "the control is related to the originals",
    "control_unlike": "the control is unlike the originals",
    "related_rows": "rows belong together, and no group is declared",
    "control_duplicates": "the control contains rows several times",
}
"""Findings that invalidate a control: neither a risk nor its absence then means anything."""
UNLIKE_OR_RELATED = "the control is unlike the originals, or rows belong together and no group is declared"
CONTROL_HIDES = {
    "control_in_release": "people of the control are in the release",
    "control_lacks_columns": "the control lacks columns that originals and release have",
}
"""Findings by which a control makes the risk look too low: a risk that is indistinguishable from 0 means nothing."""
COPIES = {
    "exact_copies": "unchanged",
    "near_copies": "with at most one value changed",
    "empty_cells": "by empty cells that nobody else has",
}
"""The checks that look for rows of originals in the release, and what they found."""


def bound_risk(risk: out.Risk | None, findings: Iterable[out.Finding]) -> out.Risk | None:
    """The risk, but with 1 as its upper end if the attackers are blind: nothing bounds what they cannot see."""
    if risk is None or risk.high is None or blind(findings) is None:
        return risk
    return risk.model_copy(update={"high": 1.0})


def verdict(ensemble: EnsembleOutcome, findings: Sequence[out.Finding], disclosure: Disclosure) -> out.Verdict:
    """The verdict on the release, from its figures as they are published."""
    return verdict_of_published(
        ensemble,
        findings,
        disclosure.k,
        risk=disclosure.published_or_none(ensemble.risk),
        certain=disclosure.published_or_none(ensemble.certain),
        best_candidate=disclosure.published_or_none(ensemble.best_candidate),
    )


def verdict_of_published(
    ensemble: EnsembleOutcome,
    findings: Sequence[out.Finding],
    k: int,
    *,
    risk: out.Risk | None,
    certain: out.Risk | None,
    best_candidate: out.BestCandidate | None,
) -> out.Verdict:
    """The verdict on the release, from published figures that are not bounded by what attackers cannot see."""
    small = [finding.message for finding in findings if finding.check == TOO_FEW]
    figures = out.VerdictFigures(
        reasons=[*ensemble.reasons, *small],
        risk=risk,
        certain=certain,
        best_candidate=best_candidate,
        missing=missing(ensemble),
        copies=copied_rows(findings, k),
        control_fault=control_fault(findings),
        blind=blind(findings),
        caveats=caveats(findings),
        control_hides=control_hides(findings),
        lower_bound=not ensemble.chosen.measured.attack.exact,
    )
    return out.verdict_of(figures)


def copied_rows(findings: Sequence[out.Finding], k: int) -> str | None:
    """Which rows of originals are in the release beyond chance, by the first finding that says so; None if none."""
    found = [finding for finding in findings if finding.check in COPIES and finding.closes_gate]
    return _copies(found[0], k) if found else None


def control_fault(findings: Sequence[out.Finding]) -> str | None:
    """Why the control is invalid, by the first finding that says so; None if it is valid.

    Groups that are in one table as a whole make tables unlike, and two populations make the rows of each alike: if both
    are found, both are told.
    """
    checks = {finding.check for finding in findings if finding.closes_gate}
    first = _first(CONTROL_FAULTS, findings)
    if first == CONTROL_FAULTS["control_unlike"] and "related_rows" in checks:
        return UNLIKE_OR_RELATED
    return first


def control_hides(findings: Sequence[out.Finding]) -> str | None:
    """Why the risk looks too low by this control, by the first finding that says so; None if it does not."""
    return _first(CONTROL_HIDES, findings)


def _first(words: Mapping[str, str], findings: Sequence[out.Finding]) -> str | None:
    found = {finding.check for finding in findings if finding.closes_gate}
    return next((text for check, text in words.items() if check in found), None)


def findings_of_draws(draws: Iterable[Sequence[out.Finding]]) -> list[out.Finding]:
    """The findings of all draws, one for each check and column: the first, or the first that closes the gate."""
    kept: dict[tuple[str, str | None], out.Finding] = {}
    for draw in draws:
        for finding in draw:
            key = finding.check, finding.column
            if key not in kept or (finding.closes_gate and not kept[key].closes_gate):
                kept[key] = finding
    return list(kept.values())


def _copies(finding: out.Finding, k: int) -> str:
    people = people_in_words(finding.count or 0, k, "person", "people")
    rows = f"the row of {people} is" if finding.count == 1 else f"the rows of {people} are"
    return f"{rows} in it {COPIES[finding.check]}"


def missing(ensemble: EnsembleOutcome) -> str:
    """Why the risk has no interval."""
    measured = ensemble.chosen.measured
    control = measured.attack.control
    if control is None:
        return "there is no control"
    if not measured.has_control:
        return "the attackers cannot be compared with the control"
    if control.rows < FEWEST_RECORDS:
        return f"there are too few controls ({control.rows:,}; an interval needs at least {FEWEST_RECORDS})"
    if measured.attack.original.rows < FEWEST_RECORDS:
        rows = measured.attack.original.rows
        return f"there are too few originals ({rows:,}; an interval needs at least {FEWEST_RECORDS})"
    refused = ensemble.reading.refused or measured.power_interval(FALSE_RATE).refused
    return f"no interval is offered ({refused or 'unmeasured'})"


def attackers_left_out(ensemble: EnsembleOutcome) -> AuditWarning:
    """The warning on members of the family that were not run, and why."""
    names = ", ".join(f"'{name}'" for name in ensemble.left_out)
    why = f"without a control of at least {FEWEST_WITH_REFERENCE} people there is no reference sample"
    return AuditWarning("attackers_left_out", f"{why}: {names} were not run")


def too_many_labels(ensemble: EnsembleOutcome) -> list[AuditWarning]:
    """A warning on each column that some attackers encode by frequency, because it has too many labels."""
    found = []
    for column, names in ensemble.with_too_many_labels.items():
        who = ("attacker " if len(names) == 1 else "attackers ") + ", ".join(f"'{name}'" for name in names)
        compares = "compares" if len(names) == 1 else "compare"
        message = (
            f"column '{column}' has too many labels for a feature each (at most {MOST_LABELS:,} in all columns): "
            f"{who} {compares} how common its labels are instead, and cannot tell apart labels that are equally common"
        )
        found.append(AuditWarning("too_many_labels", message))
    return found


def notices(
    measured: Measurement,
    ensemble: EnsembleOutcome,
    inputs: Inputs,
    likeness: ControlTests | None,
    disclosure: Disclosure,
    swings: Sensitivity | None = None,
) -> list[AuditWarning]:
    """All warnings, the most general first. `swings` are the variations of one attacker."""
    found = [AuditWarning("not_assessable", reason) for reason in ensemble.reasons]
    if not ensemble.reasons:
        found += [AuditWarning("attacker_disqualified", text) for text in ensemble.disqualified]
    seen = figures_of(measured)
    if swings is not None:
        seen = replace(
            seen,
            swinging=swings.attacker,
            spread_by_blocking=swings.spread_by_blocking,
            spread_by_encoding=swings.spread_by_encoding,
        )
    found += contradictions(published_figures(seen, disclosure))
    if likeness is not None:
        found += [AuditWarning("control_unlike", alarm) for alarm in likeness.figures.alarms]
    if ensemble.left_out:
        found.append(attackers_left_out(ensemble))
    found += too_many_labels(ensemble)
    if not measured.attack.exact:
        asked, share = (
            ", ".join(measured.attack.levers.used),
            f"{disclosure.statistic(measured.attack.share_examined):.2%}",
        )
        found.append(
            AuditWarning(
                "pairs_left_out",
                f"as requested ({asked}), only {share} of the pairs that share a block were searched: the linkage rate "
                "is a lower bound, and may be far too low",
            )
        )
    if measured.threshold is None and measured.attack.attacker.on_scale:
        found.append(
            AuditWarning("threshold_not_attainable", "no threshold keeps the false link rate as low as requested")
        )
    if ensemble.basis == "control":
        why = "does not count: its projection cannot map people outside the two tables"
        found += [AuditWarning("control_unused", f"attacker '{name}' {why}") for name in ensemble.not_read]
    if inputs.pair.control is not None and measured.control is None:
        found.append(AuditWarning("control_unused", "this projection cannot map people outside the two tables"))
    if inputs.evaluation.matches is not None and not len(inputs.evaluation.matches.original):
        found.append(AuditWarning("no_matches", "no declared identity is in both tables: no match is known"))
    told = [notice.describe(disclosure) for notice in inputs.pair.measured]
    return found + [AuditWarning("columns", text) for text in (*inputs.pair.notices, *told) if text is not None]


def warning_sections(found: Iterable[AuditWarning]) -> list[Warning_]:
    """Warnings with a link to their documentation, as a result has them."""
    return [Warning_(rule=warning.rule, message=warning.message, docs=warning.docs) for warning in found]
