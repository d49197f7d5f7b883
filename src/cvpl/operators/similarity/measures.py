"""Measures: a similarity fitted on the embeddings of two tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.operators.similarity.scorers import CosineScorer, DistanceScorer, inner

Floats = NDArray[np.float64]

_ZERO_NORM = 1e-9
_NO_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class CosineMeasure:
    """Cosine, with the norm up to which a vector counts as zero."""

    zero: float

    @classmethod
    def of_mean_square(cls, mean_square: float) -> CosineMeasure:
        """Norms up to 1e-9 of the root mean square norm of both tables count as zero."""
        return cls(_ZERO_NORM * float(np.sqrt(max(0.0, mean_square))))

    def scorer(self, queries: Floats, candidates: Floats) -> CosineScorer:
        """Both sides brought to unit length."""
        return CosineScorer(self._unit(queries), self._unit(candidates))

    def _unit(self, vectors: Floats) -> Floats:
        if worth_it(len(vectors)):
            from cvpl.operators.compiled import make_unit  # noqa: PLC0415 - slow to load

            units = np.array(vectors, order="C")
            make_unit(units, self.zero)
            return units
        norms = np.sqrt(inner(vectors, vectors))
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > self.zero)
        return np.ascontiguousarray(vectors * inverse[:, None])


@dataclass(frozen=True, eq=False)
class DistanceMeasure:
    """Distance after a linear map: none for Euclidean, whitening for Mahalanobis."""

    centre: Floats
    whitening: Floats | None

    def scorer(self, queries: Floats, candidates: Floats) -> DistanceScorer | CosineScorer:
        """Both sides moved to the centre, which keeps the rounding small, and whitened.

        Without a single dimension there is nothing to compare by, and every similarity is 0.
        """
        if not queries.shape[1]:
            return CosineScorer(queries, candidates)
        a, b = queries - self.centre, candidates - self.centre
        if self.whitening is not None:
            a, b = (_product(side, self.whitening) for side in (a, b))
        return DistanceScorer(np.ascontiguousarray(a), np.ascontiguousarray(b))


def fit_cosine(original: Floats, protected: Floats) -> CosineMeasure:
    """Norms up to 1e-9 of the root mean square norm of both tables count as zero."""
    squares = float((original**2).sum() + (protected**2).sum())
    return CosineMeasure.of_mean_square(squares / max(1, len(original) + len(protected)))


def fit_euclidean(fitted_on: Floats) -> DistanceMeasure:
    """Plain distances."""
    return DistanceMeasure(fitted_on.mean(axis=0) if fitted_on.size else np.zeros(fitted_on.shape[1]), None)


def fit_mahalanobis(fitted_on: Floats) -> DistanceMeasure:
    """Whitening by the covariance (1/N) of the fitted embeddings; directions without variance are dropped."""
    centre = fitted_on.mean(axis=0) if fitted_on.size else np.zeros(fitted_on.shape[1])
    offset = fitted_on - centre
    values, vectors = np.linalg.eigh(offset.T @ offset / max(1, len(offset)))
    kept = values > _NO_VARIANCE * max(values.max(initial=0.0), 0.0)
    kept &= values > 0
    return DistanceMeasure(centre, vectors[:, kept] / np.sqrt(values[kept]))


def _product(matrix: Floats, loadings: Floats) -> Floats:
    """A matrix product summed in a fixed order, row by row the same bits."""
    result = np.zeros((len(matrix), loadings.shape[1]))
    for column, row in zip(matrix.T, loadings, strict=True):
        result += column[:, None] * row
    return result
