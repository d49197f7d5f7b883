"""Tables read and checked in the cluster, by the same reader as on one machine.

What cells mean depends on few facts of whole tables (`tables.column_facts`). A first pass collects them from all
chunks; a second reads every chunk with them. Records are then put in record order: those whose keys begin with the same
bits meet in one task, which sorts them and numbers them on from the number of records with lower keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cvpl.errors import InputError, Problem
from cvpl.spark.arrow_tables import PLACE, Layout
from cvpl.spark.chunks import chunks
from cvpl.spark.cluster import Cluster
from cvpl.spark.cluster_table import ClusterTable
from cvpl.spark.guarding import GuardedTask
from cvpl.spark.packing import pack, unpack
from cvpl.tables.columns import ColumnSpec, MeasuredNotice, Table
from cvpl.tables.keys import record_keys
from cvpl.tables.meaning.column_facts import ColumnFacts, LabelFacts
from cvpl.tables.meaning.reading import ColumnReader
from cvpl.tables.source.connection import connect
from cvpl.tables.source.reading_settings import Reading
from cvpl.tables.source.source import open_source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Facts = Mapping[str, ColumnFacts]

_KEY = "key"
"""The field by which records are sorted."""


def column_facts(frames: Mapping[str, DataFrame], specs: Sequence[ColumnSpec], reading: Reading) -> Facts:
    """The facts of whole tables that say what the cells of each column mean; `frames` begins with the original.

    Labels are refused, before they leave the cluster, if there are too many.
    """
    from pyspark.serializers import CPickleSerializer  # noqa: PLC0415 - part of an extra

    found: dict[str, Any] = {}
    distinct: dict[str, dict[str, list[str]]] = {spec.name: {} for spec in specs if spec.type == "category"}
    for table, frame in frames.items():
        for labels in distinct.values():
            labels[table] = []
        task = _PartFacts(table, tuple(specs), reading)
        said = frame.mapInArrow(GuardedTask(task), "spec int, label string, facts binary").distinct().persist()
        try:
            for row in said.where("facts is null").groupBy("spec").count().collect():
                reading.limits.check_labels(row["count"], table, specs[row.spec].name)
            for row in said.collect():
                name = specs[row.spec].name
                if row.facts is None:
                    distinct[name][table].append(row.label)
                    continue
                facts = CPickleSerializer().loads(bytes(row.facts))
                found[name] = found[name].joined(facts) if name in found else facts
        finally:
            said.unpersist()
    specs_of = {spec.name: spec for spec in specs}
    return {
        **found,
        **{
            name: LabelFacts(specs_of[name], {table: tuple(sorted(labels)) for table, labels in of_tables.items()})
            for name, of_tables in distinct.items()
        },
    }


@dataclass(frozen=True)
class _PartFacts:
    """Lists the distinct labels of a chunk, and the facts of its other columns, each with the number of the column."""

    table: str
    specs: tuple[ColumnSpec, ...]
    reading: Reading

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra
        from pyspark.serializers import CPickleSerializer  # noqa: PLC0415

        for chunk in chunks(batches):
            with connect() as con:
                source = open_source(con, chunk, self.table, self.reading)
                reader = ColumnReader(con, self.reading, [], [])
                for number, spec in enumerate(self.specs):
                    labels: list[str] = []
                    facts: list[bytes] = []
                    if spec.type == "category":
                        labels = reader.distinct(source, spec.name)
                    elif (of_part := reader.facts(spec, source)) is not None:
                        facts = [CPickleSerializer().dumps(of_part)]
                    said = max(len(labels), len(facts))
                    yield pa.RecordBatch.from_pydict(
                        {
                            "spec": np.full(said, number, dtype=np.int32),
                            "label": pa.array(labels, pa.string()) if labels else pa.nulls(said, pa.string()),
                            "facts": pa.array(facts, pa.binary()) if facts else pa.nulls(said, pa.binary()),
                        }
                    )


@dataclass(frozen=True)
class ReadingReport:
    """What reading said: the problems of the table, its notices, and the columns that hold ranges."""

    problems: tuple[Problem, ...] = ()
    notices: tuple[MeasuredNotice, ...] = ()
    ranges: frozenset[str] = frozenset()

    @classmethod
    def together(cls, parts: Sequence[ReadingReport], rows: int) -> ReadingReport:
        """What the parts of a table of so many rows said; the same problem of several parts is one."""
        problems: dict[tuple[str | None, ...], int] = {}
        notices: dict[MeasuredNotice, int] = {}
        for part in parts:
            for problem in part.problems:
                key = problem.where, problem.what, problem.cure, problem.column
                problems[key] = problems.get(key, 0) + (problem.count or 1)
            for notice in part.notices:
                same = replace(notice, records=0, of=rows)
                notices[same] = notices.get(same, 0) + notice.records
        return cls(
            tuple(
                Problem(str(where), str(what), str(cure), column, count=count)
                for (where, what, cure, column), count in sorted(problems.items(), key=str)
            ),
            tuple(replace(notice, records=count) for notice, count in sorted(notices.items(), key=str)),
            frozenset().union(*(part.ranges for part in parts)),
        )


def read_table(
    cluster: Cluster,
    table: str,
    frame: DataFrame,
    specs: Sequence[ColumnSpec],
    reading: Reading,
    facts: Facts,
    rows: int,
) -> tuple[ClusterTable, ReadingReport]:
    """A table of so many `rows` in record order, kept in the cluster, and what reading said of it.

    Raises InputError if not every record of the frame was read.
    """
    from pyspark.serializers import CPickleSerializer  # noqa: PLC0415 - part of an extra

    bits = max(0, (rows // cluster.rows).bit_length())
    labels = {name: item.labels for name, item in facts.items() if isinstance(item, LabelFacts)}
    layout = Layout.declared(table, specs, labels)
    task = _ChunkReader(table, tuple(specs), reading, facts, layout, bits)
    read = cluster.keep(frame.mapInArrow(GuardedTask(task), "part int, records long, packed binary, said binary"))
    packs = read.where("said is null").select("part", "records", "packed")
    counts = {row.part: row[1] for row in packs.groupBy("part").agg({"records": "sum"}).collect()}
    if sum(counts.values()) != rows:
        what = f"{sum(counts.values()):,} of {rows:,} records were read"
        raise InputError(
            [Problem(table, what, "The table may have changed. Run the audit on one that does not change.")]
        )
    answers = [
        CPickleSerializer().loads(bytes(row.said)) for row in read.where("said is not null").select("said").collect()
    ]
    said = ReadingReport.together(answers, rows)
    layout = layout.plain([spec.name for spec in specs if spec.name not in said.ranges])
    starts = np.cumsum([0, *(counts.get(part, 0) for part in range(1 << bits))])
    ordered = cluster.keep(packs.groupBy("part").applyInArrow(_numbering(starts, task.schema, layout), layout.schema))
    if ordered.count() != rows:
        raise InputError([Problem(table, "records were lost when they were sorted", "Run the audit again.")])
    cluster.let_go(read)
    return ClusterTable(table, rows, tuple(specs), cluster=cluster, frame=ordered, layout=layout), said


@dataclass(frozen=True)
class _ChunkReader:
    """Reads the chunks of a partition: packs of records with their keys, and once a chunk what reading said."""

    table: str
    specs: tuple[ColumnSpec, ...]
    reading: Reading
    facts: Facts
    layout: Layout
    bits: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra
        from pyspark.serializers import CPickleSerializer  # noqa: PLC0415

        for chunk in chunks(batches):
            problems: list[Problem] = []
            notices: list[MeasuredNotice] = []
            with connect() as con:
                source = open_source(con, chunk, self.table, self.reading)
                reader = ColumnReader(con, self.reading, problems, notices, self.facts)
                columns = {spec.name: reader.read(spec, [source])[0] for spec in self.specs}
                keys = record_keys(con, source)
            ranges = frozenset(name for name, column in columns.items() if not column.plain)
            part = np.zeros(len(keys), np.int32)
            if self.bits:
                part = (keys >> np.uint64(64 - self.bits)).astype(np.int32)
            # A signed number that sorts as the unsigned key does.
            key = (keys ^ np.uint64(1 << 63)).view(np.int64)
            nowhere = np.zeros(len(keys), np.int64)
            records = self.layout.write(Table(self.table, len(keys), self.specs, columns), nowhere)
            (parts,), packed = pack(records.append_column(_KEY, pa.array(key)).cast(self.schema), [part])
            yield pa.RecordBatch.from_pydict(
                {
                    "part": parts,
                    "records": np.unique(part, return_counts=True)[1],
                    "packed": packed,
                    "said": pa.nulls(len(parts), pa.binary()),
                }
            )
            answer = CPickleSerializer().dumps(ReadingReport(tuple(problems), tuple(notices), ranges))
            yield pa.RecordBatch.from_pydict(
                {
                    "part": pa.nulls(1, pa.int32()),
                    "records": pa.nulls(1, pa.int64()),
                    "packed": pa.nulls(1, pa.binary()),
                    "said": pa.array([answer], pa.binary()),
                }
            )

    @property
    def schema(self) -> pa.Schema:
        """The fields of packed records, and their types."""
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        return self.layout.arrow_schema.append(pa.field(_KEY, pa.int64()))


def _numbering(starts: NDArray[np.int64], schema: pa.Schema, layout: Layout) -> Callable[..., pa.Table]:
    """Sorts the records of a part by their keys, and numbers them on from the records of the parts before it."""

    def numbered(part: tuple[Any, ...], packs: pa.Table) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        first = int(starts[part[0].as_py()])
        ordered = unpack(packs.column("packed"), schema).sort_by(_KEY).select(layout.fields[1:])
        places = np.arange(first, first + ordered.num_rows, dtype=np.int64)
        return ordered.add_column(0, PLACE, pa.array(places))

    return numbered
