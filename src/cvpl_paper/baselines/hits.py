"""Hits of a search by any scorer: whether the best candidate is a match, with ties shared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import ScoreSource
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.blocks import LeftOut, Partition, share_block

Floats = NDArray[np.float64]


def shared_hits(
    found: BestCandidates, scorer: ScoreSource, partitions: Sequence[Partition], matches: LeftOut
) -> Floats:
    """For each query, the share of matches among the candidates tied for the best; 0 without a candidate.

    A candidate within 1e-6 of the best is tied with it, as in `evaluation.truth`; a match outside the block does not
    count.
    """
    inside = share_block(partitions, matches.query, matches.candidate)
    query, candidate = matches.query[inside], matches.candidate[inside]
    right = np.zeros(len(found))
    np.add.at(right, query, scorer.pairs(query, candidate) >= found.best[query] - TIE)
    return np.divide(right, found.ties, out=np.zeros(len(found)), where=found.ties > 0)
