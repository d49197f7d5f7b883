"""Released cells and the values that they allow: intervals, time spans, groups, sets, masks, and single values.

A cell agrees with a value that it allows. Its weight comes from how many people it allows: one that allows few says
much about whom it belongs to, and a single value is the smallest cell. For one column, `CellKinds` is fitted on the
attacker's own people and the release, and makes `ColumnCells` of a table of released records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Table
from cvpl.tables.meaning.labels import covers

Array = Any
Codes = NDArray[np.int32]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_GENERALIZED = "generalized columns"


class ColumnCells(Protocol):
    """The distinct cells of some released records, and the cell of each record (-1: missing)."""

    @property
    def codes(self) -> Codes:
        """The number of each record's cell."""

    @property
    def shares(self) -> Floats:
        """(count + 1) / (all + 1), where count is the number of people whom each cell allows."""

    def asked(self, column: ColumnData) -> Codes:
        """A code for each value of a table that asks; -1 where it is missing."""

    def allows(self, asked: Codes) -> Flags:
        """Whether each cell (columns) allows each code (rows); rows of missing values are false."""


class CellKinds(Protocol):
    """What is needed to read the cells of one column."""

    @property
    def counted(self) -> int:
        """The number of people who are counted."""

    def cells(self, released: ColumnData) -> ColumnCells:
        """The cells of some released records."""


def generalized_columns(original: Table, protected: Table) -> list[str]:
    """The columns in which some released cell allows several values."""
    known, found = protected.derived.get(_GENERALIZED, (None, []))
    if known is not original:
        found = [
            spec.name
            for spec in protected.specs
            if _generalized(original.columns[spec.name], protected.columns[spec.name], spec)
        ]
        protected.derived[_GENERALIZED] = original, found
    return list(found)


@singledispatch
def _generalized(own: ColumnData, released: ColumnData, spec: ColumnSpec) -> bool:
    return released.generalized()


@_generalized.register(Labels)
def _grouped(own: Labels, released: Labels, spec: ColumnSpec) -> bool:
    return bool(covers(spec, released.labels, own.counts() > 0, released.counts() > 0))


def cell_kinds(name: str, original: Table, protected: Table) -> CellKinds:
    """Fit the cells of a column on the attacker's people, who are counted, and on the release."""
    spec = next(spec for spec in protected.specs if spec.name == name)
    return _kinds(original.columns[name], protected.columns[name], spec)


@singledispatch
def _kinds(own: ColumnData, released: ColumnData, spec: ColumnSpec) -> CellKinds:
    return Ranges(np.sort(own.ends()[0][own.known()]))


@_kinds.register(Labels)
def _label_kinds(own: Labels, released: Labels, spec: ColumnSpec) -> CellKinds:
    counts, there = own.counts(), released.counts() > 0
    # A released label that covers no other is a value like the attacker's own, even if no original has it.
    values = np.ones(len(counts), dtype=np.bool_)
    values[[cover.code for cover in covers(spec, released.labels, counts > 0, there)]] = False
    members: dict[int, set[int]] = {}
    for cover in covers(spec, released.labels, counts > 0, there, values | (counts > 0)):
        members.setdefault(cover.code, {cover.code}).update(cover.members)
    return Sets(counts, {code: tuple(sorted(held)) for code, held in members.items()})


@dataclass(frozen=True, eq=False)
class Ranges:
    """Numbers or times: the sorted values of the people who are counted."""

    people: Array

    @property
    def counted(self) -> int:
        """The number of people who are counted."""
        return len(self.people)

    def cells(self, released: ColumnData) -> RangeCells:
        """The distinct ranges of some released records."""
        ranges, codes = released.distinct(plain=released.plain)
        low, high = _ends(released, codes, len(ranges))
        count = np.searchsorted(self.people, high, side="right") - np.searchsorted(self.people, low, side="left")
        shares = np.asarray((count + 1.0) / (len(self.people) + 1.0))
        cuts = np.unique(np.concatenate([low, high]))
        first, last = (np.asarray(2 * np.searchsorted(cuts, end) + 1, dtype=np.int32) for end in (low, high))
        return RangeCells(codes, shares, cuts, first, last)


def _ends(released: ColumnData, codes: Codes, cells: int) -> tuple[Array, Array]:
    """The ends of each cell, from one record that has it."""
    example = np.zeros(cells, dtype=np.int64)
    known = np.flatnonzero(codes >= 0)
    example[codes[known]] = known
    low, high = released.ends()
    return low[example], high[example]


@dataclass(frozen=True, eq=False)
class RangeCells:
    """Ranges of pieces of the number line, from `first` to `last`.

    The line is cut at the ends of all ranges, `cuts`. Piece 2i + 1 is the i-th cut itself, piece 2i lies before it.
    """

    codes: Codes
    shares: Floats
    cuts: Array
    first: Codes
    last: Codes

    def asked(self, column: ColumnData) -> Codes:
        """The piece of the number line that each value is in."""
        values, _ = column.ends()
        place = np.searchsorted(self.cuts, values, side="left")
        at = np.searchsorted(self.cuts, values, side="right") > place
        return np.where(column.known(), 2 * place + at, -1).astype(np.int32)

    def allows(self, asked: Codes) -> Flags:
        """Whether each range holds each piece."""
        found: Flags = (asked[:, None] >= self.first) & (asked[:, None] <= self.last)
        return found


@dataclass(frozen=True, eq=False)
class Sets:
    """Labels: how many of the counted people have each, and the labels that a released label allows besides itself."""

    people: Ints
    members: Mapping[int, tuple[int, ...]]

    @property
    def counted(self) -> int:
        """The number of people who are counted."""
        return int(self.people.sum())

    def cells(self, released: ColumnData) -> SetCells:
        """The distinct labels of some released records, as sets."""
        labels, codes = released.distinct(plain=True)
        allowed = np.zeros((len(labels), len(self.people)), dtype=np.bool_)
        for row, label in enumerate(labels.tolist()):
            allowed[row, list(self.members.get(label, (label,)))] = True
        shares = np.asarray((allowed @ self.people.astype(np.float64) + 1.0) / (self.counted + 1.0), dtype=np.float64)
        return SetCells(codes, shares, allowed)


@dataclass(frozen=True, eq=False)
class SetCells:
    """Sets of labels; `allowed` has a row for each set and a column for each label."""

    codes: Codes
    shares: Floats
    allowed: Flags

    def asked(self, column: ColumnData) -> Codes:
        """The label of each record."""
        return np.where(column.known(), column.ends()[0], -1).astype(np.int32)

    def allows(self, asked: Codes) -> Flags:
        """Whether each set holds each label."""
        found: Flags = self.allowed.T[np.maximum(asked, 0)] & (asked >= 0)[:, None]
        return found
