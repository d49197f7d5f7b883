"""The fitted representation: it maps a table to what the similarity compares, and two tables to a scorer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.attack.match_agreement import find_match_agreement
from cvpl.attack.saved_projection import load_projection
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.attack.tolerances import find_tolerances
from cvpl.operators.feature_vectors import FeatureVectors, FittingVectors, Moments, TableName
from cvpl.operators.projection import FittedProjection, LinearProjection
from cvpl.operators.similarity import AgreementMeasure, Measure, RarityMeasure, Source, generalized_columns
from cvpl.operators.similarity.match_agreement import MatchAgreement
from cvpl.operators.similarity.measure import Tolerances
from cvpl.operators.vectorization import AnyVectors, FeatureSpace
from cvpl.randomness import stream
from cvpl.search.budget import Budget
from cvpl.search.engine import SearchEngine, engine_for
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

CHUNK = 1 << 16
"""Records embedded at a time when a whole table is processed."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectorization and projection, fitted on one pair of tables.

    `projection` is None if the similarity needs none. The vectors of the two tables and their embeddings are cached,
    and their moments about the neutral vector if the projection was fitted on these. `arranged` are tables on disk, by
    name, with their vectors in the order of blocks.
    """

    attacker: Attacker
    space: FeatureSpace
    projection: FittedProjection | None
    original: Table
    protected: Table
    embedded: dict[str, Floats] = field(default_factory=dict)
    vectorized: dict[str, AnyVectors] = field(default_factory=dict)
    moments: dict[str, Moments] = field(default_factory=dict)
    arranged: dict[str, tuple[Table, AnyVectors]] = field(default_factory=dict)

    @property
    def maps_others(self) -> bool:
        """Whether records outside the two tables can be compared in this representation."""
        return self.projection is None or self.projection.maps_others

    @property
    def embeds_some(self) -> bool:
        """Whether a scorer embeds only the requested records, instead of whole tables."""
        return self.attacker.similarity_operator.unit and linear(self.projection) is not None

    def components(self, table: Table) -> int | None:
        """The number of dimensions in which records are compared; None if values are compared."""
        fitted = linear(self.projection)
        if fitted is not None:
            return fitted.components
        return None if self.projection is None else self.embed(table).shape[1]

    def vectors(self, table: Table) -> AnyVectors:
        """The feature vectors of a table; those of the two fitted tables are computed once."""
        if table is not self.original and table is not self.protected:
            return self.space(table)
        if table.name not in self.vectorized:
            self.vectorized[table.name] = self.space(table)
        return self.vectorized[table.name]

    def arrange(self, table: Table, blocks: Rows) -> None:
        """Also write a table on disk in the order of its records' blocks, for searches of the whole table."""
        known = table.name in self.arranged and self.arranged[table.name][0] is table
        if self.embeds_some and not table.place.in_memory and not known:
            self.arranged[table.name] = table, self.vectors(table).arranged(blocks)

    def searched(self, table: Table) -> AnyVectors:
        """The vectors of all records of a table, in block order on disk if it was arranged."""
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
        return self.projection.embed(self.vectors(table), self._name(table))

    def _name(self, table: Table) -> TableName | None:
        """The name of a table if it is one of the two fitted tables."""
        return "original" if table is self.original else "protected" if table is self.protected else None

    def chunks(self, table: Table) -> list[Callable[[], Floats]]:
        """The embeddings of a table, some records at a time, computed when called."""
        projection = linear(self.projection)
        if projection is None:
            embedded = self.embed(table)
            return [partial(embedded.__getitem__, slice(start, start + CHUNK)) for start in _starts(table)]
        vectors = self.vectors(table)
        return [
            partial(projection, vectors, np.arange(start, min(start + CHUNK, table.rows))) for start in _starts(table)
        ]


@dataclass(frozen=True, eq=False)
class Representation(Embedding):
    """An embedding with a similarity fitted on it, by which an attack compares records."""

    measure: Measure = field(kw_only=True)

    @property
    def least(self) -> float:
        """The lowest possible score of two records."""
        return self.measure.least

    @property
    def most(self) -> float:
        """The highest possible score of two records."""
        return self.measure.most

    def without(self, column: str) -> Representation | None:
        """Refit the representation without a column; None if that needs more than the moments.

        Under PCA, where every column is scaled separately, removing a column means removing it from the covariance.
        """
        if not self.moments or not self.attacker.similarity_operator.unit:
            return None
        kept = ~self.space.restricted([column])
        projection = self.attacker.projection_operator.fit_moments(self.moments, self.space.neutral, kept)
        moved = replace(self, projection=projection, embedded={})
        # A cosine needs neither randomness nor a search.
        tables = _FittingTables(moved, None, 0, engine_for(Budget()), SharedWork())
        return _measured(moved, self.attacker.similarity_operator.fit(tables))

    def scorer(
        self, queries: Table, candidates: Table, query_rows: Rows | None = None, candidate_rows: Rows | None = None
    ) -> Source:
        """Scores of the records of one table (or some of its rows) against those of another."""
        return self.measure.source(_Side(self, queries, query_rows), _Side(self, candidates, candidate_rows))


@dataclass(frozen=True, eq=False)
class _Side:
    """The records of a table, or some of its rows, in every form that a measure may request."""

    representation: Representation
    table: Table
    rows: Rows | None

    def values(self) -> Table:
        """The columns of the records."""
        return self.table if self.rows is None else self.table.take(self.rows)

    def embeddings(self) -> Floats:
        """What the similarity compares, for all of the records."""
        embedded = self.representation.embed(self.table)
        return embedded if self.rows is None else embedded[self.rows]

    def on_demand(self) -> _OnDemand | None:
        """The embeddings on request, under a linear projection."""
        projection = linear(self.representation.projection)
        if projection is None:
            return None
        if self.rows is None:
            return _OnDemand(projection, self.representation.searched(self.table))
        return _OnDemand(projection, self.representation.vectors(self.table).take(self.rows))


@dataclass(frozen=True, eq=False)
class _OnDemand:
    """Records that a linear projection embeds on request."""

    projection: LinearProjection
    vectors: FeatureVectors

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def components(self) -> int:
        """The dimension of an embedding."""
        return self.projection.components

    def embed(self, rows: Rows) -> Floats:
        """The embeddings of some of the records."""
        return self.projection(self.vectors, rows)


@dataclass(frozen=True, eq=False)
class _FittingTables:
    """The input for fitting the similarity: the two tables, embedded on request."""

    embedding: Embedding
    reference: Table | None
    seed: int
    engine: SearchEngine
    shared: SharedWork
    first: Rows | None = None

    @property
    def original(self) -> Table:
        """The originals."""
        return self.embedding.original

    @cached_property
    def sample(self) -> Table:
        """The originals from which tolerances and agreement of matches are estimated."""
        if self.first is None or len(self.first) == self.original.rows:
            return self.original
        return self.original.take(self.first)

    @property
    def protected(self) -> Table:
        """The release."""
        return self.embedding.protected

    @property
    def columns(self) -> Sequence[str]:
        """The columns that are compared."""
        return self.embedding.attacker.vectorization.compared(self.original)

    @property
    def cells(self) -> Collection[str]:
        """The columns whose released cells are compared by the values that they allow."""
        if self.embedding.attacker.alignment != "cells":
            return ()
        return generalized_columns(self.original, self.protected)

    def mean_square(self) -> float:
        """The mean of |z|^2; from the moments, if there are any, so that no record needs to be embedded for it."""
        moments, projection = self.embedding.moments.values(), linear(self.embedding.projection)
        if moments and projection is not None:
            squares = sum(projection.energy(table, self.embedding.space.neutral) for table in moments)
            return squares / max(1.0, sum(table.weight for table in moments))
        tables = self.original, self.protected
        squares = sum(float((chunk() ** 2).sum()) for table in tables for chunk in self.embedding.chunks(table))
        return squares / max(1, sum(table.rows for table in tables))

    def embeddings(self) -> list[Floats]:
        """The embeddings of the tables that the projection was fitted on."""
        tables: Mapping[TableName, Table] = {"original": self.original, "protected": self.protected}
        fitted_on = self.embedding.attacker.projection_operator.fitted_on
        return [self.embedding.embed(tables[name]) for name in fitted_on]

    def tolerances(self, measure: RarityMeasure) -> Tolerances:
        """The distance within which the values of each column agree, estimated from the release."""

        def find() -> Tolerances:
            rng = stream(self.seed, "tolerances")
            return find_tolerances(measure, self.sample, self.protected, rng, self.engine)

        if measure.cells:  # they are counted among all originals that are asked
            return find()
        return self.shared.remembered(("tolerances", measure.m, *self._contents(measure.columns)), find)

    def match_agreement(self, measure: AgreementMeasure) -> MatchAgreement:
        """For each column, the probability that a match agrees, estimated by EM from the release; {} if it cannot."""

        def find() -> MatchAgreement:
            rng = stream(self.seed, "match agreement")
            return find_match_agreement(measure, self.sample, self.protected, rng, self.engine.budget.workers)

        if measure.cells:
            return find()
        settings = tuple(measure.tolerance.items()), () if measure.counted else tuple(measure.u.items())
        return self.shared.remembered(("match agreement", *settings, *self._contents(measure.columns)), find)

    def _contents(self, columns: Sequence[str]) -> tuple[Hashable, ...]:
        """The values of the sample: estimates from equal ones are equal."""
        found: list[Hashable] = []
        for name in columns:
            column = self.sample.columns[name]
            found += [name, column.label_texts(), *(part.tobytes() for part in column.bits())]
        return tuple(found)


def fit_representation(
    original: Table,
    protected: Table,
    attacker: Attacker,
    seed: int,
    reference: Table | None = None,
    engine: SearchEngine | None = None,
    *,
    shared: SharedWork | None = None,
    keys: WorkKeys | None = None,
    first: Rows | None = None,
) -> Representation:
    """Fit vectorization on both tables, the projection by its settings, and the similarity on the embeddings.

    Rarity also counts the values of the reference people, if there are any, and searches for its tolerances with
    `engine`, by default in this process. Attackers with equal `keys` have `shared` work. Tolerances and the agreement
    of matches are estimated from the `first` of the originals, by default from all.
    """
    shared, keys = shared or SharedWork(), keys or WorkKeys.of(attacker, None)
    embedding = _fit_embedding(original, protected, attacker, seed, shared, keys)
    tables = _FittingTables(embedding, reference, seed, engine or engine_for(Budget()), shared, first)
    measure = shared.once("measure", keys.measure, lambda: attacker.similarity_operator.fit(tables))
    return _measured(embedding, measure)


def _fit_embedding(
    original: Table, protected: Table, attacker: Attacker, seed: int, shared: SharedWork, keys: WorkKeys
) -> Embedding:
    space = shared.once("space", keys.space, lambda: attacker.vectorization.fit([original, protected]))
    operator, arranged = attacker.projection_operator, shared.cache("arranged vectors", keys.blocks)
    if attacker.projects and operator.saved_file is not None:
        space, saved = load_projection(operator.saved_file, space)
        return Embedding(attacker, space, saved, original, protected, arranged=arranged)
    vectorized = shared.cache("vectors", keys.space)
    embedded = shared.cache("embeddings", keys.projection)
    if not attacker.projects:
        return Embedding(attacker, space, None, original, protected, embedded, vectorized, arranged=arranged)

    def fit() -> tuple[FittedProjection, dict[str, Moments]]:
        for table in (original, protected):
            if table.name not in vectorized:
                vectorized[table.name] = space(table)
        tables = {table.name: vectorized[table.name] for table in (original, protected)}
        vectors = FittingVectors(tables, space.neutral, partial(stream, seed))
        return operator.fit(vectors), vectors.moments if operator.uses_moments else {}

    projection, moments = shared.once("projection", keys.projection, fit)
    return Embedding(attacker, space, projection, original, protected, embedded, vectorized, moments, arranged)


def _starts(table: Table) -> range:
    return range(0, max(1, table.rows), CHUNK)


def _measured(embedding: Embedding, measure: Measure) -> Representation:
    """The embedding with a similarity fitted on it."""
    kept = {part.name: getattr(embedding, part.name) for part in fields(Embedding)}
    return Representation(**kept, measure=measure)


def linear(projection: FittedProjection | None) -> LinearProjection | None:
    """The projection if it is linear, else None."""
    return None if projection is None else projection.linear
