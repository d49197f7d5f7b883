"""The two best candidates of a query and the ties with the best, kept while candidates are scored one by one."""

from __future__ import annotations

from typing import Any

from numba import njit

from cvpl.search.best import TIE

Array = Any

ROOM = 32
"""The number of distinct scores tied with the best that can be counted; with more, the query is searched in tiles."""


@njit(nogil=True, cache=True)
def insert(score: float, row: int, top: Array, who: Array, near: Array, many: Array) -> int:
    """Add a candidate to the two best and the count of ties; False if there is no room for it."""
    if score > top[0] or (score == top[0] and row < who[0]):
        top[1], who[1] = top[0], who[0]
        top[0], who[0] = score, row
    elif score > top[1] or (score == top[1] and row < who[1]):
        top[1], who[1] = score, row
    if score < top[0] - TIE:
        return True
    free = -1
    for slot in range(ROOM):
        if many[slot] and near[slot] == score:
            many[slot] += 1
            return True
        if free < 0 and (many[slot] == 0 or near[slot] < top[0] - TIE):
            free = slot
    if free < 0:
        return False
    near[free], many[free] = score, 1
    return True


@njit(nogil=True, cache=True)
def is_skipped(place: int, first: int, last: int, skips: Array) -> int:
    """Whether a candidate is left out for this query."""
    found = False
    for at in range(first, last):
        found |= skips[at] == place
    return found


@njit(nogil=True, cache=True)
def write(
    target: int,
    top: Array,
    who: Array,
    near: Array,
    many: Array,
    numbers: Array,
    best: Array,
    best_row: Array,
    second: Array,
    second_row: Array,
    ties: Array,
) -> None:
    """Write what was kept of one query to a place of the results; `numbers` are the candidates' numbers there."""
    tied = 0
    for slot in range(ROOM):
        if many[slot] and near[slot] >= top[0] - TIE:
            tied += many[slot]
    best[target], second[target], ties[target] = top[0], top[1], tied
    best_row[target] = numbers[who[0]] if who[0] >= 0 else -1
    second_row[target] = numbers[who[1]] if who[1] >= 0 else -1
