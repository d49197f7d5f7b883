"""The Fellegi-Sunter weight as a similarity: the same weight for every value of a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.operators.similarity.agreement import AgreementScorer, ComparedColumn
from cvpl.operators.similarity.measure import Compared, ComparedRecords, FittingTables
from cvpl.settings import Settings
from cvpl.tables.columns import ColumnData, Table

Floats = NDArray[np.float64]

_PROBABILITY_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class AgreementMeasure:
    """The weights of agreement and disagreement of each column."""

    columns: tuple[str, ...]
    agree: Floats
    differ: Floats

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> AgreementScorer:
        """Weights of the columns' values."""
        return self.scorer(queries.values(), candidates.values())

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
        return float(np.maximum(self.agree, self.differ).sum())

    @property
    def least(self) -> float:
        """The lowest possible weight."""
        return float(np.minimum(np.minimum(self.agree, self.differ), 0.0).sum())


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
        for name in tables.columns:
            m = self.agreement.m.get(name, 0.9) if isinstance(self.agreement.m, Mapping) else self.agreement.m
            chance = self.agreement.u.get(name)
            u = chance
            if u is None:
                u = _chance(name, tables.original.columns[name], tables.protected.columns[name])
            agree.append(np.log(m / u))
            differ.append(np.log((1 - m) / (1 - u)))
        return AgreementMeasure(tuple(tables.columns), np.array(agree), np.array(differ))


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
