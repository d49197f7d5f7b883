"""Rates with their intervals, the figures of every attacker, and rates by group with small numbers hidden."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field, model_validator

from cvpl.estimates import beyond_chance
from cvpl.result.publishing import (
    Count,
    EstimateSection,
    Number,
    OfAttributable,
    OfAttributableHigh,
    OfAttributableLow,
    OfControls,
    OfControlsHigh,
    OfControlsLow,
    OfControlsOrStated,
    OfMatched,
    OfOriginals,
    OfOriginalsHigh,
    OfOriginalsLow,
    OfRisk,
    OfRiskHigh,
    OfRiskLow,
    People,
    Rows,
    Section,
    Share,
    Statistic,
    Threshold,
    Whole,
)
from cvpl.result.verdict import Risk
from cvpl.wording import percent, printable, span

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


NEAR_ZERO = 0.02
"""Risks up to this distance from 0 lie on each other in a chart."""
OfAsked = Annotated[float, Share("asked")]


class Canary(Section):
    """An attacker's figures on a release with a known answer, over `asked` originals.

    `low` and `high` are the ends of the 99.9% interval of the attributable rate. `top1_hit_rate`, and
    `attainable_top1`, the largest hit rate that duplicate records allow, are for the identity release.
    """

    asked: Whole
    linkage_rate: OfAsked | None
    control_rate: OfAsked | None
    attributable_rate: Annotated[float, Share("asked", ends="")] | None
    low: Annotated[float, Share("asked", "low")] | None
    high: Annotated[float, Share("asked", "high")] | None
    power: OfAsked | None
    top1_hit_rate: OfAsked | None
    attainable_top1: OfAsked | None


class Canaries(Section):
    """The two ends of the scale: the originals released unchanged, and independently drawn columns.

    Both are rounded. The records of `independent` are invented, but every figure is a share of originals and controls
    who find a look-alike there, and the values of the records are theirs too.
    """

    identity: Canary
    independent: Canary


class Picked(Section):
    """How the headline attacker was chosen: it has the largest risk of `among` attackers.

    Each interval has the confidence `confidence` = 1 - 0.05 / among, so that the one that was picked has at least 95%.
    `screened` are those that a quick look tried on a part of a large release only: others were stronger there.
    """

    among: Whole
    confidence: Number
    screened: list[str] = Field(default_factory=list)


class AttackerRow(Section):
    """One attacker's main figures, over `asked` originals.

    `disqualified` lists why it does not count. `risk` is computed as for the headline attacker, even if the attacker
    does not count; null if it is unknown.
    """

    name: str
    threshold: Threshold | None
    linkage_rate: Rate
    control_rate: OfControlsOrStated | None
    attributable_rate: Attributable | None
    power: list[Power] | None
    top1_hit_rate: OfMatched | None
    settings: dict[str, Any]
    asked: Whole | None = None
    disqualified: list[str] = Field(default_factory=list)
    canaries: Canaries | None = None
    risk: Risk | None = None


def near_zero(rows: Sequence[AttackerRow]) -> list[Risk]:
    """The risks of the attackers if there are several and all are within 2 points of 0, else nothing.

    |risk| <= 0.02 for every attacker that has one, also those that do not count.
    """
    risks = [row.risk for row in rows if row.risk is not None]
    return risks if len(risks) > 1 and all(abs(risk.estimate) <= NEAR_ZERO for risk in risks) else []


HIDDEN = "hidden"
"""Shown instead of a value that would reveal too much about a few people."""
NOT_APPLICABLE = "n/a"
"""Shown instead of a value that does not exist, such as a group's control rate without a control."""
LOOK_ALIKES = "look-alikes cannot be told from links"
"""Why no group is named without a control: a share linked counts both."""
_NOTHING = 1e-12


class GroupRate(Section):
    """One group's rates. `label` is null if `groups` small groups are pooled.

    `linked` is null if it is hidden: too few people are linked, too few are not, or it would reveal another row. Then
    `at_least` and `at_most` give a range if both are set, and a bound if one is; if neither is set, nothing can be
    published. `low` is the lower interval end of `linked` or `at_least`, `high` the upper one of `linked` or `at_most`.
    """

    label: str | None
    groups: Whole
    records: Whole
    linked: Number | None
    at_most: Number | None
    at_least: Number | None
    low: Number | None
    high: Number | None
    control: Number | None
    attributable: Number | None


class GroupRates(Section):
    """The groups of one column, or the deciles of people by rarity."""

    name: str
    rows: list[GroupRate]


class MaximumRate(Section):
    """The largest rate over all groups, with the interval of the group named by `table` and `label`.

    `at_least` is true if the estimate is only a lower bound, because a hidden group may have a larger rate. Then `high`
    is the largest upper end over the groups that may have the largest rate. If all known rates are below the average,
    the estimate is the average and no group is named.
    """

    estimate: Number | None
    low: Number | None
    high: Number | None
    table: str | None
    label: str | None
    rows: Whole
    untold: Whole
    at_least: bool = False


class AtRisk(Section):
    """Who is at risk: the average, the maximum, and the rates by group; small numbers are hidden.

    `maximum_attributable` is the largest `attributable` of a row. `controlled` is true if groups have a control: a null
    `control` is then hidden. Results of earlier versions do not have this field.
    """

    average: Number
    maximum: MaximumRate
    maximum_attributable: Number | None
    controlled: bool = False
    suppress_below: Whole
    tables: list[GroupRates]


def stands_out(found: AtRisk) -> bool:
    """Whether the group that is linked most differs from everybody beyond error: its interval excludes the average.

    True without an interval: then nothing shows that the difference is an error.
    """
    most = found.maximum
    return most.low is None or most.high is None or not most.low <= found.average <= most.high


def group_with_largest_rate(most: MaximumRate) -> str:
    """The name of the group with the largest rate."""
    if most.table is None:
        return "in a hidden group"
    return f"{printable(most.table)}: {printable(most.label or 'small groups together')}"


def linked_words(row: GroupRate, found: AtRisk) -> str:
    """A group's linked share: the share, a range or bound, or "hidden"."""
    if row.linked is not None:
        return percent(row.linked, k=found.suppress_below)
    if row.at_least is not None and row.at_most is not None:
        return span(row.at_least, row.at_most)
    if row.at_most is not None:
        return f"at most {percent(row.at_most)}"
    return HIDDEN if row.at_least is None else f"at least {percent(row.at_least)}"


def interval_words(row: GroupRate) -> str:
    """The interval of a group's linked share; a one-sided bound extends to 0% or 100%, an unknown one is "hidden"."""
    if row.low is None and row.high is None:
        return HIDDEN
    return span(0.0 if row.low is None else row.low, 1.0 if row.high is None else row.high)


def control_words(row: GroupRate, found: AtRisk) -> str:
    """The linked share of a group's controls."""
    return _reason_without_control(found) if row.control is None else percent(row.control, k=found.suppress_below)


def attributable_words(row: GroupRate, found: AtRisk) -> str:
    """A group's attributable rate; a negative rate, which is due to chance, is shown as "below 0"."""
    return (
        _reason_without_control(found)
        if row.attributable is None
        else _not_negative(row.attributable, found.suppress_below)
    )


def maximum_attributable_words(found: AtRisk) -> str:
    """A sentence on the largest attributable rate; empty if no row has one.

    It is a lower bound if a row without a rate may have a larger one. Such a row has at most (p - c) / (1 - c), where p
    is its largest possible share and c its control rate, or p if c is hidden.
    """
    most = found.maximum_attributable
    if most is None:
        return ""
    larger = any(_most_attributable(row) > most + _NOTHING for table in found.tables for row in table.rows)
    if most < -_NOTHING:
        return f"In no {'published ' if larger else ''}group are people linked beyond look-alikes."
    if larger:
        return f"In at least one group, {percent(most)} of the people or more are linked beyond look-alikes."
    return f"The highest share of a group that is linked beyond look-alikes is {percent(most)}."


def _most_attributable(row: GroupRate) -> float:
    if row.attributable is not None:
        return row.attributable
    share = row.linked if row.linked is not None else 1.0 if row.at_most is None else row.at_most
    base = row.control or 0.0
    return share if base >= 1 else beyond_chance(share, base)


def _not_negative(rate: float, k: int) -> str:
    return "below 0" if rate < -_NOTHING else percent(rate, k=k)


def _reason_without_control(found: AtRisk) -> str:
    """Why a row has no control rate; for results of earlier versions, inferred from the other rows."""
    known = found.controlled or any(row.control is not None for table in found.tables for row in table.rows)
    return HIDDEN if known else NOT_APPLICABLE
