"""A block's vectors as integers, and the resulting error of a score; see `kernel` for their use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cvpl.search.tree.kernel import BOX_PAIRS, CLOSE, CLOSE_ROWS, FRONT, UNIT
from cvpl.search.tree.simd import LANES

Array = Any
"""Numba compiles for the given arrays; their types are in the docstrings."""

SIGN = np.int16(-(1 << 15))
"""Flipping this bit maps signed integers to unsigned ones in the same order."""

_INT16_MAX = (1 << 15) - 1
_SHORTEST = np.float32(0.25)  # a lower bound for the length of a query's used part
_ONE_STEP = 2.0**-24
_LOOSE = {"reassoc", "contract", "nsz"}
"""For loops that only prepare the filter: sums may be in any order, which `doubt` accounts for."""


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _round(row: Array, moved: Array, into: Array) -> None:
    """Round one coordinate of some vectors to integers; add the squared rounding errors to `moved`."""
    for at in range(len(row)):
        value = row[at] * np.float32(UNIT)
        near = min(max(np.rint(value), np.float32(-_INT16_MAX)), np.float32(_INT16_MAX))
        into[at] = np.int16(near)
        moved[at] += (value - near) * (value - near)


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _add_squares(row: Array, total: Array) -> None:
    for at in range(len(row)):
        total[at] += row[at] * row[at]


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _norms(close: Array, front: Array) -> Any:
    """The norms after CLOSE, rounded up, and after FRONT, from their squares."""
    close_norm, front_norm = np.empty(len(close), np.int16), np.empty(len(close), np.int16)
    for at in range(len(close)):
        close_norm[at] = np.int16(np.sqrt(close[at]) * np.float32(UNIT) + np.float32(1.0))
        front_norm[at] = np.int16(np.rint(np.sqrt(front[at] + close[at]) * np.float32(UNIT)))
    return close_norm, front_norm


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def round_candidates(turned: Array, shift: Array, used: int, whole: Array, offsets: Array, bounds: Array) -> None:
    """Round the rotated candidates to integers, coordinate by coordinate.

    `turned` is ((coordinates + 1) x candidates), its last row <y, centre>. A row of `whole`, int16, is the coordinates
    of a candidate, padded with zeros to full pairs, then the norms after CLOSE, rounded up, and after FRONT. `offsets`
    are <y, centre>. `bounds` is raised to the squares of the longest cut-off part, of the longest candidate, and of the
    largest rounding error.
    """
    coordinates, count, wide = len(turned) - 1, turned.shape[1], whole.shape[1] - 2
    rounded = np.zeros((wide, count + LANES), np.int16)  # padding keeps rows out of the same cache sets
    row, sums = np.empty(count, np.float32), np.zeros((5, count), np.float32)
    cut, close, front, first, moved = sums[0], sums[1], sums[2], sums[3], sums[4]
    for d in range(coordinates):
        for at in range(count):
            row[at] = turned[d, at] - shift[d]
        _add_squares(row, cut if d >= used else close if d >= CLOSE else front if d >= FRONT else first)
        _round(row, moved, rounded[d])
    close_norm, front_norm = _norms(close, front)
    for at in range(count):
        for d in range(wide):
            whole[at, d] = rounded[d, at]
        whole[at, wide], whole[at, wide + 1] = close_norm[at], front_norm[at]
    for at in range(count):
        offsets[at] = np.int32(np.rint(turned[coordinates, at] * float(UNIT) * UNIT))
    for at in range(count):
        length = first[at] + front[at] + close[at] + cut[at]
        bounds[0], bounds[1], bounds[2] = max(bounds[0], cut[at]), max(bounds[1], length), max(bounds[2], moved[at])


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def round_queries(
    turned: Array,
    shift: Array,
    centre: float,
    used: int,
    longest_cut: float,
    longest: float,
    moved: float,
    tie: float,
    queries: Array,
    facts: Array,
) -> None:
    """Round the rotated queries, stretched to unit length, to integers.

    A row of `queries`, int16, is the first CLOSE coordinates and the norm of the rest, the last of these coordinates
    again and a zero, the other coordinates, and the first FRONT coordinates and the norm of the rest, these last ten
    unsigned. A row of `facts` is doubt, tie, slack and |x|² + 1 - 2 (the part of the score that is the same for all
    candidates - slack), in UNIT². `longest_cut`, `longest` and `moved` bound the candidates.
    """
    coordinates, count, width = len(turned) - 1, turned.shape[1], queries.shape[1]
    behind, box = 2 * CLOSE_ROWS, width - 2 * BOX_PAIRS
    wide = CLOSE + box - behind
    rounded = np.zeros((wide, count + LANES), np.int16)
    row, sums = np.empty(count, np.float32), np.zeros((9, count), np.float32)
    length, offset, cut, scale = sums[0], sums[1], sums[2], sums[3]
    close, front, first, own_moved, cut_moved = sums[4], sums[5], sums[6], sums[7], sums[8]
    for d in range(coordinates):
        for at in range(count):
            row[at] = turned[d, at]
            offset[at] += row[at] * shift[d]
        _add_squares(row, length if d < used else cut)
    for at in range(count):
        scale[at] = np.float32(1.0) / max(np.sqrt(length[at]), _SHORTEST)
    for d in range(coordinates):
        for at in range(count):
            row[at] = np.float32(turned[d, at]) * scale[at] - shift[d]
        if d < used:
            _add_squares(row, close if d >= CLOSE else front if d >= FRONT else first)
        _round(row, own_moved if d < used else cut_moved, rounded[d])
    text = np.empty((4, count), np.int64)  # computed column by column, and written row by row below
    doubt, tied, slack, base = text[0], text[1], text[2], text[3]
    square = float(UNIT) * UNIT
    turning = np.sqrt(coordinates) * (coordinates + 3) * _ONE_STEP  # the largest error of a rotated unit vector
    for at in range(count):
        lost, stretched = float(np.sqrt(cut[at]) * scale[at]), float(np.sqrt(length[at]) * scale[at])
        blur = (np.sqrt(own_moved[at]) + 0.1) * (UNIT * longest + moved)
        blur += (np.sqrt(cut_moved[at]) + 0.1) * (UNIT * longest_cut + moved)
        blur += UNIT * (np.sqrt(first[at] + front[at] + close[at]) + lost) * moved + 1.0
        step = 2 * (coordinates + 4) * _ONE_STEP * (2.0 + stretched + lost) * square
        step += 2 * turning * (scale[at] * (longest + 2.0) + stretched + lost + 3.0) * square
        loose = lost * longest_cut * square
        fixed = (offset[at] * scale[at] - centre) * square
        doubt[at], tied[at] = int(2.0 * blur + step) + 1, int(tie * scale[at] * square) + 1
        slack[at] = int(loose) + 1
        base[at] = int((stretched * stretched + 1.0) * square - 2.0 * (fixed - loose - step)) + 1
    close_norm, front_norm = _norms(close, front)
    for at in range(count):
        for d in range(FRONT):
            queries[at, d] = rounded[d, at]
            queries[at, box + d] = rounded[d, at] ^ SIGN
        for d in range(FRONT, CLOSE):
            queries[at, d] = rounded[d, at]
        for d in range(CLOSE, wide):
            queries[at, d - CLOSE + behind] = rounded[d, at]
        queries[at, CLOSE], queries[at, width - 1] = close_norm[at], front_norm[at] ^ SIGN
        queries[at, behind - 2], queries[at, behind - 1] = rounded[CLOSE - 1, at], np.int16(0)
        facts[at, 0], facts[at, 1], facts[at, 2], facts[at, 3] = doubt[at], tied[at], slack[at], base[at]
