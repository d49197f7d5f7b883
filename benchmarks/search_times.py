"""The cases of `times.py` that time a search by itself, in this process, and check what it found.

search        embedded tables, against the time that a perfect matrix product of the same pairs would take: 2 x pairs x
              components over the best single-precision rate of a product of two 4096 x 4096 matrices on all cores.
              Blocked by age decade, gender and first region level, attacker `paper`. Up to a million records the
              findings are held against those of the tiles, which score every pair, and the tiles are timed too.
              Products, searches and tiles take turns, and each has the best of its times
rare_values   the rarity attacker's index on rare values, against scoring every pair by the same formula: 2,000
              originals on one core, 40 of them by scoring every pair
cells         the search by containment in a release made by Mondrian with k = 10, beside the search by rarity in a
              lightly perturbed one: as many originals as the family searches for, on one core; 20 of them are compared
              with every pair
compatible    whole audits of a Mondrian release, k = 10 over four columns, by four blockings. `compatible`: all four
              are keys, and a person's candidates are the classes that hold the person's values. `finest`: equality on
              the same keys. `coarsest`: equality on keys that no class cuts through, which are the columns, or the
              levels of them, that every class has whole. `usual`: equality on age by tens, gender and the first
              region level
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import cvpl
import tables
from cvpl.attack.representation import fit_representation
from cvpl.attack.table_blocks import assign_blocks
from cvpl.attack.tolerances import find_tolerances
from cvpl.config.loading import load
from cvpl.config.resolved import FEWEST_QUERIES, MOST_PAIRS
from cvpl.laboratory.frame import Frame
from cvpl.laboratory.mechanisms import GaussianCopula, Mondrian, Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.similarity import CosineScorer, Rarity, generalized_columns
from cvpl.operators.similarity.weights import RaritySettings
from cvpl.search import exact
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.blocks import Partition, sort_blocks
from cvpl.search.exact import find_best
from cvpl.search.machine import Budget
from cvpl.search.rare_values.index import RareValues
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.in_memory import pair_of
from cvpl.tables.pair import read_inputs

EXHAUSTIVE = 1_000_000
"""Beyond, not every pair is scored."""
TURNS, LARGE_TURNS, FEWEST_TURNS = 50, 10, 2
"""How often a search is timed: below `EXHAUSTIVE` records, at it, and beyond."""
FIGURES = ("best", "row", "second", "second_row", "candidates", "ties")
ASKED = 2_000
SCORED_RARE, SCORED_CELLS = 40, 20
"""Queries for which every pair is scored."""
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
KEYS = ("age", "gender", "region", "purchase_time")
COLUMNS = {
    "person_id": {"role": "id"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "gender": {"role": "quasi_identifier", "type": "category"},
    "region": {"role": "quasi_identifier", "type": "category", "separator": "/"},
    "purchase_time": {"role": "quasi_identifier", "type": "datetime", "features": ["hour", "day_of_week"]},
    "days_after_ad": {"role": "attribute", "type": "numeric"},
    "ad_channel": {"role": "attribute", "type": "category"},
    "purchase_place": {"role": "attribute", "type": "category"},
    "brand_product": {"role": "attribute", "type": "category"},
    "income": {"role": "sensitive"},
}
Row = tuple[object, ...]


def timed(call: Callable[[], object]) -> tuple[float, object]:
    """The seconds of a call, and what it gives."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def same(equal: bool) -> str:
    """Whether two ways found the same."""
    return "equal" if equal else "DIFFERENT"


def prepared(folder: Path, release: str) -> tuple[CosineScorer, tuple[Partition, ...]]:
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


def one_block(scorer: CosineScorer) -> list[Partition]:
    """Everybody in one block."""
    return [Partition(np.zeros(scorer.queries, np.int64), np.zeros(scorer.candidates, np.int64))]


def by_tiles(scorer: CosineScorer, partitions: Sequence[Partition]) -> tuple[float, object]:
    """The seconds of a search that scores every pair, and what it found."""
    usual = exact.TREE_PAIRS
    exact.TREE_PAIRS = 1 << 62
    try:
        return timed(lambda: find_best(scorer, partitions))
    finally:
        exact.TREE_PAIRS = usual


def warm_up() -> None:
    """Load the compiled kernel, which a machine does once."""
    vectors = np.random.default_rng(0).normal(size=(30_000, 12))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    scorer = CosineScorer(vectors, vectors)
    find_best(scorer, one_block(scorer))


def search(folder: Path, sizes: Sequence[int]) -> Iterator[Row]:
    """Every release of every size."""
    warm_up()
    side = np.random.default_rng(0).random((4096, 4096), dtype=np.float32)
    for records in sizes:
        for release in tables.RELEASES:
            scorer, partitions = prepared(tables.make(folder, records, (release,)), release)
            pairs, components = sort_blocks(partitions[0]).pairs, scorer.a.shape[1]
            products, ours, tiled, equal = [], [], [], True
            turns = TURNS if records < EXHAUSTIVE else LARGE_TURNS if records == EXHAUSTIVE else FEWEST_TURNS
            for turn in range(turns):
                products.append(timed(lambda: side @ side)[0])
                seconds, found = timed(lambda scorer=scorer, partitions=partitions: find_best(scorer, partitions))
                ours.append(seconds)
                if records < EXHAUSTIVE or (records == EXHAUSTIVE and turn == 0):
                    seconds, every = by_tiles(scorer, partitions)
                    tiled.append(seconds)
                    equal &= all(np.array_equal(getattr(found, name), getattr(every, name)) for name in FIGURES)
            rate = 2 * len(side) ** 3 / min(products)
            limit, best = 2 * pairs * components / rate, min(ours)
            row = (f"{records:,}", release, f"{pairs:.3g}", components, f"{rate / 1e9:.0f}", f"{limit:.2f}")
            row += (f"{best:.2f}", f"{limit / best:.1f}")
            yield (
                (*row, f"{min(tiled):.2f}", f"{best / min(tiled):.2f}", same(equal)) if tiled else (*row, "-", "-", "-")
            )


def rare_values(_: Path, sizes: Sequence[int]) -> Iterator[Row]:
    """Three releases of every size."""
    for records in sizes:
        for release in ("low", "high", "synthetic"):
            yield _rare(records, release)


def _rare(records: int, release: str) -> Row:
    rng = np.random.default_rng(5)
    people = Touchpoints(records=records).draw(rng)
    mechanism = GaussianCopula() if release == "synthetic" else Perturbation(release)
    pair = pair_of([people, mechanism.protect(people, rng)], SPECS)
    asked = pair.original.take(np.sort(rng.choice(records, min(ASKED, records), replace=False)))
    fitting = SimpleNamespace(
        original=asked,
        protected=pair.protected,
        reference=None,
        columns=[spec.name for spec in SPECS],
        cells=(),
        tolerances=lambda exact: find_tolerances(exact, asked, pair.protected, rng),
    )
    scorer = Rarity().fit(fitting).scorer(asked, pair.protected)
    made, index = timed(lambda: RareValues.of(scorer.b))
    nothing, numbers = np.zeros(0, dtype=np.int64), np.arange(scorer.candidates)
    queries = np.lexsort(scorer.a.T)
    found = BestCandidates.none(scorer.queries)
    rest = nothing, nothing, found, np.arange(scorer.queries), numbers
    index.search(scorer, queries[:1], *rest)  # compiled before the clock starts
    indexed = timed(lambda: index.search(scorer, queries, *rest))[0] / len(queries)
    some = np.linspace(0, scorer.queries - 1, SCORED_RARE).astype(np.int64)
    whole = slice(0, 1), slice(0, scorer.candidates)
    every, tiles = timed(lambda: [scorer.sorted(some[at : at + 1], numbers).tile(*whole) for at in range(SCORED_RARE)])
    every /= SCORED_RARE
    scores = np.vstack(tiles)
    best = scores.max(axis=1)
    equal = np.allclose(best, found.best[some], atol=1e-9)
    equal &= np.array_equal((scores >= best[:, None] - TIE).sum(axis=1), found.ties[some])
    times = f"{made:.2f}", f"{1e6 * indexed:.0f}", f"{1e6 * every:.0f}", f"{every / indexed:.0f}"
    return f"{records:,}", release, *times, same(equal)


def cells(_: Path, sizes: Sequence[int]) -> Iterator[Row]:
    """A row for each size."""
    for records in sizes:
        rng = np.random.default_rng(7)
        people = Touchpoints(records=records).draw(rng)
        rarity = _contained(people, Perturbation("low").protect(people, rng))
        contained = _contained(people, Mondrian(10, KEYS).protect(people, rng))
        times = [f"{seconds:.2f}" for seconds in (*rarity[0], *contained[0])]
        ratio = f"{contained[0][0] / rarity[0][0]:.2f}"
        yield f"{records:,}", f"{contained[1]:,}", *times, ratio, same(rarity[2] and contained[2])


def _contained(people: Frame, released: Frame) -> tuple[tuple[float, float], int, bool]:
    """Seconds with the index or tree and of the search alone, the number of people, and whether findings are equal."""
    pair = pair_of([people, released], SPECS)
    rng = np.random.default_rng(5)
    size = min(everybody := pair.original.rows, max(FEWEST_QUERIES, MOST_PAIRS // pair.protected.rows))
    asked = pair.original.take(np.sort(rng.choice(everybody, size, replace=False)))
    generalized = generalized_columns(asked, pair.protected)
    fitting = SimpleNamespace(
        original=asked,
        protected=pair.protected,
        reference=None,
        columns=[spec.name for spec in SPECS if spec.name not in generalized],
        cells=generalized,
    )
    settings = RaritySettings(m=0.99, tolerance=0) if generalized else RaritySettings(tolerance=0)
    scorer = Rarity(rarity=settings).fit(fitting).scorer(asked, pair.protected)

    def find() -> BestCandidates:
        return find_best(scorer, one_block(scorer), budget=Budget(threads=1))

    find()  # compiled before the clock starts
    scorer.derived.clear()
    (built, _), (alone, found) = timed(find), timed(find)
    equal = True
    for query in np.linspace(0, scorer.queries - 1, SCORED_CELLS).astype(np.int64):
        scores = scorer.tile(slice(query, query + 1), slice(0, scorer.candidates))[0]
        equal &= bool(np.isclose(scores.max(), found.best[query], atol=1e-9))
        equal &= int((scores >= scores.max() - TIE).sum()) == int(found.ties[query])
    return (built, alone), scorer.queries, equal


def compatible(folder: Path, sizes: Sequence[int]) -> Iterator[Row]:
    """Every blocking of every size; times stand as ratios to the first."""
    for records in sizes:
        place = folder / f"mondrian_{records}"
        place.mkdir(parents=True, exist_ok=True)
        people = Touchpoints(records=records).draw(np.random.default_rng(1))
        release = _mondrian(people)
        files = place / "original.parquet", place / "mondrian.parquet"
        for table, file in zip((people, release), files, strict=True):
            table.write(file)
        exactly = [{name: "exact"} for name in KEYS]
        usual = [{"age": {"bin": 10}}, {"gender": "exact"}, {"region": {"level": 1}}]
        blockings = {
            "compatible": {"match": "compatible", "any_of": [exactly]},
            "finest": {"any_of": [exactly]},
            "coarsest": {"any_of": [_coarsest(release)]},
            "usual": {"any_of": [usual]},
        }
        first = 0.0
        for name, blocking in blockings.items():
            config = {"columns": COLUMNS, "attacker": {"blocking": blocking}, "seed": 42}
            seconds, found = timed(lambda config=config, files=files: cvpl.audit(*files, config))
            first = first or seconds
            truth = f"{found.truth.blocking_recall:.3f}", f"{found.truth.top1_hit_rate:.3f}"
            yield f"{records:,}", name, f"{found.blocks.pairs:,}", *truth, f"{seconds:.1f}", f"{first / seconds:.2f}"


def _mondrian(people: Frame) -> Frame:
    """The Mondrian release; a region that a class does not share is written as its first level, or as a star."""
    paths = {"region": lambda label: tuple(label.split("/"))}
    written = {"region": lambda path: path[0] + "/*"}
    return Mondrian(10, KEYS, paths, written).protect(people, np.random.default_rng(2))


def _coarsest(release: Frame) -> list[dict[str, object]]:
    """The keys that every class has whole: gender unless some class mixes it, region at the level that all keep."""
    gender, region = (release.category(name).labels for name in ("gender", "region"))
    keys: list[dict[str, object]] = []
    if not any(label.startswith("{") for label in gender):
        keys.append({"gender": "exact"})
    if "*" not in region:
        keys.append({"region": {"level": 1 if any(label.endswith("/*") for label in region) else 2}})
    return keys


SIZES = (10_000, 100_000, 1_000_000)
CASES = {
    "search": (
        (
            "records",
            "release",
            "pairs",
            "width",
            "GFLOP/s",
            "limit, s",
            "search, s",
            "times faster",
            "tiles, s",
            "of these",
            "findings",
        ),
        search,
        SIZES,
    ),
    "rare_values": (
        (
            "records",
            "release",
            "index made, s",
            "a query, µs",
            "every pair scored, µs",
            "times faster",
            "findings",
        ),
        rare_values,
        SIZES,
    ),
    "cells": (
        (
            "records",
            "people",
            "by rarity, s",
            "search alone",
            "by containment, s",
            "search alone",
            "ratio",
            "findings",
        ),
        cells,
        SIZES,
    ),
    "compatible": (
        (
            "records",
            "blocking",
            "pairs",
            "blocking recall",
            "top-1",
            "seconds",
            "compatible, in these times",
        ),
        compatible,
        SIZES[1:],
    ),
}
"""The columns of each table, what gives its rows, and the usual sizes."""
