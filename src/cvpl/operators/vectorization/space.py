"""The feature space: the fitted vectorization, which maps a table to vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization.features import NumberFeature
from cvpl.operators.vectorization.layout import FeatureLayout
from cvpl.operators.vectorization.on_demand import VectorsOnDemand
from cvpl.operators.vectorization.vectors import Vectors, vectorized
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]

AnyVectors = Vectors | VectorsOnDemand


@dataclass(frozen=True, eq=False)
class FeatureSpace(FeatureLayout):
    """The fitted vectorization: features in the order of the columns, and the map from a table to vectors."""

    def __call__(self, table: Table) -> AnyVectors:
        """The vectors of a table's records; for a table on disk, computed on request."""
        return self.of(table) if table.place.in_memory else VectorsOnDemand(self, table)

    def of(self, table: Table) -> Vectors:
        """The vectors of a table's records; a label not seen in fitting has no feature."""
        return vectorized(self, table)

    def binary(self, table: Table) -> Floats:
        """Unprojected 0/1 features: categories unchanged, numbers above their pooled median, 0 where missing."""
        result = np.zeros((table.rows, self.width))
        for part in self.parts:
            column = table.columns[part.spec.name]
            if isinstance(part, NumberFeature):
                raw = part.raw(column)
                result[:, part.start] = np.where(np.isnan(raw), 0.0, raw > part.median)
            else:
                result[:, part.start : part.start + part.width] = part.binary()[part.codes(column)]
        return result
