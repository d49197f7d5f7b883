"""The search by containment in a 10-anonymous release, beside the search by rarity in a release of single values.

    python benchmarks/cells.py [RECORDS ...]

Simulated people; one release is lightly perturbed, the other made by Mondrian with k = 10. As many originals as the
family searches at that size (2,500 at a million records) are searched in the whole release on one core. 20 of them are
also compared with every pair, which must find the same. The times of the two, with the index or tree that each builds,
stand as a ratio in one run.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import numpy as np

from cvpl.config.query_limits import FEWEST_ASKED, MOST_PAIRS
from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms import Mondrian, Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.similarity import Rarity, generalized_columns
from cvpl.operators.similarity.rarity import RaritySettings
from cvpl.search.best import TIE
from cvpl.search.blocks import Partition
from cvpl.search.budget import Budget
from cvpl.search.exact import find_best
from cvpl.tables.in_memory import pair_of
from rare_values import SPECS

KNOWN = ("age", "gender", "region", "purchase_time")
COMPARED = 20


def measure(people: Frame, released: Frame) -> tuple[tuple[float, float], int, bool]:
    """Seconds with the index or tree and of the search alone, the number of people, and whether findings are equal."""
    pair = pair_of([people, released], SPECS)
    rng = np.random.default_rng(5)
    size = min(people_count := pair.original.rows, max(FEWEST_ASKED, MOST_PAIRS // pair.protected.rows))
    asked = pair.original.take(np.sort(rng.choice(people_count, size, replace=False)))
    cells = generalized_columns(asked, pair.protected)
    tables = SimpleNamespace(
        original=asked,
        protected=pair.protected,
        reference=None,
        columns=[spec.name for spec in SPECS if spec.name not in cells],
        cells=cells,
    )
    settings = RaritySettings(m=0.99, tolerance=0) if cells else RaritySettings(tolerance=0)
    scorer = Rarity(rarity=settings).fit(tables).scorer(asked, pair.protected)
    everybody = [Partition(np.zeros(scorer.queries, np.int64), np.zeros(scorer.candidates, np.int64))]
    find_best(scorer, everybody, budget=Budget(threads=1))  # compiled before the clock starts
    scorer.derived.clear()
    start = time.perf_counter()
    find_best(scorer, everybody, budget=Budget(threads=1))
    built = time.perf_counter()
    found = find_best(scorer, everybody, budget=Budget(threads=1))
    seconds = built - start, time.perf_counter() - built
    some = np.linspace(0, scorer.queries - 1, COMPARED).astype(np.int64)
    same = True
    for query in some:
        scores = scorer.tile(slice(query, query + 1), slice(0, scorer.candidates))[0]
        same &= bool(np.isclose(scores.max(), found.best[query], atol=1e-9))
        same &= int((scores >= scores.max() - TIE).sum()) == int(found.ties[query])
    return seconds, scorer.queries, same


def main(sizes: list[int]) -> None:
    """Print the table."""
    print("| records | people | by rarity, s | search alone | by containment, s | search alone | ratio | findings |")
    print("|---|---|---|---|---|---|---|---|")
    for records in sizes:
        rng = np.random.default_rng(7)
        people = Touchpoints(records=records).draw(rng)
        exact = measure(people, Perturbation("low").protect(people, rng))
        cells = measure(people, Mondrian(10, KNOWN).protect(people, rng))
        equal = "equal" if exact[2] and cells[2] else "DIFFERENT"
        times = " | ".join(f"{seconds:.2f}" for seconds in (*exact[0], *cells[0]))
        print(f"| {records:,} | {cells[1]:,} | {times} | {cells[0][0] / exact[0][0]:.2f} | {equal} |", flush=True)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000])
