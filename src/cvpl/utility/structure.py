"""Preserved structure: correlations between columns, and distances between people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization import AnyVectors, FeatureSpace
from cvpl.tables.columns import Pair

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


Rows = NDArray[np.signedinteger]
Basis = Literal["same_people", "distributions"]

COMPARED_PAIRS = 5_000
"""The number of pairs of people compared: a correlation of 0.9 then has a standard error of 0.003."""
QUANTILES = 100
"""Quantiles by which two distributions of distances are compared."""
_AT_ONCE = 512


@dataclass(frozen=True)
class DistancePreservation:
    """`correlation` is the raw figure in [-1, 1], None if undefined; `pairs` is the number of pairs compared.

    `basis` says what was compared: the distances of the same pairs of people in both tables, or only distributions.
    """

    correlation: float | None
    basis: Basis
    pairs: int

    @property
    def figure(self) -> float | None:
        """The raw figure, with negative values as 0: reversed distances are not preserved."""
        return None if self.correlation is None else max(0.0, self.correlation)


def distance_preservation(
    pair: Pair,
    space: FeatureSpace,
    rng: np.random.Generator,
    *,
    matches: tuple[Rows, Rows] | None = None,
    pairs: int = COMPARED_PAIRS,
) -> DistancePreservation:
    """rho(d, d'), Pearson's, over pairs of people (paper, table utility-metrics), d Euclidean between feature vectors.

    With `matches`, the rows of the same people in the original and in the release, the same pairs of people are used in
    both tables: all pairs if there are at most `pairs`, else that many at random, with replacement. A pair that shares
    a record in either table is left out.

    Without matches, or with fewer than two pairs of them, the distributions are compared: pairs are sampled from each
    table, and rho is that of the 100 quantiles at 0.005, 0.015, ... 0.995 of their distances. This shows whether the
    release has near and far pairs in the same proportion, not whether they are the same pairs. It is close to 1 for
    most releases, and must not be compared with a figure of the other basis.

    None if the original's distances do not vary; 0 if only the release's do not.
    """
    original, protected = space(pair.original), space(pair.protected)
    # The same draws for both tables, so that a release equal to its original has equal distances on either basis.
    draws = rng.random((2, pairs))
    if matches is not None:
        order = np.lexsort((matches[1], matches[0]))
        rows, released = matches[0][order], matches[1][order]
        a, b = _choose_pairs(len(rows), draws)
        apart = (rows[a] != rows[b]) & (released[a] != released[b])
        a, b = a[apart], b[apart]
        if len(a) >= 2:
            before = _distances(original, rows[a], rows[b])
            after = _distances(protected, released[a], released[b])
            return DistancePreservation(kept_correlation(before, after), "same_people", len(a))
    if min(len(original), len(protected)) < 2:
        return DistancePreservation(None, "distributions", 0)
    places = (np.arange(QUANTILES) + 0.5) / QUANTILES
    found = [_distances(vectors, *_choose_pairs(len(vectors), draws)) for vectors in (original, protected)]
    before, after = (np.quantile(distances, places) for distances in found)
    compared = min(len(distances) for distances in found)
    return DistancePreservation(kept_correlation(before, after), "distributions", compared)


def _choose_pairs(count: int, draws: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of different positions below `count`: all of them, or one for each draw if that is fewer."""
    if count * (count - 1) // 2 <= draws.shape[1]:
        return np.triu_indices(count, 1)
    first = (draws[0] * count).astype(np.intp)
    return first, (first + 1 + (draws[1] * (count - 1)).astype(np.intp)) % count


def _distances(vectors: AnyVectors, one: Rows, other: Rows) -> Floats:
    """The Euclidean distance of the feature vectors of each pair of rows."""
    left, right = vectors.take(one.astype(np.intp)), vectors.take(other.astype(np.intp))
    squares: Floats = ((left.numbers - right.numbers) ** 2).sum(axis=1)
    for part, a, b in zip(left.space.category_features, left.codes, right.codes, strict=True):
        lookup = part.lookup()
        for start in range(0, len(one), _AT_ONCE):
            at = slice(start, start + _AT_ONCE)
            squares[at] += ((lookup[a[at]] - lookup[b[at]]) ** 2).sum(axis=1)
    return np.sqrt(squares)


_SAME = 1e-9
"""Numbers whose spread, relative to the largest of them (or to 1), is at most this differ only by rounding."""


def kept_correlation(original: Floats, protected: Floats) -> float | None:
    """Pearson's correlation of two lists of figures about the same things.

    rho = sum (a - mean a)(b - mean b) / sqrt(sum (a - mean a)^2 * sum (b - mean b)^2)

    None if the original has fewer than two figures or they do not vary: there is no pattern to preserve. 0 if they vary
    and the release's do not: nothing is preserved, and leaving it undefined would favour the release.
    """
    if len(original) < 2 or not _varies(original):
        return None
    if not _varies(protected):
        return 0.0
    a, b = original - original.mean(), protected - protected.mean()
    rho = float(a @ b) / float(np.sqrt(float(a @ a) * float(b @ b)))
    return min(1.0, max(-1.0, rho))


def _varies(values: Floats) -> bool:
    return bool(values.std() > _SAME * max(1.0, float(np.abs(values).max())))
