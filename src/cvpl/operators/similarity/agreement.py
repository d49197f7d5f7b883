"""Agreement scores: the sum over columns of a weight for each value on which two records agree.

A record is a row of codes, one per column, -1 where its value is missing. For each code of a query, a table gives the
range of candidate codes that agree with it (a range, since numbers may agree within a tolerance) and the weight of that
agreement. A column with a tolerance may stand there twice: once for values within it, and once for what equal values
add.

    score(x, y) = sum over columns of   worth(x_c) if y_c agrees with x_c,   differ_c if not,   0 if either is missing
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.tables.columns import ColumnData, Table

Floats = NDArray[np.float64]


Codes = NDArray[np.int32]
Keys = NDArray[Any]
Rows = NDArray[np.intp]

_CODES = "codes of records"
_KEPT = 2
"""So many sets of columns have their codes kept, with the index made of them: attackers take turns with few sets, and
each takes hundreds of megabytes at a million records."""

COMPILED_CELLS = 4_000_000
"""From this number of pairs times columns on, the compiled loops repay loading the compiler: an audit scores about a
hundred such tiles."""
KEPT_PAIRS = 1_000_000
"""A tile of at most so many pairs is kept for scorers that leave out one column each."""


@dataclass(frozen=True, eq=False)
class AgreementWeights:
    """The tables of all columns by query code, one after the other; the table of column c starts at start[c].

    A candidate code from `first` to `last` agrees, with the weight `agree`; `differ` is one weight per column.
    """

    start: NDArray[np.int64]
    first: Codes
    last: Codes
    agree: Floats
    differ: Floats

    @property
    def most(self) -> float:
        """The highest possible score."""
        best = [
            max(float(self.agree[begin:end].max(initial=0.0)), float(differ), 0.0)
            for begin, end, differ in zip(self.start[:-1], self.start[1:], self.differ, strict=True)
        ]
        return float(sum(best))

    @property
    def least(self) -> float:
        """The lowest possible score."""
        return float(np.minimum(self.differ, 0.0).sum())


@dataclass(frozen=True, eq=False)
class ComparedColumn:
    """One column of two tables: their codes, and the weight of agreement by query code.

    `plain` says whether cells were compared as points, not as ranges.
    """

    name: str
    plain: bool
    queries: Codes
    candidates: Codes
    first: Codes
    last: Codes
    agree: Floats

    @classmethod
    def of(cls, name: str, one: ColumnData, other: ColumnData, tolerance: float) -> tuple[ComparedColumn, Keys]:
        """The codes of two columns, where values up to `tolerance` apart agree, and the distinct query values."""
        plain = one.plain and other.plain
        asked, queries = one.distinct(plain=plain)
        there, candidates = other.distinct(plain=plain)
        first = np.searchsorted(there, asked - tolerance if tolerance else asked, side="left")
        last = np.searchsorted(there, asked + tolerance if tolerance else asked, side="right") - 1
        ends = first.astype(np.int32), last.astype(np.int32)
        return cls(name, plain, queries, candidates, *ends, np.zeros(len(asked))), asked

    def exactly(self, one: ColumnData, other: ColumnData) -> ComparedColumn:
        """The same columns, where only equal values agree."""
        asked, there = (column.distinct(plain=self.plain)[0] for column in (one, other))
        first, last = np.searchsorted(there, asked, side="left"), np.searchsorted(there, asked, side="right") - 1
        return replace(self, first=first.astype(np.int32), last=last.astype(np.int32))


@dataclass(frozen=True, eq=False)
class CodedRecords:
    """The codes of a table's records, one row per record, by the columns that are compared.

    `derived` has what searches computed from them. It is common to all records with the same distinct columns.
    """

    derived: dict[Hashable, Any] = field(default_factory=dict)
    codes: dict[Hashable, Codes] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class AgreementScorer:
    """Agreement scores of two tables' records, from one code per column; see the module.

    `derived` keeps what a search computed from the candidates `b`, for other scorers of the same candidates. `whole` is
    the scorer of all columns that this one has one name less than: its tiles are kept, and what the column adds to them
    is taken off, which is within `tolerance` of the sum of the others.
    """

    a: Codes
    b: Codes
    worth: AgreementWeights
    tolerance: float = 1e-9
    derived: dict[Hashable, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    whole: tuple[AgreementScorer, str] | None = None
    tiles: dict[tuple[int, ...], Floats] = field(default_factory=dict)
    unit: ClassVar[bool] = False
    unit_vectors: ClassVar[None] = None
    cells: ClassVar[None] = None

    @property
    def agreement(self) -> AgreementScorer:
        """Itself."""
        return self

    @classmethod
    def of(
        cls, columns: Sequence[ComparedColumn], differ: Floats, queries: Table, candidates: Table
    ) -> AgreementScorer:
        """Build the scorer from compared columns."""
        sizes = [len(column.agree) for column in columns]
        worth = AgreementWeights(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            _join_arrays([column.first for column in columns], np.int32),
            _join_arrays([column.last for column in columns], np.int32),
            _join_arrays([column.agree for column in columns], np.float64),
            differ,
        )
        b, derived = _candidate_codes(candidates, columns)
        a = _stack_codes([column.queries for column in columns], queries.rows)
        return cls(a, b, worth, derived=derived, names=tuple(column.name for column in columns))

    @property
    def queries(self) -> int:
        """The number of query records."""
        return len(self.a)

    @property
    def candidates(self) -> int:
        """The number of candidate records."""
        return len(self.b)

    @property
    def columns(self) -> int:
        """The number of columns compared."""
        return int(self.a.shape[1])

    @property
    def places(self) -> list[int]:
        """For each column its place among the distinct ones: columns of one name have the same codes."""
        distinct = list(dict.fromkeys(self.names))
        return [distinct.index(name) for name in self.names] or list(range(self.columns))

    @property
    def distinct_codes(self) -> Codes:
        """The codes of the candidates in the distinct columns."""
        places = self.places
        first = [places.index(place) for place in range(max(places, default=-1) + 1)]
        return self.b if len(first) == self.columns else np.ascontiguousarray(self.b[:, first])

    @property
    def record_bytes(self) -> int:
        """Bytes of the codes of a record."""
        return 4 * self.columns

    def sorted(self, queries: Rows, candidates: Rows) -> AgreementScorer:
        """A scorer of some of the records, in another order."""
        if len(candidates) == len(self.b) and np.array_equal(candidates, np.arange(len(candidates))):
            if len(queries) == len(self.a) and np.array_equal(queries, np.arange(len(queries))):
                return self
            return replace(self, a=self.a[queries], whole=None, tiles={})
        return replace(self, a=self.a[queries], b=self.b[candidates], derived={}, whole=None, tiles={})

    def without(self, name: str, *, keep_tiles: bool = False) -> AgreementScorer:
        """The scores of the other columns alone; with `keep_tiles`, for many names, from tiles of all columns."""
        first, last = self.worth.first.copy(), self.worth.last.copy()
        agree, differ = self.worth.agree.copy(), self.worth.differ.copy()
        for column in self._named(name):
            part = slice(self.worth.start[column], self.worth.start[column + 1])
            first[part], last[part], agree[part], differ[column] = 1, 0, 0.0, 0.0
        worth = AgreementWeights(self.worth.start, first, last, agree, differ)
        return replace(self, worth=worth, whole=(self, name) if keep_tiles else None, tiles={})

    def tile(self, queries: slice, candidates: slice) -> Floats:
        """Scores of every query with every candidate, column by column."""
        if self.whole is not None:
            scorer, name = self.whole
            size = (queries.stop - queries.start) * (candidates.stop - candidates.start)
            if size <= KEPT_PAIRS and size * self.columns >= COMPILED_CELLS:
                return scorer._kept_tile(queries, candidates) - scorer._only(name).tile(queries, candidates)
        a, b = self.a[queries], np.ascontiguousarray(self.b[candidates].T)
        if worth_it(len(a) * b.size, COMPILED_CELLS):
            from cvpl.operators.similarity.compiled_agreement import score_tile  # noqa: PLC0415 - loads the compiler

            return np.asarray(score_tile(a, b, *self._tables()))
        scores = np.zeros((len(a), b.shape[1]))
        agrees = np.empty(scores.shape, dtype=bool)
        for column, there in enumerate(b):
            first, last, agree, known = self.query_codes(column, a[:, column])
            differ = self.worth.differ[column]
            if np.array_equal(first, last):
                np.equal(there, first[:, None], out=agrees)
            else:
                np.greater_equal(there, first[:, None], out=agrees)
                agrees &= there <= last[:, None]
            part = np.where(agrees, agree[:, None], np.where(known, differ, 0.0)[:, None])
            if differ and (missing := there < 0).any():
                part[:, missing] = np.where(agrees[:, missing], agree[:, None], 0.0)
            scores += part
        return scores

    def _kept_tile(self, queries: slice, candidates: slice) -> Floats:
        """A tile that is computed once."""
        key = queries.start, queries.stop, candidates.start, candidates.stop
        if key not in self.tiles:
            self.tiles[key] = self.tile(queries, candidates)
        return self.tiles[key]

    def _only(self, name: str) -> AgreementScorer:
        """The scores of the columns of one name alone."""
        own = self._named(name)
        parts = [slice(self.worth.start[column], self.worth.start[column + 1]) for column in own]
        first, last, agree = (
            np.concatenate([table[part] for part in parts])
            for table in (self.worth.first, self.worth.last, self.worth.agree)
        )
        sizes = [part.stop - part.start for part in parts]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        worth = AgreementWeights(start, first, last, agree, self.worth.differ[own])
        return replace(self, a=self.a[:, own], b=self.b[:, own], worth=worth, names=(name,) * len(own), tiles={})

    def lowest_near_best(self, queries: slice, top: Floats, second: Floats, tie: float) -> Floats:
        """The entry of a tile from which a pair may be one of the two best, or tie with the best."""
        return lowest_near_best(top, second, tie, self.tolerance)

    def pairs(self, queries: Rows, candidates: Rows) -> Floats:
        """The sum over the columns, in their order."""
        if worth_it(len(queries) * self.columns, COMPILED_CELLS):
            from cvpl.operators.similarity.compiled_agreement import score_pairs  # noqa: PLC0415 - loads the compiler

            return np.asarray(score_pairs(self.a, self.b, queries, candidates, *self._tables()))
        total = np.zeros(len(queries))
        for column in range(self.columns):
            total += self.part(column, queries, candidates)
        return total

    def _tables(self) -> tuple[NDArray[np.int64], Codes, Codes, Floats, Floats]:
        return self.worth.start, self.worth.first, self.worth.last, self.worth.agree, self.worth.differ

    def added_by(self, name: str, queries: Rows, candidates: Rows) -> Floats:
        """What the column of a name adds to the scores of pairs."""
        total = np.zeros(len(queries))
        for column in self._named(name):
            total += self.part(column, queries, candidates)
        return total

    def _named(self, name: str) -> list[int]:
        return [column for column, other in enumerate(self.names) if other == name]

    def part(self, column: int, queries: Rows, candidates: Rows) -> Floats:
        """What one column of codes adds to the scores of pairs."""
        first, last, agree, known = self.query_codes(column, self.a[queries, column])
        there = self.b[candidates, column]
        differs = np.where(known & (there >= 0), self.worth.differ[column], 0.0)
        return np.where((there >= first) & (there <= last), agree, differs)

    def query_codes(self, column: int, codes: Codes) -> tuple[Codes, Codes, Floats, NDArray[np.bool_]]:
        """For query codes: the range that agrees, its weight, and whether there is a value; if not, an empty range."""
        known = codes >= 0
        if not known.any():
            nothing = np.zeros(len(codes))
            return np.ones(len(codes), dtype=np.int32), nothing.astype(np.int32), nothing, known
        at = self.worth.start[column] + np.maximum(codes, 0)
        first = np.where(known, self.worth.first[at], 1).astype(np.int32)
        last = np.where(known, self.worth.last[at], 0).astype(np.int32)
        return first, last, np.where(known, self.worth.agree[at], 0.0), known


def _candidate_codes(table: Table, columns: Sequence[ComparedColumn]) -> tuple[Codes, dict[Hashable, Any]]:
    """The candidates' codes, and what was derived from them; the last ones of a table in memory are kept with it."""
    key = tuple((column.name, column.plain) for column in columns)
    distinct = tuple(dict.fromkeys(key))
    kept: dict[Hashable, CodedRecords] = table.derived.setdefault(_CODES, {})
    records = kept.pop(distinct, None) or CodedRecords()
    codes = records.codes.get(key)
    if codes is None:
        codes = records.codes[key] = _stack_codes([column.candidates for column in columns], table.rows)
    if table.place.in_memory:
        kept[distinct] = records
        for old in list(kept)[:-_KEPT]:
            kept.pop(old, None)
    return codes, records.derived


def _stack_codes(codes: list[Codes], rows: int) -> Codes:
    return np.ascontiguousarray(np.column_stack(codes) if codes else np.zeros((rows, 0)), dtype=np.int32)


def _join_arrays(parts: list[NDArray[Any]], kind: type) -> NDArray[Any]:
    return np.concatenate([*parts, np.zeros(0)]).astype(kind)


def lowest_near_best(top: Floats, second: Floats, tie: float, tolerance: float) -> Floats:
    """The approximate score from which a pair may be one of the two best, or tie with the best.

    `top` and `second` are each query's two highest approximate scores, each within `tolerance` of the formula.
    """
    tied = top - tie - 2 * tolerance
    return np.where(np.isneginf(second), tied, np.minimum(tied, second - 2 * tolerance))
