"""The Fellegi-Sunter weight as a similarity: the same weight for every value of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.operators.similarity.agreement import AgreementScorer, ComparedColumn
from cvpl.operators.similarity.cells import CellKinds, cell_kinds
from cvpl.operators.similarity.containment import CellScorer, compared_cells, derived_for
from cvpl.operators.similarity.measure import Compared, ComparedRecords, FittingTables
from cvpl.settings import Settings
from cvpl.tables.columns import ColumnData, Table

Floats = NDArray[np.float64]

_PROBABILITY_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class AgreementMeasure:
    """The weights of agreement and disagreement of each column.

    `cells` are the columns whose released cells are compared by the values that they allow, each with its m: there u is
    the share of the people whom a cell allows.
    """

    columns: tuple[str, ...]
    agree: Floats
    differ: Floats
    cells: Mapping[str, CellKinds] = field(default_factory=dict)
    m: Mapping[str, float] = field(default_factory=dict)

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> AgreementScorer | CellScorer:
        """Weights of the columns' values."""
        asked, there = queries.values(), candidates.values()
        exact = self.scorer(asked, there)
        if not self.cells:
            return exact
        weights = {name: partial(_weights, self.m[name]) for name in self.cells}
        return CellScorer(exact, compared_cells(self.cells, weights, asked, there), derived=derived_for(self, there))

    def scorer(self, queries: Table, candidates: Table) -> AgreementScorer:
        """A scorer of both tables as codes, equal for equal values."""
        compared = []
        for name, worth in zip(self.columns, self.agree, strict=True):
            column, _ = ComparedColumn.of(name, queries.columns[name], candidates.columns[name], 0.0)
            compared.append(replace(column, agree=np.full(len(column.agree), worth)))
        return AgreementScorer.of(compared, self.differ, queries, candidates)

    @property
    def most(self) -> float:
        """The highest possible weight."""
        return float(np.maximum(self.agree, self.differ).sum() + sum(ends[1] for ends in self._ends()))

    @property
    def least(self) -> float:
        """The lowest possible weight."""
        exact = np.minimum(np.minimum(self.agree, self.differ), 0.0).sum()
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

    A column without its own `u` gets the chance agreement of the two tables, the sum over values of their two shares.
    """

    m: Annotated[float, Field(gt=0, lt=1)] | Mapping[str, Annotated[float, Field(gt=0, lt=1)]] = 0.9
    u: Mapping[str, Annotated[float, Field(gt=0, lt=1)]] = {}


class Agreement(Settings):
    """The weighted agreement of the Fellegi-Sunter special case (paper, prop. fs-special-case)."""

    agreement: AgreementSettings = AgreementSettings()

    compares: ClassVar[Compared] = "values"
    unit: ClassVar[bool] = False
    by_distance: ClassVar[bool] = False
    counts_reference: ClassVar[bool] = False

    def fit(self, tables: FittingTables) -> AgreementMeasure:
        """Fit the weights log(m/u) and log((1-m)/(1-u)) of every column."""
        agree, differ = [], []
        columns = [name for name in tables.columns if name not in tables.cells]
        m_of = {
            name: self.agreement.m.get(name, 0.9) if isinstance(self.agreement.m, Mapping) else self.agreement.m
            for name in tables.columns
        }
        for name in columns:
            m = m_of[name]
            chance = self.agreement.u.get(name)
            u = chance
            if u is None:
                u = _chance(name, tables.original.columns[name], tables.protected.columns[name])
            agree.append(np.log(m / u))
            differ.append(np.log((1 - m) / (1 - u)))
        cells = {name: cell_kinds(name, tables.original, tables.protected) for name in tables.cells}
        return AgreementMeasure(tuple(columns), np.array(agree), np.array(differ), cells, m_of)


def _weights(m: float, shares: Floats) -> tuple[Floats, Floats]:
    """The weights of agreement and disagreement of cells that allow these shares of the people.

    A share above m counts as m: a cell that allows nearly everybody says nothing, and disagreement with it no good.
    """
    u = np.clip(shares, _PROBABILITY_FLOOR, m)
    return np.log(m / u), np.log((1 - m) / (1 - u))


def _chance(name: str, one: ColumnData, other: ColumnData) -> float:
    """The probability that a record of one table agrees with a record of the other, kept away from 0 and 1."""
    column, _ = ComparedColumn.of(name, one, other, 0.0)
    left, right = column.queries[column.queries >= 0], column.candidates[column.candidates >= 0]
    if not left.size or not right.size:
        return 0.5
    counts = np.bincount(right)
    shared = column.last >= column.first
    both = float(np.bincount(left, minlength=len(column.agree))[shared] @ counts[column.first[shared]])
    return float(np.clip(both / (left.size * right.size), _PROBABILITY_FLOOR, 1 - _PROBABILITY_FLOOR))
