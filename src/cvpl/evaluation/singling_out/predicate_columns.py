"""Columns of the release and of tested tables on one axis, so that a condition on a released cell finds people.

A condition is a range on the axis, both ends included, or the wish for a missing value. A cell meets a range if it lies
inside it. Labels are numbered by the leaves that they allow, in sets that need not be ranges: a label meets another if
it allows no leaf that the other does not allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, ColumnSpec, Labels
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
