"""Projection ψ (paper, eq. projection-def) and similarity s (paper, eq. cosine-similarity and appendix B).

Choices where the sources are silent:
- The total variance is the sum of the eigenvalues that are not dropped.
- Identity and random projection have no explained variance (None), nor has a projection without components; the
  centre of the first
  two is 0.
- Without a single dimension every similarity is 0, whatever its kind.
- "No variance at all" is meant literally: no eigenvalue above 0.
"""

import math
import operator
import statistics
from dataclasses import dataclass

import numpy as np


@dataclass
class Projection:
    centre: list  # one number per feature
    loadings: list  # W: per feature, one number per component
    eigenvalues: list | None  # of the kept components
    explained_variance: float | None

    @property
    def components(self):
        return len(self.loadings[0]) if self.loadings else 0

    def embed(self, v):
        """Z = Wᵀ (v - centre)."""
        z = []
        for c in range(self.components):
            z.append(sum(self.loadings[f][c] * (v[f] - self.centre[f]) for f in range(len(v))))
        return z


def fit_projection(settings, features, fitting_rows, matrix):
    d = len(features)
    zero = [0.0] * d

    if settings["kind"] == "identity":
        unit = [[1.0 if f == c else 0.0 for c in range(d)] for f in range(d)]
        return Projection(zero, unit, None, None)

    if settings["kind"] == "random":
        assert len(matrix) == d and all(len(row) == settings["components"] for row in matrix)
        return Projection(zero, [list(row) for row in matrix], None, None)

    if not fitting_rows:
        return Projection(zero, [[] for _ in range(d)], [], None)

    columns = [[row[f] for row in fitting_rows] for f in range(d)]
    if settings["kind"] == "pca":
        centre = [statistics.mean(column) for column in columns]
        spread = second_moments([minus(row, centre) for row in fitting_rows])
    elif settings["kind"] == "robust_pca":
        centre = []
        for (_, kind), column in zip(features, columns, strict=True):
            centre.append(statistics.median(column) if kind == "number" else statistics.mean(column))
        spread = second_moments([sign(minus(row, centre)) for row in fitting_rows])
    else:
        raise ValueError(settings["kind"])

    eigenvalues, vectors = decompose(spread)
    kept = how_many(eigenvalues, settings["variance"], settings["min"], settings["max"])
    loadings = [[vectors[c][f] for c in range(kept)] for f in range(d)]
    explained = sum(eigenvalues[:kept]) / sum(eigenvalues) if kept else None
    return Projection(centre, loadings, eigenvalues[:kept], explained)


def minus(v, w):
    return [a - b for a, b in zip(v, w, strict=True)]


def dot(v, w):
    assert len(v) == len(w)
    return sum(map(operator.mul, v, w))


def norm(v):
    return math.sqrt(dot(v, v))


def sign(v):
    """Spatial sign v / |v|."""
    size = norm(v)
    return [0.0] * len(v) if size <= 1e-12 else [a / size for a in v]


def second_moments(rows):
    """Mean of u uᵀ over the rows (of centred rows: the population covariance)."""
    d = len(rows[0])
    matrix = [[0.0] * d for _ in range(d)]
    for f in range(d):
        for g in range(f, d):
            matrix[f][g] = matrix[g][f] = sum(u[f] * u[g] for u in rows) / len(rows)
    return matrix


def decompose(matrix):
    """Eigenvalues above 1e-12 of the largest, falling, and their eigenvectors."""
    if not matrix:
        return [], []
    values, vectors = np.linalg.eigh(np.array(matrix))
    pairs = [(float(values[c]), [float(x) for x in vectors[:, c]]) for c in range(len(values))]
    pairs.sort(key=lambda pair: -pair[0])
    largest = pairs[0][0]
    pairs = [pair for pair in pairs if pair[0] > 0 and pair[0] > 1e-12 * largest]
    return [value for value, _ in pairs], [vector for _, vector in pairs]


def how_many(eigenvalues, variance, least, most):
    """Fewest components that reach `variance`, at least `least`, at most `most`, a tied eigenspace whole."""
    if not eigenvalues:
        return 0
    total = sum(eigenvalues)
    kept = 1
    while kept < len(eigenvalues) and sum(eigenvalues[:kept]) / total < variance - 1e-12:
        kept += 1
    kept = min(max(kept, least), most, len(eigenvalues))
    while kept < len(eigenvalues) and eigenvalues[kept - 1] - eigenvalues[kept] <= 1e-9 * eigenvalues[kept - 1]:
        kept += 1
    return kept


def zero_norm(rows):
    """A vector counts as zero up to 1e-9 of the root mean square norm of `rows`."""
    if not rows:
        return 0.0
    return 1e-9 * math.sqrt(sum(dot(z, z) for z in rows) / len(rows))


def cosine(a, b, zero):
    """<a, b> / (|a| |b|), clipped to [-1, 1]; 0 for a zero vector."""
    lengths = norm(a), norm(b)
    if min(lengths) <= zero:
        return 0.0
    return max(-1.0, min(1.0, dot(a, b) / (lengths[0] * lengths[1])))


def euclidean(a, b):
    """1 / (1 + d)."""
    return 1 / (1 + math.dist(a, b))


def mahalanobis(a, b, axes):
    """1 / (1 + d) with d² = Σ (q·(a - b))² / λ over the `axes` (λ, q) of the covariance."""
    difference = minus(a, b)
    return 1 / (1 + math.sqrt(sum(dot(q, difference) ** 2 / value for value, q in axes)))


def covariance_axes(rows):
    """Eigenvalues and eigenvectors of the population covariance, without those up to 1e-12 of the largest."""
    if not rows or not rows[0]:
        return []
    centre = [statistics.mean([row[f] for row in rows]) for f in range(len(rows[0]))]
    return list(zip(*decompose(second_moments([minus(row, centre) for row in rows])), strict=True))


def jaccard(a, b):
    """|a and b| / |a or b|; 0/0 = 0."""
    both = sum(1 for p, q in zip(a, b, strict=True) if p and q)
    either = sum(1 for p, q in zip(a, b, strict=True) if p or q)
    return both / either if either else 0.0
