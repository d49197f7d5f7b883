"""A question that needs the records of whole tables: one task gets them all, and only its answer leaves the cluster.

The tables arrive in one stream. The task writes each to a Parquet file in a private folder of the executor's own disk,
where nothing stays when the task ends, and asks its question of the files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cvpl.errors import CvplError, InputError, InternalError, LimitError, Problem, place_of
from cvpl.files import private_folder, remove_abandoned
from cvpl.spark.chunks import chunks
from cvpl.spark.guarding import Guarded
from cvpl.spark.sources import ClusterSource
from cvpl.tables.own_parquet import OwnParquet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Question = Callable[[Mapping[str, OwnParquet]], Any]

_TABLE = "table"
_ROW_GROUP = 122_880
"""Records of a row group: DuckDB reads each with a thread of its own."""


@dataclass(frozen=True)
class _Sent:
    """How the columns of a table are named on their way, what they are called in the table, and how many records go.

    The number is None if nobody counted them.
    """

    role: str
    name: str
    fields: tuple[str, ...]
    columns: tuple[str, ...]
    rows: int | None = None


def ask_at_once(tables: Mapping[str, ClusterSource], question: Question) -> Any:
    """The answer to a question about whole tables, by their roles; it is asked in the cluster.

    The answer is small, and Spark carries it as it carries code. What the question refuses (CvplError) is raised here.
    """
    from pyspark.serializers import CPickleSerializer  # noqa: PLC0415 - part of an extra

    sent, frame = _together(tables)
    rows = frame.mapInArrow(Guarded(_Task(sent, question)), "said binary").collect()
    said, refused = CPickleSerializer().loads(bytes(rows[0].said))
    if refused is not None:
        raise refused
    return said


def _together(tables: Mapping[str, ClusterSource]) -> tuple[tuple[_Sent, ...], DataFrame]:
    """All records in one partition, whatever their table; columns of one type share a field."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - part of an extra

    kinds: dict[str, int] = {}
    sent, frames = [], []
    for number, (role, table) in enumerate(tables.items()):
        used: dict[int, int] = {}
        fields = []
        for _, kind in table.frame.dtypes:
            of_kind = kinds.setdefault(kind, len(kinds))
            used[of_kind] = used.get(of_kind, -1) + 1
            fields.append(f"f{of_kind}_{used[of_kind]}")
        sent.append(_Sent(role, table.name, tuple(fields), tuple(table.frame.columns), table.rows))
        frames.append(table.frame.toDF(*fields).withColumn(_TABLE, sql.lit(number)))
    joined = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
    # One partition: the order of records in it changes nothing, since they are sorted by their content.
    return tuple(sent), joined.repartition(1)


@dataclass(frozen=True, eq=False)
class _Task:
    """Receives the tables, and asks."""

    sent: tuple[_Sent, ...]
    question: Question

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra
        from pyspark.serializers import CPickleSerializer  # noqa: PLC0415

        with temporary_files_of_the_executor():
            answer = CPickleSerializer().dumps(self._answer(batches))
        yield pa.RecordBatch.from_pydict({"said": pa.array([answer], pa.binary())})

    def _answer(self, batches: Iterator[pa.RecordBatch]) -> tuple[Any, CvplError | None]:
        """The answer, or the refusal: an error would have Spark ask again, and show what it was asked of."""
        try:
            with private_folder() as folder:
                return self.question(self._received(batches, folder)), None
        except CvplError as error:
            return None, error
        except MemoryError:
            return None, LimitError(
                "one task of the cluster had too little memory for the evaluation. Give executors more memory beside "
                "the heap (spark.executor.memoryOverhead), lower `search.memory`, or audit a sample of the originals."
            )
        except Exception as error:
            if os.environ.get("CVPL_DEBUG"):
                raise
            # The message of an unexpected error could contain a cell, so only its type and place are reported.
            where = f"{type(error).__name__} at {place_of(error)}"
            return None, InternalError(f"Internal error in the cluster ({where}). This is a bug in cvpl.")

    def _received(self, batches: Iterator[pa.RecordBatch], folder: Path) -> dict[str, OwnParquet]:
        """Write the records of every table to a file; refuse if not all of them arrive."""
        from pyarrow import compute, parquet  # noqa: PLC0415 - part of an extra

        found: dict[str, OwnParquet] = {}
        arrived = dict.fromkeys((table.role for table in self.sent), 0)
        with ExitStack() as stack:
            writers: dict[str, parquet.ParquetWriter] = {}
            for chunk in chunks(batches, _ROW_GROUP):
                for number, table in enumerate(self.sent):
                    records = chunk.filter(compute.equal(chunk.column(_TABLE), number))
                    records = records.select(list(table.fields)).rename_columns(list(table.columns))
                    if table.role not in writers:
                        file = folder / f"{number}.parquet"
                        writers[table.role] = stack.enter_context(parquet.ParquetWriter(file, records.schema))
                        found[table.role] = OwnParquet(file, table.name)
                    if records.num_rows:
                        writers[table.role].write_table(records)
                        arrived[table.role] += records.num_rows
        if not found:
            what = "no table has a row"
            raise InputError([Problem(self.sent[0].name, what, "A rate needs at least one record in each table.")])
        problems = [
            Problem(
                table.name,
                f"{table.rows:,} records were counted, and {arrived[table.role]:,} arrived",
                "The table may have changed. Run the audit on one that does not change.",
            )
            for table in self.sent
            if table.rows is not None and table.rows != arrived[table.role]
        ]
        if problems:
            raise InputError(problems)
        return found


@contextmanager
def temporary_files_of_the_executor() -> Iterator[None]:
    """Put temporary files where Spark puts its own on this machine, and remove those of tasks that were killed."""
    place = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    before = tempfile.tempdir
    if place and Path(place).is_dir():
        tempfile.tempdir = place
    try:
        remove_abandoned()
        yield
    finally:
        tempfile.tempdir = before
