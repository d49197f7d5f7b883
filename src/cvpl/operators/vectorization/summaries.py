"""Summaries of a column over the records of all tables, as input for fitting.

Fitting never reads a column. It uses a `ColumnSummary`; the one here computes it in this process, and another engine
may compute it where its data is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization.features import NumberFeature, earliest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumberSummary:
    """The location and spread of a feature's known numbers; `quartiles` only if requested."""

    mean: float
    deviation: float
    median: float
    quartiles: tuple[float, float, float] | None = None


class ColumnSummary(Protocol):
    """A summary of one column over all tables. Only categories have labels, and only datetimes an earliest time."""

    def has_missing(self) -> bool:
        """Whether some record has no value."""

    def labels(self) -> tuple[str, ...]:
        """The labels of a category."""

    def released_counts(self) -> Floats:
        """The number of records with each label by which features are made: of the release, or of all tables."""

    def label_counts(self) -> Floats:
        """The number of records with each label."""

    def earliest(self) -> np.datetime64:
        """The first time."""

    def numbers(self, feature: NumberFeature, *, quartiles: bool) -> NumberSummary | None:
        """The summary of a feature's unscaled numbers; None if none is known."""


@dataclass(frozen=True, eq=False)
class PooledColumn:
    """One column of some tables, in this process; the columns are all of one kind.

    With `released`, the release's column, a label that the release lacks has no feature.
    """

    columns: Sequence[Any]
    released: Any = None

    def has_missing(self) -> bool:
        """Whether some record has no value."""
        return not all(column.known().all() for column in self.columns)

    def labels(self) -> tuple[str, ...]:
        """The labels, which all tables share."""
        labels: tuple[str, ...] = self.columns[0].labels
        return labels

    def label_counts(self) -> Floats:
        """The number of records with each label."""
        counts: Floats = np.sum([column.counts() for column in self.columns], axis=0).astype(np.float64)
        return counts

    def released_counts(self) -> Floats:
        """The number of records with each label: of the release if it is known, otherwise of all tables."""
        return self.label_counts() if self.released is None else self.released.counts().astype(np.float64)

    def earliest(self) -> np.datetime64:
        """The first time in any table."""
        return earliest(self.columns)

    def numbers(self, feature: NumberFeature, *, quartiles: bool) -> NumberSummary | None:
        """The summary of a feature's unscaled numbers in all tables."""
        raw = np.concatenate([feature.raw(column) for column in self.columns])
        missing = np.isnan(raw)
        known = raw[~missing] if missing.any() else raw
        if not known.size:
            return None
        mean, deviation = float(known.mean()), float(known.std())
        quarters = None
        if quartiles:
            low, middle, high = (float(value) for value in np.quantile(known, [0.25, 0.5, 0.75]))
            quarters = low, middle, high
        return NumberSummary(mean, deviation, float(np.median(known, overwrite_input=True)), quarters)
