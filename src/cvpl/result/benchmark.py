"""The result of a benchmark, as in `benchmark.json`: all releases of all manifests in one leaderboard."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from cvpl.result.comparison import Places
from cvpl.result.data_frame import interval_columns
from cvpl.result.document import Document
from cvpl.result.figures import Attributable, Control, Power, Rate
from cvpl.result.inference import ReleaseInference
from cvpl.result.marks import Number, Whole
from cvpl.result.section import Section
from cvpl.result.setting import Input
from cvpl.result.trust import Warning_
from cvpl.result.utility import UtilityFigures
from cvpl.result.verdict import Risk, Verdict


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
