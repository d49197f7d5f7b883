"""What the release still distinguishes, column by column, and bringing a table to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

from cvpl.operators.alignment.labels import LabelGranularity
from cvpl.operators.alignment.numbers import NumberGranularity
from cvpl.operators.alignment.times import TimeGranularity
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Table, Times


class ColumnGranularity(Protocol):
    """The grain of one column."""

    def apply(self, column: Any, /) -> ColumnData:
        """A column of the kind it was detected on, brought to it; the column itself where nothing changes."""
        ...

    @property
    def words(self) -> str:
        """What is done, for a person, without any value of the data."""
        ...


@dataclass(frozen=True, eq=False)
class Granularity:
    """The grain of every column that the release has coarser than the attacker, and the shares that it suppresses.

    `suppressed` is, of each column that the release lacks more often than the attacker, the share of its records
    without a value. A missing value is neutral, so nothing is done about it.
    """

    grains: Mapping[str, ColumnGranularity]
    suppressed: Mapping[str, float]

    def apply(self, table: Table) -> Table:
        """The table as the release would write it: g(g(t)) = g(t).

        Only columns that change are made anew, and kept as the table keeps its own; where none does, it is the table
        itself.
        """
        return table.altered({name: grain.apply for name, grain in self.grains.items() if name in table.columns})

    def describe(self) -> list[tuple[str, str]]:
        """A column and what is done to it, without any value of the data; steps, widths and shares are told."""
        text = []
        for name in dict.fromkeys((*self.grains, *self.suppressed)):
            parts = [self.grains[name].words] if name in self.grains else []
            if name in self.suppressed:
                parts.append(f"{self.suppressed[name]:.1%} without a value")
            text.append((name, ", ".join(parts)))
        return text


def detect(original: Table, protected: Table) -> Granularity:
    """The grain of the release, from the values of the two tables alone.

    A column is looked at by itself, over all records; a column in which nothing is coarser than the attacker's own has
    no grain. See `Cells.of` for intervals and spans, `fitting` for grids, `covering` for labels.
    """
    grains: dict[str, ColumnGranularity] = {}
    suppressed: dict[str, float] = {}
    for spec in protected.specs:
        own, released = original.columns[spec.name], protected.columns[spec.name]
        grain = _grain(own, released, spec)
        if grain is not None:
            grains[spec.name] = grain
        missing = _missing(own), _missing(released)
        if missing[1] > missing[0]:
            suppressed[spec.name] = missing[1]
    return Granularity(grains, suppressed)


def _missing(column: ColumnData) -> float:
    """The share of records without a value."""
    known = column.known()
    return 1 - float(known.mean()) if len(known) else 0.0


@singledispatch
def _grain(own: ColumnData, released: ColumnData, spec: ColumnSpec) -> ColumnGranularity | None:
    return None


@_grain.register(Numbers)
def _number_grain(own: Numbers, released: Numbers, spec: ColumnSpec) -> ColumnGranularity | None:
    return NumberGranularity.detect(own, released)


@_grain.register(Times)
def _time_grain(own: Times, released: Times, spec: ColumnSpec) -> ColumnGranularity | None:
    return TimeGranularity.detect(own, released)


@_grain.register(Labels)
def _label_grain(own: Labels, released: Labels, spec: ColumnSpec) -> ColumnGranularity | None:
    return LabelGranularity.detect(spec, own, released)
