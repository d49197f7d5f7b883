"""The verdict of a result, from the attackers' figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cvpl import result as out
from cvpl.assessment.ensemble import EnsembleOutcome
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.intervals.intervals import FEWEST_RECORDS
from cvpl.result.publishing import Disclosure
from cvpl.result.verdict import TOO_FEW, blind, caveats
from cvpl.wording import people_in_words

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


def bounded(risk: out.Risk | None, findings: Iterable[out.Finding]) -> out.Risk | None:
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
