"""The risk surface R(strength, τ), as in `surface.json`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from cvpl.result.attackers import Canaries, Picked
from cvpl.result.audit import Provenance
from cvpl.result.data_frame import interval_columns
from cvpl.result.document import Document
from cvpl.result.figures import Attributable, Control, CurvePoint, Power, Rate
from cvpl.result.marks import Number, OfMatched, OfRisk, OfRiskHigh, OfRiskLow, OfTables, Statistic, Threshold, Whole
from cvpl.result.section import Section
from cvpl.result.setting import Input
from cvpl.result.trust import Warning_
from cvpl.result.utility import MeanUtility
from cvpl.result.verdict import Risk

Strength = int | float | str
JudgedFigure = Literal["risk", "attributable_rate", "linkage_rate"]


class SurfaceCell(CurvePoint):
    """One cell: a strength's rates at one threshold or one false-positive rate.

    `contradicted`: other figures show that the rate is too low (a top-1 hit rate or a power far above it, a
    representation that is not assessable, a risk above the target). `safe`: the upper end of the cell's rate is at most
    the target, and nothing contradicts it; null without a target. `steep`: a neighbouring cell's rate differs by more
    than `high_sensitivity`. A cell's rate is the attributable rate if it is known, else the linkage rate.
    """

    contradicted: bool = False
    safe: bool | None = None
    steep: bool = False


class SurfaceSetting(Section):
    """One strength or one blocking: its figures and its cells.

    `risk` is the figure compared with the target, measured as in an audit; null if it is unknown. `judged` names the
    figure that is shown. The rates are those at the attacker's threshold, or at a false-positive rate of 5% for a score
    without a threshold. `doubts` lists why a low figure does not count. `pairs` counts the pairs that share a block,
    `asked` the originals that were searched for. `draws` has the risk of each release if several were made at this
    strength, and `utilities` the mean utility of each; the row then shows the one with the largest risk, and is safe
    only if all of them are.
    """

    strength: Strength
    release: Input
    asked: Whole
    pairs: Annotated[int, Statistic()]
    threshold: Threshold | None
    judged: JudgedFigure
    linkage_rate: Rate
    control: Control | None
    attributable_rate: Attributable | None
    power: list[Power] | None
    top1_hit_rate: OfMatched | None
    utility: MeanUtility
    doubts: list[str]
    safe: bool | None
    cells: list[SurfaceCell]
    warnings: list[Warning_]
    risk: Risk | None = None
    draws: list[OfRisk] = Field(default_factory=list)
    utilities: list[OfTables] = Field(default_factory=list)

    @property
    def shown(self) -> Risk | Rate | Attributable:
        """The figure named by `judged`: the risk or, if it is unknown, a rate at the threshold."""
        if self.risk is not None:
            return self.risk
        if self.judged == "attributable_rate" and self.attributable_rate is not None:
            return self.attributable_rate
        return self.linkage_rate


class FailedStrength(Section):
    """A strength at which no release could be made, and the reason."""

    strength: Strength
    reason: str


class WeakestSetting(Section):
    """The weakest setting that is inside the safe region together with all stronger settings tried.

    `held_against` lists the attackers that were run on the release at this strength. `attacker` is the strongest of
    them, and the figures are its figures.
    """

    strength: Strength
    attacker: str
    figure: JudgedFigure
    estimate: OfRisk | None
    low: OfRiskLow | None
    high: OfRiskHigh | None
    utility: MeanUtility
    held_against: list[str]


class SurfaceTarget(Section):
    """The outcome of a target r0 for the risk.

    `inside` lists the settings whose upper interval end of the risk is at most the target; `isolated` lists those of
    them that do not count because a stronger setting is outside. `weakest` is null if no setting qualifies, and for a
    sweep of blockings, which the attacker chooses and which protect nobody.
    """

    rate: Number
    inside: list[Strength]
    isolated: list[Strength]
    weakest: WeakestSetting | None


class SurfaceResult(Document):
    """A risk surface: a row of cells for each strength, from the weakest to the strongest.

    In a sweep of blockings the rows go from the coarsest blocking, with the most pairs, to the finest. `function` is
    true if the mechanism is a user-defined function. `asked_for` is the requested attacker; null if it was chosen
    automatically. `rises_at` lists the strengths whose risk is above that of the next weaker one: there the surface is
    not monotone. `suppress_below` is k: no figure tells of fewer than k people; 1 if the figures are exact.
    """

    FILE: ClassVar[str] = "surface.json"

    schema_: Literal["cvpl/surface/1"] = Field(default="cvpl/surface/1", alias="schema")
    inputs: dict[str, Input]
    scenario: Literal["simulation", "controlled", "partial", "blind"]
    sweep: Literal["mechanism", "blocking"]
    mechanism: str
    function: bool
    attacker: str
    asked_for: str | None
    attacker_settings: dict[str, Any]
    picked: Picked | None
    canaries: Canaries | None
    axis: Literal["threshold", "false_rate"]
    settings: list[SurfaceSetting]
    failed: list[FailedStrength]
    rises_at: list[Strength]
    high_sensitivity: Number
    target: SurfaceTarget | None
    warnings: list[Warning_]
    lower_bound: bool
    provenance: Provenance
    suppress_below: Whole = 1

    def setting(self, strength: Strength) -> SurfaceSetting:
        """The row of one strength. Raises KeyError if it was not tried or no release could be made."""
        for item in self.settings:
            if item.strength == strength:
                return item
        raise KeyError(strength)

    def _columns(self) -> dict[str, list[Any]]:
        """The columns of a table with one row per setting."""
        rows = self.settings
        return {
            "strength": [row.strength for row in rows],
            **interval_columns("risk", [row.risk for row in rows]),
            "safe": [row.safe for row in rows],
            **interval_columns("linkage_rate", [row.linkage_rate for row in rows]),
            "control_rate": [None if row.control is None else row.control.rate for row in rows],
            **interval_columns("attributable_rate", [row.attributable_rate for row in rows]),
            "top1_hit_rate": [row.top1_hit_rate for row in rows],
            "utility": [row.utility.mean for row in rows],
            "threshold": [row.threshold for row in rows],
            "asked": [row.asked for row in rows],
            "pairs": [row.pairs for row in rows],
        }


def surface_schema() -> dict[str, Any]:
    """The JSON schema of `surface.json`."""
    return SurfaceResult.model_json_schema(by_alias=True)
