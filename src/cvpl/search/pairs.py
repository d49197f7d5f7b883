"""Similarities of many pairs: all candidate pairs where that is affordable, else a seeded sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import Scorer
from cvpl.search.blocks import LeftOut, Partition, sort_blocks
from cvpl.search.exact import candidates_only, list_pairs, ranges

Floats = NDArray[np.float64]

MOST_PAIRS = 5_000_000
"""Up to so many candidate pairs every one is scored."""
SAMPLED_PER_RECORD = 100
"""Beyond that, so many candidates are drawn for each record (the paper's choice) ..."""
SAMPLED_RECORDS = 20_000
"""... of so many records."""


@dataclass(frozen=True, eq=False)
class PairSimilarities:
    """Scores of candidate pairs, ascending. `total` counts all candidate pairs, `sampled` says that these are some."""

    values: Floats
    total: int
    sampled: bool


def candidate_similarities(
    scorer: Scorer,
    partitions: Sequence[Partition],
    rng: np.random.Generator,
    *,
    left_out: LeftOut | None = None,
    most: int = MOST_PAIRS,
) -> PairSimilarities:
    """The scores of all candidate pairs, or of a sample in which every pair has the same chance."""
    values: list[Floats] = []
    total = 0
    layouts = [sort_blocks(partition, partitions[:at], left_out) for at, partition in enumerate(partitions)]
    sampled = sum(layout.pairs for layout in layouts) > most
    for blocks in layouts:
        ordered = scorer.sorted(blocks.query_order, blocks.candidate_order)
        total += blocks.pairs
        if sampled:
            query, candidate = _drawn(blocks.query_ends, blocks.candidate_ends, rng)
            keep = candidates_only(blocks, query, candidate)
            values.append(ordered.pairs(query[keep], candidate[keep]))
            continue
        for group in np.array_split(np.arange(blocks.count), max(1, blocks.pairs >> 18)):
            query, candidate = list_pairs(blocks, group)
            keep = candidates_only(blocks, query, candidate)
            values.append(ordered.pairs(query[keep], candidate[keep]))
    found = np.sort(np.concatenate(values)) if values else np.zeros(0)
    return PairSimilarities(found, total if sampled else len(found), sampled)


def _drawn(
    query_ends: NDArray[np.int64], candidate_ends: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs drawn evenly: records by the number of their candidates, then candidates of each."""
    heights, widths = query_ends[:, 1] - query_ends[:, 0], candidate_ends[:, 1] - candidate_ends[:, 0]
    query = ranges(query_ends[:, 0], heights)
    block = np.repeat(np.arange(len(heights)), heights)
    chance = widths[block] / widths[block].sum()
    drawn = np.sort(rng.choice(len(query), size=min(SAMPLED_RECORDS, len(query)), p=chance))
    query, block = np.repeat(query[drawn], SAMPLED_PER_RECORD), np.repeat(block[drawn], SAMPLED_PER_RECORD)
    return query, candidate_ends[block, 0] + rng.integers(widths[block])
