"""Euclidean and Mahalanobis: 1 / (1 + distance) of two embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.measure import Compared, ComparedRecords, FittingTables
from cvpl.operators.similarity.scorers import CosineScorer, DistanceScorer

Floats = NDArray[np.float64]

_NO_VARIANCE = 1e-12
_PIECE = 1 << 16
"""Records summed at a time."""


class Euclidean:
    """1 / (1 + |a - b|)."""

    compares: ClassVar[Compared] = "embeddings"
    unit: ClassVar[bool] = False
    by_distance: ClassVar[bool] = True
    counts_reference: ClassVar[bool] = False

    def fit(self, tables: FittingTables) -> DistanceMeasure:
        """Fit the centre for plain distances."""
        return fit_euclidean(*tables.embeddings())


class Mahalanobis:
    """1 / (1 + d), d^2 = (a - b)^T S^+ (a - b), S the covariance of the fitted embeddings."""

    compares: ClassVar[Compared] = "embeddings"
    unit: ClassVar[bool] = False
    by_distance: ClassVar[bool] = True
    counts_reference: ClassVar[bool] = False

    def fit(self, tables: FittingTables) -> DistanceMeasure:
        """Fit the whitening by the covariance of the fitted embeddings."""
        return fit_mahalanobis(np.vstack(tables.embeddings()))


@dataclass(frozen=True, eq=False)
class DistanceMeasure:
    """Distance after a linear map: none for Euclidean, whitening for Mahalanobis."""

    centre: Floats
    whitening: Floats | None
    least: ClassVar[float] = 0.0
    most: ClassVar[float] = 1.0

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> DistanceScorer | CosineScorer:
        """Distances of the embeddings."""
        return self.scorer(queries.embeddings(), candidates.embeddings())

    def scorer(self, queries: Floats, candidates: Floats) -> DistanceScorer | CosineScorer:
        """A scorer of both sides, centred to keep rounding errors small, and whitened.

        Without any dimension there is nothing to compare, and every similarity is 0.
        """
        if not queries.shape[1]:
            return CosineScorer(queries, candidates)
        if self.whitening is None:
            return DistanceScorer(queries, candidates, centre=self.centre)
        a, b = (_product(side - self.centre, self.whitening) for side in (queries, candidates))
        return DistanceScorer(a, b, centre=np.zeros(a.shape[1]))


def fit_euclidean(*fitted_on: Floats) -> DistanceMeasure:
    """Fit the centre for plain distances: the mean over all tables, summed in pieces without a copy of them."""
    total, records = np.zeros(fitted_on[0].shape[1]), sum(map(len, fitted_on))
    for table in fitted_on:
        for start in range(0, len(table), _PIECE):
            total = np.vstack([total, table[start : start + _PIECE]]).sum(axis=0)
    return DistanceMeasure(total / max(1, records), None)


def fit_mahalanobis(fitted_on: Floats) -> DistanceMeasure:
    """Fit the whitening by the covariance (1/N) of the fitted embeddings; directions without variance are dropped."""
    centre = fitted_on.mean(axis=0) if fitted_on.size else np.zeros(fitted_on.shape[1])
    offset = fitted_on - centre
    values, vectors = np.linalg.eigh(offset.T @ offset / max(1, len(offset)))
    kept = values > _NO_VARIANCE * max(values.max(initial=0.0), 0.0)
    kept &= values > 0
    return DistanceMeasure(centre, vectors[:, kept] / np.sqrt(values[kept]))


def _product(matrix: Floats, loadings: Floats) -> Floats:
    """A matrix product summed in a fixed order, so that equal rows get equal bits."""
    result = np.zeros((len(matrix), loadings.shape[1]))
    for column, row in zip(matrix.T, loadings, strict=True):
        result += column[:, None] * row
    return result
