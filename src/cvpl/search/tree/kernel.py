"""The kernel: every query's nearest candidates in a block, without scoring most of them.

Take the unit vectors of one block, queries x and candidates y. Their cosine is <x, y>. Three facts make it possible to
skip most pairs.

**Few directions matter.** Rotate the space so that the candidates' direction of largest variance comes first, the next
largest second, and so on (their principal components in this block). Directions in which all candidates are near zero
are cut off: `used` of them remain. The cut part adds at most |x_cut| · max |y_cut|, the query's `slack`. And since for
one query only the order of its candidates matters, the query's used part may be stretched to unit length: the cosine is
its length σ times the stretched product, plus the cut part. On a generalized table, where originals differ in columns
that the release has made constant, this moves queries back among the candidates.

**The first coordinates decide.** With y split into its first coordinates and the rest, the Cauchy-Schwarz inequality
gives

    <x, y>  <=  x_1 y_1 + ... + x_c y_c  +  |x_rest| |y_rest|

so c + 1 products, not all of them, can rule out a candidate. For unit vectors <x, y> = (|x|² + |y|² - |x - y|²) / 2, so
a large distance rules out a pair too, and with it a whole box of candidates.

**Near candidates are stored together.** A tree halves the candidates repeatedly, each time along the coordinate with
the largest spread, until sixteen are left: a leaf. Sixteen leaves make a node, sixteen nodes a node above, each with
the box around its members in the first coordinates (and the norm of the rest as one more):

                      +--------------- node ---------------+
     level 2          |  16 boxes, one around each child   |              four neighbouring queries
                      +--|-------|-------|-------|---------+              are searched together
                         v       v       v       v                                |
     level 1          [node]  [node]  [node]  [node] ...         ring 2: the rest of this level-2 node
                       ||||    ||||    ||||    ||||
     level 0           leaf    leaf    HOME    leaf  ...         ring 1: the leaves of the home node
                    +---------------+    ^
                    | 16 candidates |    ring 0: the leaf that the query itself would belong to
                    +---------------+

     a leaf in memory, two coordinates at a time, so that one instruction handles sixteen candidates:

         offset             | y1 y2 y3 ... y16 |      <y, centre>
         1st and 2nd        | y1 y2 y3 ... y16 |
         ...
         c-th and the rest  | y1 y2 y3 ... y16 |      |y_rest|          then, separately, the coordinates after the c-th

**Integers are enough.** A filter need not be exact, only conservative. So the coordinates are rounded to 16-bit
integers, with 1 as UNIT: half the memory of single precision, so that a block of forty thousand fits in the fastest
caches, and two products per instruction. For the rounded vectors x' and y' the same inequality,

    |<x', y'> - <x, y>|  <=  |x' - x| |y'|  +  |x| |y' - y|,

bounds the error of a score; this bound, doubled for the two scores that are compared, is the query's `doubt`.

A query starts in its home leaf, where good candidates are likely, which gives a first floor: no candidate below it can
be the best, the second best, or tied with the best. Then ring by ring: boxes above the floor are opened, their leaves
are checked on the first coordinates, the few that pass are scored fully, and the floor rises. What remains is a
shortlist of two or three candidates. The integers decide only who is on it. The scores themselves come from the
formula: double precision, summed in the order of the components, the same bits as `CosineScorer.pairs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cvpl.search.tree.simd import (
    LANES,
    add_gaps,
    add_products,
    append,
    at_least,
    at_most,
    broadcast,
    fetch,
    highest,
    load,
    lowest_bit,
    natural,
    select_below,
    store,
    zero,
)

Array = Any
"""Numba compiles for the given arrays; their types are in the docstrings."""

# Compiled code contains these numbers, in other files too, and is cached in __pycache__: clear it after a change.
UNIT = 14_745
"""The integer for 1. Coordinates reach 2 and squared distances 4: both fit in 16 and 32 bits."""
FRONT = 9
"""Coordinates of a box, besides the norm of the rest."""
CLOSE = 13
"""Coordinates on which a leaf is checked first, besides the norm of the rest."""
TOGETHER = 4
"""Queries searched together."""
SHORTLIST = 512
"""The maximum length of a shortlist; a query with more candidates this close to its best is searched in another way."""
FACTS = 4
"""The number of facts about a query: see `rounding.round_queries`."""
NOWHERE = -(1 << 30)
"""The score of an empty place; real scores reach down to -2 UNIT²."""

BOX_PAIRS = (FRONT + 1) // 2
CLOSE_PAIRS = (CLOSE + 1) // 2
CLOSE_ROWS = CLOSE_PAIRS + 1
_BITS = 4  # sixteen children
_LANE = LANES - 1
_ANYWHERE = -900_000_000
_FARTHEST = 2_100_000_000
_ROUNDED = 4  # how far rounding moves a query and a candidate in the coordinates of the boxes: at most sqrt(FRONT + 1)


@njit(nogil=True, inline="always")
def _bring(queries: Array, facts: Array, rows: Array, first: int, width: int, four: Array, array: Array) -> None:
    """Copy four queries and their facts to a small buffer; if there are fewer, repeat the last."""
    for q in range(TOGETHER):
        row = int(rows[min(first + q, len(rows) - 1)])
        for word in range(width):
            four[natural(q * width + word)] = queries[natural(row * width + word)]
        for fact in range(FACTS):
            array[natural(q * FACTS + fact)] = facts[natural(row * FACTS + fact)]
        soon = int(rows[min(first + 2 * TOGETHER + q, len(rows) - 1)])
        fetch(queries, soon * width)
        fetch(queries, soon * width + width - 1)
        fetch(facts, soon * FACTS)


@njit(nogil=True, inline="always")
def _children_in_reach(queries: Array, width: int, boxes: Array, node: int, reach: Array) -> Any:
    """The children of a node whose box is within reach of any of the four queries, one bit each."""
    base = node * 2 * BOX_PAIRS * LANES
    a = zero()
    b, c, d = a, a, a
    for row in range(BOX_PAIRS):
        least, most = load(boxes, base + 2 * row * LANES), load(boxes, base + (2 * row + 1) * LANES)
        place = (width - BOX_PAIRS) + row
        a = add_gaps(a, broadcast(queries, place), least, most)
        b = add_gaps(b, broadcast(queries, place + width), least, most)
        c = add_gaps(c, broadcast(queries, place + 2 * width), least, most)
        d = add_gaps(d, broadcast(queries, place + 3 * width), least, most)
    return at_most(a, reach[0]) | at_most(b, reach[1]) | at_most(c, reach[2]) | at_most(d, reach[3])


@njit(nogil=True, inline="always")
def _check(queries: Array, width: int, close: Array, leaf: int, loose: Array) -> Any:
    """The candidates of a leaf that the first coordinates do not rule out for all four queries, one bit each."""
    base = leaf * CLOSE_ROWS * LANES
    a = load(close, base)
    b, c, d = a, a, a
    for row in range(CLOSE_PAIRS):
        y = load(close, base + (row + 1) * LANES)
        place = row
        a = add_products(a, y, broadcast(queries, place))
        b = add_products(b, y, broadcast(queries, place + width))
        c = add_products(c, y, broadcast(queries, place + 2 * width))
        d = add_products(d, y, broadcast(queries, place + 3 * width))
    return at_least(a, loose[0]) | at_least(b, loose[1]) | at_least(c, loose[2]) | at_least(d, loose[3])


@njit(nogil=True, inline="always")
def _score_leaf(queries: Array, width: int, close: Array, rest: Array, leaf: int, scores: Array) -> None:
    """The four queries' scores with a leaf's sixteen candidates, all coordinates."""
    behind = width - BOX_PAIRS - CLOSE_ROWS
    base = leaf * CLOSE_ROWS * LANES
    a = load(close, base)
    b, c, d = a, a, a
    for row in range(CLOSE_PAIRS):
        y = load(close, base + (row + 1) * LANES)
        place = row + int(row == CLOSE_PAIRS - 1)
        a = add_products(a, y, broadcast(queries, place))
        b = add_products(b, y, broadcast(queries, place + width))
        c = add_products(c, y, broadcast(queries, place + 2 * width))
        d = add_products(d, y, broadcast(queries, place + 3 * width))
    base = leaf * behind * LANES
    for row in range(behind):
        y = load(rest, base + row * LANES)
        place = CLOSE_ROWS + row
        a = add_products(a, y, broadcast(queries, place))
        b = add_products(b, y, broadcast(queries, place + width))
        c = add_products(c, y, broadcast(queries, place + 2 * width))
        d = add_products(d, y, broadcast(queries, place + 3 * width))
    store(scores, 0, a)
    store(scores, LANES, b)
    store(scores, 2 * LANES, c)
    store(scores, 3 * LANES, d)


@njit(nogil=True, inline="always")
def _is_skipped(starts: Array, skips: Array, query: int, count: int, place: int) -> Any:
    """Whether a place in the tree is not a candidate of a query."""
    found = False
    if query < count:
        for at in range(starts[query], starts[query + 1]):
            found |= skips[at] == place
    return found


@njit(nogil=True)
def _remove_low_scores(kept: Array, kept_score: Array, base: int, floor: int) -> int:
    """Remove candidates below the floor from a full shortlist; its length, above SHORTLIST if none was removed."""
    left = 0
    for place in range(base, base + SHORTLIST):
        if kept_score[place] >= floor:
            kept[base + left], kept_score[base + left] = kept[place], kept_score[place]
            left += 1
    return left if left < SHORTLIST else SHORTLIST + 1


@njit(nogil=True, cache=True)
def shortlist(
    queries: Array,
    facts: Array,
    rows: Array,
    homes: Array,
    leaves: int,
    starts: Array,
    close: Array,
    rest: Array,
    boxes: Array,
    skip_starts: Array,
    skips: Array,
    lengths: Array,
    listed: Array,
    work: Array,
) -> int:
    """List every candidate that may be one of the two best of a query, or tie with its best.

    `rows` are rows of `queries` and of `facts`, `homes` their leaves. skips[skip_starts[q] : skip_starts[q + 1]] are
    places in the tree that are not candidates of the q-th query. Writes places in the tree to `listed`, lengths[q] of
    them for the q-th query, -1 if there are too many; `work` counts boxes opened, leaves checked and leaves scored,
    each for four queries. Returns the number of places written, or -1 if `listed` is too short.
    """
    count, width = len(rows), queries.shape[1]
    everyone, every_fact = queries.ravel(), facts.ravel()
    flat, text = np.zeros(TOGETHER * width, np.int32), np.zeros(TOGETHER * FACTS, np.int64)  # the four current queries
    depth = len(starts)
    room = leaves + LANES
    nodes = np.empty(2 * room, np.int32)  # two lists: the current nodes, and their children
    here, then = 0, room
    children = np.empty(depth, np.int64)
    for level in range(depth):
        children[level] = leaves if level == 0 else (children[level - 1] + LANES - 1) // LANES
    kept, kept_score = np.empty(TOGETHER * SHORTLIST, np.int64), np.empty(TOGETHER * SHORTLIST, np.int32)
    kept_count = np.zeros(TOGETHER, np.int64)
    scores = np.empty(TOGETHER * LANES, np.int32)
    best, second = np.zeros(TOGETHER, np.int64), np.zeros(TOGETHER, np.int64)
    floor, loose = np.zeros(TOGETHER, np.int64), np.zeros(TOGETHER, np.int64)
    reach, beyond = np.zeros(TOGETHER, np.int64), np.zeros(TOGETHER, np.int64)
    opened, checked, scored, written = 0, 0, 0, 0
    skipping = len(skips) > 0
    for query in range(0, count, TOGETHER):
        _bring(everyone, every_fact, rows, query, width, flat, text)
        home = homes[query]
        _score_leaf(flat, width, close, rest, home, scores)
        scored += 1
        for q in range(TOGETHER):
            if skipping:
                for lane in range(LANES):
                    if _is_skipped(skip_starts, skips, query + q, count, home * LANES + lane):
                        scores[q * LANES + lane] = NOWHERE
            lanes = load(scores, q * LANES)
            best[q] = highest(lanes)
            second[q] = highest(select_below(lanes, best[q], NOWHERE))
            doubt, tie = text[q * FACTS], text[q * FACTS + 1]
            floor[q] = max(_ANYWHERE, min(second[q], best[q] - tie) - doubt)
            base = text[q * FACTS + 3]
            beyond[q] = base + int(2 * _ROUNDED * np.sqrt(max(0.0, float(base - 2 * floor[q])))) + _ROUNDED**2 + 1
            best[q] = second[q] = NOWHERE
            kept_count[q] = 0
        for ring in range(depth + 1):
            amount = 0
            if ring == 0:
                nodes[here] = home
                amount = 1
            else:
                for q in range(TOGETHER):
                    loose[q] = floor[q] - text[q * FACTS + 2]
                    reach[q] = min(beyond[q] - 2 * floor[q], _FARTHEST)
                nodes[here], amount = home >> (_BITS * ring), 1
                seen = 1 << ((home >> (_BITS * (ring - 1))) & _LANE)  # the child that holds the earlier rings
                for level in range(ring - 1, -1, -1):
                    more = 0
                    for i in range(amount):
                        node = int(nodes[natural(here + i)])
                        bits = _children_in_reach(flat, width, boxes, starts[natural(level)] + node, reach)
                        bits &= ((1 << min(LANES, children[natural(level)] - node * LANES)) - 1) & ~seen
                        more += append(nodes, then + more, node * LANES, bits)
                    opened += amount
                    here, then, amount = then, here, more
                    seen = 0
                checked += amount
                more = 0
                for i in range(amount):
                    leaf = int(nodes[natural(here + i)])
                    nodes[natural(then + more)] = leaf
                    more += int(_check(flat, width, close, leaf, loose) != 0)
                here, then, amount = then, here, more
            scored += amount
            for i in range(amount):
                leaf = int(nodes[natural(here + i)])
                if ring > 0:
                    _score_leaf(flat, width, close, rest, leaf, scores)
                bits = 0
                for q in range(TOGETHER):
                    bits |= at_least(load(scores, q * LANES), floor[q]) << (q * LANES)
                while bits:
                    place = lowest_bit(bits)
                    bits &= bits - 1
                    q, score, candidate = place >> _BITS, int(scores[natural(place)]), leaf * LANES + (place & _LANE)
                    if skipping and _is_skipped(skip_starts, skips, query + q, count, candidate):
                        continue
                    own, base, amount_kept = natural(q), q * SHORTLIST, kept_count[natural(q)]
                    if amount_kept == SHORTLIST:
                        amount_kept = _remove_low_scores(kept, kept_score, base, floor[own])
                    if amount_kept < SHORTLIST:
                        kept[natural(base + amount_kept)] = candidate
                        kept_score[natural(base + amount_kept)] = score
                        amount_kept += 1
                    kept_count[own] = amount_kept
                    second[own] = max(second[own], min(best[own], score))
                    best[own] = max(best[own], score)
                    doubt, tie = text[natural(q * FACTS)], text[natural(q * FACTS + 1)]
                    floor[own] = max(floor[own], min(second[own], best[own] - tie) - doubt)
        for q in range(min(TOGETHER, count - query)):
            lengths[query + q] = 0
            if kept_count[q] > SHORTLIST:
                lengths[query + q] = -1
                continue
            if written + kept_count[q] > len(listed):
                return -1
            for j in range(q * SHORTLIST, q * SHORTLIST + kept_count[q]):
                listed[written] = kept[j]
                keep = int(kept_score[j] >= floor[q])
                written += keep
                lengths[query + q] += keep
    work[0] += opened
    work[1] += checked
    work[2] += scored
    return written
