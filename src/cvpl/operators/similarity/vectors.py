"""Similarities of vectors: cosine, Euclidean, Mahalanobis and Jaccard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.operators.similarity.measure import (
    Compared,
    ComparedRecords,
    CosineScorer,
    DistanceScorer,
    FittingTables,
    JaccardScorer,
    OnDemandEmbeddings,
    ScoreSource,
    inner,
)

Floats = NDArray[np.float64]


Rows = NDArray[np.intp]

_ZERO_NORM = 1e-9
_PAIRS_AT_ONCE = 1 << 15


class Cosine:
    """<a, b> / (|a| |b|)."""

    compares: ClassVar[Compared] = "embeddings"
    unit: ClassVar[bool] = True
    by_distance: ClassVar[bool] = False
    counts_reference: ClassVar[bool] = False

    def fit(self, tables: FittingTables) -> CosineMeasure:
        """Fit the zero norm: norms up to 1e-9 of the root mean square norm of both tables count as zero."""
        return CosineMeasure.of_mean_square(tables.mean_square())


@dataclass(frozen=True, eq=False)
class CosineMeasure:
    """Cosine, with the norm up to which a vector counts as zero."""

    zero: float
    least: ClassVar[float] = -1.0
    most: ClassVar[float] = 1.0

    @classmethod
    def of_mean_square(cls, mean_square: float) -> CosineMeasure:
        """Build the measure: norms up to 1e-9 of the root mean square norm of both tables count as zero."""
        return cls(_ZERO_NORM * float(np.sqrt(max(0.0, mean_square))))

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> ScoreSource:
        """Scores that embed only the requested records, if the projection allows it."""
        a, b = queries.on_demand(), candidates.on_demand()
        if a is None or b is None:
            return self.scorer(queries.embeddings(), candidates.embeddings())
        return CosinesOnDemand(self, a, b)

    def scorer(self, queries: Floats, candidates: Floats) -> CosineScorer:
        """A scorer of both sides, scaled to unit length."""
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
class CosinesOnDemand:
    """Cosines of the records of two tables, which embed records on request.

    So the embeddings of a whole table are never in memory, and equal records still get equal bits.
    """

    measure: CosineMeasure
    a: OnDemandEmbeddings
    b: OnDemandEmbeddings
    unit: ClassVar[bool] = True
    agreement: ClassVar[None] = None
    cells: ClassVar[None] = None

    @property
    def queries(self) -> int:
        """The number of query records."""
        return len(self.a)

    @property
    def candidates(self) -> int:
        """The number of candidate records."""
        return len(self.b)

    @property
    def record_bytes(self) -> int:
        """Bytes of an embedding."""
        return 8 * self.a.components

    def sorted(self, queries: Rows, candidates: Rows) -> CosineScorer:
        """A scorer that holds the embeddings of some of the records, in the order given."""
        return self.measure.scorer(self.a.embed(queries), self.b.embed(candidates))

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The formula, some pairs at a time; a query repeated in consecutive pairs is embedded once."""
        result = np.empty(len(queries))
        for start in range(0, len(queries), _PAIRS_AT_ONCE):
            at = slice(start, start + _PAIRS_AT_ONCE)
            fresh = np.append(True, np.diff(queries[at]) != 0)
            scorer = self.sorted(queries[at][fresh], candidates[at])
            result[at] = scorer.formula(scorer.a[np.cumsum(fresh) - 1], scorer.b)
        return result


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
