"""The density of a table around each query, in a cluster: a task sums over a piece of the candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.representation import Representation
from cvpl.errors import InputError, Problem
from cvpl.search.blocks import Partition
from cvpl.search.machine import Budget
from cvpl.search.rare_values.log_means import log_means
from cvpl.spark.arrow_tables import PLACE
from cvpl.spark.cluster_table import ClusterTable, Reader
from cvpl.spark.guarding import run_guarded
from cvpl.spark.partitioning import Partitioning, TaskRunner, count_blocks
from cvpl.spark.search import MEMORY, pair_records

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame

Floats = NDArray[np.float64]

_SUMS = f"{PLACE} long, total double"
_DENSITY = f"{PLACE} long, density double"


def densities(representation: Representation, queries: ClusterTable, candidates: ClusterTable) -> DataFrame:
    """The logarithm of the mean of exp(score) over all candidates, for each query, kept in the cluster.

    Raises InputError if a query is missing from the result.
    """
    from pyspark.sql import functions as sql  # noqa: PLC0415 - part of an extra

    counts = count_blocks((), queries, candidates)
    partitioning = Partitioning.of(counts, queries.rows + candidates.rows)
    task = _LogSumExp(representation.bare(), queries.reader, candidates.reader)
    asked, there = (
        partitioning.distribute((), queries, "queries"),
        partitioning.distribute((), candidates, "candidates"),
    )
    sums = pair_records(asked, there, TaskRunner(task, task.queries, task.candidates), _SUMS)
    groups = max(1, -(-queries.rows // queries.cluster.rows))
    together = CombinedDensities(candidates.rows)

    def run(parts: pa.Table) -> pa.Table:
        return run_guarded(together, parts)

    group = sql.pmod(sql.col(PLACE), sql.lit(groups)).alias("group")
    found = queries.cluster.keep(sums.groupBy(group).applyInArrow(run, _DENSITY))
    if (rows := found.count()) != queries.rows:
        what = f"densities came back for {rows:,} of {queries.rows:,} records"
        raise InputError([Problem("the cluster", what, "Run the audit again on tables that do not change.")])
    return found


def read_densities(folder: Path) -> Floats:
    """The density of every query, from Parquet files with its frame."""
    from pyarrow import parquet  # noqa: PLC0415 - part of an extra

    rows = parquet.read_table(folder)
    found = np.empty(rows.num_rows)
    found[rows.column(PLACE).to_numpy()] = rows.column("density").to_numpy()
    return found


@dataclass(frozen=True, eq=False)
class _LogSumExp:
    """The logarithm of the sum of exp(score) over the candidates of a task."""

    representation: Representation
    queries: Reader
    candidates: Reader

    def __call__(self, asked: pa.Table, there: pa.Table) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        places, mine = self.queries(asked)
        _, others = self.candidates(there)
        total = np.full(mine.rows, -np.inf)
        if mine.rows and others.rows:
            scorer = self.representation.scorer(mine, others).agreement
            assert scorer is not None  # noqa: S101 - the attacker's settings reject density with any other similarity
            everybody = Partition(np.zeros(mine.rows, dtype=np.int64), np.zeros(others.rows, dtype=np.int64))
            total = log_means(scorer, everybody, Budget(MEMORY, threads=1)) + np.log(others.rows)
        return pa.table({PLACE: places, "total": total})


@dataclass(frozen=True)
class CombinedDensities:
    """The densities of some queries, from the sums of all pieces of the candidates; pieces come in any order."""

    candidates: int

    def __call__(self, parts: pa.Table) -> pa.Table:
        """Add up the parts of some queries."""
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        places, total = parts.column(PLACE).to_numpy(), parts.column("total").to_numpy()
        order = np.lexsort((total, places))
        places, total = places[order], total[order]
        starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
        top = np.maximum.reduceat(total, starts)
        lengths = np.diff(np.append(starts, len(places)))
        summed = np.add.reduceat(np.exp(total - np.repeat(top, lengths)), starts)
        return pa.table({PLACE: places[starts], "density": top + np.log(summed) - np.log(self.candidates)})
