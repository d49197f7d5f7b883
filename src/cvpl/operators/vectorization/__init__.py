"""Vectorization of records to feature vectors, the same for every table.

    numbers and datetime features   scaled with the statistics of both tables together
    categories                      one-hot, the label's share, or one-hot on every level of a hierarchy

The one-hot matrix is built only on request (`Vectors.dense`). A category stays a code; its features are a row of a
small lookup table. Moments come from sums and contingency counts, and a projection is a sum of looked-up rows plus a
small product for the numbers. For a table larger than memory not even codes and numbers are held (`VectorsOnDemand`).

The features of a missing value are set to the pooled mean, so that it moves a record neither towards nor away from any
other and leaves no trace; `missing: indicator` adds a feature for it.
"""

from cvpl.operators.vectorization.features import (
    MOST_LABELS,
    CategoryFeatures,
    Feature,
    NumberFeature,
    with_a_feature_each,
)
from cvpl.operators.vectorization.settings import ColumnChoice, Encoding, Scaling, Vectorization
from cvpl.operators.vectorization.vectors import AnyVectors, FeatureSpace, Vectors, VectorsOnDemand

__all__ = [
    "MOST_LABELS",
    "AnyVectors",
    "CategoryFeatures",
    "ColumnChoice",
    "Encoding",
    "Feature",
    "FeatureSpace",
    "NumberFeature",
    "Scaling",
    "Vectorization",
    "Vectors",
    "VectorsOnDemand",
    "with_a_feature_each",
]
