"""Laying out a block's candidates and its queries for the kernel, which tells what they are laid out for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cvpl.search.kernel import BOX_ROWS, CLOSE, CLOSE_ROWS, FRONT
from cvpl.search.lanes import LANES

Array = Any
"""Numba compiles for the arrays it is given; their types stand in the docstrings."""

_FAR = np.float32(1e6)
_SAMPLED = 16
_PICKED = 9
_ONE_STEP = 2.0**-24
_LOOSE = {"reassoc", "contract", "nsz"}
"""For loops that only prepare the filter: sums may be taken in any order, which `doubt` allows for."""


@njit(nogil=True, cache=True)
def _part(keys: Array, order: Array, first: int, last: int, pivot: float, with_equal: bool) -> int:
    """Bring the keys below the pivot (or equal to it) to the front; where they end. No branch depends on a key."""
    end = first
    for at in range(first, last):
        key, row = keys[at], order[at]
        keys[at], order[at] = keys[end], order[end]
        keys[end], order[end] = key, row
        end += int(key <= pivot) if with_equal else int(key < pivot)
    return end


@njit(nogil=True, cache=True)
def _select(keys: Array, order: Array, first: int, last: int, place: int) -> None:
    """Reorder keys[first:last], and `order` with it, so that `place` holds what sorting would put there."""
    picked = np.empty(_PICKED, np.float32)
    while last - first > 1:
        step = (last - first) / _PICKED
        for i in range(_PICKED):
            key = keys[first + int(i * step)]
            j = i
            while j > 0 and picked[j - 1] > key:
                picked[j] = picked[j - 1]
                j -= 1
            picked[j] = key
        pivot = picked[((place - first) * _PICKED) // (last - first)]
        end = _part(keys, order, first, last, pivot, False)
        if place < end:
            last = end
            continue
        first = _part(keys, order, end, last, pivot, True)
        if place < first:
            return


@njit(nogil=True, cache=True)
def grow(points: Array) -> Array:
    """The candidates in the order of the tree, and the cuts that lead a query to its leaf.

    The first FRONT columns of `points` (as in `lay_out`) are cut. Every leaf but the last is full.
    The cut of node i on level l, which spans 2^l leaves, stands at place 2^(height - l) + i.
    """
    count, coordinates = len(points), min(FRONT, points.shape[1] - 1)
    leaves = (count + LANES - 1) // LANES
    height = 0
    while (1 << height) < leaves:
        height += 1
    order = np.arange(count).astype(np.int32)
    keys = np.empty(count, np.float32)
    along = np.zeros(1 << height, np.int8)
    cuts = np.zeros(1 << height, np.float32)
    for level in range(height, 0, -1):
        for node in range((leaves + (1 << level) - 1) >> level):
            middle = (node << level) + (1 << (level - 1))
            if middle >= leaves:
                continue
            first, last = (node << level) * LANES, min(min((node + 1) << level, leaves) * LANES, count)
            step = max(1, (last - first) // _SAMPLED)
            best, spread = 0, np.float32(-1.0)
            for coordinate in range(coordinates):
                total, squares, seen = np.float32(0.0), np.float32(0.0), 0
                for place in range(first, last, step):
                    value = points[order[place], coordinate]
                    total += value
                    squares += value * value
                    seen += 1
                if squares - total * total / seen > spread:
                    best, spread = coordinate, squares - total * total / seen
            for place in range(first, last):
                keys[place] = points[order[place], best]
            _select(keys, order, first, last, middle * LANES)
            at = (1 << (height - level)) + node
            along[at] = best
            cuts[at] = keys[middle * LANES]
    return order, along, cuts, height


@njit(nogil=True, cache=True)
def find_homes(queries: Array, along: Array, cuts: Array, height: int, leaves: int) -> Array:
    """The queries sorted by the leaf that each would have gone to, and those leaves."""
    count = len(queries)
    home = np.empty(count, np.int32)
    starts = np.zeros(leaves + 1, np.int64)
    for query in range(count):
        node = 0
        for level in range(height, 0, -1):
            right = 0
            if (node << level) + (1 << (level - 1)) < leaves:
                at = (1 << (height - level)) + node
                right = int(queries[query, along[at]] >= cuts[at])
            node = 2 * node + right
        home[query] = node
        starts[node + 1] += 1
    for leaf in range(leaves):
        starts[leaf + 1] += starts[leaf]
    order, homes = np.empty(count, np.int64), np.empty(count, np.int32)
    for query in range(count):
        place = starts[home[query]]
        order[place] = query
        homes[place] = home[query]
        starts[home[query]] = place + 1
    return order, homes


@njit(nogil=True, cache=True)
def share_of_twins(points: Array, order: Array) -> float:
    """The share of the candidates in some of the leaves that equal an earlier one of their leaf."""
    seen, twins = 0, 0
    leaves = len(order) // LANES
    for leaf in range(0, leaves, max(1, leaves // 256)):
        for lane in range(LANES):
            seen += 1
            one = order[leaf * LANES + lane]
            for earlier in range(lane):
                other = order[leaf * LANES + earlier]
                equal = True
                for d in range(points.shape[1]):
                    if points[one, d] != points[other, d]:
                        equal = False
                        break
                if equal:
                    twins += 1
                    break
    return twins / max(1, seen)


@njit(nogil=True, cache=True)
def levels_above(leaves: int) -> Array:
    """Where each level's nodes begin in the arrays of boxes, level 0 first, and how many nodes there are."""
    depth, level = 1, (leaves + LANES - 1) // LANES
    while level > 1:
        level = (level + LANES - 1) // LANES
        depth += 1
    starts = np.zeros(depth, np.int64)
    nodes, level = 0, leaves
    for above in range(depth):
        level = (level + LANES - 1) // LANES
        starts[above] = nodes
        nodes += level
    return starts, nodes


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def lay_out(points: Array, order: Array, used: int, close: Array, rest: Array, low: Array, high: Array) -> float:
    """Put the candidates, in the order of the tree, into their leaves and boxes.

    `points` is (candidates x (coordinates + 1)), float32, the last column <y, centre>. Returns the longest part that is
    cut off.
    """
    count, coordinates = len(points), points.shape[1] - 1
    leaves = (count + LANES - 1) // LANES
    behind = len(rest) // leaves
    longest = np.float32(0.0)
    close_norms, front_norms = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    cut_norms = np.empty(LANES, np.float32)
    for leaf in range(leaves):
        first, here = leaf * LANES, min(LANES, count - leaf * LANES)
        box = (leaf // LANES) * BOX_ROWS * LANES + leaf % LANES
        at = leaf * CLOSE_ROWS * LANES
        close_norms[:] = front_norms[:] = cut_norms[:] = np.float32(0.0)
        for lane in range(here):
            close[at + lane] = points[order[first + lane], coordinates]
        for d in range(coordinates):
            place = at + (d + 1) * LANES if d < CLOSE else leaf * behind + (d - CLOSE) * LANES
            least, most = _FAR, -_FAR
            for lane in range(here):
                value = points[order[first + lane], d]
                if d < CLOSE:
                    close[place + lane] = value
                else:
                    rest[place + lane] = value
                least, most = min(least, value), max(most, value)
                square = value * value
                if d >= used:
                    cut_norms[lane] += square
                elif d >= FRONT:
                    front_norms[lane] += square
                    if d >= CLOSE:
                        close_norms[lane] += square
            if d < FRONT:
                low[box + d * LANES], high[box + d * LANES] = least, most
        for d in range(coordinates, FRONT):
            low[box + d * LANES] = high[box + d * LANES] = np.float32(0.0)
        least, most = _FAR, -_FAR
        for lane in range(here):
            close[at + (CLOSE + 1) * LANES + lane] = np.sqrt(close_norms[lane])
            norm = np.float32(np.sqrt(front_norms[lane]))
            least, most = min(least, norm), max(most, norm)
            longest = max(longest, cut_norms[lane])
        low[box + FRONT * LANES], high[box + FRONT * LANES] = least, most
    return float(np.sqrt(longest)) * (1 + 1e-5)


@njit(nogil=True, cache=True)
def close_boxes(starts: Array, leaves: int, low: Array, high: Array) -> None:
    """The boxes of the upper levels, each around those of its children."""
    children = leaves
    for level in range(1, len(starts)):
        children = (children + LANES - 1) // LANES
        for child in range(children):
            here, below_it = starts[level] + child // LANES, starts[level - 1] + child
            for row in range(BOX_ROWS):
                least, most = _FAR, -_FAR
                for lane in range(LANES):
                    least = min(least, low[(below_it * BOX_ROWS + row) * LANES + lane])
                    most = max(most, high[(below_it * BOX_ROWS + row) * LANES + lane])
                low[(here * BOX_ROWS + row) * LANES + child % LANES] = least
                high[(here * BOX_ROWS + row) * LANES + child % LANES] = most


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def stretch(
    turned: Array, shift: Array, centre: float, used: int, longest_cut: float, tie: float, queries: Array, facts: Array
) -> None:
    """Queries, turned, as the search wants them.

    A row of `queries` is the coordinates, the norm behind CLOSE and the norm behind FRONT, float32; a row of `facts` is
    the part of the score that is the same for all candidates, |x|², slack, tie and doubt, all on the stretched scale.
    """
    coordinates, width = turned.shape[1] - 1, queries.shape[1]
    for at in range(len(turned)):
        length, offset, cut_norm = 0.0, 0.0, 0.0
        for d in range(used):
            length += turned[at, d] * turned[at, d]
            offset += turned[at, d] * shift[d]
        for d in range(used, coordinates):
            cut_norm += turned[at, d] * turned[at, d]
        sigma = max(np.sqrt(length), 0.25)
        scale = 1.0 / sigma
        for d in range(used):
            queries[at, d] = turned[at, d] * scale - shift[d]
        for d in range(used, coordinates):
            queries[at, d] = turned[at, d] * scale
        for d in range(coordinates, width - 2):
            queries[at, d] = 0.0
        close_norm, front_norm = 0.0, 0.0
        for d in range(CLOSE, used):
            close_norm += queries[at, d] * queries[at, d]
        for d in range(FRONT, min(CLOSE, used)):
            front_norm += queries[at, d] * queries[at, d]
        queries[at, width - 2] = np.sqrt(close_norm)
        queries[at, width - 1] = np.sqrt(front_norm + close_norm)
        cut, stretched = np.sqrt(cut_norm) * scale, np.sqrt(length) * scale
        facts[at, 0] = offset * scale - centre
        facts[at, 1] = stretched * stretched
        facts[at, 2] = cut * longest_cut
        facts[at, 3] = tie * scale
        facts[at, 4] = 2 * (coordinates + 4) * _ONE_STEP * (2.0 + stretched + cut)


@njit(nogil=True, cache=True)
def hash_rows(bits: Array) -> Array:
    """A 64-bit hash of every row of 64-bit words; equal rows have equal hashes."""
    hashed = np.empty(len(bits), np.uint64)
    for row in range(len(bits)):
        state = np.uint64(0x9E3779B97F4A7C15)
        for word in range(bits.shape[1]):
            state = (state ^ bits[row, word]) * np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(33)
        hashed[row] = state
    return hashed
