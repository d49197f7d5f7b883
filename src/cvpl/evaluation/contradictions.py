"""Figures that contradict each other, or that mislead alone, said aloud. Each is a named rule with a sentence."""

from __future__ import annotations

from dataclasses import dataclass

TOP1_ABOVE = 0.10
"""Top-1 hit rate above the linkage rate (same denominator) by more than this."""
TOP1_ABOVE_ATTRIBUTABLE = 0.30
"""Top-1 hit rate above the attributable rate by more than this."""
RECALL_NEAR_ZERO = 0.10
"""A blocking recall below this says that blocking parted nearly all true pairs."""
ALL_BASE_RATE = 0.05
"""An attributable rate below this, under a linkage rate above twice as much."""
FEW_RECORDS = 100


@dataclass(frozen=True)
class Notice:
    """A rule's name and its sentence."""

    rule: str
    message: str


@dataclass(frozen=True)
class Figures:
    """What the rules look at; None where a figure is not known."""

    records: int
    linkage_rate: float | None
    linkage_rate_of_matched: float | None
    top1_hit_rate: float | None
    blocking_recall: float | None
    attributable_rate: float | None
    base_known: bool


def contradictions(figures: Figures) -> list[Notice]:
    """Every rule that the figures set off."""
    found = []
    if top1_far_above(figures):
        found.append(
            Notice(
                "top1_above_rate",
                f"the best candidate is the right person for {figures.top1_hit_rate:.1%} of those who have a match, "
                f"but only {figures.linkage_rate_of_matched:.1%} of them reach the threshold: the rate understates the "
                "risk, most likely because protection shifted the representation",
            )
        )
    if top1_unexplained(figures):
        found.append(
            Notice(
                "top1_above_attributable",
                f"the best candidate is the right person for {figures.top1_hit_rate:.1%} of those who have a match, "
                f"but only {figures.attributable_rate:.1%} is attributed to the release: at this threshold look-alikes "
                "hide the links, or the control is no control",
            )
        )
    if recall_near_zero(figures):
        found.append(
            Notice(
                "blocking_recall_near_zero",
                f"blocking kept only {figures.blocking_recall:.1%} of the true pairs together: whatever follows is "
                "about other people; block by coarser keys, or by none",
            )
        )
    if not figures.base_known:
        found.append(
            Notice(
                "base_rate_unknown",
                "there is neither a control nor a true match: how much of the linkage rate is look-alikes, which "
                "anybody finds in any release, is not known; set people aside before protecting, and pass them",
            )
        )
    rate, attributable = figures.linkage_rate, figures.attributable_rate
    if rate is not None and attributable is not None and attributable < ALL_BASE_RATE and rate > 2 * ALL_BASE_RATE:
        found.append(
            Notice(
                "all_base_rate",
                f"the linkage rate of {rate:.1%} is nearly all base rate: people who are not in the release find a "
                "look-alike about as often",
            )
        )
    if figures.records < FEW_RECORDS:
        found.append(
            Notice("few_records", f"{figures.records} originals are few: read the intervals, not the estimates")
        )
    return found


def top1_far_above(figures: Figures) -> bool:
    """Whether more people are found by their best candidate than the threshold lets through."""
    if figures.top1_hit_rate is None or figures.linkage_rate_of_matched is None:
        return False
    return figures.top1_hit_rate - figures.linkage_rate_of_matched > TOP1_ABOVE


def top1_unexplained(figures: Figures) -> bool:
    """Whether far more people are found by their best candidate than the attributable rate owns up to."""
    if figures.top1_hit_rate is None or figures.attributable_rate is None:
        return False
    return figures.top1_hit_rate - figures.attributable_rate > TOP1_ABOVE_ATTRIBUTABLE


def recall_near_zero(figures: Figures) -> bool:
    """Whether blocking parted nearly all true pairs."""
    return figures.blocking_recall is not None and figures.blocking_recall < RECALL_NEAR_ZERO
