"""A random candidate: what an attacker gets from the blocking alone (paper, baseline B2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.evaluation.truth import Truth, share
from cvpl.search.blocks import Partition, ranges, sort_blocks, together
from cvpl_paper.baselines.block_pairs import listed_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def expected_top1_hit_rate(attack: Attack, truth: Truth) -> float | None:
    """The expected share of originals with a match whose picked candidate is one.

    mean over originals with a match of (matches among C(x)) / |C(x)|, which is 0 if C(x) is empty; None if no original
    has a match.
    """
    query, row = truth.matches.query, truth.matches.candidate
    inside = np.bincount(query[together(attack.partitions, query, row)], minlength=len(attack.found))
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


def pick(attack: Attack, rng: np.random.Generator) -> Ints:
    """A uniformly random candidate of each original from C(x); -1 without one."""
    return pick_within(attack.partitions, rng)


def picked_top1_hit_rate(picked: Ints, truth: Truth) -> float | None:
    """The share of originals with a match whose picked candidate is one; None if no original has a match."""
    hit = picked[truth.matches.query] == truth.matches.candidate
    return share(int(hit.sum()), int(truth.has_match.sum()))


def picked_linkage_rate(attack: Attack, picked: Ints, threshold: float) -> float:
    """The share of all originals whose picked candidate has s >= τ."""
    who = np.flatnonzero(picked >= 0)
    return float((attack.scorer.pairs(who, picked[who]) >= threshold).sum() / len(picked))


def pick_within(partitions: Sequence[Partition], rng: np.random.Generator) -> Ints:
    """A uniformly random candidate of each query among those that share a block in any partition; -1 without one.

    Drawn from all its blocks concatenated, where a candidate that shares k blocks occurs k times and is therefore kept
    with probability 1/k; queries that keep none draw again.
    """
    layouts = [_layout(partition) for partition in partitions]
    sizes = np.column_stack([size for _, _, size in layouts])
    ends = sizes.cumsum(axis=1)
    picked = np.full(len(sizes), -1, dtype=np.int64)
    open_queries = np.flatnonzero(ends[:, -1])
    while open_queries.size:
        place = rng.integers(ends[open_queries, -1])
        scheme = (place[:, None] >= ends[open_queries]).sum(axis=1)
        candidate = np.empty(len(place), dtype=np.int64)
        for number, (order, start, size) in enumerate(layouts):
            here = scheme == number
            query = open_queries[here]
            candidate[here] = order[start[query] + place[here] - (ends[query, number] - size[query])]
        times = np.zeros(len(place), dtype=np.int64)
        for partition in partitions:
            times += partition.shares(open_queries, candidate)
        kept = rng.random(len(place)) * times < 1
        picked[open_queries[kept]] = candidate[kept]
        open_queries = open_queries[~kept]
    return picked


def _layout(partition: Partition) -> tuple[Ints, Ints, Ints]:
    """The candidates in block order, and for each query the start of its block and its number of candidates."""
    blocks = sort_blocks(partition)
    heights, widths = (ends[:, 1] - ends[:, 0] for ends in (blocks.query_ends, blocks.candidate_ends))
    queries = blocks.query_order[ranges(blocks.query_ends[:, 0], heights)]
    start, size = np.zeros((2, len(partition.queries)), dtype=np.int64)
    start[queries], size[queries] = np.repeat(blocks.candidate_ends[:, 0], heights), np.repeat(widths, heights)
    return blocks.candidate_order, start, size


def _ratio(part: Ints, whole: Ints) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
