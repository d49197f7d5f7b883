"""The risk surface R(strength, τ): what `surface.json` holds."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from cvpl.result.attackers import Canaries, Picked
from cvpl.result.audit import Provenance
from cvpl.result.data_frame import interval_columns
from cvpl.result.document import Document
from cvpl.result.figures import Attributable, Control, CurvePoint, Power, Rate
from cvpl.result.section import Section
from cvpl.result.setting import Input
from cvpl.result.trust import Warning_
from cvpl.result.utility import MeanUtility
from cvpl.result.verdict import Risk

Strength = int | float | str
JudgedFigure = Literal["risk", "attributable_rate", "linkage_rate"]


class SurfaceCell(CurvePoint):
    """One cell: a strength's rates at one threshold, or at one false rate of the controls.

    `contradicted`: other figures say that the rate read there is too low (a top-1 hit rate or a power far above it, a
    representation that is not assessable, a risk above the target). `safe`: the upper end of the cell's rate is at
    most the target, and nothing contradicts it; null without a target. `steep`: a neighbouring cell's rate differs by
    more than `high_sensitivity`. A cell's rate is the attributable one where it is known, else the linkage rate.
    """

    contradicted: bool = False
    safe: bool | None = None
    steep: bool = False


class SurfaceSetting(Section):
    """One strength, or one blocking: the figures at the attacker's own reading, and its cells.

    `risk` is the figure that is held against the target, read as an audit reads it; null where nothing tells it.
    `judged` names the figure that is shown. The rates are those at the attacker's threshold, or at a false rate of 5%
    for a score without one. `doubts` are why it cannot count as low, however low it is. `pairs` share a block;
    `asked` are the originals that were asked.
    """

    strength: Strength
    release: Input
    asked: int
    pairs: int
    threshold: float | None
    judged: JudgedFigure
    linkage_rate: Rate
    control: Control | None
    attributable_rate: Attributable | None
    power: list[Power] | None
    top1_hit_rate: float | None
    utility: MeanUtility
    doubts: list[str]
    safe: bool | None
    cells: list[SurfaceCell]
    warnings: list[Warning_]
    risk: Risk | None = None

    @property
    def shown(self) -> Risk | Rate | Attributable:
        """The figure that `judged` names: the risk or, where nothing tells it, a rate at the threshold."""
        if self.risk is not None:
            return self.risk
        if self.judged == "attributable_rate" and self.attributable_rate is not None:
            return self.attributable_rate
        return self.linkage_rate


class FailedStrength(Section):
    """A strength at which no release could be made, and why."""

    strength: Strength
    reason: str


class WeakestSetting(Section):
    """The weakest setting from which on all that were tried are inside the safe region: its risk and its utility.

    `held_against` names the attackers whom the release at this strength was held against, `attacker` the strongest of
    them there, whose risk is told.
    """

    strength: Strength
    attacker: str
    figure: JudgedFigure
    estimate: float | None
    low: float | None
    high: float | None
    utility: MeanUtility
    held_against: list[str]


class SurfaceTarget(Section):
    """What came of a target r0 for the risk.

    `inside` are the settings whose risk is at most the target, by its upper interval end; `isolated` are those of them
    that do not count since a stronger one is outside. `weakest` is null where no setting can be named, and for a sweep
    of blockings, which are the attacker's choice and no protection.
    """

    rate: float
    inside: list[Strength]
    isolated: list[Strength]
    weakest: WeakestSetting | None


class SurfaceResult(Document):
    """A risk surface: a row of cells for each strength, from the weakest to the strongest.

    In a sweep of blockings the rows go from the most pairs, the coarsest blocking, to the fewest. `function` tells that
    the mechanism is the caller's own, `asked_for` the attacker that was named, null where it was chosen. `rises_at`
    names the strengths whose risk is above that of the next weaker one: there the surface is not monotone.
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
    high_sensitivity: float
    target: SurfaceTarget | None
    warnings: list[Warning_]
    lower_bound: bool
    provenance: Provenance

    def setting(self, strength: Strength) -> SurfaceSetting:
        """The row of one strength; KeyError where it was not tried or could not be made."""
        for item in self.settings:
            if item.strength == strength:
                return item
        raise KeyError(strength)

    def _columns(self) -> dict[str, list[Any]]:
        """A row for each setting."""
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
