"""The form of a change: how the release writes each column, and the attacker's records written as it does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.recoding.noise import Disturbance, column_like
from cvpl.operators.recoding.ranks import SPREAD, Ranks
from cvpl.operators.recoding.refinement import Shift
from cvpl.operators.recoding.sight import ColumnSight
from cvpl.tables.columns import ColumnData, Columns, Fetch, Labels, Numbers, Table

Floats = NDArray[np.float64]
Change = Callable[[Any], ColumnData]


@dataclass(frozen=True, eq=False)
class OrderedRecoding:
    """The ranks of an ordered column in both tables, its direction, and what ranks among all people are off by.

    `as_is` says that the scale is the originals'.
    """

    own: Ranks
    released: Ranks
    direction: int
    as_is: bool
    shift: Shift

    def scores(self, column: ColumnData) -> Numbers:
        """The rank scores of the attacker's values, in the direction of the release."""
        return _numbers(self._scores(column))

    def released_scores(self, column: ColumnData) -> Numbers:
        """The rank scores of released values."""
        return _numbers(self.released.scores(column.ordinal()))

    def to_release(self, column: ColumnData) -> ColumnData:
        """The attacker's values as the release would write them."""
        if self.as_is and self.direction > 0:
            return column
        return column_like(column, self.released.at(np.clip(self._scores(column) / SPREAD + 0.5, 0, 1)))

    def _scores(self, column: ColumnData) -> Floats:
        return self.shift.added(self.own.scores(column.ordinal(), self.direction))


@dataclass(frozen=True, eq=False)
class LabelRecoding:
    """The released code that stands for each of the attacker's; the last is -1 (missing)."""

    recode: NDArray[np.int32]

    def scores(self, column: Labels) -> Labels:
        """The labels as the release writes them."""
        return Labels(self.recode[column.codes], column.labels)


@dataclass(frozen=True, eq=False)
class Recoding:
    """How the release writes each column, as far as it is known.

    Ordered columns become rank scores, as the attacker's own ranks and as the release's; labels get the names that
    they have in the release. `disturbed` holds the noise and the gaps of each column that has them.
    """

    ordered: Mapping[str, OrderedRecoding]
    labels: Mapping[str, LabelRecoding]
    sights: tuple[ColumnSight, ...]
    disturbed: Mapping[str, Disturbance]

    def apply(self, table: Table) -> Table:
        """The attacker's records: numbers and times as rank scores, labels as the release names them."""
        ordered = {name: part.scores for name, part in self.ordered.items()}
        return _with_numbers(table, ordered | {name: part.scores for name, part in self.labels.items()}, self.ordered)

    def apply_released(self, table: Table) -> Table:
        """The released records in the same form."""
        return _with_numbers(table, {name: part.released_scores for name, part in self.ordered.items()}, self.ordered)

    def describe(self) -> list[tuple[str, str]]:
        """List the columns that are recoded, and how, without a value of the data."""
        found = []
        for name, part in self.ordered.items():
            if not part.as_is or part.direction < 0:
                found.append((name, "another scale" + (", turned around" if part.direction < 0 else "")))
        return found + [(name, "other labels") for name in self.labels]

    def to_release(self, table: Table, kept: Collection[str] = ()) -> Table:
        """The attacker's records as the release would write them; columns in `kept` as they are."""
        changes: dict[str, Change] = {name: part.to_release for name, part in self.ordered.items()}
        changes |= {name: part.scores for name, part in self.labels.items()}
        return table.altered({name: change for name, change in changes.items() if name not in kept})

    def with_disturbances(self, table: Table, rng: np.random.Generator) -> Table:
        """The records with as much noise and as many gaps as the release seems to have."""
        return table.altered({name: partial(part.brought_to, rng=rng) for name, part in self.disturbed.items()})


def _with_numbers(table: Table, changes: Mapping[str, Change], ordered: Collection[str]) -> Table:
    """The table with changed columns, where ordered columns are numbers now."""
    specs = tuple(
        replace(spec, type="numeric") if spec.name in ordered and spec.type != "numeric" else spec
        for spec in table.specs
    )
    place = table.place.new_storage()
    fetch: dict[str, Fetch] = {spec.name: partial(table.columns.__getitem__, spec.name) for spec in table.specs}
    for name, change in changes.items():
        if name in fetch:
            fetch[name] = place.put(change(table.columns[name]))
    return Table(table.name, table.rows, specs, Columns(fetch), place)


def _numbers(values: Floats) -> Numbers:
    return Numbers(values, values, values)
