"""A block's candidates as a tree; see `kernel` for how and why.

Numba, which compiles the kernel, takes a second to load and longer to compile once per machine; so this module is
imported only if a block is large enough to be worth it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.search.copies import MANY_COPIES, Copies, find_copies
from cvpl.search.tree import kernel, rounding, tree_layout
from cvpl.search.tree.simd import LANES

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Words = NDArray[np.int32]

AT_ONCE = 4096
"""Vectors rotated, searched and scored at a time: their data stays in the cache."""
TURN_SAMPLE = 1024
"""Candidates used to estimate the directions of a block; any directions are correct, these prune well."""
CUT_ENERGY = 1e-4
"""Directions with less than this share of the candidates' squared norms in total are cut off."""


@dataclass(frozen=True, eq=False)
class Rotation:
    """The rotation of a block's space: `matrix` (k+1 x k, the last row the centre), the rotated centre, its square.

    The first `used` directions hold nearly all of the candidates' norms, and the centre.
    """

    matrix: Singles
    shift: Singles
    centre: float
    used: int

    def __call__(self, vectors: Floats) -> Singles:
        """Rotate vectors, one per column, in single precision, which `rounding` accounts for."""
        turned: Singles = self.matrix @ vectors.astype(np.float32).T
        return turned


@dataclass(frozen=True, eq=False)
class Tree:
    """The candidates of one block, laid out for the kernel."""

    vectors: Floats
    copies: Copies | None
    turn: Rotation
    bounds: Floats
    order: NDArray[np.int32]
    along: NDArray[np.int8]
    cuts: NDArray[np.int16]
    height: int
    starts: Ints
    close: Words
    rest: Words
    boxes: Words

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return (len(self.vectors) + LANES - 1) // LANES

    @property
    def coordinates(self) -> int:
        """The number of coordinates of a leaf, including padding."""
        return max(int(self.vectors.shape[1]), kernel.CLOSE)


def build_tree(candidates: Floats, *, keep_copies: bool) -> Tree:
    """Build the tree of a block's unit vectors; many equal vectors are merged unless `keep_copies`."""
    turn = block_directions(np.ascontiguousarray(candidates[:: max(1, len(candidates) // TURN_SAMPLE)]))
    behind = pairs_behind(candidates)
    whole = np.empty((len(candidates), kernel.CLOSE + 2 * behind + 2), dtype=np.int16)
    offsets, bounds = np.empty(len(candidates), dtype=np.int32), np.zeros(3)
    for at in chunks(len(candidates)):
        rounding.round_candidates(turn(candidates[at]), turn.shift, turn.used, whole[at], offsets[at], bounds)
    order, along, cuts, height = tree_layout.grow(whole)
    copies = None
    if not keep_copies and tree_layout.share_of_twins(whole, order) > MANY_COPIES:
        copies = find_copies(candidates)
        candidates, whole, offsets = candidates[copies.first], whole[copies.first], offsets[copies.first]
        order, along, cuts, height = tree_layout.grow(whole)
    leaves = (len(candidates) + LANES - 1) // LANES
    starts, nodes = tree_layout.levels_above(leaves)
    close = _align_rows(leaves * kernel.CLOSE_ROWS)
    rest = _align_rows(leaves * behind)
    boxes = _align_rows(nodes * 2 * kernel.BOX_PAIRS)
    close.reshape(leaves, -1, LANES)[-1] = 0
    rest.reshape(leaves, -1)[-1] = 0
    close.reshape(leaves, -1, LANES)[-1, 0] = kernel.NOWHERE
    tree_layout.lay_out(whole, offsets, order, close.view(np.int16), rest.view(np.int16), boxes.view(np.int16))
    tree_layout.close_boxes(starts, leaves, boxes.view(np.uint16))
    reach = np.sqrt(bounds) * (1 + 1e-5) + (0, 0, 0.01)
    return Tree(candidates, copies, turn, reach, order, along, cuts, height, starts, close, rest, boxes)


def pairs_behind(candidates: Floats) -> int:
    """The number of pairs of coordinates after the close ones."""
    return (max(0, int(candidates.shape[1]) - kernel.CLOSE) + 1) // 2


def block_directions(sample: Floats) -> Rotation:
    """The directions of a block, largest variance first, from some of its candidates."""
    width, mean = sample.shape[1], np.full(len(sample), 1 / len(sample)) @ sample
    moments = sample.T @ sample / len(sample)
    energy, basis = np.linalg.eigh(moments)
    energy, basis = energy[::-1], basis[:, ::-1]
    beyond = np.append(np.cumsum(np.maximum(energy, 0.0)[::-1])[::-1], 0.0)
    used = int(np.argmax(beyond <= CUT_ENERGY * max(beyond[0], 1e-300)))
    used = min(width, max(used, kernel.CLOSE))
    centre = mean @ basis[:, :used]
    _, turn = np.linalg.eigh(basis[:, :used].T @ moments @ basis[:, :used] - np.outer(centre, centre))
    turned = np.hstack([basis[:, :used] @ turn[:, ::-1], basis[:, used:]])
    shift = np.zeros(width)
    shift[:used] = centre @ turn[:, ::-1]
    matrix = np.vstack([turned.T, basis[:, :used] @ centre]).astype(np.float32)
    return Rotation(matrix, shift.astype(np.float32), float(centre @ centre), used)


def _align_rows(rows: int) -> Words:
    """Rows of lanes, aligned to a cache line."""
    room = np.empty((rows + 1) * LANES, dtype=np.int32)
    start = (-room.ctypes.data % (4 * LANES)) // 4
    return room[start : start + rows * LANES]


def chunks(count: int) -> Iterator[slice]:
    """The positions of `count` vectors, in pieces."""
    for start in range(0, count, AT_ONCE):
        yield slice(start, min(count, start + AT_ONCE))
