"""Work on the records of a Spark partition, some at a time, and what such parts say when they are together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from cvpl.spark.guarding import Guarded

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

ROWS = 200_000
"""Records that are worked on at a time: Spark's own batches are small, and each would cost a connection."""


def chunks(batches: Iterator[pa.RecordBatch], rows: int = ROWS) -> Iterator[pa.Table]:
    """The batches of a partition, joined to tables of at least so many records; the last may have fewer."""
    import pyarrow as pa  # noqa: PLC0415 - part of an extra

    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(item.num_rows for item in waiting) >= rows:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if any(item.num_rows for item in waiting):
        yield pa.Table.from_batches(waiting)


def of_each_chunk(frame: DataFrame, question: Callable[[pa.Table], Any]) -> list[Any]:
    """The answer of every chunk of a frame, in this process. Answers are small; Spark carries them as it carries code.

    Answers of a chunk follow from its records alone, but chunks come in any order.
    """

    def answered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra
        from pyspark.serializers import CPickleSerializer  # noqa: PLC0415

        for chunk in chunks(batches):
            said = CPickleSerializer().dumps(question(chunk))
            yield pa.RecordBatch.from_pydict({"said": pa.array([said], pa.binary())})

    from pyspark.serializers import CPickleSerializer  # noqa: PLC0415 - part of an extra

    rows = frame.mapInArrow(Guarded(answered), "said binary").collect()
    return [CPickleSerializer().loads(bytes(row.said)) for row in rows]
