"""Warnings on figures that contradict each other or mislead on their own. Each is a named rule with a message.

Every rule has a section of the same name in docs/concepts/warnings.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.rates import attributable_rate, linkage_rate
from cvpl.evaluation.truth import blocking_recall, share, top1_hit_rate

TOP1_ABOVE = 0.10
"""Top-1 hit rate above the linkage rate (same denominator) by more than this."""
TOP1_ABOVE_ATTRIBUTABLE = 0.30
"""Top-1 hit rate above the attributable rate by more than this."""
RECALL_NEAR_ZERO = 0.10
"""Below this blocking recall, blocking separated nearly all true pairs."""
POWER_ABOVE = 0.10
"""The rate attributable by power, (power - 0.05) / 0.95, exceeds the attributable rate by more than this.

Power at 5% is the true-positive rate at a 5% false-positive rate."""
ALL_BASE_RATE = 0.05
"""An attributable rate below this, with a linkage rate above twice this."""
FEW_RECORDS = 100
STEEP = 0.10
"""The linkage rate changes by more than this from 0.01 below the threshold to 0.01 above it."""
SWINGS = 0.10
"""Power at 5% (or the linkage rate) varies by more than this with the choice of blocking or encoding."""

RULES = (
    "not_assessable",
    "attacker_disqualified",
    "attackers_left_out",
    "too_many_labels",
    "top1_above_rate",
    "top1_above_attributable",
    "power_above_attributable",
    "blocking_recall_near_zero",
    "base_rate_unknown",
    "base_rate_by_own_match",
    "all_base_rate",
    "steep_threshold",
    "swings_with_blocking",
    "swings_with_encoding",
    "control_unlike",
    "control_unused",
    "few_records",
    "few_people",
    "pairs_left_out",
    "threshold_not_attainable",
    "no_matches",
    "columns",
    "few_rounds",
    "rounds_failed",
    "release_sizes_differ",
    "per_person",
)
"""All rules that a result can name."""


@dataclass(frozen=True)
class AuditWarning:
    """A rule's name and its message."""

    rule: str
    message: str

    @property
    def docs(self) -> str:
        """The documentation section of the rule."""
        return f"docs/concepts/warnings.md#{self.rule}"


@dataclass(frozen=True)
class CheckedFigures:
    """The figures that the rules check; None if a figure is unknown.

    `linkage_rate_of_matched` is the linkage rate among originals with a match; `power` is at a 5% false-positive rate.
    `swinging` is the attacker whose spreads are known; `at_threshold` is false if the rates are those at a 5%
    false-positive rate. `step` is how much the rate falls from 0.01 below the threshold
    to 0.01 above it.
    """

    records: int
    linkage_rate: float | None
    linkage_rate_of_matched: float | None
    top1_hit_rate: float | None
    blocking_recall: float | None
    attributable_rate: float | None
    basis: str | None
    controls: int | None = None
    power: float | None = None
    step: float | None = None
    spread_by_blocking: float | None = None
    spread_by_encoding: float | None = None
    swinging: str = ""
    at_threshold: bool = True


def figures_of(measured: Measurement) -> CheckedFigures:
    """The figures of one measurement that the rules check."""
    known, linked, threshold = measured.truth, measured.linked, measured.threshold
    of_matched = None
    if known is not None and linked is not None:
        of_matched = share(float(linked[0][known.has_match].sum()), int(known.has_match.sum()))
    step = None
    if threshold is not None and measured.attack.attacker.on_scale:
        scores = measured.attack.scores
        step = linkage_rate(scores, threshold - 0.01) - linkage_rate(scores, threshold + 0.01)
    return CheckedFigures(
        records=len(measured.attack.found),
        linkage_rate=measured.rate.value,
        linkage_rate_of_matched=of_matched,
        top1_hit_rate=None if known is None else top1_hit_rate(known),
        blocking_recall=None if known is None else blocking_recall(known),
        attributable_rate=measured.attributable.value,
        basis=measured.basis,
        controls=None if measured.control is None else len(measured.control),
        power=None if measured.power is None else measured.power[FALSE_RATE].value,
        step=step,
        at_threshold=threshold is not None,
    )


def contradictions(figures: CheckedFigures) -> list[AuditWarning]:
    """The warnings of all rules that apply to the figures."""
    return [*_truth_warnings(figures), *_base_warnings(figures), *_choice_warnings(figures)]


def _truth_warnings(figures: CheckedFigures) -> list[AuditWarning]:
    found = []
    if top1_far_above(figures):
        found.append(
            AuditWarning(
                "top1_above_rate",
                f"the best candidate is the right person for {figures.top1_hit_rate:.1%} of originals with a match, "
                f"but only {figures.linkage_rate_of_matched:.1%} of them are linked: the rate understates the risk; "
                "protection shifted the representation, or the attacker requires too large a lead for a link",
            )
        )
    if top1_unexplained(figures):
        found.append(
            AuditWarning(
                "top1_above_attributable",
                f"the best candidate is the right person for {figures.top1_hit_rate:.1%} of originals with a match, "
                f"but only {max(0.0, figures.attributable_rate or 0.0):.1%} is attributed to the release: look-alikes "
                "hide the links, or the control is not valid",
            )
        )
    if power_unexplained(figures):
        found.append(
            AuditWarning(
                "power_above_attributable",
                f"power is {figures.power:.1%} (linked originals at a 5% false-positive rate), but at this threshold "
                f"only {max(0.0, figures.attributable_rate or 0.0):.1%} is attributed to the release: the threshold "
                "does not suit this score; use the risk instead",
            )
        )
    if recall_near_zero(figures):
        found.append(
            AuditWarning(
                "blocking_recall_near_zero",
                f"only {figures.blocking_recall:.1%} of the true pairs share a block: all other figures describe "
                "look-alikes; use coarser blocking keys, or no blocking",
            )
        )
    return found


def _base_warnings(figures: CheckedFigures) -> list[AuditWarning]:
    found = []
    if figures.basis is None:
        found.append(
            AuditWarning(
                "base_rate_unknown",
                "the base rate is unknown, so it is unclear how much of the linkage rate comes from look-alikes: there "
                "is no usable control, and not all true matches are known; set people aside as a control before "
                "protecting the data",
            )
        )
    if figures.basis == "own_match_left_out":
        found.append(
            AuditWarning(
                "base_rate_by_own_match",
                "there is no control, so links cannot be told from look-alikes, and no linkage or attributable rate "
                "counts here; the top-1 hit rate (the best candidate is right) needs no control and does count; to "
                "measure the risk, set people aside as a control before protecting the data",
            )
        )
    rate, attributable = figures.linkage_rate, figures.attributable_rate
    if rate is not None and attributable is not None and attributable < ALL_BASE_RATE and rate > 2 * ALL_BASE_RATE:
        who = (
            "people who are not in the release are linked about as often"
            if figures.basis == "control"
            else "with their own match left out, the originals are linked about as often"
        )
        found.append(AuditWarning("all_base_rate", f"the linkage rate of {rate:.1%} is nearly all base rate: {who}"))
    return found


def _choice_warnings(figures: CheckedFigures) -> list[AuditWarning]:
    found = []
    if figures.step is not None and figures.step > STEEP:
        found.append(
            AuditWarning(
                "steep_threshold",
                f"the linkage rate falls by {figures.step:.1%} within 0.02 around the threshold: it reflects the "
                "choice of threshold as much as the release; use the curve, or power, which needs no threshold",
            )
        )
    for rule, spread, choice in (
        ("swings_with_blocking", figures.spread_by_blocking, "the granularity of blocking"),
        ("swings_with_encoding", figures.spread_by_encoding, "the encoding and scaling of columns"),
    ):
        if spread is not None and spread > SWINGS:
            found.append(
                AuditWarning(
                    rule,
                    f"the figures of attacker '{figures.swinging}' vary by {100 * spread:.1f} points with {choice}: "
                    "report the choice with the figure; if power is known, the strongest choice counts",
                )
            )
    few = {"originals": figures.records, "people in the control": figures.controls}
    for who, count in few.items():
        if count is not None and count < FEW_RECORDS:
            found.append(AuditWarning("few_records", f"{count} {who} are few: use the intervals, not the estimates"))
    return found


def top1_far_above(figures: CheckedFigures) -> bool:
    """Whether the top-1 hit rate is far above the linkage rate."""
    if figures.top1_hit_rate is None or figures.linkage_rate_of_matched is None:
        return False
    return figures.top1_hit_rate - figures.linkage_rate_of_matched > TOP1_ABOVE


def top1_unexplained(figures: CheckedFigures) -> bool:
    """Whether the top-1 hit rate is far above the attributable rate.

    A negative attributable rate is sampling error and counts as 0.
    """
    if figures.top1_hit_rate is None or figures.attributable_rate is None:
        return False
    return figures.top1_hit_rate - max(0.0, figures.attributable_rate) > TOP1_ABOVE_ATTRIBUTABLE


def power_unexplained(figures: CheckedFigures) -> bool:
    """Whether power attributes far more to the release than the attributable rate at the threshold does.

    A negative attributable rate is sampling error and counts as 0.
    """
    if figures.power is None or figures.attributable_rate is None:
        return False
    beyond = attributable_rate(figures.power, FALSE_RATE) or 0.0
    return beyond - max(0.0, figures.attributable_rate) > POWER_ABOVE


def recall_near_zero(figures: CheckedFigures) -> bool:
    """Whether blocking separated nearly all true pairs."""
    return figures.blocking_recall is not None and figures.blocking_recall < RECALL_NEAR_ZERO
