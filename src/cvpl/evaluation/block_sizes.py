"""Block sizes, and how the pairs are distributed over blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.result import BlockScheme, BlockSizeClass
from cvpl.search.blocks import Partition

LARGEST = 0.10
MOST_OF_THE_WORK = 0.80


def block_sizes(partition: Partition, k: int = 1) -> BlockScheme:
    """Compute the block sizes under one scheme: a size counts protected records, work counts pairs that share a block.

    With compatible keys, a block is a set of originals with the same candidates. `count` is the number of blocks with
    both originals and protected records; blocks with one side only are counted separately. `sizes` are classes from
    each power of two to the next, including empty classes in between.

    With k above 1 the smallest blocks that have fewer than k protected records together are left out, so that nothing
    tells of a few people in blocks of their own; sizes below k are one class.
    """
    queries, candidates = partition.sizes()
    both = (queries > 0) & (candidates > 0)
    both[both] = _of_many(candidates[both], k)
    sizes, pairs_of = candidates[both], (queries * candidates)[both]
    work = np.sort(pairs_of)[::-1]
    pairs = int(work.sum())
    done = np.cumsum(work)
    tenth = max(1, int(np.ceil(LARGEST * len(work)))) if len(work) else 0
    return BlockScheme(
        count=int(both.sum()),
        original_only=int(((queries > 0) & (candidates == 0)).sum()),
        protected_only=partition.unmet(),
        smallest=int(sizes.min(initial=sizes.max(initial=0))),
        median=float(np.median(sizes)) if len(sizes) else 0.0,
        mean=float(sizes.mean()) if len(sizes) else 0.0,
        largest=int(sizes.max(initial=0)),
        pairs=pairs,
        share_of_all_pairs=pairs / (len(partition.queries) * len(partition.candidates)),
        work_in_largest_tenth=float(done[tenth - 1] / pairs) if pairs else 0.0,
        blocks_with_80_percent_of_work=int(np.searchsorted(done, MOST_OF_THE_WORK * pairs) + 1) if pairs else 0,
        sizes=_classes(sizes, pairs_of, k),
    )


def _of_many(sizes: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Which blocks stay: all but the smallest ones that have fewer than k records together."""
    kept = np.ones(len(sizes), dtype=bool)
    order = np.argsort(sizes, kind="stable")
    kept[order[np.cumsum(sizes[order]) < k]] = False
    return kept


def _classes(sizes: NDArray[np.int64], pairs: NDArray[np.int64], k: int) -> list[BlockSizeClass]:
    """The classes 1, 2 to 3, 4 to 7, ..., from the smallest block's class to the largest block's.

    All classes that begin below k are one, which is always there if k is above 1.
    """
    if not len(sizes):
        return []
    number = np.frexp(sizes)[1] - 1
    blocks, work = np.bincount(number), np.bincount(number, weights=pairs)
    small = int(np.ceil(np.log2(k)))
    found = []
    if small:
        few = BlockSizeClass(
            fewest=1, most=(1 << small) - 1, blocks=int(blocks[:small].sum()), pairs=int(work[:small].sum())
        )
        found.append(few)
    rest = range(max(small, int(number.min())), len(blocks))
    return found + [
        BlockSizeClass(fewest=1 << at, most=(2 << at) - 1, blocks=int(blocks[at]), pairs=int(work[at])) for at in rest
    ]
