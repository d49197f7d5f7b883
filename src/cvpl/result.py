"""The result of an audit: figures only, never a record. It is what `result.json` holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A frozen part of a result. Readers of an older version skip what they do not know."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Input(Section):
    """One input table: its name, size and, for a file, the SHA-256 of its bytes."""

    name: str
    rows: int
    columns: int
    sha256: str | None


class Rate(Section):
    """An estimate with its 95% interval; the ends are null where no interval is given, and `method` says why.

    The estimand is the expected rate for a fresh draw of as many people under the same attacker and release process.
    `coverage` is the lowest share of intervals of this kind that held the truth when it was measured.
    """

    estimate: float | None
    low: float | None
    high: float | None
    method: str
    coverage: str = "unmeasured"


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


class BlockScheme(Section):
    """How one scheme cut the tables up; sizes count protected records, work counts pairs."""

    count: int
    original_only: int
    protected_only: int
    smallest: int
    median: float
    mean: float
    largest: int
    pairs: int
    share_of_all_pairs: float
    work_in_largest_tenth: float
    blocks_with_80_percent_of_work: int


class Blocks(Section):
    """The blocks over all schemes, and each scheme's sizes. `without_candidates` counts originals that have none."""

    count: int
    pairs: int
    mean_candidates: float
    without_candidates: int
    schemes: list[BlockScheme]


class Search(Section):
    """How the pairs that share a block were searched: all of them, or by request some (`narrowed_by`)."""

    exact: bool
    narrowed_by: list[str]
    pairs: int
    share_examined: float


class ProjectionSummary(Section):
    """The dimension of the space in which records were compared; null where the similarity uses no projection."""

    components: int | None
    explained_variance: float | None
    features: int


class Overlap(Section):
    """Similarities of true matches and wrong candidates in equal bins; `overlap` is the shared area."""

    edges: list[float]
    matches: list[float]
    non_matches: list[float]
    overlap: float
    separation: float
    non_match_pairs: int
    sampled: bool


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


class Control(Section):
    """The linkage rate of people who are in no release, under the same fitted attacker."""

    rate: float | None
    low: float | None
    high: float | None
    method: str
    records: int
    coverage: str = "unmeasured"


class Attributable(Section):
    """(LR - control) / (1 - control), and what served as the control."""

    estimate: float | None
    low: float | None
    high: float | None
    method: str
    basis: Literal["control", "own_match_left_out"]
    coverage: str = "unmeasured"


class Power(Section):
    """The share of originals linked where a share `false_rate` of the controls is."""

    false_rate: float
    power: float
    low: float | None = None
    high: float | None = None
    method: str = "none"
    coverage: str = "unmeasured"


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


class SelfRate(Section):
    """A self-linkage diagnostic over `asked` of `records` records."""

    rate: float | None
    top1_hit_rate: float | None
    asked: int
    records: int


class SelfLinkage(Section):
    """Whether the representation can tell records apart: inside each table, and in a lightly perturbed copy."""

    original: SelfRate
    protected: SelfRate
    perturbed: SelfRate | None


class Validity(Section):
    """Whether the figures can be read as risk at all, the reasons if not, and the measures behind it."""

    assessable: bool
    reasons: list[str]
    explained_variance: float | None
    perturbed_top1: float | None
    attainable_top1: float
    zero_share_original: float
    zero_share_protected: float
    duplicate_share: float
    shift: float | None
    covariance_distance: float | None
    correlation_preservation: float | None


class Contribution(Section):
    """One column's part: structural share with its spread, share of the links' similarity, drop of the rate."""

    column: str
    role: str
    structural: float | None
    structural_low: float | None
    structural_high: float | None
    link: float | None
    removal: float | None


class Contributions(Section):
    """All columns, and how many originals were asked for `removal`."""

    columns: list[Contribution]
    removal_asked: int | None


class AttackerRow(Section):
    """One attacker's main figures."""

    name: str
    threshold: float | None
    linkage_rate: Rate
    control_rate: float | None
    attributable_rate: Attributable | None
    power: list[Power] | None
    top1_hit_rate: float | None
    settings: dict[str, Any]


class PolicyOutcome(Section):
    """The gate: which end of which figure was held against `max`, and whether it holds; `reasons` if not."""

    figure: str
    bound: str
    max: float
    value: float | None
    met: bool
    reasons: list[str]


class Warning_(Section):  # noqa: N801 - Warning is Python's own
    """A named rule and its sentence."""

    rule: str
    message: str


class Provenance(Section):
    """What repeats the run: seed, versions and the configuration."""

    seed: int
    versions: dict[str, str]
    config: dict[str, Any]


class AuditResult(Section):
    """Everything an audit found. The figures at the top are those of the headline attacker."""

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
    growth: Growth | None
    control: Control | None
    attributable_rate: Attributable | None
    power: list[Power] | None
    ladder: Ladder | None
    attackers: list[AttackerRow]
    canaries: None = None
    policy: PolicyOutcome | None
    validity: Validity
    self_linkage: SelfLinkage
    feature_contribution: Contributions
    warnings: list[Warning_]
    search: Search | None = None
    lower_bound: bool
    provenance: Provenance

    def to_json(self) -> str:
        """The result as JSON, the same bytes for the same result."""
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> AuditResult:
        """Read a result, of this version or an earlier one."""
        return cls.model_validate_json(text)

    def write(self, directory: str | Path) -> Path:
        """Write `result.json` into `directory`, whole or not at all; returns its path."""
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        path, draft = folder / "result.json", folder / ".result.json.part"
        try:
            draft.write_text(self.to_json(), encoding="utf-8", newline="\n")
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        return path


def json_schema() -> dict[str, Any]:
    """The JSON schema of `result.json`."""
    return AuditResult.model_json_schema(by_alias=True)
