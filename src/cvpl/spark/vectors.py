"""The feature vectors of a table in a cluster: moments from sums over its parts; no vector leaves the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import UsageError
from cvpl.operators.feature_vectors import Moments, added
from cvpl.operators.vectorization import FeatureSpace
from cvpl.spark.cluster_table import ClusterTable
from cvpl.spark.order_statistics import order_statistics
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ClusterVectors:
    """The vectors of a table's records, made in the tasks that need them."""

    space: FeatureSpace
    table: ClusterTable

    def __len__(self) -> int:
        return self.table.rows

    def moments(self, centre: Floats) -> Moments:
        """The number of records, and the sums of u and of u u^T over them, where u = v - centre."""
        return added(self.table.answers(_Moments(self.space, centre)))

    def direction_moments(self, centre: Floats) -> Moments:
        """The same for the directions u / |u|."""
        return added(self.table.answers(_Directions(self.space, centre)))

    def robust_centre(self, others: Sequence[ClusterVectors]) -> Floats:
        """The median of every number and the share of every 0/1 feature, over these records and those of `others`."""
        tables = [self.table, *(item.table for item in others)]
        total = sum(table.rows for table in tables)

        def ask(question: Callable[[Table], Any]) -> list[Any]:
            return [answer for table in tables for answer in table.answers(question)]

        centre: Floats = np.sum(ask(_Shares(self.space)), axis=0) / max(1, total)
        ranks = sorted({(total - 1) // 2, total // 2})
        places = self.space.number_places if total else ()
        middles = order_statistics([(_Number(self.space, at), ranks) for at in range(len(places))], ask)
        centre[list(places)] = [float(np.mean(middle)) for middle in middles]
        return centre

    def project(self, loadings: Floats, centre: Floats, rows: Rows | None = None) -> NoReturn:
        """Refuse: embeddings are made in the tasks of a search."""
        raise NotImplementedError("embeddings of a table in the cluster are not made here")

    def dense(self) -> NoReturn:
        """Refuse a projection that needs every vector at once."""
        raise UsageError(
            "this projection needs the vectors of all records at once, and a cluster has no place for them. Use a "
            "linear projection (pca, robust_pca, random, identity), or audit a sample on one machine."
        )


@dataclass(frozen=True)
class _Moments:
    """The moments of some records."""

    space: FeatureSpace
    centre: Floats

    def __call__(self, records: Table) -> Moments:
        return self.space.of(records).moments(self.centre)


@dataclass(frozen=True)
class _Directions(_Moments):
    """The moments of their directions."""

    def __call__(self, records: Table) -> Moments:
        return self.space.of(records).direction_moments(self.centre)


@dataclass(frozen=True)
class _Shares:
    """The sums of all category features over some records; 0 for numbers."""

    space: FeatureSpace

    def __call__(self, records: Table) -> Floats:
        vectors, found = self.space.of(records), np.zeros(self.space.width)
        for codes, part in zip(vectors.codes, self.space.category_features, strict=True):
            lookup = part.lookup()
            counts = np.bincount(np.where(codes < 0, len(lookup) - 1, codes), minlength=len(lookup))
            found[part.start : part.start + part.width] = counts @ lookup
        return found


@dataclass(frozen=True)
class _Number:
    """One of the scaled numbers of some records."""

    space: FeatureSpace
    feature: int

    def __call__(self, records: Table) -> Floats:
        return self.space.of(records).number(self.feature)
