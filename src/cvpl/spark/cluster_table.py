"""A table whose records are in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from cvpl.spark.arrow_tables import PLACE, Layout
from cvpl.spark.cluster import Cluster
from cvpl.spark.guarding import GuardedTask
from cvpl.tables.columns import ColumnData, ColumnSpec, Place, Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Ints = NDArray[np.int64]
Step = Callable[[Table], Table]
"""A change of every record on its own."""


class InCluster(Place):
    """Storage in a cluster."""

    in_memory: ClassVar[bool] = False


@dataclass(frozen=True)
class _UnreadableColumns(Mapping[str, ColumnData]):
    """Columns that cannot be read here."""

    names: tuple[str, ...]

    def __getitem__(self, name: str) -> NoReturn:
        raise NotImplementedError(f"column '{name}' is in the cluster, and is not read here")

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names


@dataclass(frozen=True)
class Reader:
    """What a task needs to read records: how they are stored, and what changes them."""

    layout: Layout
    name: str
    specs: tuple[ColumnSpec, ...]
    steps: tuple[Step, ...]

    def __call__(self, batch: pa.Table) -> tuple[Ints, Table]:
        """The places and the columns of some records, in the order of their places."""
        places = batch.column(PLACE).to_numpy()
        if np.any(places[1:] < places[:-1]):
            batch = batch.take(np.argsort(places, kind="stable"))
        places, table = self.layout.read(batch)
        table = replace(table, name=self.name)
        for step in self.steps:
            table = step(table)
        return places, table.only(tuple(spec.name for spec in self.specs))


@dataclass(frozen=True, eq=False)
class ClusterTable(Table):
    """Records in a cluster: a frame with a row for each, stored by `layout`, and the steps that change them."""

    columns: Mapping[str, ColumnData] = field(init=False)
    place: Place = field(default_factory=InCluster)
    cluster: Cluster = field(kw_only=True)
    frame: DataFrame = field(kw_only=True)
    layout: Layout = field(kw_only=True)
    steps: tuple[Step, ...] = field(kw_only=True, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", _UnreadableColumns(tuple(spec.name for spec in self.specs)))

    @classmethod
    def of(cls, cluster: Cluster, table: Table) -> ClusterTable:
        """A table in this process, sent to the cluster."""
        layout = Layout.of(table)
        sent = layout.write(table, np.arange(table.rows, dtype=np.int64))
        frame = cluster.session.createDataFrame(sent, schema=layout.schema)
        return cls(table.name, table.rows, table.specs, cluster=cluster, frame=frame, layout=layout)

    @property
    def reader(self) -> Reader:
        """What a task needs to read the records."""
        return Reader(self.layout, self.name, self.specs, self.steps)

    def only(self, names: tuple[str, ...]) -> ClusterTable:
        """Return the table with some of its columns, in their original order."""
        return replace(self, specs=tuple(spec for spec in self.specs if spec.name in names))

    def kept(self, rows: NDArray[np.intp]) -> ClusterTable:
        """Return some of the records, whose rows are given in ascending order."""
        return replace(
            self,
            rows=len(rows),
            frame=self.frame.mapInArrow(GuardedTask(_RecordFilter(np.asarray(rows))), self.frame.schema),
        )

    def at(self, rows: Ints) -> ClusterTable:
        """Return some of the records, whose rows are given in ascending order, with the places that they have."""
        return replace(
            self, frame=self.frame.mapInArrow(GuardedTask(_RecordFilter(rows, renumber=False)), self.frame.schema)
        )


@dataclass(frozen=True, eq=False)
class _RecordFilter:
    """Keeps the records at some places, and numbers them anew."""

    rows: Ints
    renumber: bool = True

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        for batch in batches:
            places = batch.column(PLACE).to_numpy()
            at = np.searchsorted(self.rows, places)
            inside = self.rows[np.minimum(at, len(self.rows) - 1)] == places if len(self.rows) else at < 0
            chosen = batch.filter(pa.array(inside))
            if not self.renumber:
                yield chosen
                continue
            number = batch.schema.get_field_index(PLACE)
            yield cast("pa.RecordBatch", chosen.set_column(number, PLACE, pa.array(at[inside].astype(np.int64))))
