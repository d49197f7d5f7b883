"""What attackers infer of secret columns, for originals and for people who are not in the release."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cvpl.result.marks import Number, Share, Stated, Whole
from cvpl.result.section import Section

AttackerName = Literal[
    "best_candidate",
    "nearest_record",
    "vote",
    "compatible_class",
    "boosted_trees",
    "forest",
    "model_and_link",
]
ScoreName = Literal["accuracy", "rarity_weighted"]
BaselineName = Literal["commonest_value", "control_model"]

_Fewest = Annotated[float, Share("fewest")]
_OfPeople = Annotated[float, Share("people", ends="")]
_OfPeopleLow = Annotated[float, Share("people", "low")]
_OfPeopleHigh = Annotated[float, Share("people", "high")]
_Attributable = Annotated[float, Share("fewest", ends="attributable_")]
_AttributableLow = Annotated[float, Share("fewest", "low")]
_AttributableHigh = Annotated[float, Share("fewest", "high")]
_Rate = Annotated[float, Share("fewest", ends="")]


class InferenceRow(Section):
    """One attacker on one secret, by one score.

    `score` is `accuracy`, the share of people who are guessed right, or `rarity_weighted`, the same with the weight
    -log of the share of the person's value. `originals` is the score on people in the release, `controls` on people who
    are not, and `attributable` is (originals - controls) / (1 - controls), null without a control or if controls are
    right for more than 98%. `columns` is the number of columns that the attacker uses. Which ones is chosen on some
    people and read on others, and the intervals are over this choice too. `people` is the
    number of originals by which figures are rounded, `fewest` the smaller of it and that of controls; by rarity it is
    the sum of the weights over the largest weight.
    """

    attacker: AttackerName
    columns: Whole
    score: ScoreName
    people: Whole
    fewest: Whole
    originals: _OfPeople
    low: _OfPeopleLow | None
    high: _OfPeopleHigh | None
    controls: _Fewest | None = None
    attributable: _Attributable | None = None
    attributable_low: _AttributableLow | None = None
    attributable_high: _AttributableHigh | None = None


class InferenceBaseline(Section):
    """What a guess without the release, or without knowledge of the person, reaches.

    `baseline` is `commonest_value`, the value that is best for anybody by the shares of the release, or
    `control_model`, gradient-boosted trees that are trained on controls alone and cross-fitted on them.
    """

    baseline: BaselineName
    score: ScoreName
    people: Whole
    fewest: Whole
    originals: Annotated[float, Share("people")]
    controls: _Fewest | None = None


class SecretInference(Section):
    """What attackers learn of one secret column from the columns `known`.

    `kind` is `category`, `number` or `time`. A guess of a number is right within `tolerance` or, if that is null,
    within `relative_tolerance` of the number; times are in days. `attackers` are sorted by what is attributable, the
    largest first: as the largest of several on the same people, the first is somewhat too high. `refused` says why
    nothing can be attributed, if so.
    """

    column: str
    kind: Literal["category", "number", "time"]
    known: list[str]
    tolerance: Number | None = None
    relative_tolerance: Number | None = None
    refused: str | None = None
    baselines: list[InferenceBaseline] = Field(default_factory=list)
    attackers: list[InferenceRow] = Field(default_factory=list)


class Reconstruction(Section):
    """All secrets at once, by attackers that know none of them: the share of people with every guess right.

    `attackers` are sorted like those of one secret, and the first is likewise the largest of several.
    """

    columns: list[str]
    known: list[str]
    attackers: list[InferenceRow] = Field(default_factory=list)


class InferenceRate(Section):
    """The largest attributable score over secrets, attackers and scores; null without a control.

    It is the largest of `among` figures, read on the same people, so `estimate` is somewhat above what the attacker
    that was picked would reach on others; it is not corrected. The interval is: `low` and `high` hold together over all
    figures. `high` is the largest upper end over all of them, null if one has no interval.
    """

    estimate: _Rate
    low: _AttributableLow | None
    high: _AttributableHigh | None
    column: str
    attacker: AttackerName
    score: ScoreName
    fewest: Whole
    among: Whole | None = None


class ReleaseInference(Section):
    """The inference rate of one of several releases, as its audit has it.

    `secrets` are the columns that were inferred. `rate` is null, with the `reason`, if it was not measured or nothing
    can be attributed to the release. A rate has a reason if nothing can be attributed for some secret, or if the
    release is not assessable: then the rate may be too low.
    """

    rate: InferenceRate | None
    secrets: list[str] = Field(default_factory=list)
    reason: str | None = None


class Inference(Section):
    """What attackers infer of secret columns.

    `link` is the linkage attacker that finds candidates; it does not read the secret. `asked_originals` originals and
    `asked_controls` controls were asked about. Models were trained on at most `trained_on` records, null without
    models; `not_run` are attackers that need a library that is not installed, `left_out` columns that could not be
    asked. Each interval has the `confidence`, so that all hold together at 95%.
    """

    rate: InferenceRate | None
    secrets: list[SecretInference]
    together: Reconstruction | None = None
    link: str
    asked_originals: Whole
    asked_controls: Whole | None = None
    trained_on: Whole | None = None
    not_run: list[AttackerName] = Field(default_factory=list)
    left_out: list[str] = Field(default_factory=list)
    confidence: Annotated[float, Stated()]

    @model_validator(mode="after")
    def _rate_is_of_an_attacker(self) -> Self:
        """Refuse a rate whose column, attacker and score are in no row."""
        if self.rate is not None:
            rows = {(one.column, row.attacker, row.score) for one in self.secrets for row in one.attackers}
            if (self.rate.column, self.rate.attacker, self.rate.score) not in rows:
                raise ValueError("the inference rate is that of no attacker on a secret")
        return self
