"""How much an agreement counts: rarity, the Fellegi-Sunter weight, and levels of equal and near values.

Rarity: agreement on a rare value counts more than agreement on a common one.

    score(x, y) = sum of log(1 / frequency(x_c)) over the columns on which x and y agree

The frequency is the share of records in the release, and in the reference table if there is one, that agree with x_c;
one is added to the count and to the total, so an unseen value counts as occurring once. The originals are not counted:
an original would count itself and look more common than a control record, which would bias the comparison with the
control.

Numbers and times agree within a tolerance, 0 if the release left them unchanged; `cvpl.attack.tolerances` estimates it.
It also tells how often matches have equal values, which then count for more than near ones.

The Fellegi-Sunter weight as a similarity: the sum over columns of the logarithm of a likelihood ratio.

    weight(x, y) = sum over columns of   log(m / u)              if x and y agree
                                         log((1-m) / (1-u))      if they differ
                                         0                       if either value is missing

m is the probability that a match agrees on the column, u that another pair does. Either is one number a column, or u is
the frequency of the value on which the pair agrees. Then a column with a tolerance has three levels, each with the
logarithm of its own ratio: equal values, values within the tolerance, and others.

Levels of agreement: equal values count for more than values that are only within the tolerance. For a match whose
values are within the tolerance, `m` is the probability that they are equal; for any other such pair it is `u`, the
share of the people within the tolerance who have the very value. Agreement then weighs

    agree + log(m / u)                if the values are equal
    agree + log((1 - m) / (1 - u))    if they are only near

u counts as at most m: equality never counts against a pair. Near values weigh no less than values that differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.operators.similarity.agreement import AgreementScorer, ComparedColumn
from cvpl.operators.similarity.containment import CellKinds, CellScorer, cell_kinds, compared_cells, derived_for
from cvpl.operators.similarity.match_agreement import START
from cvpl.operators.similarity.measure import Compared, ComparedRecords, FittingTables, Tolerances
from cvpl.settings import Settings
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]


class RaritySettings(Settings):
    """`tolerance`: `release` estimates it from the release; a number is in standard deviations, 0 means exact.

    `m` is the probability that a match agrees on a column: with it, disagreement counts against a pair.
    """

    tolerance: Literal["release"] | Annotated[float, Field(ge=0)] = "release"
    m: Annotated[float, Field(gt=0, lt=1)] | None = None


class Rarity(Settings):
    """The sum of log(1/frequency) over the columns on which two records agree."""

    rarity: RaritySettings = RaritySettings()

    compares: ClassVar[Compared] = "values"
    unit: ClassVar[bool] = False
    by_distance: ClassVar[bool] = False
    counts_reference: ClassVar[bool] = True

    def fit(self, tables: FittingTables) -> RarityMeasure:
        """Count the values of the release and the reference; tolerances are as set, or estimated from the release."""
        counted = [tables.protected] if tables.reference is None else [tables.protected, tables.reference]
        columns = [name for name in tables.columns if name not in tables.cells]
        known = _count_values(columns, *counted)
        cells = {name: cell_kinds(name, tables.original, tables.protected) for name in tables.cells}
        exact = RarityMeasure(tuple(columns), known, {}, cells, self.rarity.m)
        width = self.rarity.tolerance
        if width == "release":
            released = replace(exact, counted=_count_values(columns, tables.protected))
            found = tables.tolerances(released)
            return replace(exact, tolerance=found.within, equal=found.equal)
        return replace(exact, tolerance={name: width * spread(tables.original, name) for name in columns if width})


def _count_values(columns: Sequence[str], *tables: Table) -> tuple[ValueCounts, ...]:
    return tuple(ValueCounts.of(name, tables) for name in columns)


@dataclass(frozen=True, eq=False)
class RarityMeasure:
    """The value counts of each column, and the tolerance within which its values agree (absent: exactly).

    `equal` is the probability that the values of a match are equal if they are within the tolerance; without it, equal
    values count as near ones.
    `cells` are the columns whose released cells are compared by the values that they allow.
    """

    columns: tuple[str, ...]
    counted: tuple[ValueCounts, ...]
    tolerance: Mapping[str, float]
    cells: Mapping[str, CellKinds] = field(default_factory=dict)
    m: float | None = None
    equal: Mapping[str, float] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """The lowest possible score: disagreement on every column."""
        return self._differ * (len(self.columns) + len(self.cells))

    @property
    def _agree(self) -> float:
        return 0.0 if self.m is None else float(np.log(self.m))

    @property
    def _differ(self) -> float:
        return 0.0 if self.m is None else float(np.log(1 - self.m))

    @property
    def most(self) -> float:
        """The highest possible score: agreement on unseen values."""
        exact = sum(np.log(counted.values.records + 1.0) for counted in self.counted)
        return float(exact + sum(np.log(kinds.counted + 1.0) for kinds in self.cells.values()))

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> AgreementScorer | CellScorer:
        """Agreement of the columns' values."""
        return self.scorer(queries.values(), candidates.values())

    def scorer(self, queries: Table, candidates: Table) -> AgreementScorer | CellScorer:
        """A scorer of both tables as codes, with the weight of agreement on each value or cell."""
        exact = self._exact(queries, candidates)
        if not self.cells:
            return exact
        weights = dict.fromkeys(self.cells, self._weights)
        columns = compared_cells(self.cells, weights, queries, candidates)
        return CellScorer(exact, columns, derived=derived_for(self, candidates))

    def _exact(self, queries: Table, candidates: Table) -> AgreementScorer:
        compared, equal = [], []
        for name, counted in zip(self.columns, self.counted, strict=True):
            one, other = queries.columns[name], candidates.columns[name]
            tolerance = self.tolerance.get(name, 0.0) if one.plain and other.plain else 0.0
            column, asked = ComparedColumn.of(name, one, other, tolerance)
            shares = counted.shares(asked, tolerance)
            agree = self._agree - np.log(shares)
            if tolerance and name in self.equal:
                own = counted.shares(asked, 0.0) / shares
                agree, more = split_levels(agree, own, self.equal[name], self._differ)
                equal.append(replace(column.exactly(one, other), agree=more))
            compared.append(replace(column, agree=agree))
        differ = np.concatenate([np.full(len(compared), self._differ), np.zeros(len(equal))])
        return AgreementScorer.of([*compared, *equal], differ, queries, candidates)

    def _weights(self, shares: Floats) -> tuple[Floats, Floats]:
        """The weights of agreement and disagreement of cells that allow these shares of the people."""
        return self._agree - np.log(shares), np.full(len(shares), self._differ)


def spread(table: Table, name: str) -> float:
    """The standard deviation of a numeric or datetime column; 0 for labels and ranges, which agree only exactly."""
    column = table.columns[name]
    if not column.ordered or not column.plain or not column.known().any():
        return 0.0
    return float(column.keys(plain=True)[column.known()].astype(np.float64).std())


_PROBABILITY_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class AgreementMeasure:
    """m and u of each column, and the tolerance within which its values agree (absent: exactly).

    With `counted`, u of an agreement is the frequency of the value, at most m, and u of a column that of a
    disagreement. `cells` are the columns whose released cells are compared by the values that they allow, each with its
    m: there u is the share of the people whom a cell allows. `equal` is the probability that the values of a match are
    equal if they are within the tolerance; without it, equal values count as near ones.
    """

    columns: tuple[str, ...]
    m: Mapping[str, float]
    u: Mapping[str, float]
    tolerance: Mapping[str, float] = field(default_factory=dict)
    counted: Mapping[str, ValueCounts] = field(default_factory=dict)
    cells: Mapping[str, CellKinds] = field(default_factory=dict)
    equal: Mapping[str, float] = field(default_factory=dict)

    @property
    def agree(self) -> Floats:
        """log(m/u) of each column."""
        return np.array([np.log(self.m[name] / self.u[name]) for name in self.columns])

    @property
    def differ(self) -> Floats:
        """log((1-m)/(1-u)) of each column."""
        return np.array([np.log((1 - self.m[name]) / (1 - self.u[name])) for name in self.columns])

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> AgreementScorer | CellScorer:
        """Weights of the columns' values."""
        asked, there = queries.values(), candidates.values()
        exact = self.scorer(asked, there)
        if not self.cells:
            return exact
        weights = {name: partial(_weights, self.m[name]) for name in self.cells}
        return CellScorer(exact, compared_cells(self.cells, weights, asked, there), derived=derived_for(self, there))

    def scorer(self, queries: Table, candidates: Table) -> AgreementScorer:
        """A scorer of both tables as codes, with the weight of agreement on each value."""
        compared, equal = [], []
        for name, worth, differ in zip(self.columns, self.agree, self.differ, strict=True):
            column, shares = self.compared(name, queries, candidates)
            agree = np.full(len(column.agree), worth)
            if shares is not None:
                agree = np.log(self.m[name] / np.minimum(shares, self.m[name]))
            if (same := self.compared_equal(column, queries, candidates)) is not None:
                near, more = split_levels(agree, same[1], self.equal[name], differ)
                compared.append(replace(column, agree=near))
                equal.append(replace(same[0], agree=more))
            else:
                compared.append(replace(column, agree=agree))
        weights = np.concatenate([self.differ, np.zeros(len(equal))])
        return AgreementScorer.of([*compared, *equal], weights, queries, candidates)

    def compared(self, name: str, queries: Table, candidates: Table) -> tuple[ComparedColumn, Floats | None]:
        """A column as codes, and the frequency of each distinct query value if u depends on the value."""
        one, other = queries.columns[name], candidates.columns[name]
        tolerance = self.column_tolerance(name, queries, candidates)
        column, asked = ComparedColumn.of(name, one, other, tolerance)
        if not self.counted:
            return column, None
        shares = self.counted[name].shares(asked, tolerance)
        return column, np.clip(shares, _PROBABILITY_FLOOR, 1 - _PROBABILITY_FLOOR)

    def compared_equal(
        self, column: ComparedColumn, queries: Table, candidates: Table
    ) -> tuple[ComparedColumn, Floats] | None:
        """The column for equal values, and how many of the values within the tolerance of each query value are equal.

        None without a tolerance, if u does not depend on the value, or if it is not known how often matches are equal:
        then all values within the tolerance count the same.
        """
        name = column.name
        tolerance = self.column_tolerance(name, queries, candidates)
        if not tolerance or not self.counted or name not in self.equal:
            return None
        one, other, counted = queries.columns[name], candidates.columns[name], self.counted[name]
        asked, _ = one.distinct(plain=column.plain)
        shares = counted.shares(asked, 0.0) / counted.shares(asked, tolerance)
        return column.exactly(one, other), np.clip(shares, _PROBABILITY_FLOOR, 1 - _PROBABILITY_FLOOR)

    def column_tolerance(self, name: str, queries: Table, candidates: Table) -> float:
        """The tolerance of a column; 0 where a table has ranges or none is set."""
        plain = queries.columns[name].plain and candidates.columns[name].plain
        return self.tolerance.get(name, 0.0) if plain else 0.0

    @property
    def most(self) -> float:
        """The highest possible weight."""
        agree = self.agree
        if self.counted:
            agree = np.array(
                [np.log(self.m[name] * (self.counted[name].values.records + 1.0)) for name in self.columns]
            )
        return float(np.maximum(agree, self.differ).sum() + sum(ends[1] for ends in self._ends()))

    @property
    def least(self) -> float:
        """The lowest possible weight; agreement on a value counts for a pair, if u depends on the value."""
        agree = np.zeros(len(self.columns)) if self.counted else self.agree
        exact = np.minimum(np.minimum(agree, self.differ), 0.0).sum()
        return float(exact + sum(ends[0] for ends in self._ends()))

    def _ends(self) -> list[tuple[float, float]]:
        """The lowest and the highest weight of each column of cells: of one that allows everybody, or nobody."""
        found = []
        for name, kinds in self.cells.items():
            both = np.concatenate(_weights(self.m[name], np.array([1.0 / (kinds.counted + 1.0), 1.0])))
            found.append((min(0.0, float(both.min())), max(0.0, float(both.max()))))
        return found


class AgreementSettings(Settings):
    """m, the probability that a match agrees, and u, that a non-match does: one value, or one for each column.

    `m: release` estimates m by EM from the release; columns with cells, and releases where EM has no answer, keep 0.9.
    A column without its own `u` gets the chance agreement of the two tables, the sum over values of their two shares.
    `u: values` takes the frequency of the value on which a pair agrees instead, counted in the release. `tolerance` is
    that of numbers and times: `release` estimates it as under rarity; a number is in standard deviations, 0 means
    exact.
    """

    m: Literal["release"] | Annotated[float, Field(gt=0, lt=1)] | Mapping[str, Annotated[float, Field(gt=0, lt=1)]] = (
        0.9
    )
    u: Literal["values"] | Mapping[str, Annotated[float, Field(gt=0, lt=1)]] = {}
    tolerance: Literal["release"] | Annotated[float, Field(ge=0)] = 0.0


class Agreement(Settings):
    """The weighted agreement of the Fellegi-Sunter special case (paper, prop. fs-special-case)."""

    agreement: AgreementSettings = AgreementSettings()

    compares: ClassVar[Compared] = "values"
    unit: ClassVar[bool] = False
    by_distance: ClassVar[bool] = False
    counts_reference: ClassVar[bool] = False

    def fit(self, tables: FittingTables) -> AgreementMeasure:
        """Fit m, u and the tolerance of every column."""
        columns = tuple(name for name in tables.columns if name not in tables.cells)
        cells = {name: cell_kinds(name, tables.original, tables.protected) for name in tables.cells}
        found, written = self._tolerances(tables, columns, cells), self.agreement.u
        set_u = written if isinstance(written, Mapping) else {}
        measure = AgreementMeasure(
            columns, {name: self._m(name) for name in tables.columns}, {}, found.within, {}, cells
        )
        chances = {
            name: agreement_chance(measure.compared(name, tables.original, tables.protected)[0]) for name in columns
        }
        measure = replace(measure, u=chances | {name: set_u[name] for name in columns if name in set_u})
        if written == "values":
            counted = {name: ValueCounts.of(name, [tables.protected]) for name in columns}
            measure = replace(measure, counted=counted, equal=found.equal)
        if self.agreement.m != "release":
            return measure
        estimated = tables.match_agreement(measure)
        return replace(measure, m={**measure.m, **estimated.agree}, equal={**measure.equal, **estimated.equal})

    def _m(self, name: str) -> float:
        written = self.agreement.m
        if isinstance(written, Mapping):
            return written.get(name, START)
        return START if isinstance(written, str) else written

    def _tolerances(
        self, tables: FittingTables, columns: tuple[str, ...], cells: Mapping[str, CellKinds]
    ) -> Tolerances:
        width = self.agreement.tolerance
        if width == "release":
            counted = tuple(ValueCounts.of(name, [tables.protected]) for name in columns)
            return tables.tolerances(RarityMeasure(columns, counted, {}, cells))
        return Tolerances({name: width * spread(tables.original, name) for name in columns if width}, {})


def _weights(m: float, shares: Floats) -> tuple[Floats, Floats]:
    """The weights of agreement and disagreement of cells that allow these shares of the people.

    A share above m counts as m: a cell that allows nearly everybody says nothing, and disagreement with it no good.
    """
    u = np.clip(shares, _PROBABILITY_FLOOR, m)
    return np.log(m / u), np.log((1 - m) / (1 - u))


def agreement_chance(column: ComparedColumn) -> float:
    """The probability that a record of one table agrees with a record of the other, kept away from 0 and 1."""
    left, right = column.queries[column.queries >= 0], column.candidates[column.candidates >= 0]
    if not left.size or not right.size:
        return 0.5
    before = np.concatenate([[0], np.cumsum(np.bincount(right))])
    agreeing = np.where(column.last >= column.first, before[column.last + 1] - before[column.first], 0)
    both = float(np.bincount(left, minlength=len(agreeing)) @ agreeing)
    return float(np.clip(both / (left.size * right.size), _PROBABILITY_FLOOR, 1 - _PROBABILITY_FLOOR))


_CERTAIN = 1e-6
"""The smallest distance of m and u from 0 and 1."""


def split_levels(agree: Floats, u: Floats, m: float, differ: float) -> tuple[Floats, Floats]:
    """The weight of near values, and what equal ones add to it."""
    m = float(np.clip(m, _CERTAIN, 1 - _CERTAIN))
    u = np.minimum(np.clip(u, _CERTAIN, 1 - _CERTAIN), m)
    near = np.maximum(agree + np.log((1 - m) / (1 - u)), np.minimum(agree, differ))
    return near, agree + np.log(m / u) - near


Ints = NDArray[np.int64]
Keys = NDArray[Any]


@dataclass(frozen=True, eq=False)
class CumulativeCounts:
    """Distinct values in ascending order; `before` has the number of records with a lower value, and in the end all."""

    keys: Keys
    before: Ints

    @classmethod
    def of(cls, parts: Sequence[tuple[Keys, NDArray[np.int32]]]) -> CumulativeCounts:
        """Count the known values of several tables, from the distinct values of each and their places."""
        counts = [np.bincount(places[places >= 0], minlength=len(keys)) for keys, places in parts]
        keys, total = parts[0][0], counts[0]
        if len(parts) > 1:
            keys, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
            total = np.bincount(place.reshape(-1), np.concatenate(counts), len(keys)).astype(np.int64)
        return cls(keys, np.concatenate([[0], np.cumsum(total)]).astype(np.int64))

    @property
    def records(self) -> int:
        """The number of records with a value."""
        return int(self.before[-1])

    def between(self, low: Keys, high: Keys) -> Ints:
        """The number of records with a value from `low` to `high`."""
        first, last = np.searchsorted(self.keys, low, side="left"), np.searchsorted(self.keys, high, side="right")
        return np.asarray(self.before[last] - self.before[first])


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The known values of a column in the counted tables, as points and, if some are ranges, as ranges."""

    values: CumulativeCounts
    ranges: CumulativeCounts | None

    @classmethod
    def of(cls, name: str, tables: Sequence[Table]) -> ValueCounts:
        """Count the values of a column."""
        columns = [table.columns[name] for table in tables]
        values = CumulativeCounts.of([column.distinct(plain=True) for column in columns])
        if all(column.plain for column in columns):
            return cls(values, None)
        return cls(values, CumulativeCounts.of([column.distinct(plain=False) for column in columns]))

    def shares(self, asked: Keys, tolerance: float) -> Floats:
        """(count + 1) / (all + 1), where count is the number of values within `tolerance` of each value."""
        counted = self.values
        if np.iscomplexobj(asked):
            points = CumulativeCounts(np.asarray(counted.keys + 1j * counted.keys), counted.before)
            counted = points if self.ranges is None else self.ranges
        low, high = (asked - tolerance, asked + tolerance) if tolerance else (asked, asked)
        return np.asarray((counted.between(low, high) + 1.0) / (counted.records + 1.0))
