"""Column roles and types as declared in the configuration, and the tables read from the input."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.result.publishing import Disclosure
from cvpl.tables.kinds import ColumnData, Labels, Numbers, Times

__all__ = [
    "OBSERVABLE",
    "ColumnData",
    "ColumnSpec",
    "Columns",
    "Fetch",
    "Labels",
    "Numbers",
    "Pair",
    "Place",
    "Role",
    "Table",
    "Times",
    "Type",
]

Role = Literal["id", "quasi_identifier", "attribute", "sensitive", "group", "ignore"]
Type = Literal["numeric", "category", "datetime"]

OBSERVABLE: tuple[Role, ...] = ("quasi_identifier", "attribute")
"""Roles that an attacker sees and uses; nothing else enters blocking or vectorization."""


@dataclass(frozen=True)
class ColumnSpec:
    """A column to compare: its name, role, type and, for categories, its levels.

    `separator` splits a label into levels, coarsest first ("North/Urban"). `parents` does the same from a hierarchy
    file: label -> path from the coarsest level down to the label itself.
    """

    name: str
    role: Role
    type: Type
    separator: str | None = None
    parents: Mapping[str, tuple[str, ...]] | None = None

    def path(self, label: str) -> tuple[str, ...]:
        """Return the label's levels from 1, the coarsest, down to the finest that it still shows.

        "North/*" gives ("North",); a label that the hierarchy file does not list is its own and only level.
        """
        if self.parents is not None:
            return self.parents.get(label, (label,))
        if self.separator is None:
            return (label,)
        parts = label.split(self.separator)
        while len(parts) > 1 and parts[-1] and not parts[-1].strip("*"):
            parts.pop()
        return tuple(parts)

    def says_nothing(self, label: str) -> bool:
        """Whether the label is stars on every level: "*", "***", "*/*"."""
        return all(part and not part.strip("*") for part in self.path(label))


Fetch = Callable[[], ColumnData]
"""Returns a stored column."""


class Place:
    """Storage for the columns of a table. This class keeps them in memory; `column_store` keeps them on disk."""

    in_memory: ClassVar[bool] = True

    def put(self, column: ColumnData) -> Fetch:
        """Store a column, and return a function that fetches it."""
        return lambda: column

    def new_storage(self) -> Place:
        """Return new storage of the same kind."""
        return self


@dataclass(frozen=True, eq=False)
class Columns(Mapping[str, ColumnData]):
    """Columns by name, each fetched on access, so columns on disk enter memory one at a time."""

    fetch: Mapping[str, Fetch]

    def __getitem__(self, name: str) -> ColumnData:
        return self.fetch[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self.fetch)

    def __len__(self) -> int:
        return len(self.fetch)


@dataclass(frozen=True, eq=False)
class Table:
    """The observable part of one table: only the columns that an attacker may use.

    `derived` keeps what was computed from a table in memory for those who need it again.
    """

    name: str
    rows: int
    specs: tuple[ColumnSpec, ...]
    columns: Mapping[str, ColumnData]
    place: Place = field(default_factory=Place)
    derived: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def take(self, rows: NDArray[np.intp]) -> Table:
        """Return some of the rows as a table in memory."""
        taken = {name: column.take(rows) for name, column in self.columns.items()}
        return Table(self.name, len(rows), self.specs, taken)

    def kept(self, rows: NDArray[np.intp]) -> Table:
        """Return some of the rows, in the given order, in the same kind of storage."""
        return self.changed(len(rows), lambda column: column.take(rows))

    def changed(self, rows: int, change: Callable[[ColumnData], ColumnData]) -> Table:
        """Return a table of `rows` rows, with `change` applied to each column in turn, in the same kind of storage."""
        place = self.place.new_storage()
        fetch = {spec.name: place.put(change(self.columns[spec.name])) for spec in self.specs}
        return Table(self.name, rows, self.specs, Columns(fetch), place)

    def altered(self, changes: Mapping[str, Callable[[ColumnData], ColumnData]]) -> Table:
        """Return the same rows with some columns changed, in the same kind of storage; the rest is shared, not copied.

        A function that returns its argument is no change; if no column changes, this table itself is returned.
        """
        place = self.place.new_storage() if changes else self.place
        fetch = {spec.name: partial(self.columns.__getitem__, spec.name) for spec in self.specs}
        made: dict[str, Fetch] = {}
        for name, change in changes.items():
            column = self.columns[name]
            if (changed := change(column)) is not column:
                made[name] = place.put(changed)
        return Table(self.name, self.rows, self.specs, Columns({**fetch, **made}), place) if made else self

    def only(self, names: tuple[str, ...]) -> Table:
        """Return the table with some of its columns, in their original order."""
        specs = tuple(spec for spec in self.specs if spec.name in names)
        fetch = {spec.name: partial(self.columns.__getitem__, spec.name) for spec in specs}
        return Table(self.name, self.rows, specs, Columns(fetch), self.place)


@dataclass(frozen=True, eq=False)
class Pair:
    """The checked tables of one audit, with labels coded the same way in all of them, and notices from reading.

    `measured` are the notices that tell of a number of records; how it is rounded is known after reading.
    """

    original: Table
    protected: Table
    control: Table | None
    notices: tuple[str, ...] = ()
    measured: tuple[MeasuredNotice, ...] = ()


@dataclass(frozen=True)
class MeasuredNotice:
    """A notice about some records of a table: where they are, how many of how many, and what is true of them.

    It is told when the rounding is known, and not at all if it is about fewer than k records. `noun` is what is
    counted; without one the share is told. `one` is the text for a single record.
    """

    where: str
    records: int
    of: int
    text: str
    noun: str | None = None
    one: str | None = None

    def describe(self, disclosure: Disclosure) -> str | None:
        """The notice with its figure rounded; None if it is about too few records to be told."""
        share = disclosure.share_of_records(self.records, self.of)
        if share is None or not self.records:
            return None
        figure = f"{share:.1%}" if self.noun is None else disclosure.count_phrase(self.records, self.noun)
        text = self.one if self.records == 1 and self.one is not None else self.text
        return f"{self.where}: {figure} {text}"
