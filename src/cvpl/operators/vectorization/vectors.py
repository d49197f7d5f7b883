"""Vectors: the records of a table in the space of the fitted features, without the matrix of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.operators.vectorization.features import CategoryFeatures, NumberFeature
from cvpl.operators.vectorization.moments import chunks, moments
from cvpl.operators.vectorization.on_demand import VectorsOnDemand
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]

_PROJECTED = 1 << 11
"""Records that are projected at a time: their vectors stay in the cache until they are whole."""


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The fitted vectorization: features in the order of the columns, and the way from a table to vectors."""

    parts: tuple[NumberFeature | CategoryFeatures, ...]
    width: int

    def __call__(self, table: Table) -> AnyVectors:
        """The vectors of a table's records; of a table on disk, each when it is asked for."""
        return self.of(table) if table.place.in_memory else VectorsOnDemand(self, table)

    def of(self, table: Table) -> Vectors:
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

    def robust_centre(self, fitted_on: Sequence[AnyVectors]) -> Floats:
        """The median of every number over the given records, and the share of every 0/1 feature."""
        total = sum(len(vectors) for vectors in fitted_on)
        centre = np.zeros(self.width)
        for at, place in enumerate(self.number_places if total else ()):
            centre[place] = np.median(np.concatenate([vectors.number(at) for vectors in fitted_on]))
        for at, part in enumerate(self.category_features):
            lookup = part.lookup()
            codes = np.concatenate([vectors.code(at) for vectors in fitted_on])
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

    def number(self, feature: int) -> Floats:
        """One of the numeric features, for all records."""
        return self.numbers[:, feature]

    def code(self, feature: int) -> NDArray[np.int32]:
        """The codes of one of the category columns, for all records."""
        return self.codes[feature]

    def dense(self) -> Floats:
        """The whole feature matrix."""
        matrix = np.empty((len(self), self.space.width))
        matrix[:, self.space.number_places] = self.numbers
        for part, codes in zip(self.space.category_features, self.codes, strict=True):
            matrix[:, part.start : part.start + part.width] = part.lookup()[codes]
        return matrix

    def project(self, loadings: Floats, centre: Floats, rows: NDArray[np.intp] | None = None) -> Floats:
        """(v - centre) times `loadings` (features x components) for all records or some, without the matrix of v.

        Elementwise sums only, in a fixed order: equal records get equal bits wherever they stand, and a record at the
        centre is exactly zero.
        """
        tables = []
        for part in self.space.category_features:
            own = slice(part.start, part.start + part.width)
            tables.append(np.ascontiguousarray((part.lookup() - centre[own]) @ loadings[own]))
        places = self.space.number_places
        count = len(self) if rows is None else len(rows)
        result = np.zeros((count, loadings.shape[1]))
        add_looked_up, add_scaled = _loops(count)
        for at in chunks(count, _PROJECTED):
            members = np.arange(at.start, at.stop) if rows is None else rows[at]
            total = result[at]
            for table, codes in zip(tables, self.codes, strict=True):
                add_looked_up(total, table, codes, members)
            for numbers, middle, row in zip(self.numbers.T, centre[places], loadings[places], strict=True):
                add_scaled(total, numbers, middle, row, members)
        return result

    def squared_norms(self, centre: Floats) -> Floats:
        """|v - centre|^2 of every record."""
        total: Floats = ((self.numbers - centre[self.space.number_places]) ** 2).sum(axis=1)
        for part, codes in zip(self.space.category_features, self.codes, strict=True):
            offset = part.lookup() - centre[part.start : part.start + part.width]
            total += (offset**2).sum(axis=1)[codes]
        return total

    def moments(self, centre: Floats, weights: Floats | None = None) -> tuple[float, Floats, Floats]:
        """Sum of weights, of u, and of u u^T over the records, where u = v - centre; weights are 1 by default."""
        return moments(self, centre, weights)

    def pieces(self) -> Iterator[tuple[slice, Vectors]]:
        """The records some at a time, with their places."""
        for at in chunks(len(self)):
            yield at, Vectors(self.space, self.numbers[at], tuple(codes[at] for codes in self.codes))


AnyVectors = Vectors | VectorsOnDemand

Loop = Callable[..., None]


def _loops(count: int) -> tuple[Loop, Loop]:
    """The two loops of a projection, compiled where there are many records."""
    if worth_it(count):
        from cvpl.operators import compiled  # noqa: PLC0415 - slow to load

        return compiled.add_looked_up, compiled.add_scaled
    return _add_looked_up, _add_scaled


def _add_looked_up(total: Floats, table: Floats, codes: NDArray[np.int32], rows: NDArray[np.intp]) -> None:
    total += table[codes[rows]]


def _add_scaled(total: Floats, numbers: Floats, middle: float, loadings: Floats, rows: NDArray[np.intp]) -> None:
    total += (numbers[rows] - middle)[:, None] * loadings
