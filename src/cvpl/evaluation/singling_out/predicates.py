"""Predicates that an attacker writes from the release alone, each of which one released record meets.

Of one column, as in Anonymeter (Giomi et al., 2023): values that occur once, and the smallest and the largest number if
one record has it. Of several columns there are two kinds, half of each. The first asks for the values of a released
record that is unique by these columns. The second is Anonymeter's: a released record and columns are drawn; a label
must be equal, a number or a time at least as large if it is above the release's median, else at most as large.
Predicates that more than one released record meets are dropped. A generalized cell is met by every value inside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria.classes import EquivalenceClasses
from cvpl.evaluation.singling_out.predicate_columns import Condition, LabelGroups, QueryColumn, Relation, Rows
from cvpl.tables.columns import Table

Predicate = tuple[Condition, ...]
Codes = NDArray[np.int32]

WRITTEN = 500
"""Predicates of each number of columns."""
TRIED = 4
"""Drawn predicates for each that is wanted, at most: where few single out one record, there are fewer."""
SETS = 20
"""The most sets of columns of each size whose unique records are looked for."""
COLUMNS = (1, 2, 3)
"""The numbers of columns of a predicate."""
FEW = 4096
"""In a table of so many records or fewer, who meets a condition is kept: predicates share their conditions."""


class QueryTable:
    """A table on which predicates are tested."""

    def __init__(self, table: Table, names: Sequence[str], groups: Sequence[LabelGroups | None]) -> None:
        self.rows = table.rows
        self.columns = [QueryColumn(table.columns[name], group) for name, group in zip(names, groups, strict=True)]

    def meeting(self, predicate: Predicate, most: int | None = None) -> Rows:
        """The records that meet every condition; with `most`, the search ends when more than so many are found."""
        if self.rows <= FEW:
            every = self.columns[predicate[0].column].all_meeting(predicate[0])
            for condition in predicate[1:]:
                every = every & self.columns[condition.column].all_meeting(condition)
            return every.nonzero()[0]
        found = [(condition, self.columns[condition.column].candidates(condition)) for condition in predicate]
        first, places = min(found, key=lambda item: sum(place.stop - place.start for place in item[1]))
        met: list[Rows] = [np.zeros(0, dtype=np.intp)]
        for rows in self.columns[first.column].rows(places):
            left = rows
            for condition in predicate:
                left = left[self.columns[condition.column].meets(left, condition)]
            met.append(left)
            if most is not None and sum(map(len, met)) > most:
                break
        return np.concatenate(met)


@dataclass(frozen=True, eq=False)
class SeenRelease:
    """The release as the attacker sees it: its columns, their medians, and whether they are ordered."""

    tested: QueryTable
    codes: tuple[Codes, ...]
    medians: tuple[float, ...]
    ordered: tuple[bool, ...]

    @classmethod
    def of(cls, table: Table, names: Sequence[str], groups: Sequence[LabelGroups | None]) -> SeenRelease:
        """Prepare a release; a column without values has no median."""
        tested = QueryTable(table, names, groups)
        columns = [table.columns[name] for name in names]
        codes = tuple(column.distinct(plain=column.plain)[1] for column in columns)
        ordered = tuple(column.ordered for column in columns)
        medians = []
        for column in tested.columns:
            known = column.low[~np.isnan(column.low)]
            medians.append(float(np.median(known)) if len(known) else np.nan)
        return cls(tested, codes, tuple(medians), ordered)

    def condition(self, column: int, row: int, *, equal: bool = False) -> Condition:
        """What the attacker asks of a column, from a released record's cell; `equal` if the value must be the same."""
        cells = self.tested.columns[column]
        low, high = float(cells.low[row]), float(cells.high[row])
        relation: Relation = "="
        if isnan(low):
            return Condition(column, "missing", 0.0, 0.0)
        if self.ordered[column] and not equal:
            relation = ">=" if low > self.medians[column] else "<="
        return Condition(column, relation, low, high)


def write_predicates(release: SeenRelease, columns: int, wanted: int, rng: np.random.Generator) -> list[Predicate]:
    """At most so many different predicates of so many columns, each of which one released record meets."""
    available = len(release.tested.columns)
    if columns > available or not release.tested.rows:
        return []
    if columns == 1:
        return _of_one_column(release, wanted, rng)
    half = wanted // 2
    found = dict.fromkeys(predicates_of_uniques(release, columns, wanted - half, rng))
    drawn = 0
    for _ in range(TRIED * half):
        if drawn == half:
            break
        row = int(rng.integers(release.tested.rows))
        chosen = sorted(rng.choice(available, columns, replace=False).tolist())
        predicate = tuple(release.condition(column, row) for column in chosen)
        if predicate not in found and len(release.tested.meeting(predicate, 1)) == 1:
            found[predicate] = None
            drawn += 1
    return list(found)


def predicates_of_uniques(release: SeenRelease, columns: int, wanted: int, rng: np.random.Generator) -> list[Predicate]:
    """The values of released records that are unique by some of the columns, drawn from all sets that are looked at."""
    sets = list(combinations(range(len(release.codes)), columns))
    if len(sets) > SETS:
        sets = [sets[at] for at in sorted(rng.choice(len(sets), SETS, replace=False).tolist())]
    unique = [_unique_rows([release.codes[at] for at in chosen], release.tested.rows) for chosen in sets]
    ends = np.cumsum([len(rows) for rows in unique])
    kept: list[Predicate] = []
    many = int(ends[-1])
    for place in rng.choice(many, min(many, 2 * wanted), replace=False).tolist():
        if len(kept) == wanted:
            break
        at = int(np.searchsorted(ends, place, side="right"))
        row = int(unique[at][place - int(ends[at])])
        predicate = tuple(release.condition(column, row, equal=True) for column in sets[at])
        if len(release.tested.meeting(predicate, 1)) == 1:
            kept.append(predicate)
    return kept


def _unique_rows(columns: Sequence[Codes], rows: int) -> Rows:
    """The records that no other record equals in the columns."""
    classes = EquivalenceClasses.by(columns, rows)
    return np.flatnonzero(classes.size_of_record == 1)


def _of_one_column(release: SeenRelease, wanted: int, rng: np.random.Generator) -> list[Predicate]:
    """Values that one record has, and the ends of ordered columns, in random order."""
    found: dict[Condition, None] = {}
    for at, column in enumerate(release.tested.columns):
        known = ~np.isnan(column.low)
        if int((~known).sum()) == 1:
            found[Condition(at, "missing", 0.0, 0.0)] = None
        low, high = column.low[known], column.high[known]
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        new = np.append(True, (low[1:] != low[:-1]) | (high[1:] != high[:-1]))[: len(low)]
        alone = new & np.append(new[1:], True)[: len(low)]
        once = np.column_stack([low, high])[alone]
        if len(once) > wanted:
            once = once[rng.choice(len(once), wanted, replace=False)]
        for first, last in once.tolist():
            found[Condition(at, "=", first, last)] = None
        if release.ordered[at] and len(low):
            least, most = low.min(), high.max()
            found[Condition(at, "<=", float(least), float(high[low == least].max()))] = None
            found[Condition(at, ">=", float(low[high == most].min()), float(most))] = None
    asked = list(found)
    kept: list[Predicate] = []
    for place in rng.permutation(len(asked)).tolist():
        if len(kept) == wanted:
            break
        if len(release.tested.meeting((asked[place],), 1)) == 1:
            kept.append((asked[place],))
    return kept
