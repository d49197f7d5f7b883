"""The fitted representation: it maps a table to what the similarity compares, and two tables to a scorer."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.attack.embedding import Embedding, fit_embedding, linear
from cvpl.attack.fitting_input import FittingInput
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.operators.feature_vectors import FeatureVectors
from cvpl.operators.projection import LinearProjection
from cvpl.operators.similarity import Measure, ScoreSource
from cvpl.search.engine import SearchEngine, engine_for
from cvpl.search.machine import Budget
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


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
        tables = FittingInput(moved, None, 0, engine_for(Budget()), SharedWork())
        return _fit_similarity(moved, self.attacker.similarity_operator.fit(tables))

    def bare(self) -> Representation:
        """The representation without the tables that it was fitted on: all that is needed to compare other records."""
        nobody = Table("nobody", 0, (), {})
        return replace(self, original=nobody, protected=nobody, embedded={}, vectorized={}, moments={}, arranged={})

    def scorer(
        self, queries: Table, candidates: Table, query_rows: Rows | None = None, candidate_rows: Rows | None = None
    ) -> ScoreSource:
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
    embedding = fit_embedding(original, protected, attacker, seed, shared, keys)
    tables = FittingInput(embedding, reference, seed, engine or engine_for(Budget()), shared, first)
    measure = shared.get_or_compute("measure", keys.measure, lambda: attacker.similarity_operator.fit(tables))
    return _fit_similarity(embedding, measure)


def _fit_similarity(embedding: Embedding, measure: Measure) -> Representation:
    """The embedding with a similarity fitted on it."""
    kept = {part.name: getattr(embedding, part.name) for part in fields(Embedding)}
    return Representation(**kept, measure=measure)
