"""Some records of a table as an Arrow table, and back.

A record on the cluster is its place in the whole table, counted from 0 in record order, and the arrays of its columns
(`ColumnData.parts`), each array a field. Two parts that are one array, as the ends of plain numbers are, share a field.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table, Times, Type
from cvpl.tables.kinds import Make

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[Any]
Ints = NDArray[np.int64]

PLACE = "place"
"""The field with a record's place."""
_SPARK_TYPES = {"f": "double", "i": "int", "M": "long"}
"""The type of a field in Spark, by the kind of its array: numbers, codes, times in microseconds."""
_KINDS: dict[Type, tuple[Make, dict[str, str]]] = {
    "numeric": (Numbers, {"values": "f", "low": "f", "high": "f"}),
    "category": (Labels, {"codes": "i"}),
    "datetime": (Times, {"first": "M", "last": "M"}),
}


@dataclass(frozen=True)
class StoredColumn:
    """How a column is stored: the field and the kind of each of its arrays, and what makes a column of them."""

    spec: ColumnSpec
    make: Make
    fields: Mapping[str, tuple[str, str]]

    def plain(self) -> StoredColumn:
        """The column stored as one array for all parts."""
        first = next(iter(self.fields.values()))
        return replace(self, fields=dict.fromkeys(self.fields, first))

    def read(self, batch: pa.Table) -> Any:
        """The column of some records."""
        arrays = {field: _array(batch, field, kind) for field, kind in set(self.fields.values())}
        return self.make(**{part: arrays[field] for part, (field, _) in self.fields.items()})


@dataclass(frozen=True)
class Layout:
    """How the records of a table are stored."""

    table: str
    columns: tuple[StoredColumn, ...]

    @classmethod
    def of(cls, table: Table) -> Layout:
        """The layout of a table, from some of its records; another part of it may be stored in the same way."""
        stored = []
        for number, spec in enumerate(table.specs):
            make, arrays = table.columns[spec.name].parts()
            first: dict[int, str] = {}
            fields = {}
            for part, array in arrays.items():
                field = first.setdefault(id(array), f"c{number}_{part}")
                fields[part] = field, array.dtype.kind
            stored.append(StoredColumn(spec, make, fields))
        return cls(table.name, tuple(stored))

    @classmethod
    def declared(cls, table: str, specs: Sequence[ColumnSpec], labels: Mapping[str, tuple[str, ...]]) -> Layout:
        """The layout of a table that is still to be read, with room for ranges; `labels` are those of categories."""
        stored = []
        for number, spec in enumerate(specs):
            make, parts = _KINDS[spec.type]
            if spec.type == "category":
                make = partial(make, labels=labels[spec.name])
            stored.append(StoredColumn(spec, make, {part: (f"c{number}_{part}", kind) for part, kind in parts.items()}))
        return cls(table, tuple(stored))

    def plain(self, names: Collection[str]) -> Layout:
        """The layout where the parts of these columns are one array each: they hold no ranges."""
        return Layout(
            self.table, tuple(column.plain() if column.spec.name in names else column for column in self.columns)
        )

    @property
    def schema(self) -> str:
        """The fields and their types, as Spark spells them."""
        fields = {field: _SPARK_TYPES[kind] for column in self.columns for field, kind in column.fields.values()}
        return ", ".join([f"{PLACE} long", *(f"{field} {kind}" for field, kind in fields.items())])

    @property
    def arrow_schema(self) -> pa.Schema:
        """The fields and their types, as Arrow has them."""
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        kinds = {"f": pa.float64(), "i": pa.int32(), "M": pa.int64()}
        fields = {field: kinds[kind] for column in self.columns for field, kind in column.fields.values()}
        return pa.schema({PLACE: pa.int64(), **fields})

    @property
    def fields(self) -> list[str]:
        """The names of the fields."""
        return [PLACE, *dict.fromkeys(field for column in self.columns for field, _ in column.fields.values())]

    def write(self, table: Table, places: Ints) -> pa.Table:
        """Some records, at these places, as an Arrow table."""
        import pyarrow as pa  # noqa: PLC0415 - part of an extra

        found: dict[str, Array] = {PLACE: np.asarray(places, dtype=np.int64)}
        for column in self.columns:
            _, arrays = table.columns[column.spec.name].parts()
            for part, (field, kind) in column.fields.items():
                array = arrays[part]
                found[field] = array.astype("datetime64[us]").astype(np.int64) if kind == "M" else array
        return pa.table({field: pa.array(array, from_pandas=False) for field, array in found.items()})

    def read(self, batch: pa.Table) -> tuple[Ints, Table]:
        """The places and the columns of some records."""
        places = _array(batch, PLACE, "i")
        columns = {column.spec.name: column.read(batch) for column in self.columns}
        return places, Table(self.table, len(places), tuple(column.spec for column in self.columns), columns)


def _array(batch: pa.Table, field: str, kind: str) -> Array:
    """One field as an array."""
    array: Array = batch.column(field).to_numpy()
    return array.view("datetime64[us]") if kind == "M" else array
