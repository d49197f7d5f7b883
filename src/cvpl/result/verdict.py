"""The verdict on one release: its kind, what its attackers cannot see, and the sentence that every output prints.

The sentence is written only here, from the figures of a result. There are four kinds:

linkable                      the interval of the risk lies above 0
indistinguishable_from_zero   the interval of the risk includes 0, and no other figure shows that people can be linked
undetermined                  the risk cannot be told: no control, too few controls, a control that is no base rate, or
                              a search that skipped pairs; or it is low, and the attackers could not have seen anybody
not_assessable                no attacker is reliable, so a low figure would mean nothing
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from cvpl.result.publishing import (
    EstimateSection,
    Number,
    OfMatchedHigh,
    OfMatchedLow,
    OfRisk,
    OfRiskHigh,
    OfRiskLow,
    Section,
    Share,
    Whole,
)
from cvpl.wording import count_in, printable, share_in, with_full_stop

UNREAD, ALIKE, UNSEEN, COARSE = "unread_columns", "originals_not_found", "change_not_seen", "coarse_classes"
ALONE, DECLARED, SHIFTED, DISTURBED = "columns_alone", "declared_columns", "release_shifted", "noise_hides"
BLIND = (UNREAD, "unmatched_columns", "unread_texts", "renamed_columns", ALIKE, UNSEEN, SHIFTED, ALONE)
"""Findings on what the attackers cannot see, the most telling first."""
CAVEATS = (COARSE, DISTURBED, DECLARED)
"""Findings that a verdict states beside its figure."""


def blind(findings: Iterable[Finding]) -> str | None:
    """What the attackers cannot see, by the first finding that says so; None if they see."""
    return next((finding.message for finding in blind_spots(findings)), None)


def blind_spots(findings: Iterable[Finding]) -> list[Finding]:
    """The findings on what the attackers cannot see, the most telling first."""
    found = [finding for finding in findings if finding.closes_gate and finding.check in BLIND]
    return sorted(found, key=lambda finding: BLIND.index(finding.check))


def caveats(findings: Iterable[Finding]) -> list[str]:
    """What the verdict says beside its figure: classes that are too coarse, and what was declared."""
    found = [finding for finding in findings if finding.check in CAVEATS]
    return [finding.message for finding in sorted(found, key=lambda finding: CAVEATS.index(finding.check))]


VerdictKind = Literal["linkable", "indistinguishable_from_zero", "undetermined", "not_assessable"]
LINKED_MORE_OFTEN = "the control is linked more often than the originals, so it is not like them"
"""The reason if the whole interval of the risk is below 0."""
RiskBasis = Literal["control", "true_matches"]

IN_IT = "people in it"
"""Hits are counted among the originals that have a match in the release."""
NEARLY_ALL = 0.995
"""From this risk on, what is not seen has nothing to add."""
MARGIN = 0.05
"""The sentence contains "nothing shows" only if the upper end of the risk is below this."""
TOO_FEW = "few_released_rows"
"""The check whose finding makes a release not assessable, regardless of the attackers."""


class Risk(EstimateSection):
    """The figure behind the verdict: the share of people that can be linked because of the release.

    With a control, risk = (power - α) / (1 - α), where `power` is the true-positive rate of `attacker` at the
    false-positive rate α = `false_rate` (0.05, or larger if the control is too small for an interval at 0.05). Without
    a control but with true matches, risk = (top-1 - 1/n) / (1 - 1/n) over n released records, and `power` and
    `false_rate` are null.

    The interval has the confidence `confidence` = 1 - 0.05 / `among`, because `attacker` is the strongest of `among`.
    `low` and `high` are null if no interval is offered; `refused` then states why. `high` is 1 if there is something
    that the attackers cannot see, since nothing bounds it. The other fields are as for a rate.
    """

    estimate: OfRisk
    low: OfRiskLow | None
    high: OfRiskHigh | None
    power: Annotated[float, Share("risk")] | None
    false_rate: Number | None
    basis: RiskBasis
    attacker: str
    among: Whole = 1
    confidence: Number = 0.95
    method: str = "none"
    refused: str | None = None
    coverage: Number | None = None
    coverage_at_999: Number | None = None


class BestCandidate(EstimateSection):
    """How often the best candidate is the right person, among the originals whose match is known.

    It is the figure of the attacker with the highest hit rate; the interval is corrected for that choice.
    """

    estimate: Annotated[float, Share("matched", ends="")]
    low: OfMatchedLow | None
    high: OfMatchedHigh | None
    attacker: str
    among: Whole = 1


class Finding(Section):
    """A finding of a check before the attack. If `closes_gate` is true, no policy can be met.

    `column` is the column concerned. `count` and `share` are measured in the release; `expected` is the share in the
    control, or by chance if there is no control. `advice` says what to do. A finding contains no cell values.
    """

    check: str
    closes_gate: bool
    message: str
    column: str | None = None
    count: Whole | None = None
    share: Number | None = None
    expected: Number | None = None
    advice: str | None = None


class Verdict(Section):
    """The kind of the verdict and its sentence.

    `margin` is the margin in a sentence that contains "nothing shows"; null otherwise.
    """

    kind: VerdictKind
    sentence: str
    margin: Number | None = None
    basis: RiskBasis | None = None


class VerdictFigures(Section):
    """The figures that determine a verdict.

    `reasons` lists why the release is not assessable. `missing` states why the risk has no interval. `certain` is a
    risk at another false-positive rate, or of another attacker, whose corrected interval is above 0. `copies` states
    which rows of originals are in the release beyond chance. `control_fault` states why the control proves nothing,
    and `control_hides` why it makes the risk look too low: the first rules out alarm and comfort, the second comfort.
    `blind` states what the attackers cannot see, and `caveats` what the verdict says beside its figure.
    `checked` is false if the checks before the attack were not run.
    """

    reasons: list[str] = Field(default_factory=list)
    risk: Risk | None = None
    certain: Risk | None = None
    best_candidate: BestCandidate | None = None
    missing: str = "there is no control"
    copies: str | None = None
    control_fault: str | None = None
    blind: str | None = None
    caveats: list[str] = Field(default_factory=list)
    control_hides: str | None = None
    checked: bool = True
    lower_bound: bool = False


def verdict_of(figures: VerdictFigures) -> Verdict:
    """The verdict from the figures.

    A control with a fault is no base rate, so it shows neither that people can be linked nor that they cannot. The kind
    `indistinguishable_from_zero` is also ruled out if `certain` is known, if the control hides risk, if the attackers
    are blind, and if the search left out pairs. The words "nothing shows" are also ruled out if the release contains
    copies of originals.
    """
    if figures.reasons:
        reason = printable(figures.reasons[0])
        return Verdict(
            kind="not_assessable", sentence=with_full_stop(f"The risk of this release is not assessable: {reason}")
        )
    risk, certain = figures.risk, figures.certain
    if risk is None or risk.basis != "control" or risk.low is None or risk.high is None:
        return _undetermined_verdict(
            figures, figures.missing + ("" if figures.blind is None else f", and {figures.blind}")
        )
    if figures.control_fault is not None:
        return _undetermined_verdict(figures, figures.control_fault)
    if risk.low > 0:
        return _linkable(risk, figures)
    if certain is not None:
        return _linkable(certain, figures)
    if figures.control_hides is not None:
        return _undetermined_verdict(figures, figures.control_hides)
    if risk.high < 0:
        return _undetermined_verdict(figures, LINKED_MORE_OFTEN)
    if figures.lower_bound:
        return _undetermined_verdict(figures, "the search skipped some pairs, so the figures are lower bounds")
    if figures.blind is not None:
        return _undetermined_verdict(figures, figures.blind)
    sentence = f"The risk of this release cannot be told from 0 (at most {share_in(risk.high)})"
    quiet = figures.checked and figures.copies is None
    margin = MARGIN if risk.high < MARGIN and quiet else None
    if margin is not None:
        sentence += f": nothing shows above a margin of {share_in(margin)}"
    sentence += "".join(f"; {said}" for said in figures.caveats)
    sentence += _copies(figures) + _right_person(figures)
    return Verdict(kind="indistinguishable_from_zero", sentence=f"{sentence}.", margin=margin, basis="control")


def _linkable(risk: Risk, figures: VerdictFigures) -> Verdict:
    blind = figures.blind if risk.estimate < NEARLY_ALL else None
    least = "At least about" if figures.lower_bound or blind is not None else "About"
    people = count_in(risk.estimate, risk.low, None if blind is not None else risk.high)
    sentence = f"{least} {people} can be linked because of this release"
    main = figures.risk
    if main is not None and risk is not main:
        where = "" if risk.false_rate is None else f", read where {risk.false_rate:.0%} of the control is linked"
        if risk.false_rate == main.false_rate:
            where = f", read by attacker '{printable(risk.attacker)}'"
        sentence += f"{where}; the strongest attacker at {main.false_rate:.0%} cannot tell the risk from 0"
        sentence += "" if main.high is None or blind is not None else f" (at most {share_in(main.high)})"
    sentence += "" if blind is None else f", and perhaps more: {blind}"
    sentence += "".join(f"; {said}" for said in figures.caveats)
    sentence += _copies(figures) + _right_person(figures)
    return Verdict(kind="linkable", sentence=f"{sentence}.", basis="control")


def _undetermined_verdict(figures: VerdictFigures, missing: str) -> Verdict:
    sentence = f"The risk of this release cannot be told: {missing}{_copies(figures)}"
    right = figures.best_candidate
    basis: RiskBasis | None = None
    if right is None:
        sentence += "; no true match is known either"
    elif right.low is not None and right.high is not None:
        basis = "true_matches"
        people = count_in(right.estimate, right.low, right.high, IN_IT)
        least = "at least " if figures.lower_bound or figures.blind is not None else ""
        sentence += f"; by the true matches the best candidate is right for {least}{people}"
    else:
        sentence += "; true matches are known, but they have no interval"
    return Verdict(kind="undetermined", sentence=f"{sentence}.", basis=basis)


def _right_person(figures: VerdictFigures) -> str:
    """How often the best candidate is the right person, if that is known with an interval."""
    right = figures.best_candidate
    if right is None or right.low is None or right.high is None:
        return ""
    people = count_in(right.estimate, right.low, right.high, IN_IT)
    return f"; the best candidate is the right person for {people}"


def _copies(figures: VerdictFigures) -> str:
    return "" if figures.copies is None else f"; {figures.copies}"
