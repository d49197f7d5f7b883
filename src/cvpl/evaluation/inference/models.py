"""Models that predict a sensitive attribute from known columns: gradient-boosted trees and a forest, from scikit-learn.

scikit-learn is an extra (`cvpl[inference]`), and loaded when a model is trained. Labels that have 30 values or fewer
are classified, and so are the 30 commonest of more; the beliefs are the predicted probabilities. Numbers in more cells
than that are regressed, and the belief is the one cell that is nearest to the prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.inference.sensitive_attribute import Beliefs, SensitiveAttribute, SensitiveTruth
from cvpl.tables.columns import Labels, Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ModelName = Literal["boosted_trees", "forest"]
MODELS: tuple[ModelName, ...] = ("boosted_trees", "forest")

MOST_ROWS = 100_000
"""The most records that a model is trained on."""
CLASSES = 30
"""The most values that a model tells apart; rarer ones are never predicted."""
_RECORDS_A_CLASS = 3
"""With fewer records for each value on average there is nothing to learn, and no model is trained."""
_CATEGORIES = 250
"""A column of more labels is a number to a model, in the order of frequency."""
_TREES, _ITERATIONS, _FEWEST_ITERATIONS = 50, 100, 20
_LARGEST = 600
"""Trees of all classes and iterations together; with many classes there are fewer iterations."""


def available() -> bool:
    """Whether scikit-learn is installed."""
    return find_spec("sklearn") is not None


@dataclass(frozen=True, eq=False)
class Features:
    """How known columns become features: numbers as they are, labels by their rank among the release's labels."""

    names: tuple[str, ...]
    ranks: tuple[Ints | None, ...]
    categorical: tuple[bool, ...]

    @classmethod
    def of(cls, released: Table, names: Sequence[str]) -> Features:
        """Rank the labels of each column, the commonest first."""
        ranks: list[Ints | None] = []
        categorical = []
        for name in names:
            column = released.columns[name]
            if not isinstance(column, Labels):
                ranks.append(None)
                categorical.append(False)
                continue
            counts = column.counts()
            place = np.empty(len(counts) + 1, dtype=np.int64)
            place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
            place[-1] = -1
            place[:-1][counts == 0] = -1
            ranks.append(place)
            categorical.append(int((counts > 0).sum()) <= _CATEGORIES)
        return cls(tuple(names), tuple(ranks), tuple(categorical))

    def __call__(self, table: Table) -> Floats:
        """The features of a table; a missing value, or a label that the release lacks, is NaN."""
        found = np.empty((table.rows, len(self.names)))
        for at, (name, ranks) in enumerate(zip(self.names, self.ranks, strict=True)):
            column = table.columns[name]
            if ranks is None or not isinstance(column, Labels):
                found[:, at] = column.ordinal()
            else:
                codes = ranks[column.codes]
                found[:, at] = np.where(codes >= 0, codes, np.nan)
        return found


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A trained model, the values that it tells apart, and how to read its predictions."""

    attribute: SensitiveAttribute
    model: Any
    values: Ints
    regresses: bool

    def beliefs(self, features: Floats) -> Beliefs:
        """The predicted probabilities of the values of each person."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when sensitive attributes are inferred

        people = len(features)
        shape = people, self.attribute.size
        if not people:
            return csr_matrix(shape)
        if self.model is None:
            codes = np.full(people, self.values[0])
        elif self.regresses:
            codes = _nearest_value(self.attribute, self.model.predict(features))
        else:
            shares = self.model.predict_proba(features)
            who = np.repeat(np.arange(people), shares.shape[1])
            return csr_matrix((shares.reshape(-1), (who, np.tile(self.values, people))), shape=shape)
        return csr_matrix((np.ones(people), (np.arange(people), codes)), shape=shape)


def train(
    name: ModelName,
    features: Floats,
    codes: Ints,
    attribute: SensitiveAttribute,
    *,
    categorical: Sequence[bool],
    seed: int,
    workers: int = 1,
) -> FittedModel | None:
    """Train a model on records with the values `codes` of the attribute; None with too few records to tell them apart.

    Records of values beyond the 30 commonest are left out, unless the sensitive attribute is a number. The model does
    not depend on the number of `workers`.
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - loaded when a model is

    counts = np.bincount(codes, minlength=attribute.size)
    values = np.flatnonzero(counts)
    if not len(values):
        return None
    regresses = attribute.values is not None and len(values) > CLASSES
    if not regresses:
        values = np.sort(np.argsort(-counts, kind="stable")[: min(CLASSES, len(values))])
        kept = np.isin(codes, values)
        features, codes = features[kept], codes[kept]
    if len(values) == 1:
        return FittedModel(attribute, None, values, False)
    if not regresses and len(codes) < _RECORDS_A_CLASS * len(values):
        return None
    target = attribute.values[codes] if regresses and attribute.values is not None else codes
    if name == "boosted_trees":
        model = boosted_trees(regresses, len(values), len(codes), categorical, seed)
    else:
        model = random_forest(regresses, seed, workers)
    with threadpool_limits(1, user_api="openmp"):
        model.fit(features, target)
    if name == "forest":
        model.n_jobs = 1  # threads would add the trees' votes in any order
    return FittedModel(attribute, model, values, regresses)


def boosted_trees(regresses: bool, classes: int, rows: int, categorical: Sequence[bool], seed: int) -> Any:
    """Gradient-boosted trees, with the leaves and steps that suit so many rows."""
    from sklearn.ensemble import (  # noqa: PLC0415 - an extra, and slow to load
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    trees = 1 if regresses or classes == 2 else classes
    shared = {
        "max_iter": max(_FEWEST_ITERATIONS, min(_ITERATIONS, _LARGEST // trees)),
        "learning_rate": 0.1,
        "min_samples_leaf": max(1, min(20, rows // 20)),
        "categorical_features": list(categorical),
        "early_stopping": False,
        "random_state": seed,
    }
    if regresses:
        return HistGradientBoostingRegressor(loss="absolute_error", **shared)
    return HistGradientBoostingClassifier(**shared)


def random_forest(regresses: bool, seed: int, workers: int) -> Any:
    """A random forest."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor  # noqa: PLC0415 - an extra

    kind = RandomForestRegressor if regresses else RandomForestClassifier
    return kind(_TREES, max_features="sqrt", min_samples_leaf=2, n_jobs=workers, random_state=seed)


def truth_codes(attribute: SensitiveAttribute, truth: SensitiveTruth) -> Ints:
    """The value of the release that each person has, or for numbers the nearest; -1 for none."""
    if truth.numbers is None:
        return np.where(truth.known & (truth.codes < attribute.size), truth.codes, -1)
    if not attribute.size:
        return np.full(len(truth.known), -1, dtype=np.int64)
    return np.where(truth.known, _nearest_value(attribute, np.nan_to_num(truth.numbers)), -1)


def _nearest_value(attribute: SensitiveAttribute, numbers: Floats) -> Ints:
    """The value that is nearest to each number."""
    assert attribute.values is not None  # noqa: S101 - only numbers are regressed
    if attribute.size == 1:
        return np.zeros(len(numbers), dtype=np.int64)
    order = np.argsort(attribute.values, kind="stable")
    values = attribute.values[order]
    right = np.clip(np.searchsorted(values, numbers), 1, len(values) - 1)
    left = right - 1
    return order[np.where(numbers - values[left] <= values[right] - numbers, left, right)].astype(np.int64)
