"""The candidate pairs of an attack in chunks, never all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import ScoreSource
from cvpl.search.blocks import Group, Partition, groups, layouts
from cvpl.search.machine import Budget
from cvpl.search.pairs import candidates_only, list_pairs

Ints = NDArray[np.int64]

LISTED = 1 << 17
"""The approximate number of pairs per chunk: derived arrays stay in the cache."""


def listed_pairs(
    source: ScoreSource, partitions: Sequence[Partition], budget: Budget, most: int = LISTED
) -> Iterator[tuple[Group, Ints, Ints]]:
    """Every pair that shares a block in any partition, once: a group, and positions of queries and candidates in it.

    The pairs of one query within a chunk are sorted by candidate. A row of a block with more pairs than `most` is
    listed whole.
    """
    for number, partition in enumerate(partitions):
        parts = layouts(partition, partitions[:number])
        for group in (group for blocks in parts for group in groups(blocks, source, budget)):
            for rectangles in _bounded(group.rectangles, most):
                query, candidate = list_pairs(rectangles)
                if group.apart:
                    keep = candidates_only(group, query, candidate)
                    query, candidate = query[keep], candidate[keep]
                yield group, query, candidate


def _bounded(rectangles: Ints, most: int) -> Iterator[Ints]:
    """The rectangles in lots of about `most` pairs; large ones are split by their queries."""
    heights, widths = rectangles[:, 1] - rectangles[:, 0], rectangles[:, 3] - rectangles[:, 2]
    high = np.maximum(1, most // np.maximum(1, widths))
    pieces = -(-heights // high)
    part = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    cut = np.repeat(rectangles, pieces, axis=0)
    high = np.repeat(high, pieces)
    cut[:, 0] += part * high
    cut[:, 1] = np.minimum(cut[:, 1], cut[:, 0] + high)
    pairs = (cut[:, 1] - cut[:, 0]) * (cut[:, 3] - cut[:, 2])
    lot = np.cumsum(pairs) // most
    yield from (piece for piece in np.split(cut, np.flatnonzero(np.diff(lot)) + 1) if len(piece))
