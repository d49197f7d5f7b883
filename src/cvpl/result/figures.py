"""Rates with their intervals, and what truth and control say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from cvpl.result.section import Section


class Rate(Section):
    """An estimate with its 95% interval; the ends are null where no interval is given.

    The estimand is the expected rate for a fresh draw of as many people under the same attacker and release process.
    `method` says what was drawn. `refused` says why the figure has no interval; null where it has one, and where there
    is no figure. `coverage` is the lowest share of such intervals that held the truth when it was measured at a nominal
    95%, `coverage_at_999` the same at a nominal 99.9%; null where nothing was measured. Other figures have these fields
    with the same meaning.
    """

    estimate: float | None
    low: float | None
    high: float | None
    method: str
    refused: str | None = None
    coverage: float | None = None
    coverage_at_999: float | None = None


class CurvePoint(Section):
    """The rate at one threshold, or, for a score without a scale of its own, at one false rate of the controls."""

    threshold: float | None
    linkage_rate: float
    low: float | None
    high: float | None
    control_rate: float | None = None
    attributable_rate: float | None = None
    attributable_low: float | None = None
    attributable_high: float | None = None
    false_rate: float | None = None


class Calibration(Section):
    """A calibrated threshold: the form and α that were asked for; `attainable` is false where there is none."""

    form: Literal["existential", "pairwise", "bonferroni"]
    alpha: float
    attainable: bool


class Control(Section):
    """The linkage rate of people who are in no release, under the same fitted attacker."""

    rate: float | None
    low: float | None
    high: float | None
    method: str
    records: int
    refused: str | None = None
    coverage: float | None = None
    coverage_at_999: float | None = None


class Attributable(Section):
    """(LR - control) / (1 - control), and what served as the control."""

    estimate: float | None
    low: float | None
    high: float | None
    method: str
    basis: Literal["control", "own_match_left_out"]
    refused: str | None = None
    coverage: float | None = None
    coverage_at_999: float | None = None


class Power(Section):
    """The share of originals linked where a share `false_rate` of the controls is."""

    false_rate: float
    power: float
    low: float | None = None
    high: float | None = None
    method: str = "none"
    refused: str | None = None
    coverage: float | None = None
    coverage_at_999: float | None = None

    @property
    def beyond_chance(self) -> tuple[float, float | None, float | None]:
        """The risk that it tells, (power - α) / (1 - α) with α the false rate, and the ends of its interval."""

        def risk(value: float) -> float:
            return (value - self.false_rate) / (1 - self.false_rate)

        low, high = (None if end is None else risk(end) for end in (self.low, self.high))
        return risk(self.power), low, high


def power_at(powers: Sequence[Power] | None, false_rate: float) -> Power | None:
    """The power (true-positive rate) at a false-positive rate; None where it was not read there."""
    return next((power for power in powers or () if power.false_rate == false_rate), None)


class Overlap(Section):
    """Similarities of true matches and wrong candidates in equal bins; `overlap` is the shared area."""

    edges: list[float]
    matches: list[float]
    non_matches: list[float]
    overlap: float
    separation: float
    non_match_pairs: int
    sampled: bool


class EvidenceShares(Section):
    """By what originals, and controls, would be linked: shares in equal bins of the headline attacker's evidence.

    `without` are the shares of those who have no candidate, and stand in no bin; `read_at` is the threshold, or for a
    score off the scale the evidence at which 5% of the controls are linked. `controls` is null without a control.
    """

    edges: list[float]
    originals: list[float]
    controls: list[float] | None
    originals_without: float
    controls_without: float | None
    read_at: float | None


class TruthFigures(Section):
    """What the true matches say at the threshold. Rates with nothing to divide by are null."""

    complete: bool
    originals_with_match: int
    matches_in_block: int
    matches_linked: int
    blocking_recall: float | None
    matching_recall: float | None
    total_recall: float | None
    true_link_rate: float | None
    false_link_rate: float | None
    pairwise_false_link_rate: float | None
    recall_gap: float | None
    top1_hit_rate: float | None
    top1_low: float | None = None
    top1_high: float | None = None
    precision_at_1: float | None
    similarities: Overlap | None


class GrowthPoint(Section):
    """Records with between `fewest` and `most` candidates: the growth law's rate beside the observed one."""

    fewest: int
    most: int
    records: int
    predicted: float
    observed: float


class Growth(Section):
    """1 - (1 - p)^|C| against what was observed; `pair_probability` is p."""

    pair_probability: float
    overall: GrowthPoint
    by_candidates: list[GrowthPoint]


class RungRate(Section):
    """One rung of the ladder."""

    number: int
    linkage_rate: float
    gain: float
    pairs: int


class Ladder(Section):
    """Progressive evaluation; where it stopped early the last rate is a lower bound."""

    rungs: list[RungRate]
    stopped_early: bool
