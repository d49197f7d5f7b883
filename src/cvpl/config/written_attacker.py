"""The settings of one attacker as users write them, with shorthands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from cvpl.attack.attacker import Alignment, Evidence
from cvpl.config.shorthands import RuleForm, one_of
from cvpl.operators.blocking import Lsh, Match
from cvpl.operators.projection import Pca, Projection, RandomProjection, RobustPca, Saved, Umap
from cvpl.operators.similarity import Agreement, Rarity, Similarity
from cvpl.operators.threshold import Calibrate, Threshold
from cvpl.operators.vectorization import Encoding as ColumnEncoding
from cvpl.operators.vectorization import Scaling
from cvpl.settings import Settings

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
    forms = {"pca": Pca, "robust_pca": RobustPca, "random": RandomProjection, "umap": Umap, "saved": Saved}
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
