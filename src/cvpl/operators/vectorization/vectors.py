"""The feature vectors of a table and their moments, without the matrix of all features."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.operators.feature_vectors import Moments
from cvpl.operators.vectorization.features import FeatureLayout, NumberFeature
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
        """The number of records, and the sums of d and of d d^T over them, where d = u / |u|."""
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


def vectorize_table(space: FeatureLayout, table: Table) -> Vectors:
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


Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class VectorsOnDemand:
    """The same vectors as `Vectors`, to the same bits, without holding them.

    `at` is the position of each record in `table`, if the table is reordered: records of a block are then adjacent and
    read at once.
    """

    space: FeatureLayout
    table: Table
    at: NDArray[np.signedinteger] | None = None

    def __len__(self) -> int:
        return self.table.rows

    def take(self, rows: Rows) -> Vectors:
        """The vectors of some of the rows, in memory."""
        return vectorize_table(self.space, self.table.take(rows if self.at is None else self.at[rows]))

    def pieces(self) -> Iterator[tuple[slice, Vectors]]:
        """The records in pieces, with their positions."""
        for at in chunks(len(self)):
            yield at, self.take(np.arange(at.start, at.stop))

    def number(self, feature: int) -> Floats:
        """One of the numeric features, for all records."""
        part = self.space.number_features[feature]
        values = part.values(self.table.columns[part.spec.name])
        return values if self.at is None else values[self.at]

    def code(self, feature: int) -> NDArray[np.int32]:
        """The codes of one of the category columns, for all records."""
        part = self.space.category_features[feature]
        codes = part.codes(self.table.columns[part.spec.name])
        return codes if self.at is None else codes[self.at]

    def dense(self) -> Floats:
        """The whole feature matrix."""
        return np.vstack([piece.dense() for _, piece in self.pieces()])

    def project(self, loadings: Floats, centre: Floats, rows: Rows | None = None) -> Floats:
        """(v - centre) times `loadings` for all records or some."""
        if rows is not None:
            return self.take(rows).project(loadings, centre)
        result = np.empty((len(self), loadings.shape[1]))
        for at, piece in self.pieces():
            result[at] = piece.project(loadings, centre)
        return result

    def moments(self, centre: Floats) -> Moments:
        """The number of records, and the sums of u and of u u^T over them, where u = v - centre."""
        return moments(self, centre)

    def direction_moments(self, centre: Floats) -> Moments:
        """The number of records, and the sums of d and of d d^T over them, where d = u / |u|."""
        return direction_moments(self, centre)

    def robust_centre(self, others: Sequence[Any]) -> Floats:
        """The median of every number and the share of every 0/1 feature, over these records and those of `others`."""
        return robust_centre([self, *others])

    def arranged(self, blocks: Rows) -> VectorsOnDemand:
        """The same vectors, with their table rewritten in the order of the records' blocks."""
        order = np.argsort(blocks, kind="stable")
        width = np.int32 if len(order) <= np.iinfo(np.int32).max else np.int64
        at: NDArray[np.signedinteger] = np.empty(len(order), dtype=width)
        at[order] = np.arange(len(order), dtype=width)
        return replace(self, table=self.table.kept(order), at=at)


AnyVectors = Vectors | VectorsOnDemand


@dataclass(frozen=True, eq=False)
class FeatureSpace(FeatureLayout):
    """The fitted vectorization: features in the order of the columns, and the map from a table to vectors."""

    def __call__(self, table: Table) -> AnyVectors:
        """The vectors of a table's records; for a table on disk, computed on request."""
        return self.of(table) if table.place.in_memory else VectorsOnDemand(self, table)

    def of(self, table: Table) -> Vectors:
        """The vectors of a table's records; a label not seen in fitting has no feature."""
        return vectorize_table(self, table)

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


COMPILED_CELLS = 20_000_000
"""From this number of records times pairs of columns on, compiled loops repay loading the compiler."""
CHUNK = 1 << 16
"""Records per piece, in memory and on disk, so that sums have the same bits."""


class Piece(Protocol):
    """The vectors of some records, in memory: their numbers, and a code for each category column."""

    @property
    def numbers(self) -> Floats:
        """The scaled numbers, one row per record."""

    @property
    def codes(self) -> tuple[NDArray[np.int32], ...]:
        """The codes of each category column."""

    def squared_norms(self, centre: Floats) -> Floats:
        """|v - centre|^2 of every record."""


class ChunkedVectors(Protocol):
    """Vectors that can be read in pieces, or feature by feature."""

    def __len__(self) -> int: ...

    @property
    def space(self) -> FeatureLayout:
        """The layout of the features."""

    def pieces(self) -> Iterator[tuple[slice, Piece]]:
        """The records in pieces of `CHUNK`, with their positions."""

    def number(self, feature: int) -> Floats:
        """One of the numeric features, for all records."""

    def code(self, feature: int) -> NDArray[np.int32]:
        """The codes of one of the category columns, for all records."""


def chunks(rows: int, size: int = CHUNK) -> Iterator[slice]:
    """The positions of all rows, `size` at a time."""
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def moments(vectors: ChunkedVectors, centre: Floats, weigh: Callable[[Piece], Floats] | None = None) -> Moments:
    """Sum of weights, of u, and of u u^T over the records, where u = v - centre; without `weigh` each record weighs 1.

    Numbers use products over pieces; a category uses counts, and a pair of categories their contingency table, so that
    the cost does not depend on the number of labels.
    """
    space = vectors.space
    places, categories = space.number_places, space.category_features
    sizes = [part.table.shape[0] + 1 for part in categories]
    offsets = [part.lookup() - centre[part.start : part.start + part.width] for part in categories]
    total, first, second = 0.0, np.zeros(space.width), np.zeros((space.width, space.width))
    counts = [np.zeros(size) for size in sizes]
    sums = [np.zeros((size, len(places))) for size in sizes]
    pairs = [(a, b) for b in range(len(sizes)) for a in range(b)]
    tables = [np.zeros(sizes[a] * sizes[b]) for a, b in pairs]
    for at, piece in vectors.pieces():
        numbers = piece.numbers - centre[places]
        weight = np.ones(at.stop - at.start) if weigh is None else weigh(piece)
        weighted = numbers * weight[:, None]
        total += float(weight.sum())
        first[places] += weighted.sum(axis=0)
        second[np.ix_(places, places)] += numbers.T @ weighted
        # Missing values, code -1, are counted in the last entry.
        coded = [np.where(codes < 0, size - 1, codes) for codes, size in zip(piece.codes, sizes, strict=True)]
        found = count_categories(coded, sizes, weight, weighted, pairs)
        for known, added in zip((counts, sums, tables), found, strict=True):
            for mine, more in zip(known, added, strict=True):
                np.add(mine, more, out=mine)
    owned = [slice(part.start, part.start + part.width) for part in categories]
    for a, own in enumerate(owned):
        first[own] = counts[a] @ offsets[a]
        second[own, own] = (offsets[a] * counts[a][:, None]).T @ offsets[a]
        cross = offsets[a].T @ sums[a]
        second[own, places] = cross
        second[places, own] = cross.T
    for (a, b), table in zip(pairs, tables, strict=True):
        block = offsets[a].T @ table.reshape(sizes[a], sizes[b]) @ offsets[b]
        second[owned[a], owned[b]] = block
        second[owned[b], owned[a]] = block.T
    return Moments(total, first, second)


Counted = tuple[Sequence[NDArray[Any]], Sequence[Floats], Sequence[NDArray[Any]]]


def count_categories(
    coded: Sequence[NDArray[np.int32]],
    sizes: Sequence[int],
    weight: Floats,
    weighted: Floats,
    pairs: Sequence[tuple[int, int]],
) -> Counted:
    """The weight of every category, its weighted sums of the numbers, and the weight of every pair of categories.

    Sums are over the records in their order, compiled or not.
    """
    if not coded:
        return [], [], []
    if worth_it(len(weight) * (len(pairs) + len(coded) * weighted.shape[1]), COMPILED_CELLS):
        return _compiled_counts(coded, sizes, weight, weighted, pairs)
    counts: list[Floats] = [
        np.bincount(codes, weights=weight, minlength=size).astype(np.float64, copy=False)
        for codes, size in zip(coded, sizes, strict=True)
    ]
    sums = [np.zeros((size, weighted.shape[1])) for size in sizes]
    for codes, size, summed in zip(coded, sizes, sums, strict=True):
        for place in range(weighted.shape[1]):
            summed[:, place] = np.bincount(codes, weights=weighted[:, place], minlength=size)
    tables: list[Floats] = []
    for a, b in pairs:
        joint = coded[a].astype(np.int64) * sizes[b] + coded[b]
        found = np.bincount(joint, weights=weight, minlength=sizes[a] * sizes[b])
        tables.append(found.astype(np.float64, copy=False))
    return counts, sums, tables


def _compiled_counts(
    coded: Sequence[NDArray[np.int32]],
    sizes: Sequence[int],
    weight: Floats,
    weighted: Floats,
    pairs: Sequence[tuple[int, int]],
) -> Counted:
    """The products in compiled loops, for many pairs of columns."""
    from cvpl.operators.compiled import sum_by_code, sum_by_codes  # noqa: PLC0415 - slow to load

    codes, many = np.stack(coded).astype(np.int64), np.array(sizes, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(many)])
    lengths = np.array([sizes[a] * sizes[b] for a, b in pairs], dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    sums, tables = np.zeros((int(starts[-1]), 1 + weighted.shape[1])), np.zeros(int(ends[-1]))
    sum_by_code(sums, codes, starts, np.column_stack([weight, weighted]))
    sum_by_codes(tables, codes, many, ends, weight)
    own = [slice(starts[at], starts[at + 1]) for at in range(len(sizes))]
    parts = [tables[ends[at] : ends[at + 1]] for at in range(len(pairs))]
    return [sums[part, 0] for part in own], [sums[part, 1:] for part in own], parts


def direction_moments(vectors: ChunkedVectors, centre: Floats) -> Moments:
    """The moments with the weight 1 / |u|^2, so that only the direction counts; a record at the centre has weight 0."""
    return moments(vectors, centre, lambda piece: _inverse(piece.squared_norms(centre)))


def _inverse(squared: Floats) -> Floats:
    return np.divide(1.0, squared, out=np.zeros_like(squared), where=squared > 1e-24)


def robust_centre(tables: Sequence[ChunkedVectors]) -> Floats:
    """The median of every number over the records of some tables, and the share of every 0/1 feature."""
    space = tables[0].space
    total = sum(len(vectors) for vectors in tables)
    centre = np.zeros(space.width)
    for at, place in enumerate(space.number_places if total else ()):
        centre[place] = np.median(np.concatenate([vectors.number(at) for vectors in tables]))
    for at, part in enumerate(space.category_features):
        lookup = part.lookup()
        codes = np.concatenate([vectors.code(at) for vectors in tables])
        counts = np.bincount(np.where(codes < 0, len(lookup) - 1, codes), minlength=len(lookup))
        centre[part.start : part.start + part.width] = counts @ lookup / max(1, total)
    return centre
