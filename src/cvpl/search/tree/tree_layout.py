"""The memory layout of a block's candidates and queries for the kernel; see `kernel` for its use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cvpl.search.tree.kernel import BOX_PAIRS, CLOSE, CLOSE_PAIRS, CLOSE_ROWS, FRONT
from cvpl.search.tree.rounding import SIGN
from cvpl.search.tree.simd import LANES, natural
from cvpl.tables.keys import STEP, mix_bits

Array = Any
"""Numba compiles for the given arrays; their types are in the docstrings."""

_HALVES = 2 * LANES
_INT16_MAX = (1 << 15) - 1
_UINT16_MAX = (1 << 16) - 1
_ROW = (1 << 32) - 1
_SAMPLED = 16
_PICKED = 9
_FEW_RECORDS = 128


@njit(nogil=True, cache=True)
def select_place(keys: Array, first: int, last: int, place: int) -> None:
    """Reorder keys[first:last], all distinct, so that `place` holds the key that sorting would put there."""
    picked = np.empty(_PICKED, np.int64)
    while last - first > 1:
        if last - first < _FEW_RECORDS:
            one, two, three = keys[first], keys[(first + last) >> 1], keys[last - 1]
            pivot = max(min(one, two), min(max(one, two), three))
        else:
            step = (last - first) / _PICKED
            for i in range(_PICKED):
                key = keys[first + int(i * step)]
                j = i
                while j > 0 and picked[j - 1] > key:
                    picked[j] = picked[j - 1]
                    j -= 1
                picked[j] = key
            pivot = picked[((place - first) * _PICKED) // (last - first)]
        end = first
        for at in range(first, last):  # no branch depends on a key
            here, there = natural(at), natural(end)
            key = keys[here]
            keys[here] = keys[there]
            keys[there] = key
            end += int(key < pivot)
        if place < end:
            last = end
        elif end > first:
            first = end
        else:  # the pivot is the smallest
            for at in range(first, last):
                if keys[at] == pivot:
                    keys[at], keys[first] = keys[first], keys[at]
            if place == first:
                return
            first += 1


@njit(nogil=True, cache=True)
def grow(whole: Array) -> Array:
    """Sort the candidates into the order of the tree, and return the cuts that lead a query to its leaf.

    The first FRONT columns of `whole` (see `rounding`) are cut. Every leaf but the last is full.
    The cut of node i on level l, which spans 2^l leaves, is at place 2^(height - l) + i.
    """
    count = len(whole)
    leaves = (count + LANES - 1) // LANES
    height = 0
    while (1 << height) < leaves:
        height += 1
    columns = np.empty(FRONT * count, np.int16)
    for row in range(count):
        for d in range(FRONT):
            columns[d * count + row] = whole[row, d]
    keys = np.arange(count)  # a coordinate above 32 bits, a row below
    along = np.zeros(1 << height, np.int8)
    cuts = np.zeros(1 << height, np.int16)
    for level in range(height, 0, -1):
        for node in range((leaves + (1 << level) - 1) >> level):
            middle = (node << level) + (1 << (level - 1))
            if middle >= leaves:
                continue
            first, last = (node << level) * LANES, min(min((node + 1) << level, leaves) * LANES, count)
            step = max(1, (last - first) // _SAMPLED)
            best, spread = 0, np.float32(-1.0)
            for d in range(FRONT):
                total, squares, seen = np.float32(0.0), np.float32(0.0), 0
                for place in range(first, last, step):
                    value = np.float32(columns[natural(d * count + (keys[natural(place)] & _ROW))])
                    total += value
                    squares += value * value
                    seen += 1
                if squares - total * total / seen > spread:
                    best, spread = d, squares - total * total / seen
            for place in range(first, last):
                row = keys[natural(place)] & _ROW
                keys[natural(place)] = (int(columns[natural(best * count + row)]) << 32) | row
            select_place(keys, first, last, middle * LANES)
            at = (1 << (height - level)) + node
            along[at] = best
            cuts[at] = keys[middle * LANES] >> 32
    order = np.empty(count, np.int32)
    for place in range(count):
        order[place] = keys[place] & _ROW
    return order, along, cuts, height


@njit(nogil=True, cache=True)
def find_homes(queries: Array, along: Array, cuts: Array, height: int, leaves: int) -> Array:
    """Sort the rounded queries by the leaf that each would belong to, and return those leaves."""
    count, width = queries.shape
    flat = queries.ravel()
    home = np.zeros(count, np.int32)
    starts = np.zeros(leaves + 1, np.int64)
    for first in range(0, count, LANES):  # several at a time, to hide latency
        last = min(count, first + LANES)
        for level in range(height, 0, -1):
            for query in range(first, last):
                node = int(home[natural(query)])
                at = natural((1 << (height - level)) + node)
                right = int(flat[natural(query * width + along[at])] >= cuts[at])
                right &= int((node << level) + (1 << (level - 1)) < leaves)
                home[natural(query)] = 2 * node + right
    for query in range(count):
        starts[natural(home[query] + 1)] += 1
    for leaf in range(leaves):
        starts[leaf + 1] += starts[leaf]
    order, homes = np.empty(count, np.int64), np.empty(count, np.int32)
    for query in range(count):
        leaf = natural(home[query])
        place = natural(starts[leaf])
        order[place] = query
        homes[place] = home[query]
        starts[leaf] += 1
    return order, homes


@njit(nogil=True, cache=True)
def share_of_twins(whole: Array, order: Array) -> float:
    """The share of the candidates in a sample of leaves that equal an earlier one in their leaf."""
    seen, twins = 0, 0
    leaves = len(order) // LANES
    for leaf in range(0, leaves, max(1, leaves // 64)):
        for lane in range(LANES):
            seen += 1
            one = order[leaf * LANES + lane]
            for earlier in range(lane):
                other = order[leaf * LANES + earlier]
                equal = True
                for d in range(whole.shape[1]):
                    if whole[one, d] != whole[other, d]:
                        equal = False
                        break
                if equal:
                    twins += 1
                    break
    return twins / max(1, seen)


@njit(nogil=True, cache=True)
def levels_above(leaves: int) -> Array:
    """The start of each level's nodes in the arrays of boxes, level 0 first, and the number of nodes."""
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


@njit(nogil=True, cache=True)
def lay_out(whole: Array, offsets: Array, order: Array, close: Array, rest: Array, boxes: Array) -> None:
    """Write the rounded candidates, in the order of the tree, into their leaves, and compute the leaves' boxes.

    `close`, `rest` and `boxes` are int16, two per lane; an offset takes both.
    """
    count, wide = len(whole), whole.shape[1] - 2
    leaves = (count + LANES - 1) // LANES
    behind = len(rest) // leaves
    wholes, flat = close.view(np.int32), whole.ravel()
    least, most = np.empty(2 * BOX_PAIRS, np.int16), np.empty(2 * BOX_PAIRS, np.int16)
    for leaf in range(leaves):
        first, here = leaf * LANES, min(LANES, count - leaf * LANES)
        at = leaf * CLOSE_ROWS * _HALVES
        least[:], most[:] = _INT16_MAX, -_INT16_MAX
        for lane in range(here):
            own = int(order[first + lane])
            at_own = own * (wide + 2)
            wholes[natural(at // 2 + lane)] = offsets[natural(own)]
            for d in range(CLOSE):
                close[natural(at + (1 + d // 2) * _HALVES + 2 * lane + (d & 1))] = flat[natural(at_own + d)]
            close[natural(at + CLOSE_PAIRS * _HALVES + 2 * lane + 1)] = flat[natural(at_own + wide)]
            for d in range(wide - CLOSE):
                into = leaf * behind + (d >> 1) * _HALVES + 2 * lane + (d & 1)
                rest[natural(into)] = flat[natural(at_own + CLOSE + d)]
            for d in range(FRONT + 1):
                value = flat[natural(at_own + (d if d < FRONT else wide + 1))]
                least[natural(d)], most[natural(d)] = min(least[natural(d)], value), max(most[natural(d)], value)
        box = (leaf // LANES) * 2 * BOX_PAIRS * _HALVES + 2 * (leaf % LANES)
        for d in range(2 * BOX_PAIRS):
            place = box + d // 2 * 2 * _HALVES + (d & 1)
            boxes[place] = least[d] ^ SIGN
            boxes[place + _HALVES] = most[d] ^ SIGN


@njit(nogil=True, cache=True)
def close_boxes(starts: Array, leaves: int, boxes: Array) -> None:
    """Compute the boxes of the upper levels, each around those of its children; `boxes` is unsigned, two per lane."""
    children = leaves
    for level in range(1, len(starts)):
        beneath = children
        children = (children + LANES - 1) // LANES
        for child in range(children):
            above, under = starts[level] + child // LANES, starts[level - 1] + child
            for d in range(2 * BOX_PAIRS):
                row = d // 2 * 2 * _HALVES + (d & 1)
                least, most = _UINT16_MAX, 0
                for lane in range(min(LANES, beneath - child * LANES)):
                    place = under * 2 * BOX_PAIRS * _HALVES + row + 2 * lane
                    least, most = min(least, int(boxes[place])), max(most, int(boxes[place + _HALVES]))
                place = above * 2 * BOX_PAIRS * _HALVES + row + 2 * (child % LANES)
                boxes[place], boxes[place + _HALVES] = least, most


_mixed = njit(nogil=True, cache=True)(mix_bits)


@njit(nogil=True, cache=True)
def hash_rows(bits: Array) -> Array:
    """The hash of every row of 64-bit words, as `tables.row_hash.hash_columns` has it, without an array a word."""
    hashed = np.empty(len(bits), np.uint64)
    for row in range(len(bits)):
        state = STEP
        for word in range(bits.shape[1]):
            state = _mixed(state ^ bits[row, word])
        hashed[row] = state
    return hashed
