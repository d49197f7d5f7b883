"""A similarity before and after it is fitted, and what it is handed for that.

An operator (the settings of a similarity, or what their name stands for) is fitted and becomes a measure; a measure
makes a scorer of two sets of records. Each asks its caller for the form of the records that it compares, and only that
form is made. So a new similarity is one file with an operator and a measure, and an entry in the package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.scorers import Source
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Compared = Literal["embeddings", "binary features", "values"]
"""What a similarity looks at: projected vectors, 0/1 features without a projection, or the values of the columns."""


class EmbeddedOnDemand(Protocol):
    """Records whose embeddings are made for those who are asked for, and not kept."""

    def __len__(self) -> int: ...

    @property
    def components(self) -> int:
        """The dimension of an embedding."""

    def embed(self, rows: Rows) -> Floats:
        """The embeddings of some of the records."""


class ComparedRecords(Protocol):
    """One side of a comparison: some records, in whichever form the measure asks for."""

    def values(self) -> Table:
        """Their columns."""

    def embeddings(self) -> Floats:
        """Their embeddings, or their 0/1 features under a similarity that does without a projection."""

    def on_demand(self) -> EmbeddedOnDemand | None:
        """The same, each when it is asked for; None where a projection embeds whole tables only."""


class Measure(Protocol):
    """A fitted similarity. `least` and `most` are the lowest and the highest score that two records can have."""

    @property
    def least(self) -> float:
        """The lowest score there can be."""

    @property
    def most(self) -> float:
        """The highest score there can be."""

    def source(self, queries: ComparedRecords, candidates: ComparedRecords) -> Source:
        """Scores the queries against the candidates."""


class FittingTables(Protocol):
    """What a similarity can be fitted on."""

    @property
    def original(self) -> Table:
        """The originals."""

    @property
    def protected(self) -> Table:
        """The release."""

    @property
    def reference(self) -> Table | None:
        """People outside the release whom the attacker knows of, if there are any."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that are compared."""

    def mean_square(self) -> float:
        """The mean of |z|^2 over the embeddings z of both tables."""

    def embeddings(self) -> Floats:
        """The embeddings of the tables that the projection was fitted on."""

    def tolerances(self, measure: Any) -> Mapping[str, float]:
        """For each column, how far apart values agree, found from the release under a measure of exact agreement."""


class SimilarityOperator(Protocol):
    """A similarity before it is fitted.

    `unit` says that scores are inner products of unit vectors: a tree can search them, records can be embedded when
    they are asked for, and a score is a sum over features. `by_distance` says that a block is searched pair by pair.
    """

    @property
    def compares(self) -> Compared:
        """What it looks at."""

    @property
    def unit(self) -> bool:
        """Whether scores are inner products of unit vectors."""

    @property
    def by_distance(self) -> bool:
        """Whether scores are distances, of which every pair has to be scored."""

    def fit(self, tables: FittingTables) -> Measure:
        """Fit it on two tables."""
