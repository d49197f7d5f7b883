"""Column-by-column agreement of the records of two tables.

Every value becomes a range of whole numbers, such that two values agree exactly if their ranges meet:

    numbers   the cell's closed range [low, high], its upper end raised by the column's tolerance
    times     likewise [first, last], the tolerance in seconds
    labels    a label's rank among all sorted paths: the paths that start with a path come right after it, so
              "North/*" is the range from itself to the last "North/...", and two ranges meet if one path is a
              prefix of the other

A missing value is an empty range: it meets nothing, and is neither agreement nor disagreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.operators.vectorization.features import Feature, earliest, time_feature
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Table, Times

Rows = NDArray[np.intp]
Codes = NDArray[np.int32]
Known = NDArray[np.bool_]

_ROUNDING = 1e-9
"""The relative margin of a tolerance, so that 0.7 and 0.8 are within 0.1 of each other."""
_EMPTY = int(np.iinfo(np.int32).max), -1
"""The range of a missing value: it starts above and ends below all others."""


@dataclass(frozen=True)
class Comparison:
    """The rule for the agreement of two values.

    `tolerance` gives for each column how far two numbers (in its unit) or times (in seconds) may differ and still
    agree; 0 by default. `times` compares a datetime column by its spans, or by equality of the features that the
    attacker's vectorization derives from it, each as its own column ("when.hour"); a column without features is always
    compared by its spans.
    """

    tolerance: Mapping[str, float] = field(default_factory=dict)
    times: Literal["spans", "features"] = "spans"


@dataclass(frozen=True, eq=False)
class RangeColumn:
    """A range of whole numbers from 0, both ends included, for each record of a table; empty if it has no value."""

    low: Codes
    high: Codes

    @classmethod
    def where(cls, known: Known, low: NDArray[np.integer], high: NDArray[np.integer]) -> RangeColumn:
        """The ranges of the known values, and empty ones."""
        ends = (np.where(known, end, none).astype(np.int32) for end, none in zip((low, high), _EMPTY, strict=True))
        return cls(*ends)

    @property
    def known(self) -> Known:
        """Which records have a value."""
        return self.high >= 0

    def take(self, rows: Rows) -> RangeColumn:
        """The same for some of the records."""
        return RangeColumn(self.low[rows], self.high[rows])


@dataclass(frozen=True, eq=False)
class WeighedColumn:
    """One column of two tables; `equal` says that every range is one number, so that agreement is equality."""

    name: str
    queries: RangeColumn
    candidates: RangeColumn
    equal: bool

    @classmethod
    def of(cls, name: str, queries: RangeColumn, candidates: RangeColumn) -> WeighedColumn:
        """Check whether agreement is equality."""
        equal = all(bool(((side.low == side.high) | ~side.known).all()) for side in (queries, candidates))
        return cls(name, queries, candidates, equal)

    def agree(self, queries: Rows, candidates: Rows) -> Known:
        """Whether the values of some pairs agree, False if one is missing; the two arrays of rows are broadcast."""
        # An empty range starts after all others end, and ends before all others start.
        if self.equal:
            return np.asarray(self.queries.low[queries] == self.candidates.high[candidates])
        meet = self.queries.low[queries] <= self.candidates.high[candidates]
        meet &= self.candidates.low[candidates] <= self.queries.high[queries]
        return np.asarray(meet)

    def chance(self) -> tuple[int, int]:
        """Over all pairs of the two tables, ignoring blocks: how many agree, and for how many both values are known.

        Counted exactly from sorted values: if two ranges do not meet, one is above the other.
        """
        mine, theirs = (side.take(np.flatnonzero(side.known)) for side in (self.queries, self.candidates))
        pairs = len(mine.low) * len(theirs.low)
        begun = int(np.searchsorted(np.sort(theirs.low), mine.high, side="right").sum())
        over = int(np.searchsorted(np.sort(theirs.high), mine.low, side="left").sum())
        return begun - over, pairs

    def take(self, queries: Rows, candidates: Rows) -> WeighedColumn:
        """The same column for some of the records, in another order."""
        return WeighedColumn(self.name, self.queries.take(queries), self.candidates.take(candidates), self.equal)


def compare_tables(
    queries: Table, candidates: Table, attacker: Attacker, comparison: Comparison
) -> tuple[WeighedColumn, ...]:
    """Every column that the attacker compares; a column excluded from vectorization is excluded here too."""
    compared: list[WeighedColumn] = []
    for spec in queries.specs:
        choice = attacker.vectorization.columns.get(spec.name)
        if choice is not None and not choice.vectorize:
            continue
        sides = queries.columns[spec.name], candidates.columns[spec.name]
        features = choice.features if choice is not None and comparison.times == "features" else ()
        compared.extend(_compared(sides[0], spec, sides, comparison, features))
    return tuple(compared)


@singledispatch
def _compared(
    first: ColumnData,
    spec: ColumnSpec,
    sides: Sequence[ColumnData],
    comparison: Comparison,
    features: Sequence[Feature],
) -> list[WeighedColumn]:
    """A column of two tables, of the first one's type, as it is compared; a time by its features, if there are any."""
    return [_by_ranges(spec, sides, comparison)]


def _by_ranges(spec: ColumnSpec, sides: Sequence[ColumnData], comparison: Comparison) -> WeighedColumn:
    tolerance = comparison.tolerance.get(spec.name, 0.0) * (1 + _ROUNDING)
    known = [side.known() for side in sides]
    return WeighedColumn.of(spec.name, *_ranked(known, [_widened(side, tolerance) for side in sides]))


@_compared.register(Times)
def _compared_times(
    first: Times, spec: ColumnSpec, sides: Sequence[Times], comparison: Comparison, features: Sequence[Feature]
) -> list[WeighedColumn]:
    return [_feature(spec, feature, sides) for feature in features] or [_by_ranges(spec, sides, comparison)]


@_compared.register(Labels)
def _compared_labels(
    first: Labels, spec: ColumnSpec, sides: Sequence[Labels], comparison: Comparison, features: Sequence[Feature]
) -> list[WeighedColumn]:
    low, high = _paths(spec, first.labels)
    ranges = (RangeColumn.where(side.known(), low[side.codes], high[side.codes]) for side in sides)
    return [WeighedColumn.of(spec.name, *ranges)]


@singledispatch
def _widened(side: ColumnData, tolerance: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """The ends of the cells' ranges, the upper one raised by the tolerance."""
    low, high = side.ends()
    return low, high + tolerance if tolerance else high


@_widened.register(Times)
def _widened_times(side: Times, tolerance: float) -> tuple[NDArray[Any], NDArray[Any]]:
    first, last = (end.astype("datetime64[us]").astype(np.int64) for end in side.ends())
    return first, last + round(tolerance * 1e6)


def _feature(spec: ColumnSpec, feature: Feature, sides: Sequence[Times]) -> WeighedColumn:
    """A datetime column by one of its features, which is missing if the span does not determine it."""
    origin = earliest(sides)
    raw = [time_feature(side, feature, origin) for side in sides]
    ranges = _ranked([~np.isnan(values) for values in raw], [(values, values) for values in raw])
    return WeighedColumn.of(f"{spec.name}.{feature}", *ranges)


def _ranked(known: Sequence[Known], ends: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> list[RangeColumn]:
    """Both tables' ends by their joint rank, which preserves every comparison of two ends."""
    plain = all(low is high for low, high in ends)
    pooled = [end for low, high in ends for end in ((low,) if plain else (low, high))]
    ranks = np.unique(np.concatenate(pooled), return_inverse=True)[1]
    parts = iter(np.split(ranks, np.cumsum([len(part) for part in pooled])[:-1]))
    result = []
    for here in known:
        low = next(parts)
        result.append(RangeColumn.where(here, low, low if plain else next(parts)))
    return result


def _paths(spec: ColumnSpec, labels: Sequence[str]) -> tuple[Codes, Codes]:
    """For each label, its path's rank among all paths, and that of the last path that starts with it."""
    paths = [spec.path(label) for label in labels]
    ordered = sorted(set(paths))
    last = list(range(len(ordered)))
    open_paths: list[int] = []
    for place, path in enumerate(ordered):
        while open_paths and path[: len(ordered[open_paths[-1]])] != ordered[open_paths[-1]]:
            open_paths.pop()
        for begun in open_paths:
            last[begun] = place
        open_paths.append(place)
    at = {path: place for place, path in enumerate(ordered)}
    low = np.array([at[path] for path in paths] + [0], dtype=np.int32)
    high = np.array([last[at[path]] for path in paths] + [0], dtype=np.int32)
    return low, high
