"""The result of an audit: figures only, never a record. It is what `result.json` holds."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar, Literal

from pydantic import Field

from cvpl.result.attackers import AttackerRow, Canaries, Picked
from cvpl.result.document import Document
from cvpl.result.figures import (
    Attributable,
    Calibration,
    Control,
    CurvePoint,
    EvidenceShares,
    Growth,
    Ladder,
    Power,
    Rate,
    TruthFigures,
)
from cvpl.result.headline import answer
from cvpl.result.people import AtRisk
from cvpl.result.section import Section
from cvpl.result.setting import AlignedColumn, Blocks, Contributions, Input, ProjectionSummary, Search
from cvpl.result.trust import ControlLikeness, SelfLinkage, Sensitivity, Validity, Warning_
from cvpl.wording import percent, printable, span


class PolicyOutcome(Section):
    """The gate: which end of which figure was held against `max`, and whether it holds; `reasons` if not."""

    figure: str
    bound: str
    max: float
    value: float | None
    met: bool
    reasons: list[str]
    preset: str | None = None


class Randomization(Section):
    """The seed made at audit time, and the attackers drawn by it."""

    seed: int
    attackers: list[str]


class Provenance(Section):
    """What repeats the run: seed, versions and the configuration."""

    seed: int
    versions: dict[str, str]
    config: dict[str, Any]
    randomization: Randomization | None = None


class AuditResult(Document):
    """Everything an audit found. The figures at the top are those of the headline attacker."""

    FILE: ClassVar[str] = "result.json"

    schema_: Literal["cvpl/audit/1"] = Field(default="cvpl/audit/1", alias="schema")
    inputs: dict[str, Input]
    scenario: Literal["simulation", "controlled", "partial", "blind"]
    attacker: str
    threshold: float | None
    calibration: Calibration | None
    linkage_rate: Rate
    risk_curve: list[CurvePoint]
    worst_case_risk: float | None
    integrated_risk: float | None
    blocks: Blocks
    projection: ProjectionSummary
    truth: TruthFigures | None
    evidence: EvidenceShares | None = None
    growth: Growth | None
    control: Control | None
    attributable_rate: Attributable | None
    power: list[Power] | None
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
    warnings: list[Warning_]
    search: Search | None = None
    lower_bound: bool
    provenance: Provenance

    def _repr_html_(self) -> str:
        """The answer and the main figures, for a notebook."""
        rows = [("attacker", self.attacker), ("originals", f"{self.inputs['original'].rows:,}")]
        for name, rate in (("attributable rate", self.attributable_rate), ("linkage rate", self.linkage_rate)):
            if rate is not None:
                ends = span(rate.low, rate.high)
                rows.append((name, percent(rate.estimate) + (f" ({ends})" if ends else "")))
        if self.truth is not None:
            rows.append(("top-1 hit rate", percent(self.truth.top1_hit_rate)))
        rows.append(("warnings", ", ".join(warning.rule for warning in self.warnings) or "none"))
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(printable(it))}</td></tr>" for name, it in rows)
        return f"<div><p><strong>{escape(answer(self))}</strong></p><table>{cells}</table></div>"


def json_schema() -> dict[str, Any]:
    """The JSON schema of `result.json`."""
    return AuditResult.model_json_schema(by_alias=True)
