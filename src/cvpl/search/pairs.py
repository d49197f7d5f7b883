"""Similarities of candidate pairs: all pairs if there are not too many, else a seeded sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import ScoreSource
from cvpl.search.blocks import LeftOut, Partition, SortedBlocks, layouts, sort_blocks
from cvpl.search.budget import Budget
from cvpl.search.groups import groups
from cvpl.search.listing import candidates_only, list_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_PAIRS = 5_000_000
"""Up to this many candidate pairs, every pair is scored."""
SAMPLED_PER_RECORD = 100
"""Beyond that, the number of candidates sampled for each record (the paper's choice) ..."""
SAMPLED_RECORDS = 20_000
"""... and the number of sampled records."""
LISTED = 1 << 18


@dataclass(frozen=True, eq=False)
class PairSimilarities:
    """Sorted scores of candidate pairs. `total` counts all candidate pairs; `sampled` says that these are a sample."""

    values: Floats
    total: int
    sampled: bool


def candidate_similarities(
    scorer: ScoreSource,
    partitions: Sequence[Partition],
    rng: np.random.Generator,
    *,
    left_out: LeftOut | None = None,
    most: int = MOST_PAIRS,
    budget: Budget | None = None,
) -> PairSimilarities:
    """The scores of all candidate pairs, or of a uniform sample of them."""
    total = sum(partition.pairs for partition in partitions)
    values: list[Floats] = []
    for at, partition in enumerate(partitions):
        if total > most:
            query, row = _drawn(sort_blocks(partition), rng)
            keep = _candidates_among(query, row, partitions[:at], left_out)
            values.append(scorer.pairs(query[keep], row[keep]))
            continue
        parts = layouts(partition, partitions[:at], left_out)
        for group in (group for blocks in parts for group in groups(blocks, scorer, budget or Budget())):
            ends = np.flatnonzero(np.diff(np.cumsum(group.pairs) // LISTED)) + 1
            for rectangles in np.split(group.rectangles, ends):
                query, candidate = list_pairs(rectangles)
                keep = candidates_only(group, query, candidate)
                values.append(group.scorer.pairs(query[keep], candidate[keep]))
    found = np.sort(np.concatenate(values)) if values else np.zeros(0)
    return PairSimilarities(found, total if total > most else len(found), total > most)


def _drawn(blocks: SortedBlocks, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Uniformly sampled pairs, as rows: records by the number of their candidates, then candidates of each."""
    heights = blocks.query_ends[:, 1] - blocks.query_ends[:, 0]
    widths = blocks.candidate_ends[:, 1] - blocks.candidate_ends[:, 0]
    work = (heights * widths).astype(np.float64)
    block = np.sort(rng.choice(blocks.count, size=min(SAMPLED_RECORDS, int(heights.sum())), p=work / work.sum()))
    query = blocks.query_ends[block, 0] + rng.integers(heights[block])
    query, block = np.repeat(query, SAMPLED_PER_RECORD), np.repeat(block, SAMPLED_PER_RECORD)
    candidate = blocks.candidate_ends[block, 0] + rng.integers(widths[block])
    return blocks.query_order[query], blocks.candidate_order[candidate]


def _candidates_among(
    query: Ints, row: Ints, earlier: Sequence[Partition], left_out: LeftOut | None
) -> NDArray[np.bool_]:
    """Which pairs are candidates: not in an earlier partition's block, not left out."""
    keep = np.ones(len(query), dtype=bool)
    for other in earlier:
        keep &= ~other.shares(query, row)
    if left_out is not None and len(left_out.query):
        width = int(max(row.max(initial=0), left_out.candidate.max())) + 1
        listed = left_out.query * width + left_out.candidate
        listed.sort()
        wanted = query * width + row
        keep &= listed[np.minimum(np.searchsorted(listed, wanted), len(listed) - 1)] != wanted
    return keep
