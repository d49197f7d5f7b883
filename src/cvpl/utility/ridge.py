"""A linear model fitted from moments, with exact leave-one-out predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.feature_vectors import Moments
from cvpl.operators.vectorization import Vectors

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

PENALTY = 1.0
"""The penalty on every squared coefficient, as in scikit-learn's RidgeClassifier."""


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Ridge regression of some features, y, on others, x: only the coefficients W are penalized, not the intercept.

    W = (S + penalty I)^-1 sum (x - mean x)(y - mean y)^T,   S = sum (x - mean x)(x - mean x)^T

    `coefficients`, `root` and `centre` have a row for every feature of the space, 0 for unused ones; `root` R satisfies
    R R^T = (S + penalty I)^-1.
    """

    records: float
    centre: Floats
    intercept: Floats
    coefficients: Floats
    root: Floats

    @classmethod
    def fit(cls, sums: Moments, about: Floats, used: Places, targets: Places) -> LinearModel:
        """Fit the features at `targets` on those at `used`, from moments about `about`; needs at least one record."""
        total, first, second = sums
        scatter = second[np.ix_(used, used)] - np.outer(first[used], first[used]) / total
        cross = second[np.ix_(used, targets)] - np.outer(first[used], first[targets]) / total
        root = np.linalg.inv(np.linalg.cholesky(scatter + PENALTY * np.eye(len(used)))).T

        def placed(rows: Floats) -> Floats:
            result = np.zeros((len(about), *rows.shape[1:]))
            result[used] = rows
            return result

        mean = about + first / total
        return cls(total, placed(mean[used]), mean[targets], placed(root @ (root.T @ cross)), placed(root))

    def __call__(self, vectors: Vectors) -> Floats:
        """The predicted targets of every record."""
        return self.intercept + vectors.project(self.coefficients, self.centre)

    def held_out(self, vectors: Vectors, truth: Floats) -> Floats:
        """Predict each record by the model of all others; the model must be trained on all of `vectors`.

        prediction without i = (prediction_i - h_i y_i) / (1 - h_i),
        h_i = 1/n + (x_i - mean x)^T (S + penalty I)^-1 (x_i - mean x)

        This is exact for ridge regression, and needs at least two records: with one, h = 1.
        """
        count = len(self.intercept)
        both = vectors.project(np.hstack([self.coefficients, self.root]), self.centre)
        leverage = (1.0 / self.records + (both[:, count:] ** 2).sum(axis=1))[:, None]
        result: Floats = (self.intercept + both[:, :count] - leverage * truth) / (1.0 - leverage)
        return result
