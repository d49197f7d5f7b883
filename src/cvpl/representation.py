"""The fitted representation: from a table to what the similarity compares, and to a scorer of two tables."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cvpl.attacker import Attacker
from cvpl.errors import UsageError
from cvpl.operators.projection import Fitted as FittedProjection
from cvpl.operators.projection import FixedEmbedding, Identity, LinearProjection, Pca, RandomProjection, RobustPca, Umap
from cvpl.operators.similarity import (
    Agreement,
    AgreementMeasure,
    CosineMeasure,
    DistanceMeasure,
    JaccardScorer,
    Scorer,
    fit_cosine,
    fit_euclidean,
    fit_mahalanobis,
)
from cvpl.operators.vectorization import FeatureSpace, Vectors
from cvpl.saved_projection import load_projection
from cvpl.streams import stream
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Representation:
    """Vectorization, projection and similarity, fitted on one pair of tables.

    `projection` and `measure` are None where the similarity does without them.
    """

    attacker: Attacker
    space: FeatureSpace
    projection: FittedProjection | None
    measure: CosineMeasure | DistanceMeasure | AgreementMeasure | None
    original: Table
    protected: Table
    embedded: dict[str, Floats] = field(default_factory=dict)

    @property
    def maps_others(self) -> bool:
        """Whether records outside the two tables can be compared under this very representation."""
        return not isinstance(self.projection, FixedEmbedding)

    def vectors(self, table: Table) -> Vectors:
        """The feature vectors of a table."""
        return self.space(table)

    def embed(self, table: Table) -> Floats:
        """What the similarity compares: the projected vectors, or the 0/1 features under Jaccard.

        The two fitted tables are embedded once.
        """
        if table is self.original or table is self.protected:
            if table.name not in self.embedded:
                self.embedded[table.name] = self._embed(table)
            return self.embedded[table.name]
        return self._embed(table)

    def _embed(self, table: Table) -> Floats:
        if self.projection is None:
            return self.space.binary(table)
        if isinstance(self.projection, FixedEmbedding):
            if table is self.original:
                return self.projection.original
            if table is self.protected:
                return self.projection.protected
            raise UsageError("this projection has no map for records outside the two fitted tables")
        return self.projection(self.space(table))

    def scorer(
        self, queries: Table, candidates: Table, query_rows: Rows | None = None, candidate_rows: Rows | None = None
    ) -> Scorer:
        """Scores the records of one table (or some of its rows) against those of another."""
        if isinstance(self.measure, AgreementMeasure):
            return self.measure.scorer(_rows(queries, query_rows), _rows(candidates, candidate_rows))
        a, b = self.embed(queries), self.embed(candidates)
        return self.score(
            a if query_rows is None else a[query_rows], b if candidate_rows is None else b[candidate_rows]
        )

    def score(self, queries: Floats, candidates: Floats) -> Scorer:
        """Scores of embedded records."""
        if self.measure is None:
            return JaccardScorer(queries, candidates)
        assert not isinstance(self.measure, AgreementMeasure)  # noqa: S101 - it compares tables, not embeddings
        return self.measure.scorer(queries, candidates)


def fit_representation(original: Table, protected: Table, attacker: Attacker, seed: int) -> Representation:
    """Fit vectorization on both tables, the projection as its settings say, and the similarity on the embeddings."""
    space = attacker.vectorization.fit([original, protected])
    if not attacker.projects:
        measure = None
        if isinstance(attacker.similarity, Agreement):
            columns = [
                spec.name
                for spec in original.specs
                if spec.name not in attacker.vectorization.columns
                or attacker.vectorization.columns[spec.name].vectorize
            ]
            measure = attacker.similarity.fit(original, protected, columns)
        return Representation(attacker, space, None, measure, original, protected)
    space, projection = _project(original, protected, attacker, space, seed)
    bare = Representation(attacker, space, projection, None, original, protected)
    a, b = bare.embed(original), bare.embed(protected)
    fitted_on = {"joint": (a, b), "original": (a,), "protected": (b,)}[_fit_of(attacker)]
    if attacker.similarity == "cosine":
        fitted: CosineMeasure | DistanceMeasure = fit_cosine(a, b)
    elif attacker.similarity == "euclidean":
        fitted = fit_euclidean(np.vstack(fitted_on))
    else:
        fitted = fit_mahalanobis(np.vstack(fitted_on))
    return Representation(attacker, space, projection, fitted, original, protected, bare.embedded)


def _project(
    original: Table, protected: Table, attacker: Attacker, space: FeatureSpace, seed: int
) -> tuple[FeatureSpace, FittedProjection]:
    settings = attacker.projection
    if settings == "identity":
        return space, Identity()
    if isinstance(settings, RandomProjection):
        return space, settings.fit(space.width, stream(seed, "random projection"))
    a, b = space(original), space(protected)
    if isinstance(settings, Pca):
        return space, settings.fit(a, b, space.neutral)
    if isinstance(settings, RobustPca):
        fitted_on = {"joint": (a, b), "original": (a,), "protected": (b,)}[settings.robust_pca.fit]
        return space, settings.fit(a, b, space.robust_centre(fitted_on))
    if isinstance(settings, Umap):
        return space, settings.fit(a, b, stream(seed, "umap"))
    return load_projection(settings.saved, space)


def _fit_of(attacker: Attacker) -> str:
    if isinstance(attacker.projection, Pca):
        return attacker.projection.pca.fit
    return attacker.projection.robust_pca.fit if isinstance(attacker.projection, RobustPca) else "joint"


def _rows(table: Table, rows: Rows | None) -> Table:
    return table if rows is None else table.take(rows)


def linear(projection: FittedProjection | None) -> LinearProjection | None:
    """The projection if it is a linear one with loadings, else None."""
    return projection if isinstance(projection, LinearProjection) else None
