"""Score every pair on the kernel's shortlists by the formula, and reduce them to the best candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cvpl.search.tree.simd import fetch

Array = Any
"""Numba compiles for the given arrays; their types are in the docstrings."""

_AHEAD = 12  # vectors are prefetched this many pairs before they are scored


@njit(nogil=True, cache=True)
def score_listed(a: Array, b: Array, rows: Array, order: Array, lengths: Array, listed: Array, scores: Array) -> None:
    """Score every listed pair by the formula; change `listed` from places in the tree to rows of `b`, by `order`.

    The i-th query is row rows[i] of `a`. A score is a sum of products in the order of the components, as in `inner`.
    """
    width, count = a.shape[1], len(scores)
    owners = np.empty(count, np.int64)
    at = 0
    for query in range(len(lengths)):
        for place in range(at, at + max(0, lengths[query])):
            owners[place] = rows[query]
            listed[place] = order[listed[place]]
        at += max(0, lengths[query])
    flat_a, flat_b = a.ravel(), b.ravel()
    for place in range(0, count - count % 4, 4):  # four independent sums at a time, to hide latency
        for ahead in range(place + _AHEAD, min(place + _AHEAD + 4, count)):
            for d in range(0, width, 8):
                fetch(flat_b, listed[ahead] * width + d)
                fetch(flat_a, owners[ahead] * width + d)
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        for d in range(width):
            one += a[owners[place], d] * b[listed[place], d]
            two += a[owners[place + 1], d] * b[listed[place + 1], d]
            three += a[owners[place + 2], d] * b[listed[place + 2], d]
            four += a[owners[place + 3], d] * b[listed[place + 3], d]
        scores[place], scores[place + 1], scores[place + 2], scores[place + 3] = one, two, three, four
    for place in range(count - count % 4, count):
        total = 0.0
        for d in range(width):
            total += a[owners[place], d] * b[listed[place], d]
        scores[place] = total


@njit(nogil=True, cache=True)
def reduce_listed(
    into: Array,
    lengths: Array,
    listed: Array,
    scores: Array,
    copy_starts: Array,
    copies: Array,
    numbers: Array,
    one: float,
    tie: float,
    best: Array,
    row: Array,
    second: Array,
    second_row: Array,
    ties: Array,
) -> None:
    """Write best, second best and ties of every query from its scored shortlist; those of the i-th go to into[i].

    A query whose shortlist overflowed is skipped. Scores above `one` count as 1, and none is below -1.
    copies[copy_starts[r] : copy_starts[r + 1]] are the candidates with the vector r, sorted; without `copy_starts`
    every vector has one candidate, itself. `numbers` are the candidates' numbers in the result, sorted too.
    """
    at = 0
    copied = len(copy_starts) > 0
    for query in range(len(lengths)):
        if lengths[query] < 0:
            continue
        last = at + lengths[query]
        first_score, second_score, first_row, second_at, tied = -np.inf, -np.inf, -1, -1, 0
        for place in range(at, last):
            score = 1.0 if scores[place] > one else max(scores[place], -1.0)
            scores[place] = score
            vector = listed[place]
            start = copy_starts[vector] if copied else vector
            end = min(start + 2, copy_starts[vector + 1]) if copied else vector + 1
            for copy in range(start, end):
                candidate = copies[copy] if copied else copy
                if score > first_score or (score == first_score and candidate < first_row):
                    second_score, second_at = first_score, first_row
                    first_score, first_row = score, candidate
                elif score > second_score or (score == second_score and candidate < second_at):
                    second_score, second_at = score, candidate
        for place in range(at, last):
            if scores[place] >= first_score - tie:
                vector = listed[place]
                tied += copy_starts[vector + 1] - copy_starts[vector] if copied else 1
        at = last
        who = into[query]
        best[who], second[who], ties[who] = first_score, second_score, tied
        row[who] = numbers[first_row] if first_row >= 0 else -1
        second_row[who] = numbers[second_at] if second_at >= 0 else -1
