"""Downstream accuracy: whether a model trained on the release predicts originals as well as one trained on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.feature_vectors import Moments
from cvpl.operators.vectorization import CategoryFeatures, FeatureSpace, Vectorization, Vectors
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Pair, Table
from cvpl.utility.marginal import OriginalLabels

Floats = NDArray[np.float64]


FEWEST_LABELS, MOST_LABELS = 2, 20
"""The number of labels of a target in the original: one leaves nothing to predict, and many are too rare to learn."""
TESTED = 5_000
"""The maximum number of originals to test: an accuracy of 0.5 then has a standard error of 0.007."""
_TIED = 1e-9


@dataclass(frozen=True)
class TargetAccuracy:
    """The accuracy of predicting one column from all others, for `tested` originals.

    `original` is for a model of the other originals, `protected` for a model of the release, `commonest` for always
    guessing the most common label of the tested records.
    """

    column: str
    tested: int
    original: float
    protected: float
    commonest: float


@dataclass(frozen=True)
class DownstreamAccuracy:
    """The accuracies for every target, and the figures derived from their means."""

    targets: tuple[TargetAccuracy, ...]

    @property
    def original(self) -> float | None:
        """Acc(D), the mean over the targets; None without any."""
        return _mean([target.original for target in self.targets])

    @property
    def protected(self) -> float | None:
        """Acc(D'), the mean over the targets; None without any."""
        return _mean([target.protected for target in self.targets])

    @property
    def commonest(self) -> float | None:
        """The accuracy of guessing. A ratio near 1 means nothing if Acc(D) is no higher than this."""
        return _mean([target.commonest for target in self.targets])

    @property
    def ratio(self) -> float | None:
        """Acc(D') / Acc(D) (paper, table utility-metrics), above 1 if the release's model is better.

        None without a target, or if the originals' own models are never right.
        """
        if self.original is None or self.protected is None or self.original == 0:
            return None
        return self.protected / self.original

    @property
    def figure(self) -> float | None:
        """The ratio, at most 1."""
        return None if self.ratio is None else min(1.0, self.ratio)


def downstream_accuracy(pair: Pair, vectorization: Vectorization, rng: np.random.Generator) -> DownstreamAccuracy:
    """Predict each category with 2 to 20 labels in the original from all other columns, on held-out originals.

    The model is linear: ridge regression of the labels' indicators on the features of the other columns, with numbers
    always z-scored and the intercept not penalized. The prediction is the label with the highest value; t tied labels
    share the hit.

    Each tested original is held out from the model of the originals: it is predicted by the model of all the *others*
    (see `ridge`). The model of the release is trained on all its records. The records of tested people are not removed,
    since true matches may be unknown; if records correspond, this favours the release slightly, and more so the fewer
    they are. An unchanged release therefore has a ratio of at least 1.

    A released label that the original lacks counts equally for the labels that it allows ("North/*"), and for none if
    it allows none. A missing label counts for none. `rng` samples the originals to test if there are more than
    `TESTED`.
    """
    if pair.original.rows < 2 or pair.protected.rows == 0:
        return DownstreamAccuracy(())
    settings = vectorization.model_copy(update={"scale": "z_score"})
    base = settings.fit([pair.original, pair.protected])
    targets = _targets(pair.original, base.width)
    space = FeatureSpace(base.parts + targets, base.width + sum(target.width for target in targets))
    centre = np.concatenate([base.neutral, np.zeros(space.width - base.width)])
    own, released = (space(table).moments(centre) for table in (pair.original, pair.protected))
    rows = np.arange(pair.original.rows)
    if len(rows) > TESTED:
        rows = np.sort(rng.choice(len(rows), TESTED, replace=False))
    tested = space(pair.original).take(rows)
    is_base = np.arange(space.width) < base.width
    found = []
    for target, codes in zip(targets, tested.codes[len(tested.codes) - len(targets) :], strict=True):
        label = np.append(target.table.argmax(axis=1), -1)[codes]
        if (label < 0).all():
            continue
        used = np.flatnonzero(is_base & ~space.restricted([target.spec.name]))
        places = np.arange(target.start, target.start + target.width)
        by_own, by_release = (LinearModel.fit(sums, centre, used, places) for sums in (own, released))
        held_out = by_own.held_out(tested, target.lookup()[codes])
        right = _accuracy(held_out, label), _accuracy(by_release(tested), label)
        counts = np.bincount(label[label >= 0])
        share = float(counts.max() / counts.sum())
        found.append(TargetAccuracy(target.spec.name, int(counts.sum()), *right, share))
    return DownstreamAccuracy(tuple(found))


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _targets(original: Table, start: int) -> tuple[CategoryFeatures, ...]:
    """For each column to predict, the indicators of the original's labels, one row per label of either table."""
    result = []
    for spec in original.specs:
        target = _target(original.columns[spec.name], spec, start)
        if target is not None:
            result.append(target)
            start += target.width
    return tuple(result)


@singledispatch
def _target(column: ColumnData, spec: ColumnSpec, start: int) -> CategoryFeatures | None:
    """The column as a target; None if it is not predicted: only categories with few labels are."""
    return None


@_target.register(Labels)
def _label_target(column: Labels, spec: ColumnSpec, start: int) -> CategoryFeatures | None:
    labels, used = column.labels, np.flatnonzero(column.counts())
    if not FEWEST_LABELS <= len(used) <= MOST_LABELS:
        return None
    table = np.zeros((len(labels), len(used)))
    originals = OriginalLabels(spec, ((at, labels[code]) for at, code in enumerate(used)))
    for code, label in enumerate(labels):
        allowed = originals.allowed(label)
        if allowed is not None and len(allowed):
            table[code, allowed] = 1.0 / len(allowed)
    return CategoryFeatures(spec, "one_hot", start, table, np.zeros(len(used)), labels)


def _accuracy(scores: Floats, label: NDArray[np.int64]) -> float:
    """The share of labelled records whose label scores highest; t labels within 1e-9 of the top share a hit."""
    known = np.flatnonzero(label >= 0)
    top = scores >= scores.max(axis=1, keepdims=True) - _TIED
    return float((top[known, label[known]] / top[known].sum(axis=1)).mean())


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
