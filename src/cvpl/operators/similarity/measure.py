"""The interfaces of a similarity before and after fitting, and of its input.

An operator (the settings of a similarity, or the operator of that name) is fitted and becomes a measure; a measure
makes a scorer of two sets of records. Each requests the form of the records that it compares, and only that form is
computed. So a new similarity is one file with an operator and a measure, and an entry in the package.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.match_agreement import MatchAgreement
from cvpl.operators.similarity.scorers import ScoreSource
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Compared = Literal["embeddings", "binary features", "values"]
"""What a similarity compares: projected vectors, 0/1 features without a projection, or the values of the columns."""


class OnDemandEmbeddings(Protocol):
    """Records whose embeddings are computed on request and not kept."""

    def __len__(self) -> int: ...

    @property
    def components(self) -> int:
        """The dimension of an embedding."""

    def embed(self, rows: Rows) -> Floats:
        """The embeddings of some of the records."""


class ComparedRecords(Protocol):
    """One side of a comparison: some records, in the form that the measure requests."""

    def values(self) -> Table:
        """Their columns."""

    def embeddings(self) -> Floats:
        """Their embeddings, or their 0/1 features for a similarity without a projection."""

    def on_demand(self) -> OnDemandEmbeddings | None:
        """The same on request; None if the projection embeds only whole tables."""


class Measure(Protocol):
    """A fitted similarity. `least` and `most` are the lowest and the highest possible score of two records."""

    @property
    def least(self) -> float:
        """The lowest possible score."""

    @property
    def most(self) -> float:
        """The highest possible score."""

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> ScoreSource:
        """Scores of the queries against the candidates."""


@dataclass(frozen=True)
class Tolerances:
    """For each column the distance within which values agree, and how often values of a match within it are equal."""

    within: Mapping[str, float]
    equal: Mapping[str, float]


class FittingTables(Protocol):
    """The input for fitting a similarity."""

    @property
    def original(self) -> Table:
        """The originals."""

    @property
    def protected(self) -> Table:
        """The release."""

    @property
    def reference(self) -> Table | None:
        """People outside the release whom the attacker knows, if any."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that are compared."""

    @property
    def cells(self) -> Collection[str]:
        """The columns whose released cells are compared by the values that they allow."""

    def mean_square(self) -> float:
        """The mean of |z|^2 over the embeddings z of both tables."""

    def embeddings(self) -> Sequence[Floats]:
        """The embeddings of each table that the projection was fitted on."""

    def tolerances(self, measure: Any) -> Tolerances:
        """The tolerances, estimated by a measure of exact agreement."""

    def match_agreement(self, measure: Any) -> MatchAgreement:
        """For each column, the probability that a match agrees, estimated with the u of a measure, if that works."""


class SimilarityOperator(Protocol):
    """A similarity before fitting.

    `unit` says that scores are inner products of unit vectors: a tree can search them, records can be embedded on
    request, and a score is a sum over features. `by_distance` says that a block is searched pair by pair.
    """

    @property
    def compares(self) -> Compared:
        """What it compares."""

    @property
    def unit(self) -> bool:
        """Whether scores are inner products of unit vectors."""

    @property
    def by_distance(self) -> bool:
        """Whether scores are distances, so that every pair has to be scored."""

    @property
    def counts_reference(self) -> bool:
        """Whether fitting uses the reference people."""

    def fit(self, tables: FittingTables) -> Measure:
        """Fit it on two tables."""
