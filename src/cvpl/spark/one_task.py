"""A question that needs the records of whole tables: one task gets them all, and only its answer leaves the cluster.

All tasks pack their records as Parquet, some at a time, and the one task receives what they packed, so no record is
handled there. It writes the pieces to a private folder of the executor's own disk, where nothing stays when the task
ends, and asks its question of these files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cvpl.errors import CvplError, InputError, InternalError, LimitError, Problem, place_of
from cvpl.files import private_folder, remove_abandoned
from cvpl.spark.chunks import chunks
from cvpl.spark.guarding import GuardedTask
from cvpl.spark.sources import ClusterSource
from cvpl.tables.source.source import OwnParquet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Question = Callable[[Mapping[str, OwnParquet]], Any]

_PIECE = 122_880
"""Records of a piece, or a few more: DuckDB reads so many with one thread."""
_PIECES = "table int, records long, packed binary"


@dataclass(frozen=True)
class SentTable:
    """A table on its way: its role, its name, and its number of records, None if nobody counted them."""

    role: str
    name: str
    rows: int | None = None


def ask_at_once(tables: Mapping[str, ClusterSource], question: Question) -> Any:
    """The answer to a question about whole tables, by their roles; it is asked in the cluster.

    The answer is small, and Spark carries it as it carries code. What the question refuses (CvplError) is raised here.
    """
    from pyspark.serializers import CPickleSerializer  # noqa: PLC0415 - part of an extra

    sent, frame = _join_tables(tables)
    rows = frame.mapInArrow(GuardedTask(TableTask(sent, question)), "said binary").collect()
    said, refused = CPickleSerializer().loads(bytes(rows[0].said))
    if refused is not None:
        raise refused
    return said


def _join_tables(tables: Mapping[str, ClusterSource]) -> tuple[tuple[SentTable, ...], DataFrame]:
    """All records in one partition, in pieces, whatever their table."""
    frames = []
    for number, source in enumerate(tables.values()):
        # Names that Spark could not tell apart are told apart by the task that reads the table.
        frame = source.frame.toDF(*(f"c{at}" for at in range(len(source.frame.columns))))
        if source.rows is not None:
            frame = frame.coalesce(max(1, source.rows // _PIECE))
        packed = TablePacker(number, tuple(source.frame.columns))
        frames.append(frame.mapInArrow(GuardedTask(packed), _PIECES))
    sent = tuple(SentTable(role, source.name, source.rows) for role, source in tables.items())
    # One partition: the order of records in it changes nothing, since they are sorted by their content.
    return sent, reduce(lambda one, other: one.unionAll(other), frames).repartition(1)


@dataclass(frozen=True)
class TablePacker:
    """Packs the records of a table as Parquet files, each in a row with the number of the table."""

    table: int
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the batches of one partition."""
        import pyarrow as pa  # noqa: PLC0415 - part of an extra
        from pyarrow import parquet  # noqa: PLC0415

        for chunk in chunks(batches, _PIECE):
            file = pa.BufferOutputStream()
            parquet.write_table(chunk.rename_columns(list(self.columns)), file)
            yield pa.RecordBatch.from_pydict(
                {
                    "table": pa.array([self.table], pa.int32()),
                    "records": [chunk.num_rows],
                    "packed": pa.array([file.getvalue().to_pybytes()], pa.binary()),
                }
            )


@dataclass(frozen=True, eq=False)
class TableTask:
    """Receives the tables, and asks."""

    sent: tuple[SentTable, ...]
    question: Question

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the tables back, and give the answer as one row."""
        import pyarrow as pa  # noqa: PLC0415 - part of an extra
        from pyspark.serializers import CPickleSerializer  # noqa: PLC0415

        with temporary_files_of_the_executor():
            answer = CPickleSerializer().dumps(self.answer(batches))
        yield pa.RecordBatch.from_pydict({"said": pa.array([answer], pa.binary())})

    def answer(self, batches: Iterator[pa.RecordBatch]) -> tuple[Any, CvplError | None]:
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
        """Write the pieces of every table to files; refuse if not all records arrive."""
        arrived = [0] * len(self.sent)
        for batch in batches:
            pieces = zip(batch.column("table"), batch.column("records"), batch.column("packed"), strict=True)
            for table, records, packed in pieces:
                number = table.as_py()
                file = folder / str(number) / f"{arrived[number]}.parquet"
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(packed.as_buffer())
                arrived[number] += records.as_py()
        problems = []
        for table, count in zip(self.sent, arrived, strict=True):
            if table.rows is not None and table.rows != count:
                what = f"{table.rows:,} records were counted, and {count:,} arrived"
                cure = "The table may have changed. Run the audit on one that does not change."
                problems.append(Problem(table.name, what, cure))
            elif not count:
                cure = "A rate needs at least one record in each table."
                problems.append(Problem(table.name, "the table has no rows", cure))
        if problems:
            raise InputError(problems)
        return {table.role: OwnParquet(folder / str(number), table.name) for number, table in enumerate(self.sent)}


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
