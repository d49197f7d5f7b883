"""The tables that a user names, as frames of a Spark session: frames, catalog tables, and Parquet folders."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from cvpl.errors import InputError, Problem
from cvpl.tables.source.source import is_spark_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CATALOG_NAME = re.compile(r"[^/\\:]+")
_OTHER_FILES = (".csv", ".tsv", ".gz", ".xlsx", ".duckdb", ".json", ".orc", ".avro")
_SUPPORTED = (
    "string|char|varchar|boolean|tinyint|smallint|int|bigint|float|double|decimal|date|timestamp|timestamp_ntz|binary"
)
_CURE = "Name a table of the session's catalog, a Parquet file or folder, or pass a Spark DataFrame."


@dataclass(frozen=True, eq=False)
class ClusterSource:
    """A table of the cluster as it is, before it is read, its name in messages and, once counted, its records."""

    name: str
    frame: DataFrame
    rows: int | None = None

    def counted(self) -> ClusterSource:
        """The table with its number of records."""
        return replace(self, rows=self.frame.count())


def source_of(session: SparkSession, data: Any, role: str) -> ClusterSource:
    """The table that `data` names; raises InputError if there is none, or if a column cannot be read from Spark."""
    if is_spark_frame(data):
        return _check_source(ClusterSource(role, data))
    if not isinstance(data, str | os.PathLike):
        what = f"a {type(data).__name__} cannot be read by Spark"
        raise InputError([Problem(role, what, _CURE)])
    text = os.fspath(data)
    if text.lower().endswith(_OTHER_FILES):
        cure = "Convert it to Parquet, or leave out --engine spark: on one machine cvpl reads it as it is."
        raise InputError([Problem(PurePath(text).name, "with Spark, cvpl reads Parquet and tables of a catalog", cure)])
    return _check_source(_catalog_table(session, text) or _parquet(session, text))


def _catalog_table(session: SparkSession, text: str) -> ClusterSource | None:
    """The table of this name in the session's catalog; None if there is none, or a file of this name."""
    from pyspark.errors import AnalysisException, ParseException  # noqa: PLC0415 - part of an extra

    if not _CATALOG_NAME.fullmatch(text) or Path(text).exists():
        return None
    try:
        return ClusterSource(text, session.table(text)) if session.catalog.tableExists(text) else None
    except (AnalysisException, ParseException):
        return None


def _parquet(session: SparkSession, text: str) -> ClusterSource:
    """A Parquet file or folder, with the columns of its partitions; on any file system that the session reaches."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - part of an extra

    name = PurePath(text).name or text
    try:
        return ClusterSource(name, session.read.parquet(text))
    except PySparkException:
        what = "Spark finds neither a table of this name in its catalog nor Parquet at this place"
        raise InputError([Problem(name, what, _CURE)]) from None


def _check_source(source: ClusterSource) -> ClusterSource:
    """Refuse columns whose type neither a Parquet file nor a person would write in a table."""
    problems = [
        Problem(
            source.name,
            f"Spark's type {_outermost(kind)} is not supported",
            "Cast it to text, a number or a time, or leave it out.",
            name,
        )
        for name, kind in source.frame.dtypes
        if not re.fullmatch(f"({_SUPPORTED})(\\(.*\\))?", kind)
    ]
    if problems:
        raise InputError(problems)
    return source


def _outermost(kind: str) -> str:
    """A type without its parts, which may be long."""
    return re.split(r"[<(]", kind)[0]
