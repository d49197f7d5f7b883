"""Roles and types of columns, as the person declares them, and what a column holds once it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Role = Literal["id", "quasi_identifier", "attribute", "sensitive", "group", "ignore"]
Type = Literal["numeric", "category", "datetime"]

OBSERVABLE: tuple[Role, ...] = ("quasi_identifier", "attribute")
"""Roles that an attacker sees and uses; nothing else enters blocking or vectorization."""


@dataclass(frozen=True)
class ColumnSpec:
    """A column that takes part in the comparison: its name, role, type and, for categories, its levels.

    `separator` splits a label into levels, coarsest first ("North/Urban"). `parents` does the same from a hierarchy
    file: label -> path from the coarsest level down to the label itself.
    """

    name: str
    role: Role
    type: Type
    separator: str | None = None
    parents: Mapping[str, tuple[str, ...]] | None = None

    def path(self, label: str) -> tuple[str, ...]:
        """The label's ancestors from level 1, the coarsest, down to what it still says.

        "North/*" says ("North",); a label that the hierarchy file does not list is its own and only level.
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


@dataclass(frozen=True, eq=False)
class Numbers:
    """A numeric column. A missing value is NaN; an interval stands at its midpoint, with its ends beside it.

    `low` and `high` are the smallest and the largest value a cell allows, both included; for a plain number they
    are the number itself.
    """

    values: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def take(self, rows: NDArray[np.intp]) -> Numbers:
        """The same column for some of the rows."""
        values = self.values[rows]
        if self.low is self.values and self.high is self.values:
            return Numbers(values, values, values)
        return Numbers(values, self.low[rows], self.high[rows])

    def known(self) -> NDArray[np.bool_]:
        """Which records have a value."""
        return ~np.isnan(self.values)


@dataclass(frozen=True, eq=False)
class Labels:
    """A category column: a code into `labels` for each record, -1 where the value is missing.

    All tables of one pair share one `labels`, sorted, so that equal codes are equal values.
    """

    codes: NDArray[np.int32]
    labels: tuple[str, ...]

    def take(self, rows: NDArray[np.intp]) -> Labels:
        """The same column for some of the rows."""
        return Labels(self.codes[rows], self.labels)

    def known(self) -> NDArray[np.bool_]:
        """Which records have a value."""
        return self.codes >= 0


@dataclass(frozen=True, eq=False)
class Times:
    """A datetime column: the first and the last microsecond that a cell allows, NaT where it is missing."""

    first: NDArray[np.datetime64]
    last: NDArray[np.datetime64]

    def take(self, rows: NDArray[np.intp]) -> Times:
        """The same column for some of the rows."""
        first = self.first[rows]
        return Times(first, first if self.last is self.first else self.last[rows])

    def known(self) -> NDArray[np.bool_]:
        """Which records have a value."""
        return ~np.isnat(self.first)

    def middle(self) -> NDArray[np.datetime64]:
        """The midpoint, at which a generalized time is compared."""
        result: NDArray[np.datetime64] = self.first + (self.last - self.first) // 2
        return result


ColumnData = Numbers | Labels | Times


@dataclass(frozen=True, eq=False)
class Table:
    """The observable part of one table: the columns that an attacker may use, nothing else."""

    name: str
    rows: int
    specs: tuple[ColumnSpec, ...]
    columns: Mapping[str, ColumnData]

    def take(self, rows: NDArray[np.intp]) -> Table:
        """The same table for some of the rows."""
        taken = {name: column.take(rows) for name, column in self.columns.items()}
        return Table(self.name, len(rows), self.specs, taken)

    def only(self, names: tuple[str, ...]) -> Table:
        """The same table with some of the columns, in their old order."""
        specs = tuple(spec for spec in self.specs if spec.name in names)
        return Table(self.name, self.rows, specs, {spec.name: self.columns[spec.name] for spec in specs})


@dataclass(frozen=True, eq=False)
class Pair:
    """The checked tables of one audit, with one meaning of every label, and what was noticed on reading them."""

    original: Table
    protected: Table
    control: Table | None
    notices: tuple[str, ...] = ()
