"""The result of an audit, as in `result.json`. It holds figures, never records."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from cvpl.result.document import (
    FROM_FILE,
    Document,
    interval_columns,
    refused_as_invalid,
    upgrade,
    with_interval_fields,
)
from cvpl.result.figures import (
    AtRisk,
    AttackerRow,
    Attributable,
    Calibration,
    Canaries,
    Control,
    CurvePoint,
    EvidenceShares,
    Growth,
    Ladder,
    Picked,
    Power,
    Rate,
    TruthFigures,
    power_at,
)
from cvpl.result.publishing import Number, OfOriginals, Section, Threshold, Whole
from cvpl.result.questions import (
    ColumnTechnique,
    Compliance,
    Criteria,
    Inference,
    Membership,
    Population,
    Recipient,
    SinglingOut,
    TailShare,
)
from cvpl.result.setting import (
    AlignedColumn,
    Assumptions,
    AttackerScenario,
    Blocks,
    Contributions,
    ControlLikeness,
    Input,
    ProjectionSummary,
    Search,
    SelfLinkage,
    Sensitivity,
    Validity,
    Warning_,
)
from cvpl.result.verdict import BestCandidate, Finding, Risk, Verdict


class PolicyOutcome(Section):
    """The outcome of a policy: which bound of which figure is compared with `max`, and whether it is met.

    `reasons` lists why it is not met. `attacker` is the attacker that `value` belongs to; null if no attacker has one.
    The figure `k` has a smallest value `min` instead; then `max` is null.
    """

    figure: str
    bound: str
    max: Number | None
    min: Number | None = None
    value: Number | None
    met: bool
    reasons: list[str]
    preset: str | None = None
    attacker: str | None = None


class Randomization(Section):
    """The seed chosen at audit time, and the attackers drawn with it."""

    seed: Whole
    attackers: list[str]


class Provenance(Section):
    """What is needed to reproduce the run: seed, versions and configuration."""

    seed: Whole
    versions: dict[str, str]
    config: dict[str, Any]
    randomization: Randomization | None = None


class AuditResult(Document):
    """The result of an audit: the verdict first, then the figures of the headline attacker.

    `verdict` holds the sentence that every output prints. `risk` is the figure behind it. `certain` is a risk whose
    interval is above 0 at another false-positive rate, or for another attacker, while the interval of `risk` includes
    0. `assumptions` are those of an audit without a configuration.
    `quick` says that only a sample of people was searched, without canaries and sensitivity analyses.
    `suppress_below` is k: no figure tells of fewer than k people; 1 if the figures are exact.
    """

    FILE: ClassVar[str] = "result.json"

    schema_: Literal["cvpl/audit/2"] = Field(default="cvpl/audit/2", alias="schema")
    verdict: Verdict
    risk: Risk | None = None
    certain: Risk | None = None
    best_candidate: BestCandidate | None = None
    preflight: list[Finding] = Field(default_factory=list)
    inputs: dict[str, Input]
    scenario: Literal["simulation", "controlled", "partial", "blind"]
    attacker: str
    attacker_scenario: AttackerScenario | None = None
    threshold: Threshold | None
    calibration: Calibration | None
    linkage_rate: Rate
    risk_curve: list[CurvePoint]
    worst_case_risk: OfOriginals | None
    integrated_risk: OfOriginals | None
    blocks: Blocks
    projection: ProjectionSummary
    truth: TruthFigures | None
    evidence: EvidenceShares | None = None
    growth: Growth | None
    control: Control | None
    attributable_rate: Attributable | None
    power: list[Power] | None
    population: Population | None = None
    ladder: Ladder | None
    attackers: list[AttackerRow]
    picked: Picked | None = None
    canaries: Canaries | None = None
    alignment: list[AlignedColumn] | None = None
    policy: PolicyOutcome | None
    policies: list[PolicyOutcome] = Field(default_factory=list)
    validity: Validity
    self_linkage: SelfLinkage
    feature_contribution: Contributions
    control_likeness: ControlLikeness | None = None
    sensitivity: Sensitivity | None = None
    at_risk: AtRisk | None = None
    singling_out: SinglingOut | None = None
    membership: Membership | None = None
    criteria: Criteria | None = None
    compliance: Compliance | None = None
    inference: Inference | None = None
    techniques: list[ColumnTechnique] = Field(default_factory=list)
    tail: list[TailShare] = Field(default_factory=list)
    recipients: list[Recipient] = Field(default_factory=list)
    assumptions: Assumptions | None = None
    quick: bool = False
    suppress_below: Whole = 1
    warnings: list[Warning_]
    search: Search | None = None
    lower_bound: bool
    provenance: Provenance

    @model_validator(mode="before")
    @classmethod
    def _from_earlier(cls, data: Any) -> Any:
        with refused_as_invalid():
            return upgrade(with_interval_fields(data))

    @model_validator(mode="after")
    def _has_tables(self, info: ValidationInfo) -> Self:
        if info.context is FROM_FILE and not {"original", "protected"} <= self.inputs.keys():
            raise ValueError("the tables of the audit are not described")
        return self

    def power_at(self, false_rate: float) -> Power | None:
        """The headline attacker's power (true-positive rate) at a false-positive rate; None if not measured there."""
        return power_at(self.power, false_rate)

    def _columns(self) -> dict[str, list[Any]]:
        """The columns of a table with one row per attacker."""
        rows = self.attackers
        return {
            "attacker": [row.name for row in rows],
            "headline": [row.name == self.attacker for row in rows],
            "counts": [not row.disqualified for row in rows],
            **interval_columns("risk", [row.risk for row in rows]),
            **interval_columns("linkage_rate", [row.linkage_rate for row in rows]),
            "control_rate": [row.control_rate for row in rows],
            **interval_columns("attributable_rate", [row.attributable_rate for row in rows]),
            "top1_hit_rate": [row.top1_hit_rate for row in rows],
            "threshold": [row.threshold for row in rows],
            "asked": [row.asked for row in rows],
        }


def json_schema() -> dict[str, Any]:
    """The JSON schema of `result.json`."""
    return AuditResult.model_json_schema(by_alias=True)


NOT_ASSESSABLE = "not assessable: "
"""A reason of a policy begins with this if no attacker is reliable."""


def is_exceeded(policy: PolicyOutcome) -> bool:
    """Whether the value of a policy is known and beyond its limit: above `max`, or below `min`."""
    if policy.value is None:
        return False
    above = policy.max is not None and policy.value > policy.max
    return above or (policy.min is not None and policy.value < policy.min)


def deciding_reason(policy: PolicyOutcome) -> str | None:
    """The reason that a policy is not met, if that is not its value; None if it is met, or its value decides.

    A release that is not assessable has no value that counts, however large. Otherwise a value beyond the limit
    decides, and an unknown value is itself the reason.
    """
    if policy.met:
        return None
    if any(reason.startswith(NOT_ASSESSABLE) for reason in policy.reasons):
        return "the audit is not assessable"
    if is_exceeded(policy) or policy.value is None or not policy.reasons:
        return None
    return policy.reasons[0]
