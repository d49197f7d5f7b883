"""The search for best candidates in a cluster: a task is some blocks, or a part of one, searched as on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.representation import Representation
from cvpl.errors import InputError, Problem
from cvpl.operators.blocking import Key, block_words, combined_codes
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.blocks import Partition
from cvpl.search.exact import find_best
from cvpl.search.machine import Budget
from cvpl.spark.arrow_tables import PLACE
from cvpl.spark.cluster_table import ClusterTable, Reader
from cvpl.spark.guarding import run_guarded
from cvpl.spark.merging import merge_parts
from cvpl.spark.partitioning import TASK, BlockCounts, Partitioning, TaskRunner, count_blocks
from cvpl.tables.columns import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Ints = NDArray[np.int64]

FOUND = "place long, best double, row long, second double, second_row long, candidates long, ties long"
"""What is found for a query; rows are places in the candidates' table."""
FIELDS = (PLACE, "best", "row", "second", "second_row", "candidates", "ties")
_NAMES = FIELDS[1:]
MEMORY = 1 << 30
"""Bytes that the search of one task may use."""


@dataclass(frozen=True, eq=False)
class ClusterSearchResult:
    """What a search found: a row for each query, in the cluster, and the pairs that share a block."""

    frame: DataFrame
    blocks: BlockCounts

    def collect(self, queries: int) -> BestCandidates:
        """What was found, in this process: for a sample of people only."""
        return _from_arrow(self.frame.toArrow(), queries)


def read_found(folder: Path) -> BestCandidates:
    """What a search found for every query, from Parquet files with its frame."""
    from pyarrow import parquet  # noqa: PLC0415 - part of an extra

    rows = parquet.read_table(folder)
    return _from_arrow(rows, rows.num_rows)


def _from_arrow(rows: pa.Table, queries: int) -> BestCandidates:
    found = BestCandidates.none(queries)
    places = rows.column(PLACE).to_numpy()
    for name in _NAMES:
        getattr(found, name)[places] = rows.column(name).to_numpy()
    return found


def search(
    representation: Representation,
    scheme: tuple[Key, ...],
    queries: ClusterTable,
    candidates: ClusterTable,
) -> ClusterSearchResult:
    """The best candidates of every query among the candidates that share its block under `scheme`.

    Raises InputError if the totals of the result are not those of the tables.
    """
    cluster = queries.cluster
    counts = count_blocks(scheme, queries, candidates)
    partitioning = Partitioning.of(counts, queries.rows + candidates.rows)
    task = _SearchTask(representation.bare(), scheme, queries.reader, candidates.reader)
    asked, there = (
        partitioning.distribute(scheme, queries, "queries"),
        partitioning.distribute(scheme, candidates, "candidates"),
    )
    found = pair_records(asked, there, TaskRunner(task, task.queries, task.candidates), FOUND)
    if partitioning.splits:
        merged = cluster.keep(_merge(found, queries))
        found = _count_again(merged, partitioning, scheme, task, queries, candidates).select(*FIELDS)
    found = cluster.keep(found)
    _reconcile(found, queries.rows, counts.pairs)
    return ClusterSearchResult(found, counts)


def pair_records(asked: DataFrame, there: DataFrame, task: TaskRunner, schema: str) -> DataFrame:
    """What each task makes of its queries and its candidates."""

    def run(packs: pa.Table) -> pa.Table:  # Spark counts the arguments of a plain function
        return run_guarded(task, packs)

    return asked.unionAll(there).groupBy(*TASK).applyInArrow(run, schema)


def _merge(parts: DataFrame, queries: ClusterTable) -> DataFrame:
    """What all parts found for each query; parts of one query meet in one of the groups of places."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - part of an extra

    groups = max(1, -(-queries.rows // queries.cluster.rows))
    group = sql.pmod(sql.col(PLACE), sql.lit(groups)).alias("group")

    def run(found: pa.Table) -> pa.Table:
        return run_guarded(_merge_parts, found)

    return parts.groupBy(group).applyInArrow(run, f"{FOUND}, unsure boolean")


def _merge_parts(parts: pa.Table) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - part of an extra

    columns = {name: parts.column(name).to_numpy() for name in FIELDS}
    merged = merge_parts(columns.pop(PLACE), BestCandidates(**columns))
    found = {name: getattr(merged.found, name) for name in _NAMES}
    return pa.table({PLACE: merged.places, **found, "unsure": merged.unsure})


def _count_again(
    merged: DataFrame,
    partitioning: Partitioning,
    scheme: tuple[Key, ...],
    task: _SearchTask,
    queries: ClusterTable,
    candidates: ClusterTable,
) -> DataFrame:
    """The results with exact ties: those that parts could not settle are counted from the scores."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - part of an extra

    unsure = merged.where("unsure").select(PLACE, "best").toArrow()
    if not unsure.num_rows:
        return merged
    order = np.argsort(unsure.column(PLACE).to_numpy())
    places, best = (unsure.column(name).to_numpy()[order] for name in (PLACE, "best"))
    some = _Counting(task, places, best - TIE)
    asked = partitioning.distribute(scheme, queries.at(places), "queries")
    there = partitioning.distribute(scheme, candidates, "candidates")
    parts = pair_records(asked, there, TaskRunner(some, task.queries, task.candidates), f"{PLACE} long, tied long")
    counted = parts.groupBy(PLACE).agg(sql.sum("tied").alias("tied"))
    joined = merged.join(counted, PLACE, "left")
    return joined.withColumn("ties", sql.coalesce("tied", "ties"))


@dataclass(frozen=True, eq=False)
class _Counting:
    """Counts the candidates of a task that reach a score, for some queries."""

    task: _SearchTask
    places: Ints
    thresholds: NDArray[np.float64]

    def __call__(self, asked: pa.Table, there: pa.Table) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        places, mine = self.task.queries(asked)
        _, others = self.task.candidates(there)
        tied = np.zeros(len(places), dtype=np.int64)
        if mine.rows and others.rows:
            partition = _partition(self.task.scheme, mine, others)
            scorer = self.task.representation.scorer(mine, others)
            reach = self.thresholds[np.searchsorted(self.places, places)]
            for query in range(mine.rows):
                inside = np.flatnonzero(partition.candidates == partition.queries[query])
                scores = scorer.pairs(np.full(len(inside), query), inside)
                tied[query] = np.count_nonzero(scores >= reach[query])
        return pa.table({PLACE: places, "tied": tied})


def _reconcile(found: DataFrame, queries: int, pairs: int) -> None:
    """Refuse a result that lacks a query or a pair of the tables, or has one twice."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - part of an extra

    total = sql.sum(sql.col("candidates").cast("decimal(38,0)"))
    row = found.agg(sql.count("*"), sql.countDistinct(PLACE), total).collect()[0]
    got = int(row[0]), int(row[1]), int(row[2] or 0)
    if got != (queries, queries, pairs):
        what = f"the search returned {got[0]:,} results for {queries:,} records, and {got[2]:,} of {pairs:,} pairs"
        cure = "The tables may have changed while they were read. Run the audit again on tables that do not change."
        raise InputError([Problem("the cluster", what, cure)])


@dataclass(frozen=True, eq=False)
class _SearchTask:
    """Searches the queries of a task among its candidates."""

    representation: Representation
    scheme: tuple[Key, ...]
    queries: Reader
    candidates: Reader

    def __call__(self, asked: pa.Table, there: pa.Table) -> pa.Table:
        places, mine = self.queries(asked)
        rows, others = self.candidates(there)
        found = self._search(mine, others)
        named = np.append(rows, -1)  # the last one is for queries without a candidate
        return _to_arrow(places, found, named)

    def _search(self, queries: Table, candidates: Table) -> BestCandidates:
        if not queries.rows or not candidates.rows:
            return BestCandidates.none(queries.rows)
        partition = _partition(self.scheme, queries, candidates)
        scorer = self.representation.scorer(queries, candidates)
        return find_best(scorer, [partition], budget=Budget(MEMORY, threads=1))


def _partition(scheme: tuple[Key, ...], queries: Table, candidates: Table) -> Partition:
    """The blocks of some records, numbered together."""
    sides = zip(block_words(scheme, queries), block_words(scheme, candidates), strict=True)
    words = (_number_words(np.concatenate(pair)) for pair in sides)
    codes = combined_codes(words, queries.rows + candidates.rows)
    return Partition(codes[: queries.rows], codes[queries.rows :])


def _number_words(words: Ints) -> tuple[Ints, int]:
    """The words as codes from 0, and the number of codes."""
    found, codes = np.unique(words, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), len(found)


def _to_arrow(places: Ints, found: BestCandidates, named: Ints) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415 - part of an extra

    columns = {name: getattr(found, name) for name in _NAMES}
    columns |= {name: named[columns[name]] for name in ("row", "second_row")}
    return pa.table({PLACE: places, **columns})
