"""The interface of feature vectors between vectorization and projection, and the small summaries computed from them.

No code after vectorization holds the matrix of a table's vectors. Fitting uses sums over the records (`Moments`,
`robust_centre`), whose size depends only on the number of features; code that needs records asks for some of them
(`project` with rows, `take`). So vectors may be in memory, on disk, or in another engine, as long as they implement
this protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
TableName = Literal["original", "protected"]


class Moments(NamedTuple):
    """The total weight of some records, and the sums of u and u u^T over them, where u is a vector minus a centre."""

    weight: float
    first: Floats
    second: Floats


class FeatureVectors(Protocol):
    """The feature vectors of one table's records, wherever they are kept."""

    def __len__(self) -> int: ...

    def moments(self, centre: Floats) -> Moments:
        """The sums over all records about `centre`; each record weighs 1."""

    def direction_moments(self, centre: Floats) -> Moments:
        """The sums for directions from `centre`, such as that of u u^T / |u|^2; a record at the centre counts as 0."""

    def robust_centre(self, others: Sequence[Any]) -> Floats:
        """The median of every number and the share of every 0/1 feature, over these records and those of `others`."""

    def project(self, loadings: Floats, centre: Floats, rows: Rows | None = None) -> Floats:
        """(v - centre) times `loadings` (features x components), for all records or some."""

    def dense(self) -> Floats:
        """The whole feature matrix: only for few records, or for projections that need it."""


@dataclass(frozen=True, eq=False)
class FittingVectors:
    """The input for fitting a projection: the vectors of both tables by name, the neutral vector, random streams."""

    tables: Mapping[str, FeatureVectors]
    neutral: Floats
    stream: Callable[[str], np.random.Generator]

    @cached_property
    def moments(self) -> dict[str, Moments]:
        """The moments of both tables about the neutral vector, computed once."""
        return {name: vectors.moments(self.neutral) for name, vectors in self.tables.items()}

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.neutral)


def add_moments(parts: Sequence[Moments]) -> Moments:
    """The moments of the records of all parts together."""
    weight = sum(part.weight for part in parts)
    first: Floats = sum((part.first for part in parts), start=np.zeros_like(parts[0].first))
    second: Floats = sum((part.second for part in parts), start=np.zeros_like(parts[0].second))
    return Moments(weight, first, second)
