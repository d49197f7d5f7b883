"""The moments of feature vectors, from sums and counts instead of the matrix of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cvpl.operators.vectorization.vectors import FeatureSpace, Vectors

Floats = NDArray[np.float64]

CHUNK = 1 << 16
"""Records of a piece, wherever the vectors are kept: sums then come to the same bits."""


class ChunkedVectors(Protocol):
    """Vectors that can be gone through some records at a time."""

    @property
    def space(self) -> FeatureSpace:
        """What the features are."""

    def pieces(self) -> Iterator[tuple[slice, Vectors]]:
        """So many records as `CHUNK` says at a time, with their places."""


def chunks(rows: int, size: int = CHUNK) -> Iterator[slice]:
    """The places of all rows, so many at a time."""
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def moments(vectors: ChunkedVectors, centre: Floats, weights: Floats | None = None) -> tuple[float, Floats, Floats]:
    """Sum of weights, of u, and of u u^T over the records, where u = v - centre; weights are 1 by default.

    Numbers by products over pieces; a category's part from counts, and a pair of categories' from their contingency
    table, so that the cost does not depend on the number of labels.
    """
    space = vectors.space
    places = space.number_places
    sizes = [part.table.shape[0] + 1 for part in space.category_features]
    offsets = [part.lookup() - centre[part.start : part.start + part.width] for part in space.category_features]
    total, first, second = 0.0, np.zeros(space.width), np.zeros((space.width, space.width))
    counts = [np.zeros(size) for size in sizes]
    sums = [np.zeros((size, len(places))) for size in sizes]
    tables = {(a, b): np.zeros(sizes[a] * sizes[b]) for b in range(len(sizes)) for a in range(b)}
    for at, piece in vectors.pieces():
        numbers = piece.numbers - centre[places]
        weight = np.ones(at.stop - at.start) if weights is None else weights[at]
        weighted = numbers * weight[:, None]
        total += float(weight.sum())
        first[places] += weighted.sum(axis=0)
        second[np.ix_(places, places)] += numbers.T @ weighted
        # The missing value, code -1, is counted in the last place.
        coded = [np.where(codes < 0, size - 1, codes) for codes, size in zip(piece.codes, sizes, strict=True)]
        for a, codes in enumerate(coded):
            counts[a] += np.bincount(codes, weights=weight, minlength=sizes[a])
            for place in range(len(places)):
                sums[a][:, place] += np.bincount(codes, weights=weighted[:, place], minlength=sizes[a])
        for a, b in tables:
            joint = coded[a].astype(np.int64) * sizes[b] + coded[b]
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
