"""The result of a comparison of several releases of one original, as in `comparison.json`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from cvpl.result.attackers import AttackerRow, Picked
from cvpl.result.audit import PolicyOutcome, Provenance
from cvpl.result.compliance import ComplianceStatus
from cvpl.result.criteria import Criteria
from cvpl.result.data_frame import interval_columns
from cvpl.result.document import Document
from cvpl.result.figures import Attributable, Power, Rate
from cvpl.result.inference import ReleaseInference
from cvpl.result.marks import (
    Number,
    OfControlsOrStated,
    OfMatched,
    OfMatchedHigh,
    OfMatchedLow,
    OfRisk,
    OfRiskHigh,
    OfRiskLow,
    OfTables,
    Share,
    Threshold,
    Whole,
)
from cvpl.result.section import EstimateSection, Section
from cvpl.result.setting import Contributions, Input
from cvpl.result.singling_out import SingledOutRate
from cvpl.result.trial import Deviation, TrialMechanism
from cvpl.result.trust import Warning_
from cvpl.result.utility import UtilityFigures
from cvpl.result.verdict import BestCandidate, Finding, Risk, Verdict


class Places(Section):
    """The possible places of a release in a ranking, from `first` to `last`; equal if there is no tie."""

    first: Whole
    last: Whole


class ComparedUtility(UtilityFigures):
    """How much of the original's structure a release keeps: four figures, and `score`, the mean used for comparison.

    The score is the mean of the figures in `utility_figures` of the comparison, which all releases have. It is null,
    with the `reason`, if the release withholds columns that others have, because the score does not include that cost.
    """

    score: Number | None
    accuracy_of_originals: OfTables | None
    accuracy_of_release: OfTables | None
    accuracy_of_guessing: OfTables | None
    columns: list[str]
    reason: str | None = None


class ComparedDraws(Section):
    """The draws of a mechanism: how many, the risk of each, and how much one differs from the next.

    `deviation` is the standard deviation of the risk between draws beyond what people explain. `people_error` and
    `draws_error` are the two standard errors of the mean, `degrees` the degrees of freedom of its interval. They are
    null, and `risks` is empty, if no attacker counts.
    """

    mechanism: TrialMechanism
    count: Whole
    risks: list[OfRisk] = Field(default_factory=list)
    deviation: Deviation | None = None
    people_error: Deviation | None = None
    draws_error: Deviation | None = None
    degrees: Whole


class ComparedRelease(Section):
    """One release: the headline attacker's figures, the utility, and its places in the rankings.

    `verdict` and `risk` are those of an audit of the release. `risk_places` counts from the highest risk; it is null,
    with the reason in `unranked`, if the risk is measured differently from that of the other releases. `utility_places`
    counts from the highest utility. `on_frontier` is null if risk or utility cannot be compared. `beaten_by` lists the
    releases with no more risk and no less utility, `clearly_beaten_by` those of them whose risk is lower beyond error.
    `policies` are the outcomes of the configuration's policies, without those on the largest rate of a subgroup, which
    a comparison does not measure. `criteria` and `singled_out` are as in an audit, the second null if it is left out.
    `one_over_k` says whether the top-1 hit rate contradicts the promise of k, as in an audit; null over draws.
    `inference` has the inference rate of an audit, or why it was not measured, as over draws; null in old results.

    With `draws` it is a mechanism. `attacker` is the strongest on average; `risk`, `power`, `top1_hit_rate` and
    `utility` are means over draws, with intervals over people and draws, and so are `verdict` and `best_candidate`. All
    other figures are those of the first draw. Without `draws` it is one release: how much another draw of the same
    mechanism would differ is unknown.
    """

    name: str
    input: Input
    scenario: Literal["simulation", "controlled", "partial", "blind"]
    assessable: bool
    reasons: list[str]
    attacker: str
    threshold: Threshold | None
    asked: Whole
    power: Power | None
    attributable_rate: Attributable | None
    linkage_rate: Rate
    control_rate: OfControlsOrStated | None
    top1_hit_rate: OfMatched | None
    top1_low: OfMatchedLow | None
    top1_high: OfMatchedHigh | None
    picked: Picked | None
    utility: ComparedUtility
    risk_places: Places | None
    utility_places: Places | None
    on_frontier: bool | None
    beaten_by: list[str]
    clearly_beaten_by: list[str]
    feature_contribution: Contributions
    attackers: list[AttackerRow]
    lower_bound: bool
    warnings: list[Warning_]
    verdict: Verdict | None = None
    risk: Risk | None = None
    best_candidate: BestCandidate | None = None
    preflight: list[Finding] = Field(default_factory=list)
    unranked: str | None = None
    policies: list[PolicyOutcome] = Field(default_factory=list)
    draws: ComparedDraws | None = None
    criteria: Criteria | None = None
    singled_out: SingledOutRate | None = None
    one_over_k: ComplianceStatus | None = None
    inference: ReleaseInference | None = None

    @property
    def shown(self) -> tuple[float | None, float | None, float | None]:
        """The risk with its interval; if a result has no risk, its power at 5% beyond chance, or None without power."""
        if self.risk is not None:
            return self.risk.estimate, self.risk.low, self.risk.high
        return (None, None, None) if self.power is None else self.power.beyond_chance


class PairedDifference(EstimateSection):
    """A figure of the first release minus that of the second, with an interval paired person by person.

    `originals` and `controls` count the people that both headline attackers searched for, and `correlation` is that of
    the two estimates. `confidence` is corrected for the choice of the attackers. `tied` is true if the interval
    includes 0 or if there is no interval; `refused` then states why.
    """

    figure: Literal["risk", "power", "attributable_rate"]
    first: str
    second: str
    estimate: OfRisk | None
    low: OfRiskLow | None
    high: OfRiskHigh | None
    method: str
    refused: str | None = None
    coverage: Number | None = None
    coverage_at_999: Number | None = None
    confidence: Number
    correlation: Annotated[float, Share("risk")] | None
    originals: Whole
    controls: Whole
    tied: bool


class ComparisonResult(Document):
    """Several releases of one original, the highest risk first and releases that are not assessable last.

    `suppress_below` is k: no figure tells of fewer than k people; 1 if the figures are exact.
    """

    FILE: ClassVar[str] = "comparison.json"

    schema_: Literal["cvpl/compare/1"] = Field(default="cvpl/compare/1", alias="schema")
    inputs: dict[str, Input]
    false_rate: Number
    releases: list[ComparedRelease]
    differences: list[PairedDifference]
    frontier: list[str]
    utility_figures: list[str]
    provenance: Provenance
    suppress_below: Whole = 1

    def _columns(self) -> dict[str, list[Any]]:
        """The columns of a table with one row per release."""
        rows = self.releases
        return {
            "release": [row.name for row in rows],
            "verdict": [None if row.verdict is None else row.verdict.kind for row in rows],
            "assessable": [row.assessable for row in rows],
            **interval_columns("risk", [row.risk for row in rows]),
            "first_place": [None if row.risk_places is None else row.risk_places.first for row in rows],
            "last_place": [None if row.risk_places is None else row.risk_places.last for row in rows],
            **interval_columns("linkage_rate", [row.linkage_rate for row in rows]),
            "control_rate": [row.control_rate for row in rows],
            **interval_columns("attributable_rate", [row.attributable_rate for row in rows]),
            "top1_hit_rate": [row.top1_hit_rate for row in rows],
            **interval_columns("inference_rate", [row.inference and row.inference.rate for row in rows]),
            "utility": [row.utility.score for row in rows],
            "on_frontier": [row.on_frontier for row in rows],
            "attacker": [row.attacker for row in rows],
            "asked": [row.asked for row in rows],
        }


def comparison_schema() -> dict[str, Any]:
    """The JSON schema of `comparison.json`."""
    return ComparisonResult.model_json_schema(by_alias=True)
