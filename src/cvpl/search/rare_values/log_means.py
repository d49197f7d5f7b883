"""The density of a table around a record: the logarithm of the mean of exp(score) over all candidates of its block.

    log ( 1/|C(x)| * sum over y in C(x) of exp(score(x, y)) )

An agreement score is a sum over the columns, so exp(score) is a product over them: a kernel, as in a kernel density.
Every pair contributes, so none can be skipped; large tables are summed by compiled loops (`products`), small ones, and
scores whose exponential would overflow, in tiles. The choice depends only on the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity import AgreementScorer
from cvpl.search.blocks import Partition, layouts
from cvpl.search.machine import Budget, threads

Floats = NDArray[np.float64]

COMPILED_PAIRS = 3_000_000
"""From this number of pairs on, the compiled loops repay loading the compiler."""
_PRODUCTS = "products"
QUERIES_AT_ONCE = 512
_LARGEST_EXPONENT = 600.0
"""exp of this, times any number of records, is far from overflow; and exp of its negative far from underflow."""


def log_means(scorer: AgreementScorer, partition: Partition, budget: Budget | None = None) -> Floats:
    """The density for every query, see the module; -inf without a candidate."""
    budget = budget or Budget()
    found = np.full(scorer.queries, -np.inf)
    worth = scorer.worth
    held = worth.most < _LARGEST_EXPONENT and worth.least > -_LARGEST_EXPONENT
    compiled = held and partition.pairs >= COMPILED_PAIRS

    def tasks() -> Iterator[Callable[[], None]]:
        for asked, candidates in (block for blocks in layouts(partition) for block in blocks.rows()):
            there = scorer.sorted(asked[:0], candidates)
            summed: Callable[[AgreementScorer], Floats] = partial(log_sums_in_tiles, budget.tile_bytes // 8)
            if compiled:
                from cvpl.search.rare_values.products import Products  # noqa: PLC0415 - loads the compiler

                key = _PRODUCTS, scorer.names
                if key not in there.derived:
                    there.derived[key] = Products.of(there.b, scorer.names, budget.workers)
                summed = there.derived[key]
            at_once = min(QUERIES_AT_ONCE, max(1, -(-len(asked) // budget.workers)))
            for start in range(0, len(asked), at_once):
                yield partial(fill, asked[start : start + at_once], there, summed)

    def fill(asked: NDArray[np.int64], there: AgreementScorer, summed: Callable[[AgreementScorer], Floats]) -> None:
        some = AgreementScorer(scorer.a[asked], there.b, worth)
        found[asked] = summed(some) - np.log(there.candidates)

    with threads(budget.workers) as pool:
        for done in [pool.submit(task) for task in tasks()]:
            done.result()
    return found


def log_sums_in_tiles(size: int, scorer: AgreementScorer) -> Floats:
    """The logarithms of the sums, with the largest score factored out to avoid overflow and underflow."""
    found = np.empty(scorer.queries)
    height = max(1, size // max(1, scorer.candidates))
    for start in range(0, scorer.queries, height):
        rows = slice(start, min(start + height, scorer.queries))
        tile = scorer.tile(rows, slice(0, scorer.candidates))
        top = tile.max(axis=1)
        found[rows] = top + np.log(np.exp(tile - top[:, None]).sum(axis=1))
    return found
