"""Vectorization and projection, fitted on two tables: they map a table to what the similarity compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.attack.saved_projection import load_projection
from cvpl.attack.shared_work import SharedWork, WorkKeys
from cvpl.operators.feature_vectors import FittingVectors, Moments, TableName
from cvpl.operators.projection import FittedProjection, LinearProjection
from cvpl.operators.vectorization import AnyVectors, FeatureSpace
from cvpl.randomness import stream
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
        """Write a table on disk, too, in the order of its records' blocks, for searches of the whole table."""
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


def fit_embedding(
    original: Table, protected: Table, attacker: Attacker, seed: int, shared: SharedWork, keys: WorkKeys
) -> Embedding:
    """Fit vectorization on both tables, and the projection by its settings. Attackers with equal `keys` share it."""
    # The paper's attacker has a feature for every label; an aligned one for those that the release has.
    released = None if attacker.alignment == "none" else protected
    space = shared.get_or_compute(
        "space", keys.space, lambda: attacker.vectorization.fit([original, protected], released)
    )
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

    projection, moments = shared.get_or_compute("projection", keys.projection, fit)
    return Embedding(attacker, space, projection, original, protected, embedded, vectorized, moments, arranged)


def _starts(table: Table) -> range:
    return range(0, max(1, table.rows), CHUNK)


def linear(projection: FittedProjection | None) -> LinearProjection | None:
    """The projection if it is linear, else None."""
    return None if projection is None else projection.linear
