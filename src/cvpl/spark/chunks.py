"""The records of a Spark partition, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 200_000
"""Records that are worked on at a time: Spark's own batches are small, and each would cost a connection."""
BYTES = 1 << 28
"""Long records are fewer at a time: Spark carries at most 2 GB as one value."""


def chunks(batches: Iterator[pa.RecordBatch], rows: int = ROWS) -> Iterator[pa.Table]:
    """The batches of a partition, joined to tables of at least so many records, or bytes; the last may have fewer."""
    import pyarrow as pa  # noqa: PLC0415 - part of an extra

    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(item.num_rows for item in waiting) >= rows or sum(item.nbytes for item in waiting) >= BYTES:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if any(item.num_rows for item in waiting):
        yield pa.Table.from_batches(waiting)
