"""The nearest candidates by agreement, in a compiled loop: the sums of `AgreementScorer.pairs`, bit by bit.

Used only for many pairs, since Numba takes a second to load; see `nearest`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = Any

_TOGETHER = 1024


@njit(nogil=True, cache=True)
def nearest_by_agreement(
    first: Array, last: Array, agree: Array, differ: Array, codes: Array, place: Array, score: Array
) -> None:
    """Write the candidates with the highest scores of each query, the highest first, the lowest row first among equals.

    `first`, `last`, `agree` and `differ` have a row for each query and an entry for each column: the range of codes
    that agrees, its weight, and the weight of other codes from 0 on. `codes` has a row for each column. `place` and
    `score` are filled, with as many entries as are kept; they begin as -1 and -inf.
    """
    kept = place.shape[1]
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
                    empty = kept - 1
                    while empty > 0 and total[at] > score[query, empty - 1]:
                        score[query, empty] = score[query, empty - 1]
                        place[query, empty] = place[query, empty - 1]
                        empty -= 1
                    score[query, empty], place[query, empty] = total[at], start + at
                    lowest = score[query, kept - 1]
