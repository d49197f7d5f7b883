"""A tree of released records: sixteen records are a node, sixteen nodes the next, up to the root.

The records are put in an order in which neighbours are similar: a part of them is cut in two where it differs most, and
so on. Of each column a node keeps a summary: the range of codes, pieces or labels that some record has or allows, a
mask of them (by their last five bits), the highest weight of agreement, and the most that the column adds without
agreement. That bounds the scores of all its records from above. Weights are integers, rounded up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvpl.search.cells.layout import EXACT, RANGE, CellColumns
from cvpl.search.tree.simd import LANES

Array = Any
Ints = NDArray[np.int64]
Words = NDArray[np.int32]

SUMMARY = 5 * LANES
"""The integers of a summary of sixteen nodes or records: low, high, mask, gain, rest."""
HUGE_WEIGHT = 1 << 30
"""A weight beyond all others."""
_SAMPLED = 64
"""The most records from which a part chooses the column of its cut: one in sixteen, but at least sixteen."""
LOW, HIGH, MASK, GAIN, REST = range(0, SUMMARY, LANES)
"""Where the parts of a summary begin."""


def similar_order(columns: CellColumns, codes: Words) -> Words:
    """An order of the records in which neighbours are similar."""
    keys = np.empty(codes.shape[::-1], dtype=np.int32)
    for column, there in enumerate(codes.T):
        if columns.kinds[column] == EXACT:
            keys[column] = there
        else:
            cells = columns.begins[column] + np.maximum(there, 0)
            middle = columns.first[cells] + columns.last[cells] if len(columns.first) else 0
            keys[column] = np.where(there >= 0, middle, -1)
    order = np.arange(len(codes), dtype=np.int32)
    _cut_records(keys, order)
    return order


class Summaries(NamedTuple):
    """What sixteen records or nodes allow, column by column, each a summary of SUMMARY integers.

    `cells` has those of records, for the columns with cells only: that of the records 16 z to 16 z + 15 begins at
    z * columns with cells * SUMMARY. `zoned` are the codes of the exact columns, sixteen of a column together. `nodes`
    has those of all levels; level l begins at starts[l], and the nodes 16 g to 16 g + 15 at g * columns * SUMMARY.
    """

    cells: Words
    zoned: Words
    nodes: Words
    starts: Ints


def summarize(columns: CellColumns, codes: Words, scale: float) -> Summaries:
    """The summaries of records and of all levels of nodes. `scale` makes weights integers."""
    count, width = codes.shape
    exact = int((columns.kinds == EXACT).sum())
    zones = max(1, -(-count // LANES))
    padded = np.full((zones * LANES, exact), -1, dtype=np.int32)
    padded[:count] = codes[:, :exact]
    zoned = np.ascontiguousarray(padded.reshape(zones, LANES, exact).transpose(0, 2, 1)).ravel()
    cells = _empty(zones * (width - exact))
    _summarize_cells(*columns, codes, exact, scale, cells)
    sizes = [zones]
    while sizes[-1] > LANES:
        sizes.append(-(-sizes[-1] // LANES))
    starts = np.cumsum([0, *(-(-size // LANES) * width * SUMMARY for size in sizes)])
    nodes = _empty(int(starts[-1]) // SUMMARY)
    _summarize_records(codes, exact, cells, nodes)
    for level in range(1, len(sizes)):
        _summarize_nodes(width, sizes[level - 1], nodes[starts[level - 1] : starts[level]], nodes[starts[level] :])
    return Summaries(cells, zoned, nodes, starts[:-1])


def _empty(count: int) -> Words:
    """Summaries that allow nothing."""
    found = np.empty((count, 5, LANES), dtype=np.int32)
    found[:, 0], found[:, 1], found[:, 2], found[:, 3:] = np.iinfo(np.int32).max, -1, 0, -HUGE_WEIGHT
    return found.ravel()


@njit(nogil=True, cache=True)
def entropy(values: Array) -> float:
    """The entropy of a few sorted values, in nats."""
    total, run, count = 0.0, 1, len(values)
    for at in range(1, count + 1):
        if at < count and values[at] == values[at - 1]:
            run += 1
        else:
            total -= run * np.log(run / count)
            run = 1
    return total / count


@njit(nogil=True, cache=True)
def _differs_most(keys: Array, members: Array, used: Array) -> int:
    """The column in which some records differ most, by their entropy / (1 + how often it was used); -1 if none does."""
    sample = np.empty(max(LANES, min(_SAMPLED, len(members) // LANES)), np.int32)
    chosen, best = -1, 0.0
    for column in range(len(keys)):
        for number in range(len(sample)):
            sample[number] = keys[column, members[number * len(members) // len(sample)]]
        sample.sort()
        spread = entropy(sample) / (1 + used[column])
        if spread > best:
            chosen, best = column, spread
    return chosen


@njit(nogil=True, cache=True)
def sort_in_two(held: Array, members: Array, first: int) -> None:
    """Put the records with the `first` smallest keys first; of those with the middle key, the first in their order."""
    middle = np.partition(held, first)[first]
    same, low, high = first, 0, first
    for key in held:
        same -= key < middle
    moved = np.empty(len(members), np.int32)
    for place in range(len(members)):
        fills = held[place] == middle and same > 0
        same -= fills
        if held[place] < middle or fills:
            moved[low] = members[place]
            low += 1
        else:
            moved[high] = members[place]
            high += 1
    members[:] = moved


@njit(nogil=True, cache=True)
def _cut_records(keys: Array, order: Array) -> None:
    """Cut the records in two repeatedly, at multiples of powers of sixteen, so that a node lies within a part.

    A part is cut along the column in which it differs most; one that was used before counts less, so that parts become
    narrow in many columns.
    """
    width, count = keys.shape
    parts = 2 * (count // LANES + 2)
    begin, end = np.zeros(parts, np.int64), np.zeros(parts, np.int64)
    used = np.zeros((parts, width), np.int64)
    end[0], size, at = count, 1, 0
    while at < size:
        left, right = begin[at], end[at]
        many = right - left
        if many > LANES:
            unit = LANES
            while unit * LANES < many:
                unit *= LANES
            first = min(max(1, (many // 2 + unit // 2) // unit) * unit, (many - 1) // unit * unit)
            column = _differs_most(keys, order[left:right], used[at])
            begin[size], end[size], begin[size + 1], end[size + 1] = left, left + first, left + first, right
            used[size] = used[size + 1] = used[at]
            if column >= 0:
                sort_in_two(keys[column][order[left:right]], order[left:right], first)
                used[size, column] += 1
                used[size + 1, column] += 1
            size += 2
        at += 1


@njit(nogil=True, cache=True)
def _summarize_cells(
    kinds: Array,
    begins: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
    allowed: Array,
    rows: Array,
    labels: Array,
    codes: Array,
    exact: int,
    scale: float,
    cells: Array,
) -> None:
    """The summaries of the records' cells."""
    count, width = codes.shape
    for place in range(count):
        for column in range(exact, width):
            at = (place // LANES * (width - exact) + column - exact) * SUMMARY + place % LANES
            code = codes[place, column]
            if code < 0:
                cells[at + REST] = 0
                continue
            cell = begins[column] + code
            bits = np.uint32(0xFFFFFFFF)
            if kinds[column] != RANGE:
                bits, row = np.uint32(0), rows[column] + code * labels[column]
                for label in range(first[cell], last[cell] + 1):
                    if allowed[row + label]:
                        bits |= np.uint32(1) << np.uint32(label & 31)
            cells[at + LOW], cells[at + HIGH], cells[at + MASK] = first[cell], last[cell], np.int32(bits)
            cells[at + GAIN] = np.int32(np.ceil(agree[cell] * scale))
            cells[at + REST] = np.int32(np.ceil(differ[cell] * scale))


@njit(nogil=True, cache=True)
def _summarize_records(codes: Array, exact: int, cells: Array, nodes: Array) -> None:
    """The summaries of nodes of sixteen records.

    In an exact column the weights are the query's: the gain bounds nothing, and the rest is 0 if a value is missing.
    """
    count, width = codes.shape
    for place in range(count):
        node, lane = place // LANES, place % LANES
        for column in range(width):
            at = (node // LANES * width + column) * SUMMARY + node % LANES
            if column >= exact:
                _widen_summary(nodes, at, cells, (node * (width - exact) + column - exact) * SUMMARY + lane)
                continue
            code = codes[place, column]
            if code < 0:
                nodes[at + REST] = 0
            else:
                nodes[at + LOW], nodes[at + HIGH] = min(nodes[at + LOW], code), max(nodes[at + HIGH], code)
                nodes[at + MASK] |= np.int32(np.uint32(1) << np.uint32(code & 31))
                nodes[at + GAIN] = HUGE_WEIGHT


@njit(nogil=True, cache=True)
def _summarize_nodes(width: int, size: int, below: Array, above: Array) -> None:
    """The summaries of the next level, from those of the level below with `size` nodes."""
    for node in range(size):
        parent = node // LANES
        for column in range(width):
            source = (parent * width + column) * SUMMARY + node % LANES
            _widen_summary(above, (parent // LANES * width + column) * SUMMARY + parent % LANES, below, source)


@njit(nogil=True, cache=True)
def _widen_summary(above: Array, at: int, below: Array, source: int) -> None:
    """Let a summary allow what another one allows."""
    above[at + LOW] = min(above[at + LOW], below[source + LOW])
    above[at + HIGH] = max(above[at + HIGH], below[source + HIGH])
    above[at + MASK] |= below[source + MASK]
    above[at + GAIN] = max(above[at + GAIN], below[source + GAIN])
    above[at + REST] = max(above[at + REST], below[source + REST])
