"""What a person may write in `audit.yaml`, with its shorthands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from cvpl.attacker import Evidence
from cvpl.config.sizes import parse_size
from cvpl.evaluation.intervals import Method
from cvpl.evaluation.policy import PRESETS, Bound, Figure
from cvpl.operators.blocking import Bin, Level, Lsh, Match, Prefix, Rule, Truncate
from cvpl.operators.projection import Pca, Projection, RandomProjection, RobustPca, Saved, Umap
from cvpl.operators.similarity import Agreement, Rarity, Similarity
from cvpl.operators.threshold import DEFAULT, Calibrate, Grid, Threshold
from cvpl.operators.vectorization import Encoding, Feature, Scaling
from cvpl.search.levers import Approximate
from cvpl.settings import Settings
from cvpl.tables.columns import OBSERVABLE, Role, Type


def _one_of(value: object, forms: Mapping[str, Any]) -> object:
    """The form whose first key is named; the rest is checked by the form itself."""
    if isinstance(value, Mapping):
        for key, form in forms.items():
            if key in value:
                return form.model_validate({name: ({} if item is None else item) for name, item in value.items()})
        raise ValueError(f"expected one of the keys {', '.join(forms)}")
    return value


def _block_rule(value: object) -> object:
    if isinstance(value, str) and value != "exact":
        raise ValueError("write exact, {bin: w}, {level: n}, {prefix: n} or {truncate: unit}")
    return _one_of(value, {"bin": Bin, "level": Level, "prefix": Prefix, "truncate": Truncate})


RuleForm = Annotated[Rule, BeforeValidator(_block_rule)]


class ColumnConfig(Settings):
    """One column: its role, and for an observable one its type and how it is used."""

    role: Role
    type: Type | None = None
    separator: Annotated[str, Field(min_length=1)] | None = None
    hierarchy: str | None = None
    block: RuleForm | None = None
    encode: Encoding | None = None
    features: tuple[Feature, ...] = ()
    vectorize: bool = True

    @property
    def observable(self) -> bool:
        """Whether an attacker sees it."""
        return self.role in OBSERVABLE


class ReadingConfig(Settings):
    """How fields are read."""

    strip: bool = False
    missing: tuple[str, ...] = ("",)
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","


class TruthConfig(Settings):
    """Where the true matches stand: a column of each table, or `row_number`, counted from 0."""

    original: str
    protected: str
    complete: bool = True
    simulated: bool = False


class ControlConfig(Settings):
    """A table of people known to be absent from the release."""

    file: str


def _control(value: object) -> object:
    if isinstance(value, str) and value != "absent":
        raise ValueError("write {file: PATH}, or absent for the originals that have no match in the release")
    return _one_of(value, {"file": ControlConfig})


ControlForm = Annotated[Literal["absent"] | ControlConfig, BeforeValidator(_control)]


def _bytes(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


class SubBlockConfig(Settings):
    """Further keys for blocks with more candidates than this share of the blocks have."""

    above: Annotated[float, Field(ge=0, lt=1)] = 0.95
    by: Annotated[list[str | dict[str, RuleForm]], Field(min_length=1)]


class SearchConfig(Settings):
    """What the search may use, and ways to look at fewer pairs; without one of those it is exact."""

    memory: Annotated[int, BeforeValidator(_bytes), Field(ge=1 << 20)] | None = None
    threads: Annotated[int, Field(ge=1)] | None = None
    max_block: Annotated[int, Field(ge=1)] | None = None
    sample: Annotated[float, Field(gt=0, lt=1)] | None = None
    sub_block: SubBlockConfig | None = None
    ann: Approximate | None = None


class IntervalsConfig(Settings):
    """In which units people are drawn; `replicates` is read and not used, since no interval is resampled."""

    method: Method = "blocks"
    replicates: Annotated[int, Field(ge=100, le=100_000)] = 1000


class PolicyConfig(Settings):
    """A gate: the audit fails where `bound` of `figure` is above `max`. `preset` names whose limit it is."""

    figure: Figure
    bound: Bound = "high"
    max: Annotated[float, Field(ge=0, le=1)]
    preset: str | None = None


def _one_policy(value: object) -> object:
    """A policy as it is written, or as the preset that is named has it; only `bound` may differ from a preset's."""
    written = {"preset": value} if isinstance(value, str) else value
    if isinstance(written, Mapping) and written.get("preset") is not None:
        name = written["preset"]
        if name not in PRESETS:
            raise ValueError(f"the presets are: {', '.join(PRESETS)}")
        preset = PRESETS[name]
        own = {"figure": preset.figure, "bound": preset.bound, "max": preset.max, "preset": name}
        if any(written.get(key, own[key]) != own[key] for key in ("figure", "max")):
            raise ValueError("a preset has its own figure and maximum; take these out, or the preset")
        written = own | dict(written)
    if not isinstance(written, Mapping | PolicyConfig):
        raise ValueError("write {figure: ..., bound: ..., max: ...}, a list of these, or the name of a preset")  # noqa: TRY004 - told by pydantic
    return PolicyConfig.model_validate(written)


def _policy(value: object) -> object:
    if isinstance(value, list | tuple):
        if not value:
            raise ValueError("the list of policies is empty")
        return tuple(_one_policy(item) for item in value)
    return None if value is None else _one_policy(value)


PolicyForm = Annotated[PolicyConfig | tuple[PolicyConfig, ...], BeforeValidator(_policy)]


class VectorizationConfig(Settings):
    """The attacker's general choices; columns may differ."""

    scale: Scaling = "z_score"
    encode: Encoding = "one_hot"
    missing: Literal["neutral", "indicator"] = "neutral"


_PROJECTIONS: dict[str, Any] = {
    "identity": "identity",
    "pca": Pca(),
    "robust_pca": RobustPca(),
    "random": RandomProjection(),
    "umap": Umap(),
}


def _projection(value: object) -> object:
    if isinstance(value, str):
        if value not in _PROJECTIONS:
            raise ValueError(f"name one of {', '.join(_PROJECTIONS)}, or {{saved: FILE}}")
        return _PROJECTIONS[value]
    forms = {"pca": Pca, "robust_pca": RobustPca, "random": RandomProjection, "umap": Umap, "saved": Saved}
    return _one_of(value, forms)


def _similarity(value: object) -> object:
    if value in ("agreement", "rarity"):
        return Agreement() if value == "agreement" else Rarity()
    return _one_of(value, {"agreement": Agreement, "rarity": Rarity}) if isinstance(value, Mapping) else value


def _threshold(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool) and not -1 <= value <= 1:
        raise ValueError(
            "a threshold lies off the scale, where nobody or everybody would be linked; set one from -1 to 1"
        )
    if isinstance(value, str) and value != "false_rate":
        raise ValueError("write a number, {calibrate: existential, alpha: 0.05}, or false_rate")
    return _one_of(value, {"calibrate": Calibrate}) if isinstance(value, Mapping) else value


ThresholdForm = Annotated[Threshold, BeforeValidator(_threshold)]
SchemeForm = list[str | dict[str, RuleForm]]


def _blocking(value: object) -> object:
    """One scheme, several, or a hash: told apart by what is written, so that only its own faults are told."""
    if isinstance(value, Mapping):
        return _one_of(value, {"any_of": EnsembleConfig, "lsh": Lsh})
    if isinstance(value, str) and value not in ("columns", "compatible", "none"):
        raise ValueError("write columns, compatible, none, a list of columns, {any_of: [...]} or {lsh: {bits: n}}")
    return value


def _schemes(value: object) -> object:
    return (
        [_one_of(item, {"lsh": Lsh}) if isinstance(item, Mapping) else item for item in value]
        if isinstance(value, list)
        else value
    )


class EnsembleConfig(Settings):
    """Blocking by several schemes; a pair that shares a block in any of them is compared.

    Keys share a block where they are equal, or, with `match: compatible`, where both can mean the same.
    """

    match: Match = "equality"
    any_of: Annotated[list[SchemeForm | Lsh], BeforeValidator(_schemes), Field(min_length=1)]


BlockingForm = Annotated[
    Literal["columns", "compatible", "none"] | SchemeForm | Lsh | EnsembleConfig, BeforeValidator(_blocking)
]


class LadderConfig(Settings):
    """Rungs from the most to the least restrictive blocking."""

    rungs: Annotated[list[Annotated[SchemeForm | EnsembleConfig, BeforeValidator(_blocking)]], Field(min_length=2)]
    stop_below: Annotated[float, Field(ge=0, le=1)] = 0.005


class AttackerConfig(Settings):
    """An attacker as it is written; what is left out is as in the preset `paper`.

    The preset `default` stands for a family of attackers; it takes `knows`, `knows_people` and `threshold` only.
    """

    preset: Literal["paper", "default"] = "paper"
    knows: tuple[str, ...] | None = None
    knows_people: Annotated[float, Field(gt=0, le=1)] = 1.0
    alignment: Literal["none", "release"] = "none"
    blocking: BlockingForm = "columns"
    ladder: LadderConfig | None = None
    vectorization: VectorizationConfig = VectorizationConfig()
    projection: Annotated[Projection, BeforeValidator(_projection)] = Pca()
    similarity: Annotated[Similarity, BeforeValidator(_similarity)] = "cosine"
    evidence: Evidence = "best"
    threshold: ThresholdForm | None = None

    @model_validator(mode="after")
    def _family_has_its_own_operators(self) -> AttackerConfig:
        others = sorted(self.model_fields_set - _COMMON)
        if self.preset == "default" and any(getattr(self, name) != _default(name) for name in others):
            named = ", ".join(others)
            raise ValueError(f"the family has operators of its own; take out {named}, or write attackers one by one")
        return self

    @model_serializer(mode="wrap")
    def _without_operators_of_the_family(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        return {name: it for name, it in written.items() if name in _COMMON} if self.preset == "default" else written


_COMMON = frozenset({"preset", "knows", "knows_people", "threshold"})
"""What holds for all members of the family; they have operators of their own."""


def _default(name: str) -> Any:
    return AttackerConfig.model_fields[name].get_default(call_default_factory=True)


class ReportConfig(Settings):
    """What is told of groups of people: columns by whose values rates are given, and the smallest group that is told.

    The labels of these columns stand in the result; no other cell does.
    """

    subgroups: tuple[str, ...] = ()
    suppress_below: Annotated[int, Field(ge=2)] = 10


class ProtectConfig(Settings):
    """How `cvpl protect` treats the columns; what is left out is chosen from the table.

    `columns` are those that k-anonymity generalizes (default: the quasi-identifiers). `widths` are the intervals of a
    number, each a multiple of the one before, `units` the calendar units of a time, finest first. `removal` is the
    largest share of rows that may be removed. `noise` is the standard deviation of the noise on a number.
    """

    columns: tuple[str, ...] | None = None
    widths: Mapping[str, Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)]] = {}
    units: Mapping[str, tuple[Literal["hour", "day", "week", "month", "year"], ...]] = {}
    removal: Annotated[float, Field(ge=0, lt=1)] = 0.05
    noise: Mapping[str, Annotated[float, Field(ge=0)]] = {}


def _attacker(value: object) -> object:
    if isinstance(value, str):
        if value not in ("paper", "default"):
            raise ValueError("the presets are: default, paper. Name one, or write the operators with their settings")
        return {"preset": value}
    return value


AttackerForm = Annotated[AttackerConfig, BeforeValidator(_attacker)]


class AuditConfig(Settings):
    """A whole `audit.yaml`."""

    columns: Annotated[dict[str, ColumnConfig], Field(min_length=1)]
    attacker: AttackerForm | None = None
    attackers: Annotated[dict[str, AttackerForm], Field(min_length=1)] | None = None
    threshold: ThresholdForm = DEFAULT
    grid: Grid = Grid()
    reading: ReadingConfig = ReadingConfig()
    truth: TruthConfig | None = None
    control: ControlForm | None = None
    search: SearchConfig = SearchConfig()
    intervals: IntervalsConfig = IntervalsConfig()
    policy: Annotated[PolicyForm | None, BeforeValidator(_policy)] = None
    protect: ProtectConfig | None = None
    report: ReportConfig = ReportConfig()
    canaries: bool | None = None
    sensitivity: bool | None = None
    seed: Annotated[int, Field(ge=0)] = 0
