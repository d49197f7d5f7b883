"""Agreement scores in compiled loops: the columns in the same order as in array operations, so the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any


@njit(nogil=True, cache=True)
def score_tile(a: Array, there: Array, start: Array, first: Array, last: Array, agree: Array, differ: Array) -> Array:
    """The score of every query `a` with every candidate; `there` has a row for each column of the candidates."""
    scores = np.zeros((len(a), there.shape[1]))
    for query in range(len(a)):
        own = scores[query]
        for column in range(len(there)):
            code = a[query, column]
            if code < 0:
                continue
            at = start[column] + code
            low, high, same, other = first[at], last[at], agree[at], differ[column]
            codes = there[column]
            for place in range(len(codes)):
                value = codes[place]
                worth = other if value >= 0 else 0.0
                own[place] += same if (value >= low) & (value <= high) else worth
    return scores


@njit(nogil=True, cache=True)
def score_pairs(
    a: Array,
    b: Array,
    queries: Array,
    candidates: Array,
    start: Array,
    first: Array,
    last: Array,
    agree: Array,
    differ: Array,
) -> Array:
    """The scores of pairs of a query and a candidate."""
    scores = np.zeros(len(queries))
    for pair in range(len(queries)):
        total = 0.0
        for column in range(a.shape[1]):
            code, value = a[queries[pair], column], b[candidates[pair], column]
            if code < 0:
                continue
            at = start[column] + code
            if (value >= first[at]) & (value <= last[at]):
                total += agree[at]
            elif value >= 0:
                total += differ[column]
        scores[pair] = total
    return scores
