"""Distance preservation: whether people who are similar in the original are similar in the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization import AnyVectors, FeatureSpace
from cvpl.tables.columns import Pair
from cvpl.utility.kept import kept_correlation

Floats = NDArray[np.float64]
Rows = NDArray[np.signedinteger]
Basis = Literal["same_people", "distributions"]

PAIRS = 5_000
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
    pairs: int = PAIRS,
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
        a, b = _chosen(len(rows), draws)
        apart = (rows[a] != rows[b]) & (released[a] != released[b])
        a, b = a[apart], b[apart]
        if len(a) >= 2:
            before = _distances(original, rows[a], rows[b])
            after = _distances(protected, released[a], released[b])
            return DistancePreservation(kept_correlation(before, after), "same_people", len(a))
    if min(len(original), len(protected)) < 2:
        return DistancePreservation(None, "distributions", 0)
    places = (np.arange(QUANTILES) + 0.5) / QUANTILES
    found = [_distances(vectors, *_chosen(len(vectors), draws)) for vectors in (original, protected)]
    before, after = (np.quantile(distances, places) for distances in found)
    compared = min(len(distances) for distances in found)
    return DistancePreservation(kept_correlation(before, after), "distributions", compared)


def _chosen(count: int, draws: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
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
