"""The settings of vectorization, and their fit to summaries of tables.

Summaries of a column over the records of all tables, as input for fitting. Fitting never reads a column. It uses a
`ColumnSummary`; the one here computes it in this process, and another engine may compute it where its data is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.vectorization.features import (
    CategoryFeatures,
    Feature,
    NumberFeature,
    earliest,
    hierarchical,
    with_a_feature_each,
)
from cvpl.operators.vectorization.vectors import FeatureSpace
from cvpl.operators.words import WIDTH, is_text, word_features
from cvpl.settings import Settings
from cvpl.tables.columns import ColumnSpec, Table, Type

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


def _pooled(name: str, tables: Sequence[Table], released: Table | None) -> PooledColumn:
    return PooledColumn([table.columns[name] for table in tables], None if released is None else released.columns[name])


Encoding = Literal["one_hot", "frequency", "hierarchical"]
LabelEncoding = Literal["one_hot", "frequency", "hierarchical", "words"]
Scaling = Literal["z_score", "robust", "none"]

_IQR_OF_NORMAL = 1.349
"""The interquartile range of a standard normal: robust scaling agrees with the z-score on normal data."""


class ColumnChoice(Settings):
    """The settings of one column: its encoding, the features of a datetime, and whether it is vectorized."""

    encode: Encoding | None = None
    features: tuple[Feature, ...] = ()
    vectorize: bool = True


class Vectorization(Settings):
    """How columns become features; `columns` holds settings for single columns.

    A column with more labels than can be a feature each is encoded by frequency, and its feature is marked.
    """

    scale: Scaling = "z_score"
    encode: Encoding = "one_hot"
    missing: Literal["neutral", "indicator"] = "neutral"
    columns: Mapping[str, ColumnChoice] = {}

    def compared(self, table: Table) -> list[str]:
        """The columns that are compared."""
        return [spec.name for spec in table.specs if self.columns.get(spec.name, ColumnChoice()).vectorize]

    def fit(self, tables: Sequence[Table], released: Table | None = None) -> FeatureSpace:
        """Learn labels, shares and scales from all `tables` together (the original and the protected).

        With `released`, one-hot features are those of the labels that occur in it. A label that only the attacker has
        then has no feature, be it an original's or a control's: neither can be found by it.
        """
        return self.fit_columns(tables[0].specs, lambda name: _pooled(name, tables, released))

    def width(self, tables: Sequence[Table], released: Table | None = None) -> int:
        """About how many features `fit` would give, counted without fitting: a path of levels counts as a label."""
        chosen = [spec for spec in tables[0].specs if self._choice(spec).vectorize]
        columns = [(spec, _pooled(spec.name, tables, released)) for spec in chosen]
        encodings = self._encodings([(spec, column) for spec, column in columns if spec.type == "category"])
        total = sum(len(self._choice(spec).features) or 1 for spec in chosen if spec.type != "category")
        for spec, column in columns:
            if spec.type == "category":
                single = {"words": WIDTH, "frequency": 1}.get(encodings[spec.name])
                total += single or int((column.released_counts() > 0).sum())
        return total

    def fit_columns(self, specs: Sequence[ColumnSpec], column: Callable[[str], ColumnSummary]) -> FeatureSpace:
        """The same as `fit`, from a summary of each column over all tables, looked up by name."""
        parts: list[NumberFeature | CategoryFeatures] = []
        start = 0
        compared = [spec for spec in specs if self._choice(spec).vectorize]
        summaries = {spec.name: column(spec.name) for spec in compared}
        encodings = self._encodings([(spec, summaries[spec.name]) for spec in compared if spec.type == "category"])
        for spec in compared:
            summary = summaries[spec.name]
            fitted = _FITTED_BY_TYPE[spec.type](self, spec, summary, encodings.get(spec.name), start)
            start += sum(part.width for part in fitted)
            if self.missing == "indicator" and summary.has_missing():
                fitted.append(CategoryFeatures(spec, "indicator", start, np.eye(1), np.zeros(1)))
                start += 1
            parts.extend(fitted)
        return FeatureSpace(tuple(parts), start)

    def _choice(self, spec: ColumnSpec) -> ColumnChoice:
        return self.columns.get(spec.name, ColumnChoice())

    def _encodings(self, columns: Sequence[tuple[ColumnSpec, ColumnSummary]]) -> dict[str, LabelEncoding]:
        """How each column of labels is encoded; if their labels are too many, those of most have one feature."""
        found: dict[str, LabelEncoding] = {}
        labels = {}
        for spec, column in columns:
            choice = self._choice(spec)
            found[spec.name] = choice.encode or self.encode
            if found[spec.name] == "one_hot" and choice.encode is None:
                found[spec.name] = "words" if is_text(column.labels(), column.label_counts()) else "one_hot"
            if found[spec.name] == "one_hot":
                labels[spec.name] = int((column.released_counts() > 0).sum())
        each = with_a_feature_each(labels)
        return found | {name: "frequency" for name in labels if name not in each}

    def _fit_numbers(
        self, spec: ColumnSpec, column: ColumnSummary, encoding: LabelEncoding | None, start: int
    ) -> list[NumberFeature | CategoryFeatures]:
        return [self._scaled(NumberFeature(spec, None, start), column)]

    def _fit_times(
        self, spec: ColumnSpec, column: ColumnSummary, encoding: LabelEncoding | None, start: int
    ) -> list[NumberFeature | CategoryFeatures]:
        # Days are counted from the start of a year: the earliest time itself is one person's.
        origin = column.earliest().astype("datetime64[Y]").astype("datetime64[us]")
        return [
            self._scaled(NumberFeature(spec, name, start + offset, origin=origin), column)
            for offset, name in enumerate(self._choice(spec).features)
        ]

    def _fit_labels(
        self, spec: ColumnSpec, column: ColumnSummary, encoding: LabelEncoding | None, start: int
    ) -> list[NumberFeature | CategoryFeatures]:
        labels, counts = column.labels(), column.label_counts()
        seen = column.released_counts() > 0
        total = counts.sum()
        if encoding == "words":
            table = word_features(labels, column.released_counts())
            mean = counts @ table / total if total else np.zeros(table.shape[1])
            return [CategoryFeatures(spec, "words", start, table, mean, labels)]
        if encoding == "one_hot":
            table = np.eye(len(labels))[:, seen]
            mean = counts[seen] / total if total else counts[seen]
            return [CategoryFeatures(spec, "one_hot", start, table, mean, labels)]
        if encoding == "hierarchical" and (levels := hierarchical(spec, labels, counts, start)) is not None:
            return [levels]
        shares = counts / total if total else counts
        instead = (self._choice(spec).encode or self.encode) != "frequency"
        feature = NumberFeature(spec, None, start, shares=shares, labels=labels, instead=instead)
        return [self._scaled(feature, column)]

    def _scaled(self, feature: NumberFeature, column: ColumnSummary) -> NumberFeature:
        """The feature with its centre, scale and neutral value, from the known numbers of all tables."""
        found = column.numbers(feature, quartiles=self.scale == "robust")
        if found is None:
            return feature
        mean, deviation = found.mean, found.deviation
        constant = deviation <= 1e-12 * max(1.0, abs(mean))
        centre, spread = 0.0, 1.0
        if self.scale == "z_score":
            centre, spread = mean, 0.0 if constant else deviation
        elif found.quartiles is not None:
            low, centre, high = found.quartiles
            spread = (high - low) / _IQR_OF_NORMAL
            if high <= low:
                spread = 0.0 if constant else deviation
        factor = 1.0 / spread if spread else 0.0
        return replace(feature, centre=centre, factor=factor, neutral=(mean - centre) * factor, median=found.median)


Fit = Callable[
    [Vectorization, ColumnSpec, ColumnSummary, LabelEncoding | None, int], "list[NumberFeature | CategoryFeatures]"
]

_FITTED_BY_TYPE: dict[Type, Fit] = {
    "numeric": Vectorization._fit_numbers,
    "datetime": Vectorization._fit_times,
    "category": Vectorization._fit_labels,
}
"""How the features of each type of column are fitted."""
