"""Vectorization: from a record to a vector of features, the same for every table.

    numbers and datetime features   scaled with the statistics of both tables together
    categories                      one-hot, the label's share, or one-hot on every level of a hierarchy

The one-hot matrix is never built unless somebody asks for it (`Vectors.dense`). A category stays a code; its features
are a row of a small lookup table. Moments come from sums and contingency counts, and a projection is a sum of looked-up
rows plus a small product for the numbers.

A missing value's features stand at the pooled mean, so that it pulls a record neither towards nor away from any other
and leaves no trace of its own; `missing: indicator` adds the trace on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import LimitError
from cvpl.settings import Settings
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Table, Times

Floats = NDArray[np.float64]
Encoding = Literal["one_hot", "frequency", "hierarchical"]
Scaling = Literal["z_score", "robust", "none"]
Feature = Literal["hour", "day_of_week", "month", "elapsed_days"]

_IQR_OF_NORMAL = 1.349
"""The interquartile range of a standard normal: robust scaling agrees with the z-score on normal data."""
MOST_LABELS = 3_000
"""The covariance of more one-hot features than this would take minutes to decompose and say little."""
_CHUNK = 1 << 16


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
            if self.missing == "indicator" and any(_is_missing(column).any() for column in columns):
                fitted.append(CategoryFeatures(spec, "indicator", start, np.eye(1), np.zeros(1)))
                start += 1
            parts.extend(fitted)
        return FeatureSpace(tuple(parts), start)

    def _fit_numbers(
        self, spec: ColumnSpec, columns: Sequence[ColumnData], features: Sequence[Feature], start: int
    ) -> list[NumberFeature | CategoryFeatures]:
        names: Sequence[Feature | None] = features if isinstance(columns[0], Times) else [None]
        origin = _earliest(columns) if isinstance(columns[0], Times) else None
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
            _check_width(spec, int(seen.sum()))
            table = np.eye(len(labels))[:, seen]
            mean = counts[seen] / total if total else counts[seen]
            return [CategoryFeatures(spec, "one_hot", start, table, mean, labels)]
        return [_hierarchical(spec, labels, counts, start)]

    def _scaled(self, feature: NumberFeature, raw: Floats) -> NumberFeature:
        """The feature with its centre, scale and neutral value, from the raw numbers of all tables."""
        known = raw[~np.isnan(raw)]
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
        neutral, median = (mean - centre) * factor, float(np.median(known))
        return replace(feature, centre=centre, factor=factor, neutral=neutral, median=median)


@dataclass(frozen=True, eq=False)
class NumberFeature:
    """One numeric feature: (raw - centre) * factor; `neutral` stands in for a missing value."""

    spec: ColumnSpec
    name: Feature | None
    start: int
    origin: np.datetime64 | None = None
    shares: Floats | None = None
    labels: tuple[str, ...] = ()
    centre: float = 0.0
    factor: float = 0.0
    neutral: float = 0.0
    median: float = 0.0
    width: int = 1

    def raw(self, column: ColumnData) -> Floats:
        """The unscaled numbers, NaN where missing."""
        if self.shares is not None and isinstance(column, Labels):
            return np.where(column.codes >= 0, np.append(self.shares, 0.0)[column.codes], np.nan)
        return raw_numbers(column, self.name, self.origin)

    def values(self, column: ColumnData) -> Floats:
        """The scaled numbers, a missing one at the neutral value."""
        scaled = (self.raw(column) - self.centre) * self.factor
        return np.where(np.isnan(scaled), self.neutral, scaled)


@dataclass(frozen=True, eq=False)
class CategoryFeatures:
    """The 0/1 features of one category column: row `code` of `table`, `mean` where the value is missing.

    Where a label says nothing about a level ("North/*"), its row of `table` holds the level's mean already; `known`
    marks the entries that are 0/1 facts (None: all are). A label that the fitted tables lack has an all-zero row.
    """

    spec: ColumnSpec
    encoding: Literal["one_hot", "hierarchical", "indicator"]
    start: int
    table: Floats
    mean: Floats
    labels: tuple[str, ...] = ()
    known: Floats | None = None

    @property
    def width(self) -> int:
        """How many features the column has."""
        return int(self.table.shape[1])

    def codes(self, column: ColumnData) -> NDArray[np.int32]:
        """The row of `lookup` that each record uses."""
        if self.encoding == "indicator":
            return np.where(_is_missing(column), 0, -1).astype(np.int32)
        assert isinstance(column, Labels)  # noqa: S101 - a category is always fitted on labels
        return column.codes

    def lookup(self) -> Floats:
        """The features of every code; the last row, which code -1 finds, is the missing value's."""
        missing = np.zeros((1, self.width)) if self.encoding == "indicator" else self.mean[None, :]
        return np.vstack([self.table, missing])

    def binary(self) -> Floats:
        """Like `lookup`, with 0 for everything that is not known."""
        facts = self.table if self.known is None else self.table * self.known
        return np.vstack([facts, np.zeros((1, self.width))])


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The fitted vectorization: features in the order of the columns, and the way from a table to vectors."""

    parts: tuple[NumberFeature | CategoryFeatures, ...]
    width: int

    def __call__(self, table: Table) -> Vectors:
        """The vectors of a table's records; a label that was not there on fitting has no feature of its own."""
        numbers = [part.values(table.columns[part.spec.name]) for part in self.number_features]
        stacked = np.column_stack(numbers) if numbers else np.zeros((table.rows, 0))
        codes = tuple(part.codes(table.columns[part.spec.name]) for part in self.category_features)
        return Vectors(self, stacked, codes)

    @property
    def number_features(self) -> list[NumberFeature]:
        """The numeric features, in order."""
        return [part for part in self.parts if isinstance(part, NumberFeature)]

    @property
    def category_features(self) -> list[CategoryFeatures]:
        """The category columns, in order."""
        return [part for part in self.parts if isinstance(part, CategoryFeatures)]

    @property
    def number_places(self) -> NDArray[np.intp]:
        """Where the numeric features stand among all features."""
        return np.array([part.start for part in self.number_features], dtype=np.intp)

    @property
    def neutral(self) -> Floats:
        """The vector of a record of which nothing is known: the pooled mean of every feature."""
        vector = np.zeros(self.width)
        for part in self.parts:
            if isinstance(part, NumberFeature):
                vector[part.start] = part.neutral
            else:
                vector[part.start : part.start + part.width] = part.mean
        return vector

    def robust_centre(self, fitted_on: Sequence[Vectors]) -> Floats:
        """The median of every number over the given records, and the share of every 0/1 feature."""
        total = sum(len(vectors) for vectors in fitted_on)
        centre = np.zeros(self.width)
        if total:
            centre[self.number_places] = np.median(np.concatenate([vectors.numbers for vectors in fitted_on]), axis=0)
        for at, part in enumerate(self.category_features):
            lookup = part.lookup()
            codes = np.concatenate([vectors.codes[at] for vectors in fitted_on])
            counts = np.bincount(np.where(codes < 0, len(lookup) - 1, codes), minlength=len(lookup))
            centre[part.start : part.start + part.width] = counts @ lookup / max(1, total)
        return centre

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

    def binary(self, table: Table) -> Floats:
        """Unprojected 0/1 features: categories as they are, numbers above their pooled median, 0 where missing."""
        result = np.zeros((table.rows, self.width))
        for part in self.parts:
            column = table.columns[part.spec.name]
            if isinstance(part, NumberFeature):
                raw = part.raw(column)
                result[:, part.start] = np.where(np.isnan(raw), 0.0, raw > part.median)
            else:
                result[:, part.start : part.start + part.width] = part.binary()[part.codes(column)]
        return result


@dataclass(frozen=True, eq=False)
class Vectors:
    """The feature vectors of one table: scaled numbers, and a code into a lookup table for each category column."""

    space: FeatureSpace
    numbers: Floats
    codes: tuple[NDArray[np.int32], ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: NDArray[np.intp]) -> Vectors:
        """The vectors of some of the rows."""
        return Vectors(self.space, self.numbers[rows], tuple(codes[rows] for codes in self.codes))

    def dense(self) -> Floats:
        """The whole feature matrix."""
        matrix = np.empty((len(self), self.space.width))
        matrix[:, self.space.number_places] = self.numbers
        for part, codes in zip(self.space.category_features, self.codes, strict=True):
            matrix[:, part.start : part.start + part.width] = part.lookup()[codes]
        return matrix

    def project(self, loadings: Floats, centre: Floats) -> Floats:
        """(v - centre) times `loadings` (features x components), without the matrix of v.

        Elementwise sums only, in a fixed order: equal records get equal bits wherever they stand.
        """
        base = -(centre @ loadings)
        tables = [
            part.lookup() @ loadings[part.start : part.start + part.width] for part in self.space.category_features
        ]
        rows = loadings[self.space.number_places]
        result = np.empty((len(self), loadings.shape[1]))
        for at in _chunks(len(self)):
            part = np.tile(base, (at.stop - at.start, 1))
            for table, codes in zip(tables, self.codes, strict=True):
                part += table[codes[at]]
            for column, row in zip(self.numbers[at].T, rows, strict=True):
                part += column[:, None] * row
            result[at] = part
        return result

    def squared_norms(self, centre: Floats) -> Floats:
        """|v - centre|^2 of every record."""
        total: Floats = ((self.numbers - centre[self.space.number_places]) ** 2).sum(axis=1)
        for part, codes in zip(self.space.category_features, self.codes, strict=True):
            offset = part.lookup() - centre[part.start : part.start + part.width]
            total += (offset**2).sum(axis=1)[codes]
        return total

    def moments(self, centre: Floats, weights: Floats | None = None) -> tuple[float, Floats, Floats]:
        """Sum of weights, of u, and of u u^T over the records, where u = v - centre; weights are 1 by default.

        Numbers by products over chunks; a category's part from counts, and a pair of categories' from their
        contingency table, so that the cost does not depend on the number of labels.
        """
        space = self.space
        places = space.number_places
        sizes = [part.table.shape[0] + 1 for part in space.category_features]
        offsets = [part.lookup() - centre[part.start : part.start + part.width] for part in space.category_features]
        total, first, second = 0.0, np.zeros(space.width), np.zeros((space.width, space.width))
        counts = [np.zeros(size) for size in sizes]
        sums = [np.zeros((size, len(places))) for size in sizes]
        tables = {(a, b): np.zeros(sizes[a] * sizes[b]) for b in range(len(sizes)) for a in range(b)}
        for at in _chunks(len(self)):
            numbers = self.numbers[at] - centre[places]
            weight = np.ones(at.stop - at.start) if weights is None else weights[at]
            weighted = numbers * weight[:, None]
            total += float(weight.sum())
            first[places] += weighted.sum(axis=0)
            second[np.ix_(places, places)] += numbers.T @ weighted
            # The missing value, code -1, is counted in the last place.
            chunk = [
                np.where(codes[at] < 0, size - 1, codes[at]) for codes, size in zip(self.codes, sizes, strict=True)
            ]
            for a, codes in enumerate(chunk):
                counts[a] += np.bincount(codes, weights=weight, minlength=sizes[a])
                for place in range(len(places)):
                    sums[a][:, place] += np.bincount(codes, weights=weighted[:, place], minlength=sizes[a])
            for a, b in tables:
                joint = chunk[a].astype(np.int64) * sizes[b] + chunk[b]
                tables[a, b] += np.bincount(joint, weights=weight, minlength=sizes[a] * sizes[b])
        for a, part in enumerate(space.category_features):
            own = slice(part.start, part.start + part.width)
            first[own] = counts[a] @ offsets[a]
            second[own, own] = (offsets[a] * counts[a][:, None]).T @ offsets[a]
            cross = offsets[a].T @ sums[a]
            second[own, places] = cross
            second[places, own] = cross.T
        for (a, b), table in tables.items():
            one, other = space.category_features[a], space.category_features[b]
            block = offsets[a].T @ table.reshape(sizes[a], sizes[b]) @ offsets[b]
            second[one.start : one.start + one.width, other.start : other.start + other.width] = block
            second[other.start : other.start + other.width, one.start : one.start + one.width] = block.T
        return total, first, second


def raw_numbers(column: ColumnData, feature: Feature | None, origin: np.datetime64 | None) -> Floats:
    """A column's numbers before scaling, NaN where missing.

    A datetime feature is known only where the whole span agrees on it: "2024-05" has a month and no hour. Elapsed days
    are counted at the midpoint, from the earliest time of both tables.
    """
    if isinstance(column, Numbers):
        return column.values
    assert isinstance(column, Times)  # noqa: S101 - labels have no raw numbers
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


def _earliest(columns: Sequence[ColumnData]) -> np.datetime64:
    times = np.concatenate([column.middle() for column in columns if isinstance(column, Times)])
    known = times[~np.isnat(times)]
    return known.min() if known.size else np.datetime64(0, "us")


def _is_missing(column: ColumnData) -> NDArray[np.bool_]:
    if isinstance(column, Labels):
        return column.codes < 0
    return np.isnan(column.values) if isinstance(column, Numbers) else np.isnat(column.first)


def _hierarchical(spec: ColumnSpec, labels: tuple[str, ...], counts: Floats, start: int) -> CategoryFeatures:
    """One-hot on every level: feature (level, ancestors down to it). A label that stops early is neutral below."""
    paths = [spec.path(label) for label in labels]
    seen = [path for path, count in zip(paths, counts, strict=True) if count > 0]
    depth = max((len(path) for path in seen), default=0)
    features = [path for level in range(1, depth + 1) for path in sorted({p[:level] for p in seen if len(p) >= level})]
    _check_width(spec, len(features))
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


def _check_width(spec: ColumnSpec, width: int) -> None:
    if width > MOST_LABELS:
        raise LimitError(
            f"column '{spec.name}': {width} labels would each become a feature, and {MOST_LABELS} is the most that is "
            "projected. Set `encode: frequency` for the column, shorten its labels, or set `vectorize: false`."
        )


def _chunks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _CHUNK):
        yield slice(start, min(start + _CHUNK, rows))
