"""The results on a mechanism: a risk surface, as in `surface.json`, and a trial, as in `trial.json`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from cvpl.estimates import FALSE_RATES
from cvpl.result.audit import PolicyOutcome, Provenance
from cvpl.result.document import Document, interval_columns
from cvpl.result.figures import Attributable, Canaries, Control, CurvePoint, Picked, Power, Rate
from cvpl.result.publishing import (
    Number,
    OfMatched,
    OfOriginals,
    OfRisk,
    OfRiskHigh,
    OfRiskLow,
    OfTables,
    People,
    Section,
    Share,
    Statistic,
    Threshold,
    Whole,
)
from cvpl.result.setting import Assumptions, Input, MeanUtility, Warning_
from cvpl.result.verdict import Finding, Risk, blind

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


Deviation = Annotated[float, Statistic("originals", digits=2)]


class TrialMechanism(Section):
    """What made the releases: `name` is the command, or the name of the function or built-in mechanism."""

    kind: Literal["command", "function", "built_in"]
    name: str
    strength: int | float | str | None = None


class RoundPower(Section):
    """The share of the people who are in that is linked at the false-positive rate `false_rate`, in one round."""

    false_rate: Number
    power: OfRisk


class RoundFailure(Section):
    """Why a round has no figures. `exit_code` is that of the command, negative if a signal ended it; null if none."""

    reason: str
    exit_code: Whole | None = None
    timed_out: bool = False


class TrialRound(Section):
    """One round: how many rows were in and out, the size of the release, and the headline attacker's power.

    `power` has the false-positive rates 1%, 5% and 10%, `curve` more of them, for a chart. `top1_hit_rate` is null if
    no true matches are known. A round that failed has only its failure.
    """

    number: Whole
    inside: Whole
    outside: Whole
    released: Whole | None = None
    power: list[RoundPower] = Field(default_factory=list)
    curve: list[RoundPower] = Field(default_factory=list)
    top1_hit_rate: OfMatched | None = None
    failed: RoundFailure | None = None


class TrialRisk(Section):
    """The risk (power - α) / (1 - α) of a release made from half of the people, α being the false-positive rate.

    The estimand is the expected risk for a new draw of the people and of the mechanism. The interval is over both.
    `high` is 1 if there is something that the attackers cannot see, since nothing bounds it.
    """

    estimate: OfRisk
    low: OfRiskLow
    high: OfRiskHigh
    power: OfRisk
    false_rate: Number
    attacker: str


class TrialPower(Section):
    """The power at one false-positive rate, over rounds, with its interval over people and draws.

    `people_error` and `draws_error` are the two standard errors, `degrees` the degrees of freedom of the interval.
    """

    false_rate: Number
    power: OfRisk
    low: OfRiskLow
    high: OfRiskHigh
    people_error: Deviation
    draws_error: Deviation
    degrees: Whole


class TrialAttacker(Section):
    """One attacker's power at the false-positive rate of the risk, over `rounds` rounds.

    `disqualified` lists why it does not count. The interval is corrected for the pick.
    """

    name: str
    rounds: Whole
    power: OfRisk | None = None
    low: OfRiskLow | None = None
    high: OfRiskHigh | None = None
    top1_hit_rate: OfMatched | None = None
    disqualified: list[str] = Field(default_factory=list)


class TrialSpread(Section):
    """How much one draw differs from the next: the power of the weakest and of the strongest round.

    `deviation` is the standard deviation between draws beyond what the choice of people explains, `people` the part
    that it explains.
    """

    deviation: Deviation
    people: Deviation
    smallest: OfRisk
    largest: OfRisk


class ExposedShare(Section):
    """The share of people who are linked in a share of their rounds above `above` and up to `up_to`; 0 is its own."""

    above: Number | None
    up_to: Number
    inside: OfOriginals
    outside: Annotated[float, Share("controls")]


class TrialExposure(Section):
    """How often people are linked when they are in, and when they are out.

    `shares` is the distribution over people. The most exposed tenth are the people who are linked most often in one
    half of the rounds; `top_inside` and `top_outside` are how often they are linked in the other half, when in and when
    out. The two halves change roles, and the mean is given.
    """

    shares: list[ExposedShare]
    top_inside: Annotated[float, Share("tenth", ends="top_inside_")] | None = None
    top_inside_low: Annotated[float, Share("tenth", "low")] | None = None
    top_inside_high: Annotated[float, Share("tenth", "high")] | None = None
    top_outside: Annotated[float, Share("tenth", ends="top_outside_")] | None = None
    top_outside_low: Annotated[float, Share("tenth", "low")] | None = None
    top_outside_high: Annotated[float, Share("tenth", "high")] | None = None
    tenth: People = 0


class TrialPlanted(Section):
    """How made-up people with unusual values fare: their power beside that of everybody, at the same threshold.

    `power` and its ends are exact, however few are planted: rounding protects people, and these are invented.
    `everybody` is rounded like every figure of real people.
    """

    planted: Whole
    power: Number
    low: Number | None
    high: Number | None
    everybody: OfRisk


class AllowedPower(Section):
    """The largest power that the stated budget allows at a false-positive rate, beside the measured one.

    `low` is the lower end of the measured power over rounds, corrected for the number of rates. `exceeded` says that it
    lies above what is allowed.
    """

    false_rate: Number
    allowed: Number
    power: OfRisk
    low: OfRiskLow
    exceeded: bool


class AllowedPoint(Section):
    """The largest power that the stated budget allows at a false-positive rate."""

    false_rate: Number
    allowed: Number


class StatedNoise(Section):
    """The stated noise of a Gaussian mechanism: a multiple of its sensitivity, its steps, and its sampling rate."""

    multiplier: Number
    steps: Whole
    sampling: Number


class TrialBudget(Section):
    """The privacy budget: what was stated, and a lower bound on epsilon from the rounds.

    `epsilon` and `delta`, or `noise`, are the stated budget; epsilon and noise are null if none was stated.
    `lower_bound` holds with `confidence`: `right` of `guesses` guesses on who is in were right, among `examples`
    independent coins; null if nothing could be guessed. `unit` is the unit of privacy. `allowed` compares the power
    with what the budget allows, `region` is what it allows at more rates, for a chart. `alarm` says that the bound or a
    power lies above the stated budget; null if none was stated.
    """

    epsilon: Number | None
    delta: Number
    lower_bound: Number | None
    confidence: Number
    right: People
    guesses: Whole
    examples: Whole
    unit: Literal["row", "group"]
    noise: StatedNoise | None = None
    allowed: list[AllowedPower]
    region: list[AllowedPoint] = Field(default_factory=list)
    alarm: bool | None


class TrialResult(Document):
    """A trial of a mechanism: its releases from half of the people, attacked with the other half as control.

    `people` is the number of units of the table, `unit` what is put in or left out together. `asked_for` are the
    attackers that were asked for; null if all ran. `risk` is that of the strongest attacker; null if none counts.
    `power` has the rates 1%, 5% and 10%. `planted` is null if nobody was planted, `budget` if no bound on epsilon was
    asked for. `preflight` has the findings on what the attackers cannot see in the releases, the most telling first:
    with any, a low risk means nothing. `assumptions` are those of a trial without a configuration. `suppress_below` is
    k: no figure tells of fewer than k people; 1 if the figures are exact.
    """

    FILE: ClassVar[str] = "trial.json"

    schema_: Literal["cvpl/trial/1"] = Field(default="cvpl/trial/1", alias="schema")
    inputs: dict[str, Input]
    mechanism: TrialMechanism
    people: Whole
    unit: Literal["row", "group"]
    membership: Literal["balanced", "coin"]
    attacker: str | None
    asked_for: list[str] | None = None
    risk: TrialRisk | None
    picked: Picked | None
    power: list[TrialPower]
    rounds: list[TrialRound]
    attackers: list[TrialAttacker]
    spread: TrialSpread | None
    exposure: TrialExposure | None
    planted: TrialPlanted | None
    budget: TrialBudget | None
    policies: list[PolicyOutcome]
    preflight: list[Finding] = Field(default_factory=list)
    assumptions: Assumptions | None
    warnings: list[Warning_]
    provenance: Provenance
    suppress_below: Whole = 1

    @property
    def finished(self) -> list[TrialRound]:
        """The rounds that have figures."""
        return [item for item in self.rounds if item.failed is None]

    @property
    def blind(self) -> str | None:
        """What the attackers cannot see; None if they see."""
        return blind(self.preflight)

    def power_at(self, false_rate: float) -> TrialPower | None:
        """The headline attacker's power at a false-positive rate; None if it was not measured there."""
        return next((item for item in self.power if item.false_rate == false_rate), None)

    def _columns(self) -> dict[str, list[Any]]:
        """The columns of a table with one row per round."""

        def power(item: TrialRound, rate: float) -> float | None:
            return next((one.power for one in item.power if one.false_rate == rate), None)

        return {
            "round": [item.number for item in self.rounds],
            "inside": [item.inside for item in self.rounds],
            "outside": [item.outside for item in self.rounds],
            "released": [item.released for item in self.rounds],
            **{f"power_at_{rate:.0%}".rstrip("%"): [power(item, rate) for item in self.rounds] for rate in FALSE_RATES},
            "top1_hit_rate": [item.top1_hit_rate for item in self.rounds],
            "failed": [None if item.failed is None else item.failed.reason for item in self.rounds],
        }


def trial_schema() -> dict[str, Any]:
    """The JSON schema of `trial.json`."""
    return TrialResult.model_json_schema(by_alias=True)
