"""What a similarity is fitted on: the two tables, their embeddings, and estimates from the release."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.embedding import Embedding, linear
from cvpl.attack.shared_work import SharedWork
from cvpl.attack.tolerances import find_tolerances
from cvpl.operators.feature_vectors import TableName
from cvpl.operators.similarity import AgreementMeasure, RarityMeasure, generalized_columns
from cvpl.operators.similarity.match_agreement import MatchAgreement, compared_originals, estimate_m
from cvpl.operators.similarity.measure import Tolerances
from cvpl.randomness import stream
from cvpl.search.engine import SearchEngine
from cvpl.search.machine import threads
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FittingInput:
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


UNKNOWN = 0.5
"""The chance that a record agrees where a value is missing; it is not used."""


def find_match_agreement(
    measure: AgreementMeasure, original: Table, protected: Table, rng: np.random.Generator, workers: int = 1
) -> MatchAgreement:
    """The m of every column that is compared by value; none if the pairs do not allow an estimate."""
    size = compared_originals(original.rows, protected.rows)
    some = original if size == original.rows else original.take(np.sort(rng.choice(original.rows, size, replace=False)))
    compared = [measure.compared(name, some, protected) for name in measure.columns]
    if not compared:
        return MatchAgreement({}, {})
    within = {}
    for place, (column, _) in enumerate(compared[:]):
        if (equal := measure.compared_equal(column, some, protected)) is not None:
            within[len(compared)] = place
            compared.append(equal)
    chances = np.full((some.rows, len(compared)), UNKNOWN)
    for place, (column, shares) in enumerate(compared):
        has = column.queries >= 0  # none may have: a column can be empty but for a few people who are not in the sample
        chances[has, place] = measure.u[column.name] if shares is None else shares[column.queries[has]]
    with threads(workers) as pool:
        each = map if workers == 1 else pool.map
        found = estimate_m([column for column, _ in compared], chances, within, each=each)
    if found is None:
        return MatchAgreement({}, {})
    values = [(column.name, m) for (column, _), m in zip(compared, found.tolist(), strict=True)]
    return MatchAgreement(dict(values[: len(measure.columns)]), dict(values[len(measure.columns) :]))
