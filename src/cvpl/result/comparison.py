"""The results on several releases: a comparison, as in `comparison.json`, and a benchmark, as in `benchmark.json`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from cvpl.result.audit import PolicyOutcome, Provenance
from cvpl.result.document import Document, interval_columns
from cvpl.result.figures import AttackerRow, Attributable, Control, Picked, Power, Rate
from cvpl.result.mechanisms import Deviation, TrialMechanism
from cvpl.result.publishing import (
    EstimateSection,
    Number,
    OfControlsOrStated,
    OfMatched,
    OfMatchedHigh,
    OfMatchedLow,
    OfRisk,
    OfRiskHigh,
    OfRiskLow,
    OfTables,
    Section,
    Share,
    Threshold,
    Whole,
)
from cvpl.result.questions import ComplianceStatus, Criteria, ReleaseInference, SingledOutRate
from cvpl.result.setting import Contributions, Input, UtilityFigures, Warning_
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


class Made(Section):
    """How a release was made, according to its manifest: the mechanism, its strength, and the author."""

    mechanism: str
    family: str
    strength: dict[str, int | float | str]
    by: str | None


class BenchmarkUtility(UtilityFigures):
    """How much of the original's structure a release keeps; `score` is the mean used to compare releases of a group.

    The figures cover `columns`, the columns of the release. `withheld` are columns that only other releases of the
    group have. The score does not include the cost of withholding them, so releases with different columns are not
    comparable.
    """

    score: Number | None = None
    columns: list[str]
    withheld: list[str] = Field(default_factory=list)


class LargestTop1(Section):
    """The qualified attacker with the highest top-1 hit rate, and that rate."""

    attacker: str
    top1_hit_rate: Number


class BenchmarkCriteria(Section):
    """Formal criteria of a release and who is singled out in it, as its audit has them.

    `contradicted` is the number of the criteria's promises that attackers contradict, of `tested`. The singled-out rate
    is null if it was left out or there are no predicates; its interval also if it has none.
    """

    k: Whole
    unique: Number
    average_class_risk: Number
    least_l: Whole | None
    singled_out: Number | None
    singled_out_low: Number | None
    singled_out_high: Number | None
    singled_out_basis: str | None
    tested: Whole
    contradicted: Whole


class BenchmarkRow(Section):
    """One release. All figures but two are those of the headline attacker.

    `verdict` and `risk` are those of the audit; releases are ranked by `risk`. The two exceptions:
    `paper_linkage_rate` is that of the paper's attacker, and `largest_top1` is the largest over all attackers that
    count, because another attacker than the headline may find more people.

    Rates are null if the release could not be audited (`failed`) or if no attacker is reliable (`not_assessable`);
    `reasons` lists why. `power` is null without a control. `place` counts from the highest risk, among the rows of the
    group that are ranked by the same figure with the same control; null if the base rate is unknown. `seconds` is the
    time of the audit, the only field that differs between two identical runs. `suppress_below` is k: no figure tells of
    fewer than k people; 1 if the figures are exact. `inference` has the inference rate, or why it was not measured;
    null if the release could not be audited.
    """

    group: str
    name: str
    file: str
    made: Made
    status: Literal["assessed", "not_assessable", "failed"]
    reasons: list[str]
    inputs: dict[str, Input]
    scenario: Literal["simulation", "controlled", "partial", "blind"] | None
    control_from: Literal["file", "absent"] | None
    attacker: str | None
    picked_among: Whole | None
    linkage_rate: Rate | None
    paper_linkage_rate: Rate | None
    control: Control | None
    attributable_rate: Attributable | None
    power: Power | None
    top1_hit_rate: Number | None
    top1_low: Number | None
    top1_high: Number | None
    largest_top1: LargestTop1 | None
    blocking_recall: Number | None
    utility: BenchmarkUtility | None
    ranked_by: Literal["risk", "power", "top1_hit_rate"] | None
    place: Places | None
    lower_bound: bool
    warnings: list[Warning_]
    fingerprint: str
    seconds: Number | None
    verdict: Verdict | None = None
    risk: Risk | None = None
    suppress_below: Whole = 1
    criteria: BenchmarkCriteria | None = None
    inference: ReleaseInference | None = None

    @property
    def shown(self) -> tuple[float | None, float | None, float | None]:
        """The risk with its interval; if a result has no risk, its power beyond chance, or None without power."""
        if self.risk is not None:
            return self.risk.estimate, self.risk.low, self.risk.high
        return (None, None, None) if self.power is None else self.power.beyond_chance


class BenchmarkGroup(Section):
    """The common data of all releases of one manifest; `utility_figures` are the figures averaged in the score."""

    name: str
    title: str
    source: str
    licence: str
    original: str
    control: str | None
    seed: Whole
    utility_figures: list[str]


class BenchmarkResult(Document):
    """All releases, grouped in the order of the manifests; in each group the highest risk is first."""

    FILE: ClassVar[str] = "benchmark.json"

    schema_: Literal["cvpl/benchmark/1"] = Field(default="cvpl/benchmark/1", alias="schema")
    false_rate: Number
    groups: list[BenchmarkGroup]
    rows: list[BenchmarkRow]
    versions: dict[str, str]

    def of(self, group: str) -> list[BenchmarkRow]:
        """The rows of one group, in order."""
        return [row for row in self.rows if row.group == group]

    def _columns(self) -> dict[str, list[Any]]:
        """The columns of a table with one row per release."""
        rows = self.rows
        return {
            "group": [row.group for row in rows],
            "release": [row.name for row in rows],
            "status": [row.status for row in rows],
            "verdict": [None if row.verdict is None else row.verdict.kind for row in rows],
            **interval_columns("risk", [row.risk for row in rows]),
            "first_place": [None if row.place is None else row.place.first for row in rows],
            "last_place": [None if row.place is None else row.place.last for row in rows],
            **interval_columns("linkage_rate", [row.linkage_rate for row in rows]),
            "control_rate": [None if row.control is None else row.control.rate for row in rows],
            **interval_columns("attributable_rate", [row.attributable_rate for row in rows]),
            "top1_hit_rate": [row.top1_hit_rate for row in rows],
            **interval_columns("inference_rate", [row.inference and row.inference.rate for row in rows]),
            "utility": [None if row.utility is None else row.utility.score for row in rows],
            "attacker": [row.attacker for row in rows],
            "seconds": [row.seconds for row in rows],
        }


def benchmark_schema() -> dict[str, Any]:
    """The JSON schema of `benchmark.json`."""
    return BenchmarkResult.model_json_schema(by_alias=True)
