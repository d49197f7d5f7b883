"""Correlation preservation: whether the columns of the release hang together as those of the original do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization import FeatureSpace
from cvpl.tables.columns import Pair
from cvpl.utility.kept import kept_correlation

Floats = NDArray[np.float64]

_NO_VARIANCE = 1e-12
"""Variance below this share of a feature's mean square is rounding."""


@dataclass(frozen=True)
class CorrelationPreservation:
    """`correlation` is the raw figure in [-1, 1], None where it is undefined; `pairs` the feature pairs compared."""

    correlation: float | None
    pairs: int

    @property
    def figure(self) -> float | None:
        """The raw figure, a negative one as 0: a pattern turned round is not kept."""
        return None if self.correlation is None else max(0.0, self.correlation)


def correlation_preservation(pair: Pair, space: FeatureSpace) -> CorrelationPreservation:
    """rho(Corr(D), Corr(D')), Pearson's, over the pairs of features (paper, table utility-metrics).

    The features are those of the fitted vectorization: numbers, datetime features and 0/1 features of categories, a
    missing value at the pooled mean. Their correlations come from moments; the one-hot matrix is never built.

    Pairs of features of one and the same category column are left out: that they exclude each other is a fact of
    coding, which every release keeps. A feature without variance in one table has correlation 0 with all others there;
    one without variance in both tells nothing and is left out. None with fewer than two pairs, or where the original's
    correlations are all alike; 0 where only the release's are.
    """
    if min(pair.original.rows, pair.protected.rows) == 0:
        return CorrelationPreservation(None, 0)
    centre = space.neutral
    original, protected = (space(table).moments(centre) for table in (pair.original, pair.protected))
    squares = np.maximum(*(np.diag(second) / total for total, _, second in (original, protected)))
    (mine, live), (theirs, alive) = (_correlations(*sums, squares) for sums in (original, protected))
    some = live | alive
    compared = np.triu(np.outer(some, some), 1) & ~_coding(space)
    return CorrelationPreservation(kept_correlation(mine[compared], theirs[compared]), int(compared.sum()))


def _correlations(total: float, first: Floats, second: Floats, squares: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The correlation matrix, 0 in the rows of features without variance, and which features have one."""
    mean = first / total
    covariance = second / total - np.outer(mean, mean)
    variance = np.diag(covariance)
    live = variance > _NO_VARIANCE * squares
    inverse = np.where(live, 1.0 / np.sqrt(np.where(live, variance, 1.0)), 0.0)
    return covariance * np.outer(inverse, inverse), live


def _coding(space: FeatureSpace) -> NDArray[np.bool_]:
    """Which pairs of features belong to one column and are tied by its coding: at least one of them is 0/1."""
    owner = np.unique(space.owners, return_inverse=True)[1]
    coded = np.zeros(space.width, dtype=bool)
    for part in space.category_features:
        coded[part.start : part.start + part.width] = True
    tied: NDArray[np.bool_] = (owner[:, None] == owner) & (coded[:, None] | coded)
    return tied
