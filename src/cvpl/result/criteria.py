"""Formal criteria of the release, by its quasi-identifiers and sensitive columns.

k, l and 1 / k are properties of the release that everyone who has it can count, so they are told exactly.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cvpl.result.marks import Measured, Number, OfOriginals, OfTables, People, Statistic, Whole
from cvpl.result.section import Section


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
