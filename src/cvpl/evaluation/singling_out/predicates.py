"""Predicates that an attacker writes from the release alone, and how often each singles out one person.

Predicates that an attacker writes from the release alone, each of which one released record meets. Of one column, as in
Anonymeter (Giomi et al., 2023): values that occur once, and the smallest and the largest number if one record has it.
Of several columns there are two kinds, half of each. The first asks for the values of a released record that is unique
by these columns. The second is Anonymeter's: a released record and columns are drawn; a label must be equal, a number
or a time at least as large if it is above the release's median, else at most as large. Predicates that more than one
released record meets are dropped. A generalized cell is met by every value inside it.

Columns of the release and of tested tables on one axis, so that a condition on a released cell finds people. A
condition is a range on the axis, both ends included, or the wish for a missing value. A cell meets a range if it lies
inside it. Labels are numbered by the leaves that they allow, in sets that need not be ranges: a label meets another if
it allows no leaf that the other does not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import isnan
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE, beyond_chance
from cvpl.evaluation.criteria import EquivalenceClasses
from cvpl.evaluation.intervals.bounds import LEAST_EFFECT, Component, ratio_bounds, sampling_design
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Table
from cvpl.tables.meaning.labels import AllowedLabels, allowed_labels

Floats = NDArray[np.float64]


Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]
Relation = Literal["=", "<=", ">=", "missing"]
_AT_ONCE = 1 << 16
"""Records that are looked at together."""


class Condition(NamedTuple):
    """What a predicate asks of one column: `relation` to the cell from `low` to `high`; of a label, its code."""

    column: int
    relation: Relation
    low: float
    high: float


class QueryColumn:
    """One column of a table, with its records sorted, so that those who meet a condition are found quickly."""

    def __init__(self, column: ColumnData, groups: LabelGroups | None) -> None:
        self._groups = groups
        low, high = column.bounds()
        self.low, self.high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        self._order = np.argsort(self.low, kind="stable")
        self._sorted = self.low[self._order]
        self._known = int(np.searchsorted(self._sorted, np.inf, side="right"))
        self._places: dict[Condition, list[slice]] = {}
        self._met: dict[Condition, Flags] = {}

    def meets(self, rows: Rows | slice, condition: Condition) -> Flags:
        """Which of the rows meet the condition."""
        low, high = self.low[rows], self.high[rows]
        if condition.relation == "missing":
            return np.isnan(low)
        if self._groups is not None:
            codes = self._groups.meeting(int(condition.low))
            return low == codes[0] if len(codes) == 1 else np.isin(low, codes)
        first, last = _ends(condition)
        return (low >= first) & (high <= last)

    def all_meeting(self, condition: Condition) -> Flags:
        """Which of all records meet the condition; it is found once."""
        met = self._met.get(condition)
        if met is None:
            met = self._met[condition] = self.meets(slice(None), condition)
        return met

    def candidates(self, condition: Condition) -> list[slice]:
        """Places in the sorted order that hold all records that meet the condition, and perhaps others."""
        if condition not in self._places:
            self._places[condition] = self._find(condition)
        return self._places[condition]

    def _find(self, condition: Condition) -> list[slice]:
        if condition.relation == "missing":
            return [slice(self._known, len(self._sorted))]
        if self._groups is not None:
            codes = self._groups.meeting(int(condition.low))
            starts, ends = (np.searchsorted(self._sorted[: self._known], codes, side) for side in ("left", "right"))
            return [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if a < b]
        first, last = _ends(condition)
        known = self._sorted[: self._known]
        return [slice(int(np.searchsorted(known, first, "left")), int(np.searchsorted(known, last, "right")))]

    def rows(self, places: list[slice]) -> Iterator[Rows]:
        """The records at places in the sorted order, some at a time."""
        for place in places:
            for start in range(place.start, place.stop, _AT_ONCE):
                yield self._order[start : min(start + _AT_ONCE, place.stop)]


def _ends(condition: Condition) -> tuple[float, float]:
    first = -np.inf if condition.relation == "<=" else condition.low
    return first, np.inf if condition.relation == ">=" else condition.high


@dataclass(eq=False)
class LabelGroups:
    """The labels that meet each label: itself, and those inside the group that it names."""

    spec: ColumnSpec
    labels: tuple[str, ...]
    _known: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: ColumnSpec, column: ColumnData) -> LabelGroups | None:
        """The groups of a column of labels; None for other columns."""
        return cls(spec, column.labels) if isinstance(column, Labels) else None

    @cached_property
    def _allowed(self) -> AllowedLabels:
        return allowed_labels(self.spec, self.labels)

    @cached_property
    def _by_members(self) -> dict[tuple[int, ...], list[int]]:
        found: dict[tuple[int, ...], list[int]] = {}
        for code, members in enumerate(self._allowed.members):
            found.setdefault(members, []).append(code)
        return found

    def meeting(self, code: int) -> Floats:
        """The codes of the labels that allow no leaf that this label does not allow, in ascending order."""
        if code not in self._known:
            members = self._allowed.members[code]
            inside = set(members)
            kinds = [members] if len(members) == 1 else [one for one in self._by_members if inside.issuperset(one)]
            codes = sorted(item for one in kinds for item in self._by_members[one])
            self._known[code] = np.array(codes, dtype=np.float64)
        return self._known[code]


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
FEW_RECORDS = 4096
"""In a table of so many records or fewer, who meets a condition is kept: predicates share their conditions."""


class QueryTable:
    """A table on which predicates are tested."""

    def __init__(self, table: Table, names: Sequence[str], groups: Sequence[LabelGroups | None]) -> None:
        self.rows = table.rows
        self.columns = [QueryColumn(table.columns[name], group) for name, group in zip(names, groups, strict=True)]

    def meeting(self, predicate: Predicate, most: int | None = None) -> Rows:
        """The records that meet every condition; with `most`, the search ends when more than so many are found."""
        if self.rows <= FEW_RECORDS:
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


Ints = NDArray[np.int64]
Ends = tuple[float, float]

FEWEST_PREDICATES = 20
"""With fewer predicates there is no interval."""


@dataclass(frozen=True)
class PredicateRate:
    """The predicates of one number of columns.

    `rate` is the share that exactly one original meets, `control` the share that exactly one of as many controls meets,
    `attributable` is (rate - control) / (1 - control). Intervals are None with fewer than 20 predicates; `control` and
    `attributable` are None without a control, and `attributable` also if every predicate singles out a control.
    """

    columns: int
    predicates: int
    rate: float
    interval: Ends | None
    control: float | None = None
    attributable: float | None = None
    attributable_interval: Ends | None = None


def predicate_rates(
    original: Table,
    released: Table,
    control: Table | None,
    rng: np.random.Generator,
    *,
    clusters: Ints | None = None,
    wanted: int = WRITTEN,
    confidence: float = CONFIDENCE,
) -> list[PredicateRate]:
    """Write predicates of one, two and three columns from the release, and test them; empty if there are none.

    `clusters` has the cluster of every original, if several rows belong together. Intervals hold together: with several
    numbers of columns each has a higher confidence.
    """
    names = [spec.name for spec in released.specs if spec.name in original.columns]
    specs = {spec.name: spec for spec in released.specs}
    groups = [LabelGroups.of(specs[name], released.columns[name]) for name in names]
    release = SeenRelease.of(released, names, groups)
    written = {columns: write_predicates(release, columns, wanted, rng) for columns in COLUMNS}
    written = {columns: found for columns, found in written.items() if found}
    people = QueryTable(original, names, groups)
    others = None if control is None or not control.rows else QueryTable(control, names, groups)
    each = 1 - (1 - confidence) / max(1, len(written))
    return [predicate_outcomes(columns, found, people, others, clusters, each) for columns, found in written.items()]


def predicate_outcomes(
    columns: int,
    predicates: Sequence[Predicate],
    people: QueryTable,
    others: QueryTable | None,
    clusters: Ints | None,
    confidence: float,
) -> PredicateRate:
    """How often the predicates single out people and others."""
    hits, person = singled_out(predicates, people, clusters)
    rate = float(hits.mean())
    enough = len(predicates) >= FEWEST_PREDICATES
    mine = Component(hits, person)
    drawn = sampling_design([mine], least=LEAST_EFFECT, alike=True)
    ends = drawn.cautious_ends(rate, len(hits), confidence) if enough else None
    if others is None:
        return PredicateRate(columns, len(predicates), rate, ends)
    base = among_as_many(predicates, others, people.rows)
    control = float(base.mean())
    attributable = None if control >= 1 else beyond_chance(rate, control)
    within = None
    if enough and attributable is not None:
        within = _attributable_ends(mine, Component(base), confidence)
    return PredicateRate(columns, len(predicates), rate, ends, control, attributable, within)


def singled_out(
    predicates: Sequence[Predicate], table: QueryTable, clusters: Ints | None = None
) -> tuple[Floats, Ints]:
    """1 for each predicate that exactly one record meets, else 0; and the cluster of each predicate.

    Predicates that single out the same person, or people of one of the `clusters`, are one cluster; every other
    predicate is a cluster of its own.
    """
    found = [table.meeting(predicate, 1) for predicate in predicates]
    hits = np.array([float(len(rows) == 1) for rows in found])
    own = np.arange(table.rows) if clusters is None else clusters
    person = np.array([own[rows[0]] if len(rows) == 1 else -1 - at for at, rows in enumerate(found)], dtype=np.int64)
    return hits, np.unique(person, return_inverse=True)[1].astype(np.int64).reshape(len(found))


def among_as_many(predicates: Sequence[Predicate], table: QueryTable, people: int) -> Floats:
    """For each predicate the probability that exactly one of `people` records of the table meets it.

    If c records of a larger table meet it, and each is kept with probability λ = people / rows, that is
    c λ (1 - λ)^(c - 1). A smaller table is taken as it is: a predicate that few people meet then singles one out less
    often than in a larger table, so the rate of the control is too low rather than too high.
    """
    smaller = table.rows <= people
    met = np.array([len(table.meeting(item, 1 if smaller else None)) for item in predicates], dtype=np.float64)
    if smaller:
        return np.asarray(met == 1, dtype=np.float64)
    share = people / table.rows
    kept: Floats = np.where(met > 0, met * share * (1 - share) ** np.maximum(met - 1, 0), 0.0)
    return kept


def _attributable_ends(mine: Component, base: Component, confidence: float) -> Ends:
    """Ends for 1 - (1 - rate) / (1 - control), from the ends of the two rates."""
    rate, control = float(mine.success.mean()), float(base.success.mean())
    weight = (1 - rate) / (1 - control)
    one, other = Component(mine.success, mine.cluster), Component(base.success, None, -weight)
    drawn = sampling_design([one], least=LEAST_EFFECT, alike=True)
    plain = sampling_design([other], least=LEAST_EFFECT)
    ends = (
        drawn.cautious_ends(rate, len(mine.success), confidence),
        plain.ends(control, len(base.success), confidence),
    )
    top, bottom = ((1 - item, 1 - high, 1 - low) for item, (low, high) in zip((rate, control), ends, strict=True))
    low, high = ratio_bounds(top, bottom)
    return 1 - high, 1 - low
