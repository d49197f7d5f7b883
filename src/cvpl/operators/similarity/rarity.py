"""Rarity: agreement on a rare value counts more than agreement on a common one.

    score(x, y) = sum of log(1 / frequency(x_c)) over the columns on which x and y agree

The frequency is the share of records in the release, and in the reference table if there is one, that agree with x_c;
one is added to the count and to the total, so an unseen value counts as occurring once. The originals are not counted:
an original would count itself and look more common than a control record, which would bias the comparison with the
control.

Numbers and times agree within a tolerance, 0 if the release left them unchanged; `cvpl.attack.tolerances` estimates it.
It also tells how often matches have equal values, which then count for more than near ones (`levels`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.operators.similarity.agreement import AgreementScorer, ComparedColumn
from cvpl.operators.similarity.cells import CellKinds, cell_kinds
from cvpl.operators.similarity.containment import CellScorer, compared_cells, derived_for
from cvpl.operators.similarity.levels import split_levels
from cvpl.operators.similarity.measure import Compared, ComparedRecords, FittingTables
from cvpl.operators.similarity.value_counts import ValueCounts
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
        known = _counted(columns, *counted)
        cells = {name: cell_kinds(name, tables.original, tables.protected) for name in tables.cells}
        exact = RarityMeasure(tuple(columns), known, {}, cells, self.rarity.m)
        width = self.rarity.tolerance
        if width == "release":
            released = replace(exact, counted=_counted(columns, tables.protected))
            found = tables.tolerances(released)
            return replace(exact, tolerance=found.within, equal=found.equal)
        return replace(exact, tolerance={name: width * spread(tables.original, name) for name in columns if width})


def _counted(columns: Sequence[str], *tables: Table) -> tuple[ValueCounts, ...]:
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
