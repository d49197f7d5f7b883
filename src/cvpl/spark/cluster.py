"""A Spark session for one audit, and what the audit keeps in the cluster until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class Cluster:
    """A running session, the most records of one side in a task, and the frames that are kept."""

    session: SparkSession
    rows: int = 250_000
    kept: list[DataFrame] = field(default_factory=list)

    def keep(self, frame: DataFrame) -> DataFrame:
        """Keep a frame in the cluster's memory, or on its disks, until the audit ends."""
        from pyspark import StorageLevel  # noqa: PLC0415 - part of an extra

        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self.kept.append(kept)
        return kept

    def let_go(self, frame: DataFrame) -> None:
        """Let go of one frame that is kept."""
        self.kept[:] = [item for item in self.kept if item is not frame]
        frame.unpersist()

    def release(self) -> None:
        """Let go of all frames that are kept."""
        while self.kept:
            self.kept.pop().unpersist()


@contextmanager
def on_cluster(session: SparkSession, rows: int = Cluster.rows) -> Iterator[Cluster]:
    """A cluster for one audit; what it keeps is released at the end, also after an error."""
    cluster = Cluster(session, rows)
    try:
        yield cluster
    finally:
        cluster.release()
