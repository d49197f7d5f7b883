"""The Fellegi-Sunter weight as a similarity: the sum over columns of the logarithm of a likelihood ratio.

    weight(x, y) = sum over columns of   log(m / u)              if x and y agree
                                         log((1-m) / (1-u))      if they differ
                                         0                       if either value is missing

m is the probability that a match agrees on the column, u that another pair does. Either is one number a column, or u is
the frequency of the value on which the pair agrees. Then a column with a tolerance has three levels, each with the
logarithm of its own ratio: equal values, values within the tolerance, and others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.operators.similarity.agreement import AgreementScorer, ComparedColumn
from cvpl.operators.similarity.cells import CellKinds, cell_kinds
from cvpl.operators.similarity.containment import CellScorer, compared_cells, derived_for
from cvpl.operators.similarity.levels import split_levels
from cvpl.operators.similarity.match_agreement import START
from cvpl.operators.similarity.measure import Compared, ComparedRecords, FittingTables, Tolerances
from cvpl.operators.similarity.rarity import RarityMeasure, spread
from cvpl.operators.similarity.value_counts import ValueCounts
from cvpl.settings import Settings
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]

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
