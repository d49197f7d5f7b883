"""The nearest candidates by agreement, in compiled loops: the sums of `AgreementScorer.pairs`, bit by bit.

A score depends only on the columns that agree, and on those where the candidate has no value. These make a pattern, a
whole number with a bit for each column, and a second one if a candidate lacks a value there. With few enough bits the
scores of all patterns are computed first, and looked up. Used only for many pairs, since Numba takes a second to load;
see `nearest`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any

MOST_BITS = 14
"""With more bits the scores of all patterns do not fit into the processor's cache."""
_TOGETHER = 1024


@njit(nogil=True, cache=True)
def nearest_by_pattern(
    first: Array, last: Array, agree: Array, differ: Array, codes: Array, gaps: Array, place: Array, score: Array
) -> None:
    """Write the candidates with the highest scores of each query, the highest first, the lowest row first among equals.

    `first`, `last`, `agree` and `differ` have a row for each query and an entry for each column: the range of codes
    that agrees, its weight, and the weight of other codes from 0 on. `codes` has a row for each column; `gaps` says
    whether a code of it is below 0. `place` and `score` are filled, with as many entries as are kept; they begin as -1
    and -inf.
    """
    patterns = np.empty(_TOGETHER, np.int32)
    sums = np.empty(1 << (len(codes) + gaps.sum()))
    for query in range(len(first)):
        _add_up(agree[query], differ[query], gaps, sums)
        lowest = -np.inf
        for start in range(0, codes.shape[1], _TOGETHER):
            size = min(_TOGETHER, codes.shape[1] - start)
            patterns[:] = 0
            for column in range(len(codes)):
                there = codes[column, start : start + size]
                low, high = first[query, column], last[query, column]
                if gaps[column]:
                    for at in range(size):
                        patterns[at] = 2 * patterns[at] + np.int32(there[at] >= 0)
                for at in range(size):
                    patterns[at] = 2 * patterns[at] + np.int32((there[at] >= low) & (there[at] <= high))
            for at in range(size):
                if sums[patterns[at]] > lowest:
                    lowest = _insert(sums[patterns[at]], start + at, place[query], score[query])


@njit(nogil=True, cache=True)
def nearest_by_sum(
    first: Array, last: Array, agree: Array, differ: Array, codes: Array, place: Array, score: Array
) -> None:
    """The nearest profiles by more columns than patterns can hold: every score is added up."""
    total = np.empty(_TOGETHER)
    for query in range(len(first)):
        lowest = -np.inf
        for start in range(0, codes.shape[1], _TOGETHER):
            stop = min(start + _TOGETHER, codes.shape[1])
            total[:] = 0.0
            for column in range(len(codes)):
                low, high = first[query, column], last[query, column]
                more, less = agree[query, column], differ[query, column]
                there = codes[column, start:stop]
                for at in range(stop - start):
                    code = there[at]
                    apart = less if code >= 0 else 0.0
                    total[at] += more if (code >= low) & (code <= high) else apart
            for at in range(stop - start):
                if total[at] > lowest:
                    lowest = _insert(total[at], start + at, place[query], score[query])


@njit(nogil=True, cache=True)
def _add_up(agree: Array, differ: Array, gaps: Array, sums: Array) -> None:
    """The score of every pattern of one query, added in the order of the columns; the first has the highest bits."""
    sums[0] = 0.0
    size = 1
    for column in range(len(agree)):
        # From the last pattern on, since the sums of longer patterns take the places of the shorter ones.
        for pattern in range(size - 1, -1, -1):
            total = sums[pattern]
            if gaps[column]:
                sums[4 * pattern + 3] = total + agree[column]
                sums[4 * pattern + 2] = total + differ[column]
                sums[4 * pattern + 1] = total + agree[column]  # does not occur: a missing value does not agree
                sums[4 * pattern] = total
            else:
                sums[2 * pattern + 1] = total + agree[column]
                sums[2 * pattern] = total + differ[column]
        size *= 4 if gaps[column] else 2


@njit(nogil=True, cache=True)
def _insert(total: float, row: int, place: Array, score: Array) -> Any:
    """Put a candidate in its place, behind those of an equal score; the lowest score that is kept is returned."""
    empty = len(place) - 1
    while empty > 0 and total > score[empty - 1]:
        score[empty], place[empty] = score[empty - 1], place[empty - 1]
        empty -= 1
    score[empty], place[empty] = total, row
    return score[len(place) - 1]
