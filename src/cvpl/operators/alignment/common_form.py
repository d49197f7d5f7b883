"""The common form of both tables in which an attacker compares them: coarsened values, ranks, or differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.alignment.granularity import Granularity
from cvpl.operators.recoding import Recoding
from cvpl.result.rounding import ALL_NUMBERS, Grid
from cvpl.tables.columns import ColumnData, Columns, ColumnSpec, Fetch, Numbers, Table, Times

Floats = NDArray[np.float64]

MOST_COMPARED = 6
"""Differences are taken between so many times, and so many numbers, at most."""
OVERLAP = 0.7
"""Two numbers have one unit if the Kolmogorov-Smirnov distance of their values is at most this."""
_DAY = 86_400e6
"""A day in microseconds."""
_DECIMALS = 9
"""The decimals of a difference of two numbers: the last bits come from the subtraction."""


class CommonForm(Protocol):
    """How both tables are brought to the form in which they are compared."""

    def apply(self, table: Table) -> Table:
        """The attacker's records in the common form."""

    def apply_released(self, table: Table) -> Table:
        """The released records in the common form."""

    def describe(self, grid: Grid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """List columns and their treatment, without a value of the data."""


@dataclass(frozen=True, eq=False)
class RankForm:
    """Values at the granularity of the release, then as rank scores, and labels as the release names them."""

    granularity: Granularity
    recoding: Recoding

    def apply(self, table: Table) -> Table:
        """The attacker's records: coarsened, then ranked."""
        return self.recoding.apply(self.granularity.apply(table))

    def apply_released(self, table: Table) -> Table:
        """The released records, ranked."""
        return self.recoding.apply_released(table)

    def describe(self, grid: Grid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """The granularity, and what is recoded."""
        return [*self.granularity.describe(grid), *self.recoding.describe()]


@dataclass(frozen=True, eq=False)
class DifferenceForm:
    """Differences between the columns of each pair in place of these columns; other columns stay as they are."""

    granularity: Granularity
    pairs: tuple[tuple[str, str], ...]
    days: frozenset[str] = frozenset()
    """The times that are whole days for all people: their differences are too, whatever the clock of the release."""

    @classmethod
    def of(cls, granularity: Granularity, people: Table, columns: Sequence[str]) -> DifferenceForm:
        """The pairs of times, and of numbers of one unit, among these columns of originals and controls."""
        times = [spec.name for spec in people.specs if spec.type == "datetime"]
        days = frozenset(name for name in times if _are_days(people.columns[name]))
        return cls(granularity, compared_differences(people, columns), days)

    def apply(self, table: Table) -> Table:
        """The attacker's differences; differences of coarsened values would be off by the rounding of both."""
        return self._differences(self.granularity.without(self._columns).apply(table))

    def apply_released(self, table: Table) -> Table:
        """The released differences."""
        return self._differences(table)

    def describe(self, grid: Grid = ALL_NUMBERS) -> list[tuple[str, str]]:
        """The granularity of the other columns, and the differences."""
        kept = self.granularity.without(self._columns).describe(grid)
        return [*kept, *((f"{one} - {other}", "difference") for one, other in self.pairs)]

    @property
    def _columns(self) -> set[str]:
        return {name for pair in self.pairs for name in pair}

    def _differences(self, table: Table) -> Table:
        gone = self._columns
        place = table.place.another()
        specs = [spec for spec in table.specs if spec.name not in gone]
        fetch: dict[str, Fetch] = {spec.name: partial(table.columns.__getitem__, spec.name) for spec in specs}
        roles = {spec.name: spec.role for spec in table.specs}
        for one, other in self.pairs:
            name = f"{one} - {other}"
            specs.append(ColumnSpec(name, roles[one], "numeric"))
            apart = _difference(table.columns[one], table.columns[other])
            fetch[name] = place.put(_whole(apart) if {one, other} <= self.days else apart)
        return Table(table.name, table.rows, tuple(specs), Columns(fetch), place)


def compared_differences(people: Table, columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The pairs among these columns whose differences are compared: times, and numbers of one unit."""
    compared = [spec for spec in people.specs if spec.name in columns]
    times = [spec.name for spec in compared if spec.type == "datetime"][:MOST_COMPARED]
    numbers = [spec.name for spec in compared if spec.type == "numeric"][:MOST_COMPARED]
    values = {name: np.sort(_known(people.columns[name])) for name in numbers}
    alike = [pair for pair in combinations(numbers, 2) if _apart(values[pair[0]], values[pair[1]]) <= OVERLAP]
    return (*combinations(times, 2), *alike)


def _known(column: ColumnData) -> Floats:
    return column.ordinal()[column.known()]


def _apart(one: Floats, other: Floats) -> float:
    if min(len(one), len(other)) == 0 or one[0] == one[-1] or other[0] == other[-1]:
        return 1.0
    at = np.concatenate([one, other])
    shares: Sequence[Floats] = [np.searchsorted(part, at, side="right") / len(part) for part in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def _are_days(column: ColumnData) -> bool:
    return bool(np.all(_known(column) % _DAY == 0))


def _whole(column: Numbers) -> Numbers:
    values = np.rint(column.values) + 0.0
    return Numbers(values, values, values)


def _difference(one: ColumnData, other: ColumnData) -> Numbers:
    """The difference of two numbers, or of two times in days; NaN where either is missing."""
    first, second = one.ordinal(), other.ordinal()
    values = (first - second) / _DAY if isinstance(one, Times) else np.round(first - second, _DECIMALS) + 0.0
    return Numbers(values, values, values)
