"""The layout of a feature space: its features, their order, and the position of each column's features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization.features import CategoryFeatures, NumberFeature

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureLayout:
    """Fitted features in the order of the columns, `width` in total."""

    parts: tuple[NumberFeature | CategoryFeatures, ...]
    width: int

    @property
    def number_features(self) -> list[NumberFeature]:
        """The numeric features, in order."""
        return [part for part in self.parts if isinstance(part, NumberFeature)]

    @property
    def category_features(self) -> list[CategoryFeatures]:
        """The category columns, in order."""
        return [part for part in self.parts if isinstance(part, CategoryFeatures)]

    @property
    def with_too_many_labels(self) -> list[str]:
        """The columns that are encoded by frequency because they have too many labels."""
        return [part.spec.name for part in self.number_features if part.instead]

    @property
    def number_places(self) -> NDArray[np.intp]:
        """The positions of the numeric features among all features."""
        return np.array([part.start for part in self.number_features], dtype=np.intp)

    @property
    def neutral(self) -> Floats:
        """The vector of a record without any known value: the pooled mean of every feature."""
        vector = np.zeros(self.width)
        for part in self.parts:
            if isinstance(part, NumberFeature):
                vector[part.start] = part.neutral
            else:
                vector[part.start : part.start + part.width] = part.mean
        return vector

    @property
    def owners(self) -> list[str]:
        """For each feature, the column it comes from."""
        names = [""] * self.width
        for part in self.parts:
            names[part.start : part.start + part.width] = [part.spec.name] * part.width
        return names

    def restricted(self, columns: Sequence[str]) -> NDArray[np.bool_]:
        """Which features come from one of `columns`."""
        return np.array([owner in columns for owner in self.owners], dtype=bool)
