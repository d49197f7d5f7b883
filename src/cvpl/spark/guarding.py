"""Tasks whose errors tell no cell: Spark writes the error of a task to logs, and hands it to the driver as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cvpl.errors import InternalError, place_of

if TYPE_CHECKING:
    import pyarrow as pa

Batches = Iterator["pa.RecordBatch"]


@dataclass(frozen=True, eq=False)
class GuardedTask:
    """A task on the batches of a partition that fails with the type and the place of an error alone."""

    task: Callable[[Batches], Batches]

    def __call__(self, batches: Batches) -> Batches:
        """Do the task."""
        try:
            yield from self.task(batches)
        except Exception as error:
            raise _bare(error) from None


def run_guarded(task: Callable[..., pa.Table], *records: pa.Table) -> pa.Table:
    """What a task makes of some records; it fails with the type and the place of an error alone."""
    try:
        return task(*records)
    except Exception as error:
        raise _bare(error) from None


def _bare(error: Exception) -> Exception:
    """The error itself where its text is wanted, and else one that says where it was."""
    if os.environ.get("CVPL_DEBUG"):
        return error
    return InternalError(f"a task failed ({type(error).__name__} at {place_of(error)})")
