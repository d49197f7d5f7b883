"""Which task searches which records: small blocks share a task, and a large block is split on both sides.

The rule depends on a record's block and place alone, so a task that is run again gets the same records. Blocks with at
most `rows` records a side are dealt to buckets by a hash of their keys. A larger block is cut into pieces by place, p
of its queries and q of its candidates, and each of the p q pairs of pieces is a task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.blocking import Key, block_words
from cvpl.spark.arrow_tables import PLACE
from cvpl.spark.chunks import chunks
from cvpl.spark.cluster_table import ClusterTable, Reader
from cvpl.spark.guarding import GuardedTask
from cvpl.spark.packing import pack, unpack
from cvpl.tables.columns import Table
from cvpl.tables.keys import hash_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Ints = NDArray[np.int64]
Side = Literal["queries", "candidates"]

TASK = ("bucket", "query_piece", "candidate_piece")
"""The fields that name a task."""
_DEALT = "bucket long, query_piece int, candidate_piece int, asks boolean, packed binary"
"""Some records of one side of a task, as one value."""


def block_numbers(scheme: tuple[Key, ...], table: Table) -> Ints:
    """A number for each record's block; two blocks share one by a chance of about 1 in 10^19."""
    words = [word.view(np.uint64) for word in block_words(scheme, table)]
    return hash_columns(words, table.rows).view(np.int64)


@dataclass(frozen=True, eq=False)
class BlockCounts:
    """The blocks of two tables: the pairs that share one, and the blocks with more than `rows` records of a side."""

    pairs: int
    rows: int
    large: Ints
    queries: Ints
    candidates: Ints


def count_blocks(scheme: tuple[Key, ...], queries: ClusterTable, candidates: ClusterTable) -> BlockCounts:
    """Count the records of every block, in the cluster; only totals and the sizes of large blocks reach the driver."""
    if not scheme:
        return _one_block(queries, candidates)
    from pyspark.sql import functions as sql  # noqa: PLC0415 - part of an extra

    sides = [
        table.frame.mapInArrow(GuardedTask(_CountedBlocks(scheme, table.reader)), "block long, records long")
        .groupBy("block")
        .agg(sql.sum("records").alias(name))
        for table, name in ((queries, "queries"), (candidates, "candidates"))
    ]
    rows = queries.cluster.rows
    blocks = sides[0].join(sides[1], "block")
    decimal = sql.col("queries").cast("decimal(38,0)") * sql.col("candidates")
    both = blocks.withColumn("is_large", (sql.col("queries") > rows) | (sql.col("candidates") > rows))
    found = both.groupBy("is_large", sql.when(sql.col("is_large"), sql.col("block")).alias("block")).agg(
        sql.sum(decimal).alias("pairs"), sql.sum("queries").alias("queries"), sql.sum("candidates").alias("candidates")
    )
    collected = found.collect()
    large = sorted((row.block, row.queries, row.candidates) for row in collected if row.is_large)
    columns = np.array(large, dtype=np.int64).reshape(-1, 3).T
    return BlockCounts(sum(int(row.pairs) for row in collected), rows, *columns)


def _one_block(queries: ClusterTable, candidates: ClusterTable) -> BlockCounts:
    """The counts without keys: everybody is in one block."""
    rows = queries.cluster.rows
    sizes = queries.rows, candidates.rows
    block = block_numbers((), Table("everybody", 1, (), {}))
    large = [np.array([size], dtype=np.int64)[: max(sizes) > rows] for size in (int(block[0]), *sizes)]
    return BlockCounts(queries.rows * candidates.rows, rows, *large)


@dataclass(frozen=True, eq=False)
class _CountedBlocks:
    """Counts the records of each block in a batch."""

    scheme: tuple[Key, ...]
    reader: Reader

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        for batch in batches:
            _, table = self.reader(pa.Table.from_batches([batch]))
            blocks, records = np.unique(block_numbers(self.scheme, table), return_counts=True)
            yield pa.RecordBatch.from_pydict({"block": blocks, "records": records})


@dataclass(frozen=True, eq=False)
class Partitioning:
    """The tasks of one search: the number of buckets, and the number of pieces of each large block."""

    buckets: int
    large: Ints
    query_pieces: Ints
    candidate_pieces: Ints

    @classmethod
    def of(cls, counts: BlockCounts, records: int) -> Partitioning:
        """Deal so many records, of both sides together, to tasks of about `rows` records a side."""
        pieces = [-(-side // counts.rows) for side in (counts.queries, counts.candidates)]
        return cls(max(1, -(-records // (2 * counts.rows))), counts.large, *pieces)

    @property
    def splits(self) -> bool:
        """Whether some query has candidates in several tasks."""
        return bool(np.any(self.candidate_pieces > 1))

    def tasks(self, blocks: Ints, places: Ints, side: Side) -> tuple[Ints, Ints, Ints, Ints]:
        """The records of one side of every task: their row numbers here, and the task of each.

        A record of a large block is in one piece of its own side, and meets every piece of the other.
        """
        at = np.minimum(np.searchsorted(self.large, blocks), max(0, len(self.large) - 1))
        large = self.large[at] == blocks if len(self.large) else np.zeros(len(blocks), dtype=bool)
        own, other = self.query_pieces, self.candidate_pieces
        if side == "candidates":
            own, other = other, own
        mine = np.ones(len(blocks), dtype=np.int64)
        theirs = np.ones(len(blocks), dtype=np.int64)
        mine[large], theirs[large] = own[at[large]], other[at[large]]
        bucket = np.where(large, blocks, (blocks.view(np.uint64) % np.uint64(self.buckets)).astype(np.int64))
        rows = np.repeat(np.arange(len(blocks)), theirs)
        met = np.arange(len(rows)) - np.repeat(np.cumsum(theirs) - theirs, theirs)
        pieces = (places % mine)[rows], met
        return rows, bucket[rows], *(pieces if side == "queries" else pieces[::-1])

    def distribute(self, scheme: tuple[Key, ...], table: ClusterTable, side: Side) -> DataFrame:
        """The records of a table, in packs with the task of each."""
        return table.frame.mapInArrow(GuardedTask(_RecordPacker(self, scheme, table.reader, side)), _DEALT)


@dataclass(frozen=True, eq=False)
class _RecordPacker:
    """Packs records for their tasks, each for every task that it is in."""

    partitioning: Partitioning
    scheme: tuple[Key, ...]
    reader: Reader
    side: Side

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        schema = self.reader.layout.arrow_schema
        for chunk in chunks(batches):
            stored = chunk.select(schema.names).cast(schema).sort_by(PLACE)
            places, table = self.reader(stored)
            rows, *task = self.partitioning.tasks(block_numbers(self.scheme, table), places, self.side)
            (bucket, *pieces), packed = pack(stored.take(pa.array(rows)), task)
            found = [bucket, *(part.astype(np.int32) for part in pieces), np.full(len(packed), self.side == "queries")]
            yield pa.RecordBatch.from_arrays([*map(pa.array, found), packed], names=[*TASK, "asks", "packed"])


@dataclass(frozen=True, eq=False)
class TaskRunner:
    """Unpacks the queries and the candidates of a task, and does it."""

    task: Callable[[pa.Table, pa.Table], pa.Table]
    queries: Reader
    candidates: Reader

    def __call__(self, packs: pa.Table) -> pa.Table:
        """What the task makes of some packs."""
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        asks = packs.column("asks").to_numpy()
        sides = [
            unpack(packs.column("packed").filter(pa.array(chosen)), reader.layout.arrow_schema)
            for chosen, reader in ((asks, self.queries), (~asks, self.candidates))
        ]
        return self.task(*sides)
