"""Keys as ranges: for each value, the cells of its blocking rule that it may lie in.

Under `match: compatible` two records are compared if on every key column both allow some cell: an age of 34 and
"30-39", "Some-college" and "Higher education". A cell is a value under `exact`, otherwise a bin, a level's node, a
prefix or a calendar unit. Cells lie on one axis:

    number    low .. high                   under a bin floor(low / w) .. floor(high / w)
    time      first .. last                 under a unit, the units from the first's to the last's
    label     the leaves that it allows, sorted by path, as runs; under a level or prefix, its nodes
    missing   everything

A group of a hierarchy is one run; a set such as {A, C} may be several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.blocking import (
    Bin,
    Codes,
    Key,
    Level,
    Prefix,
    Rule,
    Truncate,
    combined_codes,
    compressed,
    distinct,
    truncated,
)
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Table, Times
from cvpl.tables.meaning.labels import allowed_labels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cells:
    """One column's cells: a code for each record of all tables, stacked, and the runs that each code allows.

    Run i belongs to the code `owner[i]`, ascending, and reaches from `low[i]` to `high[i]`, both included.
    """

    codes: Codes
    owner: Codes
    low: Floats
    high: Floats

    @property
    def count(self) -> int:
        """The number of codes."""
        return int(self.owner[-1]) + 1 if len(self.owner) else 0


@dataclass(frozen=True, eq=False)
class Boxes:
    """The kinds of records, each with the boxes (a run on every key column) that it allows; `owner` is sorted."""

    kinds: int
    owner: Codes
    low: Floats
    high: Floats

    def of(self, kinds: Codes) -> Boxes:
        """The boxes of some kinds; the kinds keep their numbers."""
        wanted = np.zeros(self.kinds, dtype=bool)
        wanted[kinds] = True
        keep = wanted[self.owner]
        return Boxes(self.kinds, self.owner[keep], self.low[keep], self.high[keep])


def scheme_boxes(scheme: tuple[Key, ...], tables: Sequence[Table]) -> tuple[list[Codes], Boxes]:
    """The kind of every record of every table, and the boxes of the kinds; records with equal keys are one kind."""
    columns = []
    for key in scheme:
        spec = next(spec for spec in tables[0].specs if spec.name == key.column)
        columns.append(cells(key.rule, spec, [table.columns[key.column] for table in tables]))
    rows = sum(table.rows for table in tables)
    kinds = combined_codes(((column.codes, column.count) for column in columns), rows)
    count = int(kinds.max(initial=-1)) + 1
    # All records of a kind have the same cells, so any of them serves as an example.
    example = np.zeros(count, dtype=np.int64)
    example[kinds] = np.arange(rows)
    owner, low, high = np.arange(count), np.empty((count, 0)), np.empty((count, 0))
    for column in columns:
        first, last = (np.searchsorted(column.owner, column.codes[example[owner]], side) for side in ("left", "right"))
        many = last - first
        run = np.repeat(first - (np.cumsum(many) - many), many) + np.arange(int(many.sum()))
        box = np.repeat(np.arange(len(owner)), many)
        owner = owner[box]
        low, high = np.column_stack([low[box], column.low[run]]), np.column_stack([high[box], column.high[run]])
    return list(np.split(kinds, np.cumsum([table.rows for table in tables])[:-1])), Boxes(count, owner, low, high)


def cells(rule: Rule, spec: ColumnSpec, columns: Sequence[ColumnData]) -> Cells:
    """One column's cells over all tables, stacked."""
    return _cells(columns[0], rule, spec, columns)


@singledispatch
def _cells(first: ColumnData, rule: Rule, spec: ColumnSpec, columns: Sequence[ColumnData]) -> Cells:
    """The cells of columns that are all of the first one's kind."""
    return _exact_cells(columns)


def _exact_cells(columns: Sequence[ColumnData]) -> Cells:
    """Cells of single values; microseconds since 1970 are exact as doubles until the year 2255."""
    low, high = (np.concatenate(end) for end in zip(*(column.bounds() for column in columns), strict=True))
    return _ranges(low, high)


@_cells.register(Numbers)
def _number_cells(first: Numbers, rule: Rule, spec: ColumnSpec, columns: Sequence[Numbers]) -> Cells:
    if not isinstance(rule, Bin):
        return _exact_cells(columns)
    low, high = (np.concatenate(end) for end in zip(*(column.ends() for column in columns), strict=True))
    return _ranges(np.floor(low / rule.bin), _last_bin(high, rule.bin))


@_cells.register(Times)
def _time_cells(first: Times, rule: Rule, spec: ColumnSpec, columns: Sequence[Times]) -> Cells:
    if not isinstance(rule, Truncate):
        return _exact_cells(columns)
    low, high = (np.concatenate(end) for end in zip(*(column.ends() for column in columns), strict=True))
    return _ranges(truncated(low, rule.truncate), truncated(high, rule.truncate))


def _last_bin(high: Floats, width: float) -> Floats:
    """floor(high / width), corrected for the last number below 0, whose quotient underflows."""
    last: Floats = np.floor(high / width)
    last[(high < 0) & (last == 0)] = -1
    return last


def _ranges(low: Floats, high: Floats) -> Cells:
    """Ranges as cells; a missing value covers the whole axis."""
    missing = np.isnan(low)
    low, high = np.where(missing, -np.inf, low), np.where(missing, np.inf, high)
    (first, _), (last, many) = distinct(low), distinct(high)
    codes, count = compressed(first * many + last, (int(first.max(initial=0)) + 1) * many)
    example = np.zeros(count, dtype=np.int64)
    example[codes] = np.arange(len(codes))
    return Cells(codes, np.arange(count), low[example], high[example])


@_cells.register(Labels)
def _label_cells(first: Labels, rule: Rule, spec: ColumnSpec, columns: Sequence[Labels]) -> Cells:
    codes = np.concatenate([column.codes for column in columns]).astype(np.int64)
    allowed = allowed_labels(spec, first.labels)
    if isinstance(rule, Level):
        nodes: list[object] = [spec.path(leaf)[: rule.level] for leaf in allowed.leaves]
    elif isinstance(rule, Prefix):
        nodes = [leaf[: rule.prefix] for leaf in allowed.leaves]
    else:
        nodes = list(allowed.leaves)
    numbered: dict[object, int] = {}
    node = np.array([numbered.setdefault(item, len(numbered)) for item in nodes], dtype=np.int64)
    # Labels that allow the same nodes share a code.
    sets: dict[tuple[int, ...], int] = {}
    own = [sets.setdefault(tuple(np.unique(node[list(members)])), len(sets)) for members in allowed.members]
    runs = [(number, *run) for number, places in enumerate(map(np.array, sets)) for run in _runs(places)]
    # The last code is for missing values, whose code is -1 so far.
    runs.append((len(sets), -np.inf, np.inf))
    owner, low, high = (np.array(side, dtype=np.float64) for side in zip(*runs, strict=True))
    return Cells(np.array([*own, len(sets)])[codes], owner.astype(np.int64), low, high)


def _runs(places: Codes) -> list[tuple[float, float]]:
    """First and last of every run of consecutive places, which are sorted."""
    breaks = np.flatnonzero(np.diff(places) > 1)
    first, last = places[np.append(0, breaks + 1)], places[np.append(breaks, len(places) - 1)]
    return list(zip(first.tolist(), last.tolist(), strict=True))
