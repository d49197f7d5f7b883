"""Rates with their intervals, and figures from the control and the true matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import model_validator

from cvpl.estimates import beyond_chance
from cvpl.result.marks import (
    Count,
    Number,
    OfAttributable,
    OfAttributableHigh,
    OfAttributableLow,
    OfControls,
    OfControlsHigh,
    OfControlsLow,
    OfControlsOrStated,
    OfOriginals,
    OfOriginalsHigh,
    OfOriginalsLow,
    OfRisk,
    OfRiskHigh,
    OfRiskLow,
    People,
    Rows,
    Share,
    Statistic,
    Threshold,
    Whole,
)
from cvpl.result.section import EstimateSection, Section

Checked = TypeVar("Checked", bound=Section)
OfWithMatch = Annotated[float, Share("matched")]
OfMatches = Annotated[float, Share("matches_in_block")]
OfPairs = Annotated[float, Statistic("originals", counts=True, per="pairs")]


class Rate(EstimateSection):
    """An estimate with its 95% interval; the ends are null if there is no interval.

    The estimand is the expected rate for a new sample of the same size under the same attacker and release process.
    `method` names the sampling unit. `refused` states why the figure has no interval; null if it has one, or if there
    is no figure. `coverage` is the lowest coverage of such intervals measured at a nominal 95%, `coverage_at_999` that
    at a nominal 99.9%; null if not measured. In other figures these fields have the same meaning.
    """

    estimate: OfOriginals | None
    low: OfOriginalsLow | None
    high: OfOriginalsHigh | None
    method: str
    refused: str | None = None
    coverage: Number | None = None
    coverage_at_999: Number | None = None


class CurvePoint(Section):
    """The rate at one threshold, or at one false-positive rate for a score without a scale of its own."""

    threshold: Threshold | None
    linkage_rate: OfOriginals
    low: OfOriginalsLow | None
    high: OfOriginalsHigh | None
    control_rate: OfControlsOrStated | None = None
    attributable_rate: Annotated[float, Share("attributable", ends="attributable_")] | None = None
    attributable_low: OfAttributableLow | None = None
    attributable_high: OfAttributableHigh | None = None
    false_rate: Number | None = None


class Calibration(Section):
    """A calibrated threshold: the requested form and α; `attainable` is false if no threshold meets them."""

    form: Literal["existential", "pairwise", "bonferroni"]
    alpha: Number
    attainable: bool


class Control(EstimateSection):
    """The linkage rate of people who are not in the release, under the same fitted attacker."""

    VALUE: ClassVar[str] = "rate"

    rate: Annotated[float, Share("controls", ends="", stated_without=("low", "refused"))] | None
    low: OfControlsLow | None
    high: OfControlsHigh | None
    method: str
    records: Whole
    refused: str | None = None
    coverage: Number | None = None
    coverage_at_999: Number | None = None


class Attributable(EstimateSection):
    """(LR - control) / (1 - control), where LR is the linkage rate; `basis` is what served as the control."""

    estimate: OfAttributable | None
    low: OfAttributableLow | None
    high: OfAttributableHigh | None
    method: str
    basis: Literal["control", "own_match_left_out"]
    refused: str | None = None
    coverage: Number | None = None
    coverage_at_999: Number | None = None


class Power(EstimateSection):
    """The share of originals linked (true-positive rate) at the false-positive rate `false_rate`."""

    VALUE: ClassVar[str] = "power"

    false_rate: Number
    power: OfRisk
    low: OfRiskLow | None = None
    high: OfRiskHigh | None = None
    method: str = "none"
    refused: str | None = None
    coverage: Number | None = None
    coverage_at_999: Number | None = None

    @property
    def beyond_chance(self) -> tuple[float, float | None, float | None]:
        """The risk (power - α) / (1 - α), where α is the false-positive rate, and the ends of its interval."""
        low, high = (None if end is None else beyond_chance(end, self.false_rate) for end in (self.low, self.high))
        return beyond_chance(self.power, self.false_rate), low, high


def power_at(powers: Sequence[Power] | None, false_rate: float) -> Power | None:
    """The power (true-positive rate) at a false-positive rate; None if it was not measured there."""
    return next((power for power in powers or () if power.false_rate == false_rate), None)


def _with_bins(section: Checked, edges: Sequence[float], *shares: Sequence[float]) -> Checked:
    """The section, if every bin has an edge on either side and a share of each kind."""
    if len(edges) < 2 or any(len(bins) != len(edges) - 1 for bins in shares):
        raise ValueError("the bins and their edges do not fit")
    return section


class Overlap(Section):
    """Similarities of true matches and wrong candidates in equal bins; `overlap` is the shared area."""

    edges: list[Annotated[float, Statistic(None, digits=4)]]
    matches: list[OfMatches]
    non_matches: list[Annotated[float, Statistic("originals", counts=True, per="non_match_pairs")]]
    overlap: OfMatches
    separation: OfMatches
    non_match_pairs: Annotated[int, Statistic()]
    sampled: bool

    @model_validator(mode="after")
    def _fits(self) -> Self:
        return _with_bins(self, self.edges, self.matches, self.non_matches)


class EvidenceShares(Section):
    """The headline attacker's evidence for originals and controls, as shares in equal bins.

    `originals_without` and `controls_without` are the shares of people without a candidate, who are in no bin.
    `read_at` is the threshold or, for a score without a scale, the evidence at which 5% of the controls are linked.
    `controls` is null without a control.
    """

    edges: list[Annotated[float, Statistic(None, digits=4)]]
    originals: list[OfOriginals]
    controls: list[OfControls] | None
    originals_without: OfOriginals
    controls_without: OfControls | None
    read_at: Threshold | None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        return _with_bins(self, self.edges, self.originals, *(() if self.controls is None else (self.controls,)))


class TruthFigures(Section):
    """Figures from the true matches at the threshold. Rates with a zero denominator are null."""

    complete: bool
    originals_with_match: People
    matches_in_block: People
    matches_linked: People
    blocking_recall: OfWithMatch | None
    matching_recall: OfMatches | None
    total_recall: OfWithMatch | None
    true_link_rate: OfMatches | None
    false_link_rate: OfOriginals | None
    pairwise_false_link_rate: OfPairs | None
    recall_gap: OfWithMatch | None
    top1_hit_rate: Annotated[float, Share("matched", ends="top1_")] | None
    top1_low: Annotated[float, Share("matched", "low")] | None = None
    top1_high: Annotated[float, Share("matched", "high")] | None = None
    precision_at_1: Annotated[float, Share("matches_linked")] | None
    similarities: Overlap | None


class GrowthPoint(Section):
    """The predicted and observed rates of records with `fewest` to `most` candidates."""

    fewest: People
    most: Annotated[int, Count(up=True)]
    records: People
    predicted: Annotated[float, Share("records")]
    observed: Annotated[float, Share("records")]


class Growth(Section):
    """The growth law 1 - (1 - p)^|C| compared with the observed rates; `pair_probability` is p."""

    pair_probability: OfPairs
    overall: GrowthPoint
    by_candidates: Annotated[list[GrowthPoint], Rows("records")]


class RungRate(Section):
    """One rung of the ladder: the linkage rate under one level of blocking."""

    number: Whole
    linkage_rate: OfOriginals
    gain: OfOriginals
    pairs: Annotated[int, Statistic()]


class Ladder(Section):
    """Progressive evaluation with looser blocking; if it stopped early, the last rate is a lower bound."""

    rungs: list[RungRate]
    stopped_early: bool
