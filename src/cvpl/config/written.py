"""The settings of `audit.yaml` as users write them, with shorthands."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from cvpl.attack.attacker import Alignment, Evidence
from cvpl.evaluation.intervals.intervals import Method
from cvpl.evaluation.policy import AT_LEAST, PRESETS, Bound, Figure
from cvpl.operators.blocking import Bin, Level, Lsh, Match, Prefix, Rule, Truncate
from cvpl.operators.projection import Pca, Projection, RandomProjection, RobustPca, SavedProjection, Umap
from cvpl.operators.similarity import Agreement, Rarity, Similarity
from cvpl.operators.threshold import DEFAULT, Calibrate, Grid, Threshold
from cvpl.operators.vectorization import Encoding as ColumnEncoding
from cvpl.operators.vectorization import Feature, Scaling
from cvpl.result.publishing import SUPPRESS_BELOW
from cvpl.search.levers import Approximate
from cvpl.settings import Settings
from cvpl.tables.columns import OBSERVABLE, Role, Type
from cvpl.tables.meaning.protected_values import Dates, Decimal
from cvpl.tables.source.reading_settings import Encoding, Limits
from cvpl.wording import did_you_mean

QUESTION = " -> "
"""Stands between a message and the question that proposes a cure."""


def one_of(value: object, forms: Mapping[str, Any]) -> object:
    """The form whose first key is present; the form itself checks the rest."""
    if isinstance(value, Mapping):
        for key, form in forms.items():
            if key in value:
                return form.model_validate({name: ({} if item is None else item) for name, item in value.items()})
        names = ", ".join(f"`{key}`" for key in value) or "none"
        hints = [hint for hint in (did_you_mean(str(key), forms) for key in value) if hint]
        expected = f"one of the keys {', '.join(forms)}" if len(forms) > 1 else f"the key {next(iter(forms))}"
        raise ValueError(f"expected {expected}, found {names}" + (QUESTION + hints[0] if hints else ""))
    return value


def _block_rule(value: object) -> object:
    if isinstance(value, str) and value != "exact":
        raise ValueError("write exact, {bin: w}, {level: n}, {prefix: n} or {truncate: unit}")
    return one_of(value, {"bin": Bin, "level": Level, "prefix": Prefix, "truncate": Truncate})


RuleForm = Annotated[Rule, BeforeValidator(_block_rule)]


ScenarioName = Literal["motivated_intruder", "neighbour", "journalist", "marketer", "data_holder"]


class VectorizationConfig(Settings):
    """The attacker's default choices; columns may override them."""

    scale: Scaling = "z_score"
    encode: ColumnEncoding = "one_hot"
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
    forms = {"pca": Pca, "robust_pca": RobustPca, "random": RandomProjection, "umap": Umap, "saved": SavedProjection}
    return one_of(value, forms)


def _similarity(value: object) -> object:
    if value in ("agreement", "rarity"):
        return Agreement() if value == "agreement" else Rarity()
    return one_of(value, {"agreement": Agreement, "rarity": Rarity}) if isinstance(value, Mapping) else value


def _threshold(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool) and not -1 <= value <= 1:
        raise ValueError(
            "a threshold is off the scale, so that either no record or every record is linked; set one from -1 to 1"
        )
    if isinstance(value, str) and value != "false_rate":
        raise ValueError("write a number, {calibrate: existential, alpha: 0.05}, or false_rate")
    return one_of(value, {"calibrate": Calibrate}) if isinstance(value, Mapping) else value


ThresholdForm = Annotated[Threshold, BeforeValidator(_threshold)]
SchemeForm = list[str | dict[str, RuleForm]]


def _blocking(value: object) -> object:
    """Select one scheme, several, or a hash by what is written, so that only errors of that form are reported."""
    if isinstance(value, Mapping):
        return one_of(value, {"any_of": EnsembleConfig, "lsh": Lsh})
    if isinstance(value, str) and value not in ("columns", "compatible", "none"):
        raise ValueError("write columns, compatible, none, a list of columns, {any_of: [...]} or {lsh: {bits: n}}")
    return value


def _schemes(value: object) -> object:
    return (
        [one_of(item, {"lsh": Lsh}) if isinstance(item, Mapping) else item for item in value]
        if isinstance(value, list)
        else value
    )


class EnsembleConfig(Settings):
    """Blocking by several schemes; a pair that shares a block in any of them is compared.

    Keys share a block if they are equal or, with `match: compatible`, if both can mean the same.
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
    """An attacker as written; missing settings are those of the preset `paper`.

    The preset `default` means a family of attackers; it takes only `knows`, `knows_people`, `errors` and `threshold`. A
    `scenario` is run by that family, and sets what it knows.
    """

    preset: Literal["paper", "default"] = "paper"
    scenario: ScenarioName | None = None
    knows: tuple[str, ...] | None = None
    knows_people: Annotated[float, Field(gt=0, le=1)] = 1.0
    errors: Annotated[float, Field(ge=0, lt=1)] = 0.0
    alignment: Alignment = "none"
    blocking: BlockingForm = "columns"
    ladder: LadderConfig | None = None
    vectorization: VectorizationConfig = VectorizationConfig()
    projection: Annotated[Projection, BeforeValidator(_projection)] = Pca()
    similarity: Annotated[Similarity, BeforeValidator(_similarity)] = "cosine"
    evidence: Evidence = "best"
    threshold: ThresholdForm | None = None

    @model_validator(mode="after")
    def _family_has_its_own_operators(self) -> AttackerConfig:
        if self.scenario is not None and self.preset != "default":
            raise ValueError("a scenario is run by the family; remove `preset`, or set it to default")
        others = sorted(self.model_fields_set - _COMMON)
        if self.preset == "default" and any(getattr(self, name) != _default(name) for name in others):
            named = ", ".join(others)
            raise ValueError(f"the family sets its own operators; remove {named}, or list attackers one by one")
        return self

    @model_serializer(mode="wrap")
    def _without_operators_of_the_family(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        return (
            {name: item for name, item in written.items() if name in _COMMON} if self.preset == "default" else written
        )


_COMMON = frozenset({"preset", "scenario", "knows", "knows_people", "errors", "threshold"})
"""The settings shared by all members of the family; they have their own operators."""


def _default(name: str) -> Any:
    return AttackerConfig.model_fields[name].get_default(call_default_factory=True)


def _attacker(value: object) -> object:
    if isinstance(value, str):
        if value not in ("paper", "default"):
            raise ValueError("the presets are: default, paper. Name one, or write the operators with their settings")
        return {"preset": value}
    if isinstance(value, Mapping) and value.get("scenario") is not None and "preset" not in value:
        return {"preset": "default", **value}
    return value


AttackerForm = Annotated[AttackerConfig, BeforeValidator(_attacker)]


_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
LEAST = 1 << 20
MOST_BYTES = 1 << 50
"""A petabyte: more than any machine has."""


def parse_size(text: str) -> int:
    """The number of bytes in 4GB, 512 MiB or a plain number; at least one mebibyte."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?i?b?)\s*", text.lower())
    if match is None or match[2] not in _UNITS:
        raise ValueError("write a size such as 512MB or 4GB")
    amount = float(match[1]) * _UNITS[match[2]]
    if not LEAST <= amount <= MOST_BYTES:
        raise ValueError("a size is from 1MiB to 1,048,576GiB (a petabyte); write one such as 512MB or 4GB")
    return int(amount)


class ColumnConfig(Settings):
    """One column: its role and, if it is observable, its type and use."""

    role: Role
    type: Type | None = None
    separator: Annotated[str, Field(min_length=1)] | None = None
    hierarchy: str | None = None
    block: RuleForm | None = None
    encode: ColumnEncoding | None = None
    features: tuple[Feature, ...] = ()
    vectorize: bool = True
    recoded: bool | None = None

    @property
    def observable(self) -> bool:
        """Whether an attacker sees the column."""
        return self.role in OBSERVABLE


def _bytes(value: object) -> object:
    return parse_size(value) if isinstance(value, str) else value


Size = Annotated[int, BeforeValidator(_bytes), Field(ge=LEAST, le=MOST_BYTES)]
"""A number of bytes, or a text such as 4GB."""
_Most = Annotated[int, Field(ge=1, le=MOST_BYTES)]


class LimitsConfig(Settings):
    """The most that is read of one table."""

    bytes: Size = Limits.bytes
    rows: _Most = Limits.rows
    columns: _Most = Limits.columns
    labels: _Most = Limits.labels
    expansion: _Most = Limits.expansion


class ReadingConfig(Settings):
    """How fields are read."""

    strip: bool = False
    missing: tuple[str, ...] = ("",)
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    decimal: Decimal = "."
    dates: Dates = "iso"
    encoding: Encoding = "utf-8"
    limits: LimitsConfig = LimitsConfig()


class TruthConfig(Settings):
    """The columns that hold the true matches: one of each table, or `row_number`, counted from 0."""

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
    return one_of(value, {"file": ControlConfig})


ControlForm = Annotated[Literal["absent"] | ControlConfig, BeforeValidator(_control)]


class SubBlockConfig(Settings):
    """Additional keys for blocks with more candidates than this quantile of the blocks."""

    above: Annotated[float, Field(ge=0, lt=1)] = 0.95
    by: Annotated[list[str | dict[str, RuleForm]], Field(min_length=1)]


class SearchConfig(Settings):
    """Resources of the search, and options to search fewer pairs; without these options it is exact."""

    memory: Size | None = None
    threads: Annotated[int, Field(ge=1, le=1_024)] | None = None
    max_block: Annotated[int, Field(ge=1)] | None = None
    sample: Annotated[float, Field(gt=0, lt=1)] | None = None
    sub_block: SubBlockConfig | None = None
    ann: Approximate | None = None


class IntervalsConfig(Settings):
    """In which units people are drawn. `replicates` is accepted and ignored: intervals are computed in closed form."""

    method: Method = "blocks"
    replicates: Annotated[int | None, Field(exclude=True, json_schema_extra={"deprecated": True})] = None


def _number(value: object) -> object:
    """A limit is a number: YAML reads `yes` as true, and true would count as 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("write a number from 0 to 1, such as 0.05")  # noqa: TRY004 - reported by pydantic
    return value


def _count(value: object) -> object:
    """The smallest class is a whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("write a whole number, such as 5")  # noqa: TRY004 - reported by pydantic
    return value


class PolicyConfig(Settings):
    """A gate: the audit fails if `bound` of `figure` is above `max`. `preset` names the source of the limit.

    The figure `k` has a smallest value `min` instead of `max`.
    """

    figure: Figure = "risk"
    bound: Bound = "high"
    max: Annotated[float, BeforeValidator(_number), Field(ge=0, le=1)] | None = None
    min: Annotated[int, BeforeValidator(_count), Field(ge=1)] | None = None
    preset: str | None = None

    @model_validator(mode="after")
    def _has_its_limit(self) -> Self:
        wanted, other = ("min", self.max) if self.figure in AT_LEAST else ("max", self.min)
        if getattr(self, wanted) is None or other is not None:
            kind = "a whole number from 1 on" if wanted == "min" else "a number from 0 to 1"
            raise ValueError(f"the figure {self.figure} has a limit `{wanted}`, {kind}, and no other limit")
        return self

    @property
    def limit(self) -> float:
        """The smallest or the largest value that is allowed."""
        return float(self.min or 0) if self.max is None else self.max


def _one_policy(value: object) -> object:
    """A policy as written, or the named preset; only `bound` may differ from a preset's."""
    written = {"preset": value} if isinstance(value, str) else value
    if isinstance(written, Mapping) and written.get("preset") is not None:
        name = written["preset"]
        if name not in PRESETS:
            raise ValueError(f"the presets are: {', '.join(PRESETS)}")
        preset = PRESETS[name]
        own = {"figure": preset.figure, "bound": preset.bound, "max": preset.max, "preset": name}
        if any(written.get(key, own[key]) != own[key] for key in ("figure", "max")):
            raise ValueError("a preset sets its own figure and maximum; remove these, or the preset")
        written = own | dict(written)
    if not isinstance(written, Mapping | PolicyConfig):
        raise ValueError("write {figure: ..., bound: ..., max: ...}, a list of these, or the name of a preset")  # noqa: TRY004 - reported by pydantic
    return PolicyConfig.model_validate(written)


def _policy(value: object) -> object:
    if isinstance(value, list | tuple):
        if not value:
            raise ValueError("the list of policies is empty")
        return tuple(_one_policy(item) for item in value)
    return None if value is None else _one_policy(value)


PolicyForm = Annotated[PolicyConfig | tuple[PolicyConfig, ...], BeforeValidator(_policy)]


class ReportConfig(Settings):
    """What may be told about people: columns for subgroup rates, and the smallest number of people that is told.

    Every figure is rounded so that it tells of no fewer people than `suppress_below`; with 1 figures are exact.

    The labels of these columns appear in the result; no other cell does.
    """

    subgroups: tuple[str, ...] = ()
    suppress_below: Annotated[int, Field(ge=1)] = SUPPRESS_BELOW


class CriteriaConfig(Settings):
    """Formal criteria of the release. `weights` names a column of the release with sampling weights, 1 or more."""

    weights: str | None = None


class InferenceConfig(Settings):
    """What is asked of attribute inference.

    `columns` are inferred besides those with the role `sensitive`. `knows` are the columns that the attacker knows, by
    default those that the linkage attackers know. `tolerance` is the largest error of a right guess of a number, or of
    a time in days, by column; by default 5% of the number, or a day.
    """

    columns: tuple[str, ...] = ()
    knows: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    tolerance: Mapping[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = {}


class ProtectConfig(Settings):
    """How `cvpl protect` treats the columns; missing settings are chosen from the table.

    `columns` are those that k-anonymity generalizes (default: the quasi-identifiers). `widths` are the intervals of a
    number, each a multiple of the one before, `units` the calendar units of a time, finest first. `removal` is the
    largest share of rows that may be removed. `noise` is the standard deviation of the noise on a number.
    """

    columns: tuple[str, ...] | None = None
    widths: Mapping[str, Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)]] = {}
    units: Mapping[str, tuple[Literal["hour", "day", "week", "month", "year"], ...]] = {}
    removal: Annotated[float, Field(ge=0, lt=1)] = 0.05
    noise: Mapping[str, Annotated[float, Field(ge=0)]] = {}


_POPULATION = "write a whole number of people, such as 1000000, or the share of them in the table, such as 0.01"


def _population(value: object) -> object:
    """A number of people, or the share of the population that is in the table."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(_POPULATION)  # noqa: TRY004 - reported by pydantic
    if not math.isfinite(value) or (value >= 1 and value != int(value)):
        raise ValueError(_POPULATION)
    return int(value) if value >= 1 else value


PopulationForm = Annotated[int | float, BeforeValidator(_population), Field(gt=0, le=MOST_BYTES)]


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
    singling_out: bool | None = None
    criteria: CriteriaConfig = CriteriaConfig()
    inference: bool | InferenceConfig | None = None
    recipients: Mapping[str, Annotated[tuple[str, ...], Field(min_length=1)]] = {}
    population: PopulationForm | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
