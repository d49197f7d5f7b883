"""The settings of vectorization, and fitting them to tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization.features import (
    CategoryFeatures,
    Feature,
    NumberFeature,
    check_width,
    earliest,
    hierarchical,
    raw_numbers,
)
from cvpl.operators.vectorization.vectors import FeatureSpace
from cvpl.settings import Settings
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Table, Times

Floats = NDArray[np.float64]
Encoding = Literal["one_hot", "frequency", "hierarchical"]
Scaling = Literal["z_score", "robust", "none"]

_IQR_OF_NORMAL = 1.349
"""The interquartile range of a standard normal: robust scaling agrees with the z-score on normal data."""


class ColumnChoice(Settings):
    """What the configuration says of one column: its encoding, the features of a datetime, whether it takes part."""

    encode: Encoding | None = None
    features: tuple[Feature, ...] = ()
    vectorize: bool = True


class Vectorization(Settings):
    """How columns become features; `columns` holds the choices that differ from the rest."""

    scale: Scaling = "z_score"
    encode: Encoding = "one_hot"
    missing: Literal["neutral", "indicator"] = "neutral"
    columns: Mapping[str, ColumnChoice] = {}

    def compared(self, table: Table) -> list[str]:
        """The columns that are compared at all."""
        return [spec.name for spec in table.specs if self.columns.get(spec.name, ColumnChoice()).vectorize]

    def fit(self, tables: Sequence[Table]) -> FeatureSpace:
        """Learn labels, shares and scales from all `tables` together (the original and the protected)."""
        parts: list[NumberFeature | CategoryFeatures] = []
        start = 0
        for spec in tables[0].specs:
            choice = self.columns.get(spec.name, ColumnChoice())
            if not choice.vectorize:
                continue
            columns = [table.columns[spec.name] for table in tables]
            fitted: list[NumberFeature | CategoryFeatures]
            if isinstance(columns[0], Labels):
                fitted = self._fit_labels(spec, columns, choice.encode or self.encode, start)
            else:
                fitted = self._fit_numbers(spec, columns, choice.features, start)
            start += sum(part.width for part in fitted)
            if self.missing == "indicator" and not all(column.known().all() for column in columns):
                fitted.append(CategoryFeatures(spec, "indicator", start, np.eye(1), np.zeros(1)))
                start += 1
            parts.extend(fitted)
        return FeatureSpace(tuple(parts), start)

    def _fit_numbers(
        self, spec: ColumnSpec, columns: Sequence[ColumnData], features: Sequence[Feature], start: int
    ) -> list[NumberFeature | CategoryFeatures]:
        names: Sequence[Feature | None] = features if isinstance(columns[0], Times) else [None]
        origin = earliest(columns) if isinstance(columns[0], Times) else None
        result: list[NumberFeature | CategoryFeatures] = []
        for offset, name in enumerate(names):
            raw = np.concatenate([raw_numbers(column, name, origin) for column in columns])
            result.append(self._scaled(NumberFeature(spec, name, start + offset, origin=origin), raw))
        return result

    def _fit_labels(
        self, spec: ColumnSpec, columns: Sequence[ColumnData], encode: Encoding, start: int
    ) -> list[NumberFeature | CategoryFeatures]:
        labels = columns[0].labels if isinstance(columns[0], Labels) else ()
        codes = np.concatenate([column.codes for column in columns if isinstance(column, Labels)])
        counts = np.bincount(codes[codes >= 0], minlength=len(labels)).astype(np.float64)
        seen = counts > 0
        total = counts.sum()
        if encode == "frequency":
            shares = counts / total if total else counts
            raw = np.where(codes >= 0, np.append(shares, 0.0)[codes], np.nan)
            return [self._scaled(NumberFeature(spec, None, start, shares=shares, labels=labels), raw)]
        if encode == "one_hot":
            check_width(spec, int(seen.sum()))
            table = np.eye(len(labels))[:, seen]
            mean = counts[seen] / total if total else counts[seen]
            return [CategoryFeatures(spec, "one_hot", start, table, mean, labels)]
        return [hierarchical(spec, labels, counts, start)]

    def _scaled(self, feature: NumberFeature, raw: Floats) -> NumberFeature:
        """The feature with its centre, scale and neutral value, from all tables' raw numbers, which it may sort."""
        missing = np.isnan(raw)
        known = raw[~missing] if missing.any() else raw
        if not known.size:
            return feature
        mean, deviation = float(known.mean()), float(known.std())
        constant = deviation <= 1e-12 * max(1.0, abs(mean))
        centre, spread = 0.0, 1.0
        if self.scale == "z_score":
            centre, spread = mean, 0.0 if constant else deviation
        elif self.scale == "robust":
            low, centre, high = (float(value) for value in np.quantile(known, [0.25, 0.5, 0.75]))
            spread = (high - low) / _IQR_OF_NORMAL
            if high <= low:
                spread = 0.0 if constant else deviation
        factor = 1.0 / spread if spread else 0.0
        neutral, median = (mean - centre) * factor, float(np.median(known, overwrite_input=True))
        return replace(feature, centre=centre, factor=factor, neutral=neutral, median=median)
