"""The search alone, against the time that a perfect matrix product of the same pairs would take.

The limit: 2 x pairs x components over the best single-precision rate of a product of two 4096 x 4096 matrices on all
cores. Blocked by age decade, gender and first region level, attacker `paper`. Up to a million records the findings are
held against those of the tiles, which score every pair, and the tiles are timed too. Products, searches and tiles take
turns, and each has the best of its times: what disturbs the machine disturbs all of them.

    python benchmarks/search_alone.py FOLDER RECORDS RELEASE...
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import tables
from cvpl.attack.representation import fit_representation
from cvpl.attack.table_blocks import assign_blocks
from cvpl.config.loading import load
from cvpl.operators.similarity import CosineScorer
from cvpl.search import exact
from cvpl.search.blocks import Partition, sort_blocks
from cvpl.search.exact import find_best
from cvpl.tables.pair import read_inputs

EXHAUSTIVE = 1_000_000
TURNS = 10
SMALL_TURNS = 50
FIGURES = ("best", "row", "second", "second_row", "candidates", "ties")


def product(side: np.ndarray) -> float:
    """The seconds of one matrix product."""
    start = time.perf_counter()
    side @ side
    return time.perf_counter() - start


def prepared(folder: Path, release: str) -> tuple[CosineScorer, tuple]:
    """The embedded tables in the order of their blocks, and the blocks."""
    resolved = load(folder / "audit.yaml")
    files = (str(folder / f"{name}.parquet") for name in ("original", release))
    inputs = read_inputs(*files, resolved.specs, reading=resolved.reading, declared=resolved.declared)
    attacker = next(iter(resolved.attackers.values()))
    pair = inputs.pair
    representation = fit_representation(pair.original, pair.protected, attacker, resolved.config.seed)
    blocks = assign_blocks(
        attacker.blocking, [pair.original, pair.protected], representation.space, resolved.config.seed
    )
    scorer = representation.scorer(pair.original, pair.protected)
    partition = blocks.partitions("original", "protected")[0]
    orders = [np.argsort(side, kind="stable") for side in (partition.queries, partition.candidates)]
    ordered = Partition(partition.queries[orders[0]], partition.candidates[orders[1]])
    return scorer.sorted(*orders), (ordered,)


def searched(scorer: CosineScorer, partitions: tuple, *, trees: bool = True) -> tuple[float, object]:
    """The seconds of one search, and what it found."""
    usual = exact.TREE_PAIRS
    exact.TREE_PAIRS = usual if trees else 1 << 62
    start = time.perf_counter()
    found = find_best(scorer, partitions)
    seconds = time.perf_counter() - start
    exact.TREE_PAIRS = usual
    return seconds, found


def warm_up() -> None:
    """Load the compiled kernel, which a machine does once."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(30_000, 12))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    one = np.zeros(30_000, dtype=np.int64)
    find_best(CosineScorer(vectors, vectors), [Partition(one, one)])


def main(folder: Path, records: int, releases: list[str]) -> None:
    """Print a row for each release."""
    warm_up()
    side = np.random.default_rng(0).random((4096, 4096), dtype=np.float32)
    for release in releases:
        place = tables.make(folder, records, (release,))
        scorer, partitions = prepared(place, release)
        pairs, components = sort_blocks(partitions[0]).pairs, scorer.a.shape[1]
        products, ours, tiled, same = [], [], [], True
        turns = SMALL_TURNS if records < EXHAUSTIVE else TURNS if records == EXHAUSTIVE else 2
        for turn in range(turns):
            products.append(product(side))
            seconds, found = searched(scorer, partitions)
            ours.append(seconds)
            if records < EXHAUSTIVE or (records == EXHAUSTIVE and turn == 0):
                seconds, every = searched(scorer, partitions, trees=False)
                tiled.append(seconds)
                same &= all(np.array_equal(getattr(found, name), getattr(every, name)) for name in FIGURES)
        rate = 2 * len(side) ** 3 / min(products)
        limit, best = 2 * pairs * components / rate, min(ours)
        row = f"| {records:,} | {release} | {pairs:.3g} | {components} | {rate / 1e9:.0f} | {limit:.2f} | {best:.2f} |"
        row += f" {limit / best:.1f} |"
        if tiled:
            row += f" {min(tiled):.2f} | {best / min(tiled):.2f} | {'equal' if same else 'NOT EQUAL'} |"
        else:
            row += " - | - | - |"
        print(row, flush=True)


HEAD = """\
| records | release | pairs | width | GFLOP/s | limit, s | search, s | times faster | tiles, s | of these | findings |
|---|---|---|---|---|---|---|---|---|---|---|"""

if __name__ == "__main__":
    if sys.argv[2] == "head":
        print(HEAD)
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
