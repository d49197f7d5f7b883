"""The sums of exp(score) over many candidates, for scores that are sums over columns: sums of products of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvpl.operators.similarity import AgreementScorer
from cvpl.operators.similarity.agreement import AgreementWeights
from cvpl.search.tree.simd import natural

Floats = NDArray[np.float64]
Array = Any

_PIECE = 1_024
"""Candidates whose products are held at a time, so that they stay in the L1 cache."""


@dataclass(frozen=True, eq=False)
class Products:
    """A block's candidates, column by column, and the factors of agreement and disagreement."""

    codes: NDArray[np.int32]
    agree: Floats
    differ: Floats

    @classmethod
    def of(cls, b: NDArray[np.int32], worth: AgreementWeights) -> Products:
        """Build from the candidates' codes, one row per record."""
        return cls(np.ascontiguousarray(b.T), np.exp(worth.agree), np.exp(worth.differ))

    def __call__(self, scorer: AgreementScorer) -> Floats:
        """The logarithm of the sum for every query of the scorer."""
        found = np.empty(scorer.queries)
        worth = scorer.worth
        _sum(scorer.a, worth.start, worth.first, worth.last, self.agree, self.differ, self.codes, found)
        return np.log(found)


@njit(nogil=True, cache=True)
def _sum(
    a: Array, start: Array, first: Array, last: Array, agree: Array, differ: Array, codes: Array, found: Array
) -> None:
    """Sum query by query, with the candidates in their order, so that the sum is the same on every thread."""
    columns, count = codes.shape
    product, total = np.empty(_PIECE), np.empty(_PIECE)
    for query in range(len(a)):
        total[:] = 0.0
        for begin in range(0, count, _PIECE):
            size = min(_PIECE, count - begin)
            product[:] = 1.0
            for column in range(columns):
                code = a[query, column]
                if code < 0:
                    continue
                at = start[column] + code
                low, high, gain, loss = first[at], last[at], agree[at], differ[column]
                there = codes[column, begin : begin + size]
                if loss == 1.0:
                    for place in range(size):
                        other = there[natural(place)]
                        product[natural(place)] *= gain if (other >= low) & (other <= high) else 1.0
                else:
                    for place in range(size):
                        other = there[natural(place)]
                        otherwise = loss if other >= 0 else 1.0
                        product[natural(place)] *= gain if (other >= low) & (other <= high) else otherwise
            for place in range(size):
                total[natural(place)] += product[natural(place)]
        found[query] = total.sum()
