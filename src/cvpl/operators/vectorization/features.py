"""The fitted features of each column, their order, and their positions in the feature space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Times

Floats = NDArray[np.float64]


Feature = Literal["hour", "day_of_week", "month", "elapsed_days"]

MOST_LABELS = 3_000
"""The covariance of more one-hot features would take minutes to decompose, for little information: columns with more
labels together are encoded by frequency, those with most labels first."""

_NOTHING_ABOVE = float(np.finfo(np.float64).max)
"""The median of a column without any value: no record lies above it."""


@dataclass(frozen=True, eq=False)
class NumberFeature:
    """One numeric feature: (raw - centre) * factor; `neutral` replaces a missing value.

    `instead` marks the shares of labels that are too many for a feature of their own.
    """

    spec: ColumnSpec
    name: Feature | None
    start: int
    origin: np.datetime64 | None = None
    shares: Floats | None = None
    labels: tuple[str, ...] = ()
    centre: float = 0.0
    factor: float = 0.0
    neutral: float = 0.0
    median: float = _NOTHING_ABOVE
    width: int = 1
    instead: bool = False

    def raw(self, column: ColumnData) -> Floats:
        """The unscaled numbers, NaN where missing."""
        return _raw(column, self)

    def values(self, column: ColumnData) -> Floats:
        """The scaled numbers, with the neutral value where missing."""
        scaled = (self.raw(column) - self.centre) * self.factor
        return np.where(np.isnan(scaled), self.neutral, scaled)


@dataclass(frozen=True, eq=False)
class CategoryFeatures:
    """The features of one category column, 0/1 except for words.

    A record has row `code` of `table`, and `mean` where the value is missing.

    If a label does not show a level ("North/*"), its row of `table` holds the level's mean; `known` marks the entries
    that are 0/1 facts (None: all are). A label that the fitted tables lack has an all-zero row.
    """

    spec: ColumnSpec
    encoding: Literal["one_hot", "hierarchical", "indicator", "words"]
    start: int
    table: Floats
    mean: Floats
    labels: tuple[str, ...] = ()
    known: Floats | None = None

    @property
    def width(self) -> int:
        """The number of features of the column."""
        return int(self.table.shape[1])

    def codes(self, column: Any) -> NDArray[np.int32]:
        """The row of `lookup` that each record uses, from a column of the kind that the features were fitted on."""
        if self.encoding == "indicator":
            return np.where(~column.known(), 0, -1).astype(np.int32)
        codes: NDArray[np.int32] = column.codes
        return codes

    def lookup(self) -> Floats:
        """The features of every code; the last row, for code -1, is the missing value's."""
        missing = np.zeros((1, self.width)) if self.encoding == "indicator" else self.mean[None, :]
        return np.vstack([self.table, missing])

    def binary(self) -> Floats:
        """Like `lookup`, with 0 for everything that is not known."""
        facts = self.table if self.known is None else self.table * self.known
        return np.vstack([facts, np.zeros((1, self.width))])


@singledispatch
def _raw(column: ColumnData, feature: NumberFeature) -> Floats:
    """A column's numbers before scaling, NaN where missing."""
    return column.ordinal()


@_raw.register(Labels)
def _raw_shares(column: Labels, feature: NumberFeature) -> Floats:
    assert feature.shares is not None  # noqa: S101 - a number made of labels is fitted with their shares
    return np.where(column.known(), np.append(feature.shares, 0.0)[column.codes], np.nan)


@_raw.register(Times)
def _raw_times(column: Times, feature: NumberFeature) -> Floats:
    return time_feature(column, feature.name, feature.origin)


def time_feature(column: Times, feature: Feature | None, origin: np.datetime64 | None) -> Floats:
    """One feature of times, NaN where it is not known.

    It is known only if it is the same in the whole span: "2024-05" has a month and no hour. Elapsed days are counted
    from the start of the year of the earliest time of both tables to the midpoint.
    """
    if feature == "elapsed_days" and origin is not None:
        elapsed = (column.middle() - origin) / np.timedelta64(1, "us")
        return np.where(np.isnat(column.first), np.nan, elapsed / 86_400e6)
    first, last = (_part(times, feature) for times in (column.first, column.last))
    period = {"hour": "h", "day_of_week": "D", "month": "M"}[feature or "hour"]
    same = column.first.astype(f"datetime64[{period}]") == column.last.astype(f"datetime64[{period}]")
    return np.where(same & (first == last), first, np.nan)


def _part(times: NDArray[np.datetime64], feature: Feature | None) -> Floats:
    units = {"hour": "h", "day_of_week": "D", "month": "M"}
    count = times.astype(f"datetime64[{units[feature or 'hour']}]").astype(np.int64)
    if feature == "hour":
        part = count % 24
    elif feature == "day_of_week":
        part = (count + 3) % 7  # 1970-01-01 was a Thursday
    else:
        part = count % 12 + 1
    return np.where(np.isnat(times), np.nan, part.astype(np.float64))


def earliest(columns: Sequence[Times]) -> np.datetime64:
    """The first time in any of the columns, from which elapsed days are counted."""
    times = np.concatenate([column.middle() for column in columns])
    known = times[~np.isnat(times)]
    return known.min() if known.size else np.datetime64(0, "us")


def with_a_feature_each(labels: Mapping[str, int]) -> set[str]:
    """The columns whose labels have a feature each: the fewest labels first, up to `MOST_LABELS` together."""
    ordered = sorted(labels, key=lambda name: labels[name])
    together = np.cumsum([labels[name] for name in ordered])
    return {name for name, total in zip(ordered, together, strict=True) if total <= MOST_LABELS}


def hierarchical(spec: ColumnSpec, labels: tuple[str, ...], counts: Floats, start: int) -> CategoryFeatures | None:
    """One-hot on every level: feature (level, ancestors down to it). A label that stops early is neutral below.

    None if these are more than `MOST_LABELS` features.
    """
    paths = [spec.path(label) for label in labels]
    seen = [path for path, count in zip(paths, counts, strict=True) if count > 0]
    depth = max((len(path) for path in seen), default=0)
    features = [path for level in range(1, depth + 1) for path in sorted({p[:level] for p in seen if len(p) >= level})]
    if len(features) > MOST_LABELS:
        return None
    place = {path: at for at, path in enumerate(features)}
    levels = np.array([len(path) for path in features], dtype=np.intp)
    table, known = np.zeros((len(labels), len(features))), np.ones((len(labels), len(features)))
    for row, path in enumerate(paths):
        for level in range(1, len(path) + 1):
            if path[:level] in place:
                table[row, place[path[:level]]] = 1.0
        known[row, levels > len(path)] = 0.0
    present = counts @ known
    mean = np.divide(counts @ table, present, out=np.zeros(len(features)), where=present > 0)
    table = np.where(known == 0, mean, table)
    return CategoryFeatures(spec, "hierarchical", start, table, mean, labels, known)


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
