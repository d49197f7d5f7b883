"""The result of a benchmark: every release of every manifest in one leaderboard. It is what `benchmark.json` holds."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from cvpl.result.comparison import Places
from cvpl.result.data_frame import interval_columns
from cvpl.result.document import Document
from cvpl.result.figures import Attributable, Control, Power, Rate
from cvpl.result.section import Section
from cvpl.result.setting import Input
from cvpl.result.trust import Warning_
from cvpl.result.utility import UtilityFigures
from cvpl.result.verdict import Risk, Verdict


class Made(Section):
    """How a release was made, as its manifest says: by which mechanism, how strongly, and by whom."""

    mechanism: str
    family: str
    strength: dict[str, int | float | str]
    by: str | None


class BenchmarkUtility(UtilityFigures):
    """How much of the original's structure a release keeps; `score` is the mean that its group is compared by.

    The figures speak of `columns`, those that the release holds. `withheld` are columns that other releases of the
    group hold: what their absence costs is not in the score, so releases that withhold others are not to be compared.
    """

    score: float | None = None
    columns: list[str]
    withheld: list[str] = Field(default_factory=list)


class LargestTop1(Section):
    """The attacker in the running whose best candidate is most often the right person, and how often."""

    attacker: str
    top1_hit_rate: float


class BenchmarkRow(Section):
    """One release. All figures are those of one attacker, the headline's, but for two that stand beside them.

    `verdict` and `risk` are what the audit says, and `risk` is what releases are ranked by. `paper_linkage_rate` is
    that of the paper's attacker. `largest_top1` is the largest over all attackers that count: another than the
    headline may find more people.

    Rates are null where the release could not be audited (`failed`) or where no attacker may speak (`not_assessable`);
    `reasons` then says why. `power` is null without a control. `place` counts from the highest risk, among the rows of
    the group that are ranked by the same figure against the same people; null where nothing tells what look-alikes
    explain. `seconds` is the time of the audit; it is the only field that two equal runs differ in.
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
    picked_among: int | None
    linkage_rate: Rate | None
    paper_linkage_rate: Rate | None
    control: Control | None
    attributable_rate: Attributable | None
    power: Power | None
    top1_hit_rate: float | None
    top1_low: float | None
    top1_high: float | None
    largest_top1: LargestTop1 | None
    blocking_recall: float | None
    utility: BenchmarkUtility | None
    ranked_by: Literal["risk", "power", "top1_hit_rate"] | None
    place: Places | None
    lower_bound: bool
    warnings: list[Warning_]
    fingerprint: str
    seconds: float | None
    verdict: Verdict | None = None
    risk: Risk | None = None

    @property
    def shown(self) -> tuple[float | None, float | None, float | None]:
        """The risk with its interval; for a result without one, what its power says beyond chance, else nothing."""
        if self.risk is not None:
            return self.risk.estimate, self.risk.low, self.risk.high
        return (None, None, None) if self.power is None else self.power.beyond_chance


class BenchmarkGroup(Section):
    """What the releases of one manifest have in common; `utility_figures` are those whose mean is the score."""

    name: str
    title: str
    source: str
    licence: str
    original: str
    control: str | None
    seed: int
    utility_figures: list[str]


class BenchmarkResult(Document):
    """All releases, group by group in the order of the manifests, in each the highest risk first."""

    FILE: ClassVar[str] = "benchmark.json"

    schema_: Literal["cvpl/benchmark/1"] = Field(default="cvpl/benchmark/1", alias="schema")
    false_rate: float
    groups: list[BenchmarkGroup]
    rows: list[BenchmarkRow]
    versions: dict[str, str]

    def of(self, group: str) -> list[BenchmarkRow]:
        """The rows of one group, in their order."""
        return [row for row in self.rows if row.group == group]

    def _columns(self) -> dict[str, list[Any]]:
        """A row for each release."""
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
            "utility": [None if row.utility is None else row.utility.score for row in rows],
            "attacker": [row.attacker for row in rows],
            "seconds": [row.seconds for row in rows],
        }


def benchmark_schema() -> dict[str, Any]:
    """The JSON schema of `benchmark.json`."""
    return BenchmarkResult.model_json_schema(by_alias=True)
