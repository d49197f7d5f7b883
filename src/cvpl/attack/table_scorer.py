"""Cosines of two tables whose embeddings are made only for whom they are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.projection import LinearProjection
from cvpl.operators.similarity import CosineMeasure, CosineScorer
from cvpl.operators.vectorization import AnyVectors

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_PAIRS_AT_ONCE = 1 << 15


@dataclass(frozen=True, eq=False)
class TableScorer:
    """Cosines of the records of two tables, without their embeddings: those that are asked for are made when they are.

    So the embeddings of a table never stand in memory as a whole, and equal records get equal bits all the same.
    """

    projection: LinearProjection
    measure: CosineMeasure
    a: AnyVectors
    b: AnyVectors
    unit: ClassVar[bool] = True

    @property
    def queries(self) -> int:
        """How many query records there are."""
        return len(self.a)

    @property
    def candidates(self) -> int:
        """How many candidate records there are."""
        return len(self.b)

    @property
    def record_bytes(self) -> int:
        """Bytes of an embedding."""
        return 8 * self.projection.components

    def sorted(self, queries: Rows, candidates: Rows) -> CosineScorer:
        """A scorer that holds the embeddings of some of the records, in the order given."""
        return self.measure.scorer(self.projection(self.a, queries), self.projection(self.b, candidates))

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The formula, some pairs at a time; a query that stands many times in a row is embedded once."""
        result = np.empty(len(queries))
        for start in range(0, len(queries), _PAIRS_AT_ONCE):
            at = slice(start, start + _PAIRS_AT_ONCE)
            fresh = np.append(True, np.diff(queries[at]) != 0)
            scorer = self.sorted(queries[at][fresh], candidates[at])
            result[at] = scorer.formula(scorer.a[np.cumsum(fresh) - 1], scorer.b)
        return result
