"""Who can be singled out: unique records, sets of columns, exact rows, and predicates from the release alone."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cvpl.result.marks import Measured, OfOriginals, OfTables, People, Share, Whole
from cvpl.result.section import Section

_OfPeople = Annotated[float, Share("people", ends="")]
_OfPeopleLow = Annotated[float, Share("people", "low")]
_OfPeopleHigh = Annotated[float, Share("people", "high")]
_Attributable = Annotated[float, Share("people", ends="attributable_")]


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
    attributable: _Attributable | None = None
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
