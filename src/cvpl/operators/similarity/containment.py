"""Agreement by containment: a released cell agrees with a value that it allows.

    score(x, y) = sum over columns of   agree(y_c) if the cell y_c allows x_c,   differ(y_c) if not,
                                        0 if either is missing

The weights depend on the cell. Columns in which every released cell is a single value are compared for agreement as
elsewhere (`agreement`), and their score is added.

Released cells and the values that they allow: intervals, time spans, groups, sets, masks, and single values. A cell
agrees with a value that it allows. Its weight comes from how many people it allows: one that allows few says much about
whom it belongs to, and a single value is the smallest cell. For one column, `CellKinds` is fitted on the attacker's own
people and the release, and makes `ColumnCells` of a table of released records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.agreement import AgreementScorer, lowest_near_best
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Table
from cvpl.tables.meaning.labels import find_covers

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


Rows = NDArray[np.intp]
_DERIVED = "derived from cells"
Weights = Callable[[Floats], tuple[Floats, Floats]]
"""The weights of agreement and disagreement of cells, from the share of the people whom each allows."""


@dataclass(frozen=True, eq=False)
class ComparedCells:
    """One column of two tables: the codes of the queries, the cells of the candidates, and the weights of each cell."""

    cells: ColumnCells
    query_codes: Codes
    codes: Codes
    agree: Floats
    differ: Floats

    def table(self, query_codes: Codes) -> Floats:
        """What each cell (columns) adds for each code (rows)."""
        worth = np.where(self.cells.allows(query_codes), self.agree, self.differ)
        worth[query_codes < 0] = 0.0
        return worth

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """What the column adds to the scores of pairs."""
        query_codes, codes = self.query_codes[queries], self.codes[candidates]
        different, place = np.unique(query_codes, return_inverse=True)
        return np.where(codes >= 0, self.table(different)[place.reshape(-1), codes], 0.0)

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """What the column adds for every query with every candidate."""
        codes = self.codes[candidates]
        different, place = np.unique(self.query_codes[queries], return_inverse=True)
        # The last entry is for missing values, coded -1.
        table = np.concatenate([self.table(different), np.zeros((len(different), 1))], axis=1)
        return table[:, codes][place.reshape(-1)]

    def sorted(self, queries: Rows, candidates: Rows) -> ComparedCells:
        """The compared cells of some of the records, in another order."""
        return replace(self, query_codes=self.query_codes[queries], codes=self.codes[candidates])


def compared_cells(
    kinds: Mapping[str, CellKinds], weights: Mapping[str, Weights], queries: Table, candidates: Table
) -> tuple[ComparedCells, ...]:
    """The columns of two tables whose cells are compared; `weights` turns the share that a cell allows into weights."""
    found = []
    for name, kind in kinds.items():
        cells = kind.cells(candidates.columns[name])
        agree, differ = weights[name](cells.shares)
        found.append(ComparedCells(cells, cells.query_codes(queries.columns[name]), cells.codes, agree, differ))
    return tuple(found)


def derived_for(measure: object, candidates: Table) -> dict[str, Any]:
    """What searches by a measure derived from a table of candidates; it is kept with a table in memory."""
    if not candidates.place.in_memory:
        return {}
    if _DERIVED not in candidates.derived or candidates.derived[_DERIVED][0] is not measure:
        candidates.derived[_DERIVED] = measure, {}
    kept: dict[str, Any] = candidates.derived[_DERIVED][1]
    return kept


@dataclass(frozen=True, eq=False)
class CellScorer:
    """Scores by containment: the agreement of the exact columns, and what the released cells add.

    `derived` keeps what a search computed from the candidates, for other scorers of the same measure and candidates.
    """

    exact: AgreementScorer
    columns: tuple[ComparedCells, ...]
    tolerance: float = 1e-9
    derived: dict[str, Any] = field(default_factory=dict)
    unit: ClassVar[bool] = False
    unit_vectors: ClassVar[None] = None
    agreement: ClassVar[None] = None

    @property
    def cells(self) -> CellScorer:
        """Itself."""
        return self

    @property
    def queries(self) -> int:
        """The number of query records."""
        return self.exact.queries

    @property
    def candidates(self) -> int:
        """The number of candidate records."""
        return self.exact.candidates

    @property
    def record_bytes(self) -> int:
        """Bytes of the codes of a record."""
        return self.exact.record_bytes + 4 * len(self.columns)

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The sum over the exact columns, then over the others, in their order."""
        total = self.exact.pairs(queries, candidates)
        for column in self.columns:
            total += column.pairs(queries, candidates)
        return total

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """Scores of every query with every candidate."""
        total = self.exact.tile(queries, candidates)
        for column in self.columns:
            total += column.tile(queries, candidates)
        return total

    def lowest_near_best(self, queries: slice, top: Floats, second: Floats, tie: float) -> Floats:
        """The entry of a tile from which a pair may be one of the two best, or tie with the best."""
        return lowest_near_best(top, second, tie, self.tolerance)

    def without(self, name: str) -> CellScorer:
        """The scores without one of the exact columns."""
        return replace(self, exact=self.exact.without(name), derived={})

    def sorted(self, queries: Rows, candidates: Rows) -> CellScorer:
        """A scorer of some of the records, in another order."""
        exact = self.exact.sorted(queries, candidates)
        columns = tuple(item.sorted(queries, candidates) for item in self.columns)
        same = len(candidates) == self.candidates and np.array_equal(candidates, np.arange(len(candidates)))
        return CellScorer(exact, columns, derived=self.derived if same else {})


Array = Any
Flags = NDArray[np.bool_]
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

    def query_codes(self, column: ColumnData) -> Codes:
        """A code for each value of a table that asks; -1 where it is missing."""

    def allows(self, query_codes: Codes) -> Flags:
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
            if _is_generalized(original.columns[spec.name], protected.columns[spec.name], spec)
        ]
        protected.derived[_GENERALIZED] = original, found
    return list(found)


@singledispatch
def _is_generalized(own: ColumnData, released: ColumnData, spec: ColumnSpec) -> bool:
    return released.generalized()


@_is_generalized.register(Labels)
def _is_grouped(own: Labels, released: Labels, spec: ColumnSpec) -> bool:
    return bool(find_covers(spec, released.labels, own.counts() > 0, released.counts() > 0))


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
    values[[cover.code for cover in find_covers(spec, released.labels, counts > 0, there)]] = False
    members: dict[int, set[int]] = {}
    for cover in find_covers(spec, released.labels, counts > 0, there, values | (counts > 0)):
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

    def query_codes(self, column: ColumnData) -> Codes:
        """The piece of the number line that each value is in."""
        values, _ = column.ends()
        place = np.searchsorted(self.cuts, values, side="left")
        at = np.searchsorted(self.cuts, values, side="right") > place
        return np.where(column.known(), 2 * place + at, -1).astype(np.int32)

    def allows(self, query_codes: Codes) -> Flags:
        """Whether each range holds each piece."""
        found: Flags = (query_codes[:, None] >= self.first) & (query_codes[:, None] <= self.last)
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

    def query_codes(self, column: ColumnData) -> Codes:
        """The label of each record."""
        return np.where(column.known(), column.ends()[0], -1).astype(np.int32)

    def allows(self, query_codes: Codes) -> Flags:
        """Whether each set holds each label."""
        found: Flags = self.allowed.T[np.maximum(query_codes, 0)] & (query_codes >= 0)[:, None]
        return found
