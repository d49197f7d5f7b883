"""A Spark session for one audit, and what the audit keeps in the cluster until it ends."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast, get_args

from cvpl.errors import CvplError, InternalError, LimitError, UsageError
from cvpl.spark.chunks import ROWS
from cvpl.spark.sharing import Share, Sharing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TASK_FAILED = re.compile(r"a task failed \(([\w.]+ at [\w.:]+)\)")


@dataclass(frozen=True, eq=False)
class Cluster:
    """A running session, how work is shared, and the frames that are kept.

    A task has at most `rows` records of a side. The session's settings `spark.cvpl.rowsPerTask` and
    `spark.cvpl.shareSearches` change both; what is found does not depend on them.
    """

    session: SparkSession
    rows: int = 250_000
    sharing: Sharing = field(default_factory=partial(Sharing, "auto", 1))
    kept: list[DataFrame] = field(default_factory=list)

    def keep(self, frame: DataFrame) -> DataFrame:
        """Keep a frame in the cluster's memory, or on its disks, until the audit ends."""
        from pyspark import StorageLevel  # noqa: PLC0415 - part of an extra

        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self.kept.append(kept)
        return kept

    def gathered(self, frame: DataFrame, records: int) -> DataFrame:
        """A frame of so many records without very small partitions: a task costs more than the work on a few records.

        Partitions are joined as they are, so no record is sent anywhere.
        """
        return frame.coalesce(max(self.sharing.cores, records // ROWS))

    def let_go(self, frame: DataFrame) -> None:
        """Let go of one frame that is kept."""
        self.kept[:] = [item for item in self.kept if item is not frame]
        frame.unpersist()

    def release(self) -> None:
        """Let go of all frames that are kept."""
        while self.kept:
            self.kept.pop().unpersist()


@contextmanager
def on_cluster(session: SparkSession, rows: int | None = None) -> Iterator[Cluster]:
    """A cluster for one audit; what it keeps is released at the end, also after an error.

    Its jobs have a tag, and those that run when the audit is interrupted are cancelled. A job that Spark gives up is
    told without its text, which may contain a cell.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415 - part of an extra

    rows = rows or rows_per_task(session)
    cluster = Cluster(session, rows, Sharing(shared_searches(session), _cores(session)))
    tag = f"cvpl-{secrets.token_hex(8)}"
    session.addTag(tag)
    try:
        yield cluster
    except PySparkException as error:
        raise job_failure(error) from None
    except BaseException:
        session.interruptTag(tag)
        raise
    finally:
        session.removeTag(tag)
        cluster.release()


def rows_per_task(session: SparkSession) -> int:
    """The records of a side that a task has at most, from the session's settings."""
    text = session.conf.get("spark.cvpl.rowsPerTask", None)
    if text is None:
        return Cluster.rows
    if not text.isdecimal() or int(text) < 1:
        allowed = f"a whole number from 1, such as {Cluster.rows}"
        raise UsageError(f"Spark's setting spark.cvpl.rowsPerTask is '{text}'; allowed is {allowed}.")
    return int(text)


def shared_searches(session: SparkSession) -> Share:
    """Which searches all tasks share, from the session's settings."""
    text = session.conf.get("spark.cvpl.shareSearches", None) or "auto"
    for known in get_args(Share):
        if text == known:
            return cast("Share", known)
    raise UsageError(f"Spark's setting spark.cvpl.shareSearches is '{text}'; allowed are auto, all and none.")


def _cores(session: SparkSession) -> int:
    """The cores of all executors together; 1 if the session does not tell them, as through Spark Connect."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - part of an extra

    try:
        return int(session.sparkContext.defaultParallelism)
    except PySparkException:
        return 1


def job_failure(error: Exception) -> CvplError:
    """What to say of a job that Spark gave up: a task of this program failed, or the cluster did."""
    inside = _TASK_FAILED.search(str(error))
    if inside is not None:
        return InternalError(f"Internal error in the cluster ({inside[1]}). This is a bug in cvpl, not in your data.")
    return LimitError(
        f"Spark gave up a job ({type(error).__name__}). Its logs say why; most often executors have too little memory "
        "beside their heap (spark.executor.memoryOverhead), or were lost. No result was written."
    )
