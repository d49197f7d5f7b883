"""Correlation preservation: whether the release has the same correlations between columns as the original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization import FeatureSpace
from cvpl.tables.columns import Pair
from cvpl.utility.kept import kept_correlation

Floats = NDArray[np.float64]

_NO_VARIANCE = 1e-12
"""Variance below this share of a feature's mean square counts as rounding error."""


@dataclass(frozen=True)
class CorrelationPreservation:
    """`correlation` is the raw figure in [-1, 1], None if undefined; `pairs` is the number of feature pairs."""

    correlation: float | None
    pairs: int

    @property
    def figure(self) -> float | None:
        """The raw figure, with negative values as 0: a reversed pattern is not preserved."""
        return None if self.correlation is None else max(0.0, self.correlation)


def correlation_preservation(pair: Pair, space: FeatureSpace) -> CorrelationPreservation:
    """rho(Corr(D), Corr(D')), Pearson's, over the pairs of features (paper, table utility-metrics).

    The features are those of the fitted vectorization: numbers, datetime features and 0/1 features of categories, with
    missing values at the pooled mean. Their correlations come from moments; the one-hot matrix is never built.

    Pairs of features of the same category column are left out: they exclude each other by construction, in every
    release. A feature without variance in one table has correlation 0 with all others there; a feature without variance
    in both is left out. None with fewer than two pairs, or if the original's correlations are all equal; 0 if only the
    release's are.
    """
    if min(pair.original.rows, pair.protected.rows) == 0:
        return CorrelationPreservation(None, 0)
    centre = space.neutral
    original, protected = (space(table).moments(centre) for table in (pair.original, pair.protected))
    squares = np.maximum(*(np.diag(second) / total for total, _, second in (original, protected)))
    (before, varies), (after, still_varies) = (_correlations(*sums, squares) for sums in (original, protected))
    some = varies | still_varies
    compared = np.triu(np.outer(some, some), 1) & ~_coding(space)
    return CorrelationPreservation(kept_correlation(before[compared], after[compared]), int(compared.sum()))


def _correlations(total: float, first: Floats, second: Floats, squares: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The correlation matrix, 0 in the rows of features without variance, and which features have variance."""
    mean = first / total
    covariance = second / total - np.outer(mean, mean)
    variance = np.diag(covariance)
    live = variance > _NO_VARIANCE * squares
    inverse = np.where(live, 1.0 / np.sqrt(np.where(live, variance, 1.0)), 0.0)
    return covariance * np.outer(inverse, inverse), live


def _coding(space: FeatureSpace) -> NDArray[np.bool_]:
    """Which pairs of features belong to one column and are linked by its coding: at least one of them is 0/1."""
    owner = np.unique(space.owners, return_inverse=True)[1]
    coded = np.zeros(space.width, dtype=bool)
    for part in space.category_features:
        coded[part.start : part.start + part.width] = True
    tied: NDArray[np.bool_] = (owner[:, None] == owner) & (coded[:, None] | coded)
    return tied
