"""The moments and the centre of feature vectors, from sums and counts instead of the whole matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.operators.feature_vectors import Moments
from cvpl.operators.vectorization.layout import FeatureLayout

Floats = NDArray[np.float64]

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
    """The same in compiled loops, for many pairs of columns."""
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
