"""The feature vectors of a table, stored without the feature matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.operators.feature_vectors import Moments
from cvpl.operators.vectorization.layout import FeatureLayout
from cvpl.operators.vectorization.moments import chunks, direction_moments, moments, robust_centre
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]

_PROJECTED = 1 << 11
"""Records projected at a time: their vectors stay in the cache until they are complete."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """The feature vectors of one table: scaled numbers, and a code into a lookup table for each category column."""

    space: FeatureLayout
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

        Elementwise sums only, in a fixed order: equal records get equal bits in any position, and a record at the
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

    def moments(self, centre: Floats) -> Moments:
        """The number of records, and the sums of u and of u u^T over them, where u = v - centre."""
        return moments(self, centre)

    def direction_moments(self, centre: Floats) -> Moments:
        """The same for the directions u / |u|."""
        return direction_moments(self, centre)

    def robust_centre(self, others: Sequence[Any]) -> Floats:
        """The median of every number and the share of every 0/1 feature, over these records and those of `others`."""
        return robust_centre([self, *others])

    def arranged(self, blocks: NDArray[np.intp]) -> Vectors:
        """The same vectors, arranged so that a block is read at once; in memory nothing needs to change."""
        return self

    def pieces(self) -> Iterator[tuple[slice, Vectors]]:
        """The records in pieces, with their positions."""
        for at in chunks(len(self)):
            yield at, Vectors(self.space, self.numbers[at], tuple(codes[at] for codes in self.codes))


def vectorized(space: FeatureLayout, table: Table) -> Vectors:
    """The vectors of a table's records; a label not seen in fitting has no feature."""
    numbers = [part.values(table.columns[part.spec.name]) for part in space.number_features]
    stacked = np.column_stack(numbers) if numbers else np.zeros((table.rows, 0))
    codes = tuple(part.codes(table.columns[part.spec.name]) for part in space.category_features)
    return Vectors(space, stacked, codes)


Loop = Callable[..., None]


def _loops(count: int) -> tuple[Loop, Loop]:
    """The two loops of a projection, compiled if there are many records."""
    if worth_it(count):
        from cvpl.operators import compiled  # noqa: PLC0415 - slow to load

        return compiled.add_looked_up, compiled.add_scaled
    return add_table_rows, add_scaled_numbers


def add_table_rows(total: Floats, table: Floats, codes: NDArray[np.int32], rows: NDArray[np.intp]) -> None:
    """Add the rows of a table that the codes name."""
    total += table[codes[rows]]


def add_scaled_numbers(total: Floats, numbers: Floats, middle: float, loadings: Floats, rows: NDArray[np.intp]) -> None:
    """Add centred numbers times their loadings."""
    total += (numbers[rows] - middle)[:, None] * loadings
