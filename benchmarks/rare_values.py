"""The rarity attacker's search: the index on rare values against scoring every pair, and how both grow.

    python benchmarks/rare_values.py [RECORDS ...]

Simulated people and four releases of as many records; 2,000 of the originals are searched in the whole release on one
core, and 40 of them also by scoring every pair, which must find the same. The two times stand as a ratio in one run.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import numpy as np

from cvpl.attack.tolerances import find_tolerances
from cvpl.laboratory.mechanisms import GaussianCopula, Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.similarity import Rarity
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.rare_values.index import RareValues
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.in_memory import pair_of

SPECS = (
    ColumnSpec("age", "quasi_identifier", "numeric"),
    ColumnSpec("gender", "quasi_identifier", "category"),
    ColumnSpec("region", "quasi_identifier", "category"),
    ColumnSpec("brand_product", "attribute", "category"),
    ColumnSpec("purchase_place", "attribute", "category"),
    ColumnSpec("purchase_time", "attribute", "datetime"),
    ColumnSpec("days_after_ad", "attribute", "numeric"),
    ColumnSpec("ad_channel", "attribute", "category"),
)
ASKED, COMPARED = 2_000, 40


def measure(records: int, release: str) -> str:
    """One line of the table."""
    rng = np.random.default_rng(5)
    people = Touchpoints(records=records).draw(rng)
    mechanism = GaussianCopula() if release == "synthetic" else Perturbation(release)
    pair = pair_of([people, mechanism.protect(people, rng)], SPECS)
    asked = pair.original.take(np.sort(rng.choice(records, min(ASKED, records), replace=False)))
    tables = SimpleNamespace(
        original=asked,
        protected=pair.protected,
        reference=None,
        columns=[spec.name for spec in SPECS],
        tolerances=lambda exact: find_tolerances(exact, asked, pair.protected, rng),
    )
    fitted = Rarity().fit(tables)
    scorer = fitted.scorer(asked, pair.protected)
    start = time.perf_counter()
    index = RareValues.of(scorer.b)
    made = time.perf_counter() - start
    nothing, numbers = np.zeros(0, dtype=np.int64), np.arange(scorer.candidates)
    queries = np.lexsort(scorer.a.T)
    found = BestCandidates.none(scorer.queries)
    settings = scorer, queries[:1], nothing, nothing, found, np.arange(scorer.queries), numbers
    index.search(*settings)  # compiled before the clock starts
    start = time.perf_counter()
    index.search(scorer, queries, *settings[2:])
    indexed = (time.perf_counter() - start) / len(queries)
    some = np.linspace(0, scorer.queries - 1, COMPARED).astype(np.int64)
    start = time.perf_counter()
    tiles = [
        scorer.sorted(some[at : at + 1], numbers).tile(slice(0, 1), slice(0, scorer.candidates))
        for at in range(COMPARED)
    ]
    every = (time.perf_counter() - start) / COMPARED
    scores = np.vstack(tiles)
    best = scores.max(axis=1)
    same = np.allclose(best, found.best[some], atol=1e-9)
    same &= np.array_equal((scores >= best[:, None] - TIE).sum(axis=1), found.ties[some])
    return (
        f"| {records:,} | {release} | {made:.2f} | {1e6 * indexed:.0f} | {1e6 * every:.0f} | {every / indexed:.0f} "
        f"| {'equal' if same else 'DIFFERENT'} |"
    )


def main(sizes: list[int]) -> None:
    """Print the table."""
    print("| records | release | index made, s | a query, µs | every pair scored, µs | times faster | findings |")
    print("|---|---|---|---|---|---|---|")
    for records in sizes:
        for release in ("low", "high", "synthetic"):
            print(measure(records, release), flush=True)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000])
