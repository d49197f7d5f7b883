"""Agreement by containment: a released cell agrees with a value that it allows.

    score(x, y) = sum over columns of   agree(y_c) if the cell y_c allows x_c,   differ(y_c) if not,
                                        0 if either is missing

The weights depend on the cell. Columns in which every released cell is a single value are compared for agreement as
elsewhere (`agreement`), and their score is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.agreement import AgreementScorer
from cvpl.operators.similarity.cells import CellKinds, ColumnCells
from cvpl.operators.similarity.near_best import lowest_near_best
from cvpl.tables.columns import Table

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
_DERIVED = "derived from cells"
Weights = Callable[[Floats], tuple[Floats, Floats]]
"""The weights of agreement and disagreement of cells, from the share of the people whom each allows."""


@dataclass(frozen=True, eq=False)
class ComparedCells:
    """One column of two tables: the codes of the queries, the cells of the candidates, and the weights of each cell."""

    cells: ColumnCells
    asked: Codes
    codes: Codes
    agree: Floats
    differ: Floats

    def table(self, asked: Codes) -> Floats:
        """What each cell (columns) adds for each code (rows)."""
        worth = np.where(self.cells.allows(asked), self.agree, self.differ)
        worth[asked < 0] = 0.0
        return worth

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """What the column adds to the scores of pairs."""
        asked, codes = self.asked[queries], self.codes[candidates]
        different, place = np.unique(asked, return_inverse=True)
        return np.where(codes >= 0, self.table(different)[place.reshape(-1), codes], 0.0)

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """What the column adds for every query with every candidate."""
        codes = self.codes[candidates]
        different, place = np.unique(self.asked[queries], return_inverse=True)
        # The last entry is for missing values, coded -1.
        table = np.concatenate([self.table(different), np.zeros((len(different), 1))], axis=1)
        return table[:, codes][place.reshape(-1)]

    def sorted(self, queries: Rows, candidates: Rows) -> ComparedCells:
        """The same for some of the records, in another order."""
        return replace(self, asked=self.asked[queries], codes=self.codes[candidates])


def compared_cells(
    kinds: Mapping[str, CellKinds], weights: Mapping[str, Weights], queries: Table, candidates: Table
) -> tuple[ComparedCells, ...]:
    """The columns of two tables whose cells are compared; `weights` turns the share that a cell allows into weights."""
    found = []
    for name, kind in kinds.items():
        cells = kind.cells(candidates.columns[name])
        agree, differ = weights[name](cells.shares)
        found.append(ComparedCells(cells, cells.asked(queries.columns[name]), cells.codes, agree, differ))
    return tuple(found)


def derived_for(measure: object, candidates: Table) -> dict[str, Any]:
    """What searches by a measure derived from a table of candidates; it is kept with a table in memory."""
    if not candidates.place.in_memory:
        return {}
    if _DERIVED not in candidates.derived or candidates.derived[_DERIVED][0] is not measure:
        candidates.derived[_DERIVED] = measure, {}
    kept: dict[str, Any] = candidates.derived[_DERIVED][1]
    return kept


@dataclass(frozen=True, eq=False)
class CellScorer:
    """Scores by containment: the agreement of the exact columns, and what the released cells add.

    `derived` keeps what a search computed from the candidates, for other scorers of the same measure and candidates.
    """

    exact: AgreementScorer
    columns: tuple[ComparedCells, ...]
    tolerance: float = 1e-9
    derived: dict[str, Any] = field(default_factory=dict)
    unit: ClassVar[bool] = False
    unit_vectors: ClassVar[None] = None
    agreement: ClassVar[None] = None

    @property
    def cells(self) -> CellScorer:
        """Itself."""
        return self

    @property
    def queries(self) -> int:
        """The number of query records."""
        return self.exact.queries

    @property
    def candidates(self) -> int:
        """The number of candidate records."""
        return self.exact.candidates

    @property
    def record_bytes(self) -> int:
        """Bytes of the codes of a record."""
        return self.exact.record_bytes + 4 * len(self.columns)

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The sum over the exact columns, then over the others, in their order."""
        total = self.exact.pairs(queries, candidates)
        for column in self.columns:
            total += column.pairs(queries, candidates)
        return total

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """Scores of every query with every candidate."""
        total = self.exact.tile(queries, candidates)
        for column in self.columns:
            total += column.tile(queries, candidates)
        return total

    def lowest_near_best(self, queries: slice, top: Floats, second: Floats, tie: float) -> Floats:
        """The entry of a tile from which a pair may be one of the two best, or tie with the best."""
        return lowest_near_best(top, second, tie, self.tolerance)

    def without(self, name: str) -> CellScorer:
        """The scores without one of the exact columns."""
        return replace(self, exact=self.exact.without(name), derived={})

    def sorted(self, queries: Rows, candidates: Rows) -> CellScorer:
        """A scorer of some of the records, in another order."""
        exact = self.exact.sorted(queries, candidates)
        columns = tuple(item.sorted(queries, candidates) for item in self.columns)
        same = len(candidates) == self.candidates and np.array_equal(candidates, np.arange(len(candidates)))
        return CellScorer(exact, columns, derived=self.derived if same else {})
