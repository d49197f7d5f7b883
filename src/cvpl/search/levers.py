"""Options to examine fewer pairs (paper, table block-management). Each is off by default.

    max_block   cutoff: a block with more candidates than this is sampled down to it, the same for all its originals
    sample      sampling: each protected record is kept with this probability
    sub_block   sub-blocking: the largest blocks are split by further keys
    ann         approximate search (FAISS) inside large blocks

Skipped candidates may include the best match, so the result is a lower bound: a linkage rate is never too high, and may
be far too low. An attributable rate is not even a lower bound, since the control's rate falls too.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cvpl.operators.blocking import Scheme
from cvpl.settings import Settings

Ints = NDArray[np.int64]


class SubBlock(Settings):
    """Blocks larger than the share `above` of all blocks are split by the keys of `by`."""

    above: Annotated[float, Field(ge=0, lt=1)] = 0.95
    by: Scheme


class Approximate(Settings):
    """FAISS in blocks with more candidates than `above`: each query searches its nearest `nprobe` lists."""

    above: Annotated[int, Field(ge=1)] = 10_000
    nprobe: Annotated[int, Field(ge=1)] = 10


class Levers(Settings):
    """The options in use; by default none, and the search is exact."""

    max_block: Annotated[int, Field(ge=1)] | None = None
    sample: Annotated[float, Field(gt=0, lt=1)] | None = None
    sub_block: SubBlock | None = None
    ann: Approximate | None = None

    @property
    def used(self) -> tuple[str, ...]:
        """The names of the options in use."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)


def cut_off(candidates: Ints, most: int, nobody: int, rng: np.random.Generator) -> Ints:
    """The candidates' blocks, with at most `most` sampled candidates each; the others go to the block `nobody`."""
    order = rng.permutation(len(candidates))
    order = order[np.argsort(candidates[order], kind="stable")]
    blocks = candidates[order]
    start = np.flatnonzero(np.append(True, blocks[1:] != blocks[:-1]))
    rank = np.arange(len(blocks)) - np.repeat(start, np.diff(np.append(start, len(blocks))))
    kept = candidates.copy()
    kept[order[rank >= most]] = nobody
    return kept


def draw(candidates: Ints, share: float, nobody: int, rng: np.random.Generator) -> Ints:
    """The candidates' blocks, where each candidate stays with probability `share`; others go to the block `nobody`."""
    return np.where(rng.random(len(candidates)) < share, candidates, nobody)


def sub_divide(blocks: dict[str, Ints], keys: dict[str, Ints], candidates: str, above: float) -> dict[str, Ints]:
    """The tables' blocks, with the large ones split by further keys; sizes are those of the table `candidates`."""
    count = 1 + max(int(codes.max(initial=0)) for codes in blocks.values())
    sizes = np.bincount(blocks[candidates], minlength=count)
    large = sizes > np.quantile(sizes[sizes > 0], above)
    finer = 1 + max(int(codes.max(initial=0)) for codes in keys.values())
    return {name: codes * finer + np.where(large[codes], keys[name], 0) for name, codes in blocks.items()}
