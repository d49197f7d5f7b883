"""The granularity of a release, column by column, and the generalization of a table to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, Protocol

from cvpl.operators.alignment.labels import LabelGranularity
from cvpl.operators.alignment.numbers import NumberGranularity
from cvpl.operators.alignment.times import DayAndMonthExchanged, TimeGranularity
from cvpl.result.rounding import ALL_NUMBERS, RoundingGrid
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Table, Times
from cvpl.wording import percent


class ColumnGranularity(Protocol):
    """The granularity of one column."""

    def apply(self, column: Any, /) -> ColumnData:
        """Generalize a column of the same kind; the column itself if nothing changes."""
        ...

    @property
    def words(self) -> str:
        """A description for people, without any value of the data."""
        ...


@dataclass(frozen=True, eq=False)
class Granularity:
    """The granularity of every column that is coarser in the release, and the suppressed shares.

    `suppressed` is the share of released records without a value, for each column that is missing more often in the
    release than in the attacker's table. A missing value is neutral, so it needs no treatment.
    """

    grains: Mapping[str, ColumnGranularity]
    suppressed: Mapping[str, float]

    def apply(self, table: Table) -> Table:
        """Generalize the table as the release does: g(g(t)) = g(t), but for days and months, which are exchanged.

        Only columns that change are copied, in the table's kind of storage; if none changes, this returns the table
        itself.
        """
        return table.altered({name: grain.apply for name, grain in self.grains.items() if name in table.columns})

    def apply_released(self, table: Table) -> Table:
        """The released records, which have this granularity already."""
        return table

    def without(self, names: Collection[str]) -> Granularity:
        """The same, except that some columns stay as they are."""
        return replace(self, grains={name: grain for name, grain in self.grains.items() if name not in names})

    def describe(self, grid: RoundingGrid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """List columns and their treatment, with steps, widths and shares on `grid`, but no value of the data."""
        text = []
        for name in dict.fromkeys((*self.grains, *self.suppressed)):
            parts = [self.grains[name].words] if name in self.grains else []
            if name in self.suppressed:
                parts.append(f"{percent(grid.nearest(self.suppressed[name]))} without a value")
            text.append((name, ", ".join(parts)))
        return text


def detect(original: Table, protected: Table) -> Granularity:
    """Estimate the granularity of the release from the values of the two tables alone.

    Each column is analysed separately, over all records; a column that is not coarser than the attacker's has no entry.
    See `Cells.of` for intervals and time spans, `fitting` for grids, `tables.meaning.labels` for labels.
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
    return TimeGranularity.detect(own, released) or DayAndMonthExchanged.detect(own, released)


@_grain.register(Labels)
def _label_grain(own: Labels, released: Labels, spec: ColumnSpec) -> ColumnGranularity | None:
    return LabelGranularity.detect(spec, own, released)
