"""The fitted representation: from a table to what the similarity compares, and to a scorer of two tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.attack.saved_projection import load_projection
from cvpl.attack.table_scorer import TableScorer
from cvpl.attack.tolerances import find_tolerances
from cvpl.errors import UsageError
from cvpl.operators.projection import Fitted as FittedProjection
from cvpl.operators.projection import (
    FixedEmbedding,
    Identity,
    LinearProjection,
    Pca,
    RandomProjection,
    RobustPca,
    Sums,
    Umap,
)
from cvpl.operators.similarity import (
    Agreement,
    AgreementMeasure,
    CosineMeasure,
    DistanceMeasure,
    JaccardScorer,
    Rarity,
    RarityMeasure,
    Scorer,
    Source,
    fit_cosine,
    fit_euclidean,
    fit_mahalanobis,
)
from cvpl.operators.vectorization import AnyVectors, FeatureSpace, VectorsOnDemand
from cvpl.randomness import stream
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

CHUNK = 1 << 16
"""Records that are embedded at a time where all of them are gone through."""


@dataclass(frozen=True, eq=False)
class Representation:
    """Vectorization, projection and similarity, fitted on one pair of tables.

    `projection` and `measure` are None where the similarity does without them. The vectors of the two tables, their
    embeddings and their moments about the neutral vector are kept once they are made; under PCA the moments always are.
    `arranged` are tables on disk, by name, with their vectors in the order of blocks.
    """

    attacker: Attacker
    space: FeatureSpace
    projection: FittedProjection | None
    measure: CosineMeasure | DistanceMeasure | AgreementMeasure | RarityMeasure | None
    original: Table
    protected: Table
    embedded: dict[str, Floats] = field(default_factory=dict)
    vectorized: dict[str, AnyVectors] = field(default_factory=dict)
    sums: dict[str, Sums] = field(default_factory=dict)
    arranged: dict[str, tuple[Table, AnyVectors]] = field(default_factory=dict)

    @property
    def maps_others(self) -> bool:
        """Whether records outside the two tables can be compared under this very representation."""
        return not isinstance(self.projection, FixedEmbedding)

    @property
    def least(self) -> float:
        """The lowest score that two records can have."""
        if isinstance(self.measure, AgreementMeasure | RarityMeasure):
            return self.measure.least
        return -1.0 if isinstance(self.measure, CosineMeasure) else 0.0

    @property
    def most(self) -> float:
        """The highest score that two records can have."""
        return self.measure.most if isinstance(self.measure, AgreementMeasure | RarityMeasure) else 1.0

    @property
    def embeds_some(self) -> bool:
        """Whether a scorer embeds only those whom it is asked for, instead of whole tables at once."""
        return isinstance(self.measure, CosineMeasure) and isinstance(self.projection, LinearProjection)

    def forget(self) -> None:
        """Let go of what was made of whole tables; it is made anew when it is asked for."""
        self.embedded.clear()
        self.vectorized.clear()
        self.arranged.clear()

    def components(self, table: Table) -> int | None:
        """The dimensions in which records are compared; None where values are compared."""
        fitted = linear(self.projection)
        if fitted is not None:
            return fitted.components
        return None if self.projection is None else self.embed(table).shape[1]

    def vectors(self, table: Table) -> AnyVectors:
        """The feature vectors of a table; those of the two fitted tables are made once."""
        if table is not self.original and table is not self.protected:
            return self.space(table)
        if table.name not in self.vectorized:
            self.vectorized[table.name] = self.space(table)
        return self.vectorized[table.name]

    def arrange(self, table: Table, blocks: Rows) -> None:
        """Write a table that is on disk in the order of its records' blocks too, for searches among all of them."""
        if self.embeds_some and isinstance(vectors := self.vectors(table), VectorsOnDemand):
            order = np.argsort(blocks, kind="stable")
            width = np.int32 if len(order) <= np.iinfo(np.int32).max else np.int64
            at: NDArray[np.signedinteger] = np.empty(len(order), dtype=width)
            at[order] = np.arange(len(order), dtype=width)
            self.arranged[table.name] = table, replace(vectors, table=table.kept(order), at=at)

    def _searched(self, table: Table) -> AnyVectors:
        """The vectors of all records of a table, where it was arranged in that order."""
        known, vectors = self.arranged.get(table.name, (None, None))
        return vectors if vectors is not None and known is table else self.vectors(table)

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
        return self.projection(self.vectors(table))

    def chunks(self, table: Table) -> Iterator[Floats]:
        """The embeddings of a table, some records at a time."""
        if not isinstance(self.projection, LinearProjection):
            yield self.embed(table)
            return
        vectors = self.vectors(table)
        for start in range(0, table.rows, CHUNK):
            yield self.projection(vectors, np.arange(start, min(start + CHUNK, table.rows)))

    def without(self, column: str) -> Representation | None:
        """The representation fitted anew without a column; None where that takes more than the moments.

        Under PCA, with every column scaled by itself, a column goes by going from the covariance.
        """
        if not isinstance(self.attacker.projection, Pca) or self.attacker.similarity != "cosine" or not self.sums:
            return None
        kept = ~self.space.restricted([column])
        projection = self.attacker.projection.fit_sums(self.sums, self.space.neutral, kept)
        return replace(self, projection=projection, measure=_cosine(projection, self.sums, self.space), embedded={})

    def scorer(
        self, queries: Table, candidates: Table, query_rows: Rows | None = None, candidate_rows: Rows | None = None
    ) -> Source:
        """Scores the records of one table (or some of its rows) against those of another."""
        if isinstance(self.measure, CosineMeasure) and isinstance(self.projection, LinearProjection):
            sides = [
                self._searched(table) if rows is None else self.vectors(table).take(rows)
                for table, rows in ((queries, query_rows), (candidates, candidate_rows))
            ]
            return TableScorer(self.projection, self.measure, *sides)
        if isinstance(self.measure, AgreementMeasure | RarityMeasure):
            return self.measure.scorer(_rows(queries, query_rows), _rows(candidates, candidate_rows))
        a, b = self.embed(queries), self.embed(candidates)
        return self.score(
            a if query_rows is None else a[query_rows], b if candidate_rows is None else b[candidate_rows]
        )

    def score(self, queries: Floats, candidates: Floats) -> Scorer:
        """Scores of embedded records."""
        if self.measure is None:
            return JaccardScorer(queries, candidates)
        assert not isinstance(self.measure, AgreementMeasure | RarityMeasure)  # noqa: S101 - it compares tables, not embeddings
        return self.measure.scorer(queries, candidates)


def fit_representation(
    original: Table, protected: Table, attacker: Attacker, seed: int, reference: Table | None = None
) -> Representation:
    """Fit vectorization on both tables, the projection as its settings say, and the similarity on the embeddings.

    Rarity counts the values of the reference people too, where there are some.
    """
    space = attacker.vectorization.fit([original, protected])
    if not attacker.projects:
        measure: AgreementMeasure | RarityMeasure | None = None
        columns = attacker.vectorization.compared(original)
        if isinstance(attacker.similarity, Agreement):
            measure = attacker.similarity.fit(original, protected, columns)
        elif isinstance(attacker.similarity, Rarity):
            measure = attacker.similarity.fit(original, protected, reference, columns)
            if attacker.similarity.rarity.tolerance == "release":
                found = find_tolerances(measure, original, protected, stream(seed, "tolerances"))
                measure = replace(measure, tolerance=found)
        return Representation(attacker, space, None, measure, original, protected)
    vectorized = {table.name: space(table) for table in (original, protected)}
    if isinstance(attacker.projection, Pca):
        sums = {name: vectors.moments(space.neutral) for name, vectors in vectorized.items()}
        pca = attacker.projection.fit_sums(sums, space.neutral)
        if attacker.similarity == "cosine":
            cosine = _cosine(pca, sums, space)
            return Representation(attacker, space, pca, cosine, original, protected, {}, vectorized, sums)
    own, projection = _project(vectorized, attacker, space, seed)
    known = vectorized if own is space else {}
    bare = Representation(attacker, own, projection, None, original, protected, {}, known)
    if attacker.similarity == "cosine" and isinstance(projection, LinearProjection):
        squares = sum(float((chunk**2).sum()) for table in (original, protected) for chunk in bare.chunks(table))
        return replace(bare, measure=CosineMeasure.of_mean_square(squares / (original.rows + protected.rows)))
    a, b = bare.embed(original), bare.embed(protected)
    fitted_on = {"joint": (a, b), "original": (a,), "protected": (b,)}[_fit_of(attacker)]
    if attacker.similarity == "cosine":
        fitted: CosineMeasure | DistanceMeasure = fit_cosine(a, b)
    elif attacker.similarity == "euclidean":
        fitted = fit_euclidean(np.vstack(fitted_on))
    else:
        fitted = fit_mahalanobis(np.vstack(fitted_on))
    return replace(bare, measure=fitted)


def _cosine(projection: LinearProjection, sums: Mapping[str, Sums], space: FeatureSpace) -> CosineMeasure:
    """The mean square norm follows from the moments, so that nobody needs to be embedded for it."""
    squares = sum(projection.energy(table, space.neutral) for table in sums.values())
    return CosineMeasure.of_mean_square(squares / max(1.0, sum(table[0] for table in sums.values())))


def _project(
    vectorized: Mapping[str, AnyVectors], attacker: Attacker, space: FeatureSpace, seed: int
) -> tuple[FeatureSpace, FittedProjection]:
    settings = attacker.projection
    if settings == "identity":
        return space, Identity()
    if isinstance(settings, RandomProjection):
        return space, settings.fit(space.width, stream(seed, "random projection"))
    a, b = vectorized["original"], vectorized["protected"]
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
