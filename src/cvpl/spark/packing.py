"""Records that go together as one value: Spark then moves and sorts a few values instead of every record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Values = NDArray[Any]


def pack(records: pa.Table, groups: Sequence[Values]) -> tuple[list[Values], pa.Array]:
    """Pack the records of each group; a group is a combination of values, given for each record.

    Returns the values of every group, and its records as one value.
    """
    import pyarrow as pa  # noqa: PLC0415 - part of an extra

    order = np.lexsort(tuple(groups)[::-1])
    sorted_groups = [values[order] for values in groups]
    changes = np.any([values[1:] != values[:-1] for values in sorted_groups], axis=0)
    starts = np.concatenate([np.zeros(min(1, len(order)), dtype=np.int64), np.flatnonzero(changes) + 1])
    ends = np.append(starts[1:], len(order))
    packed = []
    for batch in records.take(pa.array(order)).combine_chunks().to_batches():
        packed += [
            batch.slice(start, end - start).serialize().to_pybytes() for start, end in zip(starts, ends, strict=True)
        ]
    return [values[starts] for values in sorted_groups], pa.array(packed, pa.binary())


def unpack(packed: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """The records of some values, which have this schema; without a value, no record."""
    import pyarrow as pa  # noqa: PLC0415 - part of an extra

    batches = [pa.ipc.read_record_batch(value.as_buffer(), schema) for value in packed]
    return pa.Table.from_batches(batches, schema).combine_chunks()
