"""The vectors of a table that is not in memory, computed from its columns on request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.feature_vectors import Moments
from cvpl.operators.vectorization.layout import FeatureLayout
from cvpl.operators.vectorization.moments import chunks, direction_moments, moments, robust_centre
from cvpl.operators.vectorization.vectors import Vectors, vectorized
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class VectorsOnDemand:
    """The same vectors as `Vectors`, to the same bits, without holding them.

    `at` is the position of each record in `table`, if the table is reordered: records of a block are then adjacent and
    read at once.
    """

    space: FeatureLayout
    table: Table
    at: NDArray[np.signedinteger] | None = None

    def __len__(self) -> int:
        return self.table.rows

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some of the rows, in memory."""
        return vectorized(self.space, self.table.take(rows if self.at is None else self.at[rows]))

    def pieces(self) -> Iterator[tuple[slice, Vectors]]:
        """The records in pieces, with their positions."""
        for at in chunks(len(self)):
            yield at, self.take(np.arange(at.start, at.stop))

    def number(self, feature: int) -> Floats:
        """One of the numeric features, for all records."""
        part = self.space.number_features[feature]
        values = part.values(self.table.columns[part.spec.name])
        return values if self.at is None else values[self.at]

    def code(self, feature: int) -> NDArray[np.int32]:
        """The codes of one of the category columns, for all records."""
        part = self.space.category_features[feature]
        codes = part.codes(self.table.columns[part.spec.name])
        return codes if self.at is None else codes[self.at]

    def dense(self) -> Floats:
        """The whole feature matrix."""
        return np.vstack([piece.dense() for _, piece in self.pieces()])

    def project(self, loadings: Floats, centre: Floats, rows: Rows | None = None) -> Floats:
        """(v - centre) times `loadings` for all records or some."""
        if rows is not None:
            return self.take(rows).project(loadings, centre)
        result = np.empty((len(self), loadings.shape[1]))
        for at, piece in self.pieces():
            result[at] = piece.project(loadings, centre)
        return result

    def moments(self, centre: Floats) -> Moments:
        """The number of records, and the sums of u and of u u^T over them, where u = v - centre."""
        return moments(self, centre)

    def direction_moments(self, centre: Floats) -> Moments:
        """The same for the directions u / |u|."""
        return direction_moments(self, centre)

    def robust_centre(self, others: Sequence[Any]) -> Floats:
        """The median of every number and the share of every 0/1 feature, over these records and those of `others`."""
        return robust_centre([self, *others])

    def arranged(self, blocks: Rows) -> VectorsOnDemand:
        """The same vectors, with their table rewritten in the order of the records' blocks."""
        order = np.argsort(blocks, kind="stable")
        width = np.int32 if len(order) <= np.iinfo(np.int32).max else np.int64
        at: NDArray[np.signedinteger] = np.empty(len(order), dtype=width)
        at[order] = np.arange(len(order), dtype=width)
        return replace(self, table=self.table.kept(order), at=at)
