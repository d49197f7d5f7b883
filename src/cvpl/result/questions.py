"""The sections of a result on questions beside linkage: inference, singling out, membership, criteria, population.

Formal criteria of the release, by its quasi-identifiers and sensitive columns. k, l and 1 / k are properties of the
release that everyone who has it can count, so they are told exactly.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cvpl.result.figures import Power
from cvpl.result.publishing import (
    EstimateSection,
    Measured,
    Number,
    OfBoth,
    OfBothHigh,
    OfBothLow,
    OfOriginals,
    OfTables,
    People,
    Section,
    Share,
    Stated,
    Statistic,
    Whole,
)
from cvpl.result.verdict import Risk

_OfPeople = Annotated[float, Share("people", ends="")]
_OfPeopleLow = Annotated[float, Share("people", "low")]
_OfPeopleHigh = Annotated[float, Share("people", "high")]


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
_Attributable = Annotated[float, Share("fewest", ends="attributable_")]
_AttributableLow = Annotated[float, Share("fewest", "low")]
_AttributableHigh = Annotated[float, Share("fewest", "high")]
_Rate = Annotated[float, Share("fewest", ends="")]


class InferenceRow(Section):
    """One attacker on one sensitive attribute, by one score.

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


class AttributeInference(Section):
    """What attackers learn of one sensitive column from the columns `known`.

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
    """All sensitive attributes at once, by attackers that know none: the share of people with every guess right.

    `attackers` are sorted like those of one sensitive attribute, and the first is likewise the largest of several.
    """

    columns: list[str]
    known: list[str]
    attackers: list[InferenceRow] = Field(default_factory=list)


class InferenceRate(Section):
    """The largest attributable score over sensitive attributes, attackers and scores; null without a control.

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
    can be attributed to the release. A rate has a reason if nothing can be attributed for some sensitive attribute, or
    if the release is not assessable: then the rate may be too low.
    """

    rate: InferenceRate | None
    secrets: list[str] = Field(default_factory=list)
    reason: str | None = None


class Inference(Section):
    """What attackers infer of sensitive columns.

    `link` is the linkage attacker that finds candidates; it does not read the sensitive attribute. `asked_originals`
    originals and `asked_controls` controls were asked about. Models were trained on at most `trained_on` records, null
    without models; `not_run` are attackers that need a library that is not installed, `left_out` columns that could not
    be asked. Each interval has the `confidence`, so that all hold together at 95%.
    """

    rate: InferenceRate | None
    secrets: list[AttributeInference]
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


_AttributableOfPeople = Annotated[float, Share("people", ends="attributable_")]


class UniqueRecords(Section):
    """Records that are unique by a set of columns, as shares.

    `original` is the share of originals that no other original equals in the columns, `released` that of released
    records. `both` is the share of originals that are unique and whose values exactly one released record has.
    """

    columns: list[str]
    original: OfOriginals
    released: OfTables
    both: OfOriginals


class ExactRows(Section):
    """Unique originals whose exact row is in the release, over the declared columns that both tables share.

    `unique` is the share of originals that are unique, `released` the share of these whose row is in the release, null
    if nobody is unique. `control_released` is the same for controls.
    """

    unique_people: People
    unique: OfOriginals
    released: Annotated[float, Share("unique_people")] | None
    control_released: Annotated[float, Share("unique_people")] | None = None


class PredicateRow(Section):
    """Predicates of one number of columns, written from the release alone; each is met by one released record.

    `rate` is the share that exactly one original meets, `control_rate` the share that exactly one of as many controls
    meets, and `attributable` is (rate - control_rate) / (1 - control_rate). `people` is the smallest of the numbers of
    predicates, originals and controls, by which figures are rounded.
    """

    columns: Whole
    predicates: Whole
    people: Whole
    rate: _OfPeople
    low: _OfPeopleLow | None
    high: _OfPeopleHigh | None
    control_rate: Annotated[float, Share("people")] | None = None
    attributable: _AttributableOfPeople | None = None
    attributable_low: _OfPeopleLow | None = None
    attributable_high: _OfPeopleHigh | None = None


class SingledOutRate(Section):
    """The largest share of predicates that single out one original, over the numbers of columns of a predicate.

    With a control it is the attributable share (`basis` is `control`), without one the plain share (`none`). `high` is
    the largest upper end over all rows; the intervals hold together.
    """

    estimate: _OfPeople
    low: _OfPeopleLow | None
    high: _OfPeopleHigh | None
    columns: Whole
    people: Whole
    basis: str


class SmallestSets(Section):
    """The share of originals whose smallest set of columns that makes them unique has `columns` columns."""

    columns: Whole
    share: OfOriginals


class SudaScores(Section):
    """SUDA2 scores of the originals by the quasi-identifiers: the share above 0, the mean, and the 99th percentile."""

    scored: OfOriginals
    mean: Measured
    percentile_99: Measured


class SinglingOut(Section):
    """Who can be singled out.

    `sets` are the sets of up to three columns by which the most people are unique in both tables, the largest first;
    `sets_searched` sets were tried, and `sets_left_out` not, because the tables are too large. `suda` is null with
    fewer than three quasi-identifiers.
    """

    rate: SingledOutRate | None
    predicates: list[PredicateRow]
    all_columns: UniqueRecords
    quasi_identifiers: UniqueRecords | None
    exact_rows: ExactRows | None
    sets: list[UniqueRecords] = Field(default_factory=list)
    sets_searched: Whole
    sets_left_out: Whole
    smallest: list[SmallestSets] = Field(default_factory=list)
    suda: SudaScores | None = None


class MembershipRate(Power):
    """The largest true-positive rate (`power`) of the attackers at a false-positive rate, and whose it is.

    The interval has the confidence `confidence` = 1 - 0.05 / `among`, because `attacker` is the best of `among`.
    `precision` is the share of the people who are taken to be in the release and are in it, if everybody in the
    population is tested; it is made of the published rate and its interval. Null if the population is not given.
    """

    attacker: str
    among: Whole = 1
    confidence: Number = 0.95
    precision: Number | None = None
    precision_low: Number | None = None
    precision_high: Number | None = None


class MembershipArea(EstimateSection):
    """The largest area under the ROC curve of the attackers: 0.5 is chance, 1 tells everybody apart.

    It is the probability that a person in the release has a higher score than one who is not. The interval is corrected
    as that of a rate; null if it is refused, and `refused` then states why.
    """

    estimate: OfBoth
    low: OfBothLow | None
    high: OfBothHigh | None
    attacker: str
    among: Whole = 1
    confidence: Number = 0.95
    method: str = "none"
    refused: str | None = None


class Membership(Section):
    """Whether it can be told that a person is in the release, from `controls` people who are not.

    `rates` has the false-positive rates 1%, 5% and 10%, and 0.1% with 10,000 controls or more. `prior` is the share of
    the population that is in the release: the precision of a guess; null if the population is not given.
    """

    controls: Whole
    rates: list[MembershipRate]
    auc: MembershipArea
    prior: Number | None = None


class ClassSizeShare(Section):
    """The share of released records in equivalence classes of `first` to `last` records; null: no upper end."""

    first: Whole
    last: Whole | None
    share: OfTables


class SensitiveCriteria(Section):
    """l-diversity and t-closeness of one sensitive column.

    `distinct_l` is the least number of different values in a class, `entropy_l` the largest l of entropy l-diversity.
    Recursive (c, l)-diversity with l = `distinct_l` holds for every c above `recursive_c`, null for l = 1. `t_equal` is
    t with the equal distance, `t_ordered` with the ordered distance, null for categories.
    """

    column: str
    distinct_l: Whole
    entropy_l: Measured
    recursive_c: Measured | None
    t_equal: Measured
    t_ordered: Measured | None


class ClassRisk(Section):
    """The risks of a prosecutor, a journalist and a marketer, by class size.

    A prosecutor knows that the person is in the release, a journalist looks for anybody of the population, a marketer
    links as many records as possible. `basis` is `release` if the population is not known: then the journalist and the
    marketer have the prosecutor's risks, which are upper bounds. With `estimated` they are means under the
    Poisson-gamma model.
    """

    basis: str
    prosecutor_maximum: Number
    prosecutor_average: OfTables
    journalist_maximum: Measured
    journalist_average: OfTables
    marketer: OfTables


class PopulationUniques(Section):
    """How many people of the population are unique in it by the quasi-identifiers, by two estimators.

    Null if an estimate does not exist. `expected_links` is the sum of the individual risks of all released records.
    """

    population: Whole
    zayatz: Annotated[float, Statistic(counts=True)] | None
    pitman: Annotated[float, Statistic(counts=True)] | None
    expected_links: Annotated[float, Statistic(counts=True)] | None


class Presence(Section):
    """δ-presence: the least and the largest share of a class of the population who are originals."""

    low: Measured
    high: Measured


class Criteria(Section):
    """Formal criteria of the release.

    `quasi_identifiers` are the columns of the equivalence classes. A suppressed cell is a value of its own in `k`, as
    in ARX and pycanon; in `k_suppressed_as_any` it matches every value, as in sdcMicro (null if there are too many
    patterns of suppression). `unique` is the share of released records that are alone in their class.
    `original_unique` and `original_average` are the share of originals that are alone in theirs, and their mean of 1 /
    class size: the risk by class size before protection. Null if the originals lack a quasi-identifier.
    """

    quasi_identifiers: list[str]
    records: Whole
    k: Whole
    k_suppressed_as_any: Whole | None
    suppressed_cells: OfTables
    classes: People
    average_class: Measured
    largest_class: People
    unique: OfTables
    class_sizes: list[ClassSizeShare]
    risk: ClassRisk
    sensitive: list[SensitiveCriteria] = Field(default_factory=list)
    population_uniques: PopulationUniques | None = None
    presence: Presence | None = None
    original_unique: OfOriginals | None = None
    original_average: OfOriginals | None = None


ComplianceStatus = Literal["contradicted", "not_contradicted", "promises_nothing", "not_comparable", "not_known"]
Promise = Literal[
    "k",
    "average_class_risk",
    "no_unique_record",
    "journalist_risk",
    "population_uniques",
    "presence",
    "distinct_l",
    "t_closeness",
    "none",
]
Answer = Literal["top1_hit_rate", "singled_out_rate", "membership_precision", "risk", "inference_accuracy"]


class ComplianceRow(Section):
    """One criterion of the release, what it promises, and the figure of the attackers that answers it.

    `value` is the criterion's own value, `promised` the largest value of the attackers' `figure` that it allows; null
    if it bounds none. `estimate`, `low` and `high` are what the attackers achieve. The status is `contradicted` only if
    `low` is above `promised`; `not_contradicted` does not confirm the promise. All numbers are made of published ones.
    """

    criterion: Promise
    column: str | None = None
    value: Number | None
    promised: Number | None = None
    figure: Answer | None = None
    estimate: Number | None = None
    low: Number | None = None
    high: Number | None = None
    status: ComplianceStatus


class Compliance(Section):
    """The rows of the table, and `beyond`: columns that attackers compare and that are no quasi-identifiers.

    The promises of the criteria are made for attackers who know the quasi-identifiers only.
    """

    rows: list[ComplianceRow]
    beyond: list[str]

    @property
    def contradicted(self) -> list[ComplianceRow]:
        """The promises that a measured lower end exceeds."""
        return [row for row in self.rows if row.status == "contradicted"]


class Precision(Section):
    """Of the people that the headline attacker links at a false-positive rate, the share that is in the table.

    n power / (n power + (N - n) α), from the published power and its interval; null if nobody is linked, and the ends
    also if the power has no interval.
    """

    false_rate: Number
    precision: Number | None
    low: Number | None = None
    high: Number | None = None


class Population(Section):
    """The population that the people of the table are part of.

    `size` is N, `people` is n, the number of originals, and `share` is n / N: the precision of an attacker who guesses.
    `precision` is empty without a control or complete true matches.
    """

    size: Whole
    people: Whole
    share: Number
    precision: list[Precision] = Field(default_factory=list)


_OfCompared = Annotated[float, Share("compared")]


class ColumnTechnique(Section):
    """What was done to a column, as far as the tables show it.

    `techniques` has `kept`, `generalized`, `suppressed`, `perturbed` and `swapped or synthetic`, the most frequent
    first. `told` is false if the rest cannot be told: without true matches only ranges, groups and missing values are
    seen. The shares are those of `compared` values of people with a known match; null without them.
    """

    column: str
    role: str
    techniques: list[str]
    told: bool
    compared: People = 0
    kept: _OfCompared | None = None
    generalized: _OfCompared | None = None
    suppressed: _OfCompared | None = None
    changed: _OfCompared | None = None


class TailShare(Section):
    """The rarest `share` of the originals: how many of these `people` are linked, look-alikes included.

    `right` is how often the best candidate is the right person. Rarity is settled before the attack. 1 is everybody.
    """

    share: Number
    people: People
    linked: _OfPeople
    low: Annotated[float, Share("people", "low")]
    high: Annotated[float, Share("people", "high")]
    right: Annotated[float, Share("people")] | None = None


class Recipient(Section):
    """A recipient of the release, the columns it holds, and the risk of one attacker who knows them.

    `risk` is null if it was not measured; `reason` then says why.
    """

    name: str
    columns: list[str]
    risk: Risk | None = None
    reason: str | None = None
