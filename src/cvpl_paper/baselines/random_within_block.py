"""A random candidate: what an attacker gets from the blocking alone (paper, baseline B2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.evaluation.truth import Truth, share
from cvpl.search.blocks import share_block
from cvpl_paper.baselines.block_pairs import listed_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def expected_top1_hit_rate(attack: Attack, truth: Truth) -> float | None:
    """The expected share of originals with a match whose picked candidate is one.

    mean over originals with a match of (matches among C(x)) / |C(x)|, which is 0 if C(x) is empty; None if no original
    has a match.
    """
    query, row = truth.matches.query, truth.matches.candidate
    inside = np.bincount(query[share_block(attack.partitions, query, row)], minlength=len(attack.found))
    return share(float(_ratio(inside, attack.found.candidates).sum()), int(truth.has_match.sum()))


def shares_above(attack: Attack, threshold: float) -> Floats:
    """For each original, the share of its candidates with s >= τ, by the attack's similarity; 0 without a candidate.

    Every candidate pair is scored, a bounded number at a time.
    """
    above = np.zeros(attack.original.rows, dtype=np.int64)
    for group, query, candidate in listed_pairs(attack.scorer, attack.partitions, attack.budget):
        high = query[group.scorer.pairs(query, candidate) >= threshold]
        above += np.bincount(group.query_rows[high], minlength=len(above))
    return _ratio(above, attack.found.candidates)


def expected_linkage_rate(attack: Attack, threshold: float) -> float:
    """The expected share of all originals whose picked candidate has s >= τ: the mean of `shares_above`."""
    return float(shares_above(attack, threshold).mean())


def _ratio(part: Ints, whole: Ints) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
