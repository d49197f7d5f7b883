"""A linear classifier two-sample test: how well a linear rule separates the rows of two tables, on held-out rows.

Columns may agree one by one and still differ in their joint distribution. So the rule uses each column's features and
products of features across columns: it can detect a difference in means or in pairwise dependence.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, Labels, Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 5
MOST_LABELS = 12
"""Each of a column's most common labels has a feature; the other labels have none."""
MOST_PRODUCTS = 300
"""Products of features are sampled if there are more."""
PENALTY = 0.05
"""The ridge penalty, as a share of the rows, on features of variance 1."""

SPREAD = 1.5
"""Folds share most of their training rows, so the mean of their areas varies more than that of independent folds: up to
1.43 times as much on random splits of simulated people and of Adult."""


def classifier_test(first: Table, second: Table, rng: np.random.Generator) -> tuple[float, float]:
    """The cross-fitted area under the ROC curve of a ridge rule, and its standard error under no difference.

    0.5 is chance. Each fold's rows are scored by a rule fitted on the other folds; the area is the mean over folds.
    Given the rule, a fold's area has the Mann-Whitney variance (n + m + 1) / (12 n m); the standard error of the mean
    is widened by SPREAD. (0.5, inf) with too few rows.
    """
    sizes = first.rows, second.rows
    if min(sizes) < 2 * FOLDS:
        return 0.5, math.inf
    X = separation_features(first, second, rng)
    y = np.repeat([0.0, 1.0], sizes)
    fold = np.concatenate([rng.permutation(size) % FOLDS for size in sizes])
    grams = [_gram(X[fold == item], y[fold == item]) for item in range(FOLDS)]
    areas, variances = [], []
    for item in range(FOLDS):
        others = [gram for at, gram in enumerate(grams) if at != item]
        A, b = np.sum([gram[0] for gram in others], axis=0), np.sum([gram[1] for gram in others], axis=0)
        A[1:, 1:] += PENALTY * A[0, 0] * np.eye(len(A) - 1)
        weights = np.linalg.solve(A, b)
        mine = fold == item
        scores = X[mine] @ weights
        apart = scores[y[mine] == 1], scores[y[mine] == 0]
        areas.append(area(*apart))
        n, m = len(apart[0]), len(apart[1])
        variances.append((n + m + 1) / (12 * n * m))
    return float(np.mean(areas)), SPREAD * math.sqrt(sum(variances)) / FOLDS


def area(positive: Floats, negative: Floats) -> float:
    """P(positive > negative) + P(equal) / 2, over all pairs."""
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, side="left")
    upto = np.searchsorted(ordered, positive, side="right")
    return float((below + upto).mean() / (2 * len(negative)))


def _gram(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    return X.T @ X, X.T @ y


def separation_features(first: Table, second: Table, rng: np.random.Generator) -> Floats:
    """An intercept, each column's features and products of features of different columns, all standardized."""
    blocks = [_column(first.columns[spec.name], second.columns[spec.name]) for spec in first.specs]
    owner = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    plain = _standard(np.concatenate(blocks, axis=1))
    left, right = np.triu_indices(len(owner), 1)
    across = np.flatnonzero(owner[left] != owner[right])
    if len(across) > MOST_PRODUCTS:
        across = np.sort(rng.choice(across, MOST_PRODUCTS, replace=False))
    products = _standard(plain[:, left[across]] * plain[:, right[across]])
    return np.concatenate([np.ones((len(plain), 1)), plain, products], axis=1)


def _column(first: ColumnData, second: ColumnData) -> Floats:
    """Labels: one feature for each of the most common. Numbers and times: the rank. All: whether it is missing."""
    known = np.concatenate([first.known(), second.known()])
    return np.stack([(~known).astype(np.float64), *_known_features(first.joined(second), known)], axis=1)


@singledispatch
def _known_features(both: ColumnData, known: NDArray[np.bool_]) -> list[Floats]:
    """The rank of each known value, and its squared distance from the middle rank."""
    values = both.ordinal()
    ranks = np.full(len(values), 0.5)
    _, place, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    if len(counts):
        ranks[known] = ((np.cumsum(counts) - counts / 2) / counts.sum())[place]
    return [ranks, (ranks - 0.5) ** 2]


@_known_features.register(Labels)
def _label_features(both: Labels, known: NDArray[np.bool_]) -> list[Floats]:
    counts = both.counts()
    common = np.argsort(-counts, kind="stable")[:MOST_LABELS]
    return [(both.codes == code).astype(np.float64) for code in common if counts[code]]


def _standard(X: Floats) -> Floats:
    """Scale to mean 0 and variance 1; a constant feature becomes 0."""
    spread = X.std(axis=0)
    result: Floats = (X - X.mean(axis=0)) / np.where(spread > 1e-12, spread, np.inf)
    return result
