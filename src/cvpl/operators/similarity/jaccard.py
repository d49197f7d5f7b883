"""Jaccard: the ones that two records share, divided by all their ones, on 0/1 features without a projection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cvpl.operators.similarity.measure import Compared, ComparedRecords, FittingTables
from cvpl.operators.similarity.scorers import JaccardScorer


class Jaccard:
    """|a and b| / |a or b|."""

    compares: ClassVar[Compared] = "binary features"
    unit: ClassVar[bool] = False
    by_distance: ClassVar[bool] = False
    counts_reference: ClassVar[bool] = False

    def fit(self, tables: FittingTables) -> JaccardMeasure:
        """Return the measure; nothing is fitted."""
        return JaccardMeasure()


@dataclass(frozen=True, eq=False)
class JaccardMeasure:
    """The Jaccard index."""

    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> JaccardScorer:
        """Counts of shared ones."""
        return JaccardScorer(queries.embeddings(), candidates.embeddings())
