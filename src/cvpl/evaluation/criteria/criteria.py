"""All formal criteria of one release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria.classes import Codes, EquivalenceClasses, combined_codes
from cvpl.evaluation.criteria.closeness import equal_distance, ordered_distance
from cvpl.evaluation.criteria.diversity import Diversity, ValueCounts, diversity
from cvpl.evaluation.criteria.individual_risk import IndividualRisk, individual_risk
from cvpl.evaluation.criteria.population_uniques import pitman_uniques, zayatz_uniques
from cvpl.evaluation.criteria.presence import presence
from cvpl.evaluation.criteria.reidentification import ClassRisks, class_risks
from cvpl.evaluation.criteria.suppressed import compatible_sizes
from cvpl.operators.alignment import detect
from cvpl.tables.columns import ColumnData, Table

Numbers = NDArray[np.float64]
Basis = Literal["release", "estimated", "population"]

SIZES: tuple[tuple[int, int | None], ...] = ((1, 1), (2, 2), (3, 4), (5, 9), (10, 19), (20, None))
"""The class sizes between which records are counted."""


@dataclass(frozen=True)
class SecretCriteria:
    """l-diversity and t-closeness of a sensitive column; `ordered` is None for categories."""

    diversity: Diversity
    equal: float
    ordered: float | None


@dataclass(frozen=True)
class PopulationEstimates:
    """Estimates of a population of `size` people, of which the release is taken to be a simple random sample."""

    size: int
    zayatz: float | None
    pitman: float | None


@dataclass(frozen=True, eq=False)
class ReleaseCriteria:
    """The formal criteria of a release with at least one record and one quasi-identifier."""

    names: tuple[str, ...]
    classes: EquivalenceClasses
    suppressed: float
    """The share of cells of the quasi-identifiers without a value."""
    k_as_any: int | None
    """k if a suppressed cell matches every value."""
    risks: ClassRisks
    basis: Basis
    individual: IndividualRisk | None
    secrets: Mapping[str, SecretCriteria]
    estimates: PopulationEstimates | None
    presence: tuple[float, float] | None
    before: EquivalenceClasses | None = None
    """The classes of the originals as they are; None if they lack a quasi-identifier."""


@dataclass(frozen=True, eq=False)
class KnownPopulation:
    """The whole population: the originals, and everybody else."""

    originals: Table
    others: Table


def release_criteria(
    released: Table,
    names: Sequence[str],
    secrets: Mapping[str, ColumnData],
    *,
    population: int | None = None,
    weights: Numbers | None = None,
    everybody: KnownPopulation | None = None,
    more: Mapping[str, ColumnData] | None = None,
    originals: Table | None = None,
) -> ReleaseCriteria | None:
    """The criteria of a release by the quasi-identifiers `names`; None without records or without quasi-identifiers.

    `population` is the number of people of whom the release is a sample, `weights` how many each record stands for;
    with both the weights estimate the individual risk. `everybody` is the population itself, if it is known.
    `more` are quasi-identifiers that only the release has; the population, and the `originals` as they are, then have
    no classes of their own.
    """
    more = more or {}
    if not released.rows or not (names or more):
        return None
    before = None
    if originals is not None and originals.rows and not more:
        before = EquivalenceClasses.by([_codes(originals.columns[name]) for name in names], originals.rows)
    columns = [_codes(column) for column in (*(released.columns[name] for name in names), *more.values())]
    classes = EquivalenceClasses.by(columns, released.rows)
    own = weights is None and population is not None
    each = np.full(released.rows, max(1.0, (population or 0) / released.rows)) if own else weights
    individual = None if each is None else individual_risk(classes, each)
    people, shares = (None, None) if everybody is None or more else _in_population(released, names, classes, everybody)
    risks = class_risks(classes, people)
    assert risks is not None  # noqa: S101 - there are records
    basis: Basis = "release" if people is None else "population"
    if people is None and individual is not None:
        basis, mean = "estimated", individual.mean
        risks = ClassRisks(risks.prosecutor_maximum, risks.prosecutor_average, individual.maximum, mean, mean)
    estimates = None
    if population is not None and population >= released.rows:
        found = (estimate(classes.sizes, population) for estimate in (zayatz_uniques, pitman_uniques))
        estimates = PopulationEstimates(population, *found)
    sizes_as_any = compatible_sizes(columns, released.rows)
    return ReleaseCriteria(
        names=(*names, *more),
        classes=classes,
        suppressed=float(np.mean([float((codes < 0).mean()) for codes in columns])),
        k_as_any=None if sizes_as_any is None else int(sizes_as_any.min()),
        risks=risks,
        basis=basis,
        individual=individual,
        secrets={name: _secret(classes, column) for name, column in secrets.items()},
        estimates=estimates,
        presence=shares,
        before=before,
    )


def _codes(column: ColumnData) -> Codes:
    return column.distinct(plain=column.plain)[1]


def _secret(classes: EquivalenceClasses, column: ColumnData) -> SecretCriteria:
    counts = ValueCounts.of_secret(classes, _codes(column))
    varied, equal = diversity(counts), equal_distance(counts)
    assert varied is not None and equal is not None  # noqa: PT018, S101 - there are records
    return SecretCriteria(varied, equal, ordered_distance(counts) if column.ordered else None)


def _in_population(
    released: Table, names: Sequence[str], classes: EquivalenceClasses, everybody: KnownPopulation
) -> tuple[Numbers, tuple[float, float] | None]:
    """The people of the population in each class of the release, and δ-presence, at the release's granularity."""
    granularity = detect(everybody.originals, released)
    mine, others = (granularity.apply(table) for table in (everybody.originals, everybody.others))
    parts: list[Codes] = []
    for name in names:
        column = released.columns[name].joined(mine.columns[name]).joined(others.columns[name])
        parts.append(_codes(column))
    rows = released.rows
    keys = combined_codes(parts, rows + mine.rows + others.rows)
    people = np.bincount(keys[rows:], minlength=int(keys.max()) + 1).astype(np.float64)
    of_class = np.zeros(classes.count)
    of_class[classes.of] = people[keys[:rows]]
    split = rows + mine.rows
    return of_class, presence([part[rows:split] for part in parts], [part[split:] for part in parts])
