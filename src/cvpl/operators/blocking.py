"""Blocking: the protected records that an original is compared with.

B maps a record to a block; the candidates of x are C(x) = {y in D' : B(x) = B(y)} (paper, eq. candidate-set). A scheme
is a set of keys that must all agree; with several schemes a candidate shares a block under at least one. A missing
key forms its own block: it equals only another missing key.

Under `match: compatible` two keys agree if both allow some cell of the rule (`cells`); a missing key agrees with every
other.

Keys as ranges: for each value, the cells of its blocking rule that it may lie in. Under `match: compatible` two records
are compared if on every key column both allow some cell: an age of 34 and "30-39", "Some-college" and "Higher
education". A cell is a value under `exact`, otherwise a bin, a level's node, a prefix or a calendar unit. Cells lie on
one axis:

    number    low .. high                   under a bin floor(low / w) .. floor(high / w)
    time      first .. last                 under a unit, the units from the first's to the last's
    label     the leaves that it allows, sorted by path, as runs; under a level or prefix, its nodes
    missing   everything

A group of a hierarchy is one run; a set such as {A, C} may be several.

Blocking keys as 64-bit words, which mean the same in any part of any table. `blocking.scheme_codes` numbers the blocks
of whole tables together. Where a table is in many places, no place can number them; each writes down its records' keys
instead, and records with equal words share a block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cvpl.settings import Settings
from cvpl.tables.columns import ColumnData, ColumnSpec, Labels, Numbers, Table, Times
from cvpl.tables.meaning.labels import allowed_labels

Codes = NDArray[np.int64]
Match = Literal["equality", "compatible"]
Unit = Literal["year", "month", "week", "day", "hour"]

_COARSER: dict[Unit, tuple[Unit, ...]] = {
    "hour": ("hour", "day", "week", "month", "year"),
    "day": ("day", "week", "month", "year"),
    "week": ("week",),
    "month": ("month", "year"),
    "year": ("year",),
}
_ON_THE_PLANE = 1e-9
"""A record this close to a hyperplane lies on it up to rounding, and counts as on its positive side."""
_NUMPY_UNIT = {"year": "Y", "month": "M", "week": "D", "day": "D", "hour": "h"}


class Bin(Settings):
    """A numeric bin: floor(value / bin). An interval belongs to the bin of its midpoint."""

    bin: Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Level(Settings):
    """The first `level` levels of a hierarchical label; level 1 is the coarsest.

    A label with fewer levels keeps what it has, so "North/*" at level 2 agrees only with labels that stop there too.
    """

    level: Annotated[int, Field(ge=1)]


class Prefix(Settings):
    """The first `prefix` characters of a label."""

    prefix: Annotated[int, Field(ge=1)]


class Truncate(Settings):
    """A time truncated to its year, month, week (from Monday), day or hour; a span is truncated at its midpoint."""

    truncate: Unit


Rule = Literal["exact"] | Bin | Level | Prefix | Truncate


class Key(Settings):
    """One column of a scheme, with the rule that turns its value into a key."""

    column: str
    rule: Rule = "exact"

    def implies(self, coarser: Key) -> bool:
        """Whether records that agree on this key always agree on `coarser`: each value determines the coarser one."""
        if self.column != coarser.column:
            return False
        fine, coarse = self.rule, coarser.rule
        if fine in ("exact", coarse):
            return True
        if isinstance(fine, Bin) and isinstance(coarse, Bin):
            ratio = coarse.bin / fine.bin
            return ratio >= 1 and ratio == round(ratio)
        if isinstance(fine, Level) and isinstance(coarse, Level):
            return coarse.level <= fine.level
        if isinstance(fine, Prefix) and isinstance(coarse, Prefix):
            return coarse.prefix <= fine.prefix
        if isinstance(fine, Truncate) and isinstance(coarse, Truncate):
            return coarse.truncate in _COARSER[fine.truncate]
        return False


class LshBits(Settings):
    """The number of random hyperplanes in the space of the quasi-identifiers."""

    bits: Annotated[int, Field(ge=1, le=62)] = 8


class Lsh(Settings):
    """SimHash: records share a block if they lie on the same side of every one of `bits` random hyperplanes.

    bit_j(x) = [<v_x - mean, h_j> >= 0], over the vectorized quasi-identifiers; the hyperplanes h_j are drawn from a
    normal distribution by the audit's seed.
    """

    lsh: LshBits = LshBits()


Scheme = tuple[Key, ...] | Lsh


class Blocking(Settings):
    """One scheme or several; a candidate shares a block under any of them. An empty scheme means no blocking.

    `match` says when two keys agree: if they are equal, or if both can mean the same. Hashes must always be equal.
    """

    match: Match = "equality"
    any_of: tuple[Scheme, ...] = ((),)

    @model_validator(mode="after")
    def _at_least_one(self) -> Blocking:
        if not self.any_of:
            raise ValueError("a blocking needs at least one scheme; an empty scheme, [], compares every pair")
        return self

    @property
    def compares_everybody(self) -> bool:
        """Whether some scheme is empty, so that every pair is compared."""
        return () in self.any_of

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns named in any scheme."""
        named = (key.column for scheme in self.any_of if isinstance(scheme, tuple) for key in scheme)
        return tuple(dict.fromkeys(named))

    def only(self, names: Sequence[str]) -> Blocking:
        """The same blocking without the keys of columns that are not in `names`.

        A scheme that loses all its keys compares every pair, as an attacker without them must.
        """
        kept = tuple(
            tuple(key for key in scheme if key.column in names) if isinstance(scheme, tuple) else scheme
            for scheme in self.any_of
        )
        return Blocking(match=self.match, any_of=tuple(dict.fromkeys(kept)))

    def relaxes(self, finer: Blocking) -> bool:
        """Whether every pair that shares a block under `finer` shares one here (paper, def. blocking-relaxation).

        Compatible keys need not be equal, so under equality only an empty scheme relaxes them. Equal keys are
        compatible, unless they are prefixes: those of a group and of its members may differ.
        """
        if finer.match == "compatible" and self.match == "equality":
            return self.compares_everybody
        if finer.match != self.match:
            by_name = (key for scheme in finer.any_of if isinstance(scheme, tuple) for key in scheme)
            if any(isinstance(key.rule, Prefix) for key in by_name):
                return self.compares_everybody
        return all(any(_implies(fine, coarse) for coarse in self.any_of) for fine in finer.any_of)


def _implies(fine: Scheme, coarse: Scheme) -> bool:
    if isinstance(fine, Lsh) or isinstance(coarse, Lsh):
        return coarse in (fine, ())
    return all(any(key.implies(wanted) for key in fine) for wanted in coarse)


class BlockingLadder(Settings):
    """Blockings from the most to the least restrictive, for progressive evaluation (paper, Algorithm 2).

    Each rung must relax the one before it. Evaluation stops once the rate gains less than `stop_below`, never before
    the second rung.
    """

    rungs: Annotated[tuple[Blocking, ...], Field(min_length=2)]
    stop_below: Annotated[float, Field(ge=0, le=1)] = 0.005

    @model_validator(mode="after")
    def _nested(self) -> BlockingLadder:
        for number in range(1, len(self.rungs)):
            if not self.rungs[number].relaxes(self.rungs[number - 1]):
                raise ValueError(
                    f"rung {number + 1} does not relax rung {number}: drop a key or coarsen one, "
                    "so that records that share a block still share one"
                )
        return self


def scheme_codes(scheme: tuple[Key, ...], tables: Sequence[Table]) -> list[Codes]:
    """The block of every record of every table, numbered together; equal codes are one block."""
    specs = {spec.name: spec for spec in tables[0].specs}
    columns = (
        key_codes(key.rule, specs[key.column], [table.columns[key.column] for table in tables]) for key in scheme
    )
    return _per_table(combined_codes(columns, sum(table.rows for table in tables)), tables)


def combined_codes(columns: Iterable[tuple[Codes, int]], rows: int) -> Codes:
    """One code, from 0 without gaps, for the combination of all columns, each given as codes below a count."""
    combined: Codes = np.zeros(rows, dtype=np.int64)
    size = 1
    for values, count in columns:
        if size * count >= 1 << 62:
            combined, size = compress_codes(combined, size)
        combined, size = combined * count + values, size * count
    return compress_codes(combined, size)[0]


def lsh_sides(products: NDArray[np.float64]) -> Codes:
    """The side of every hyperplane on which each record lies, from its inner products (n x bits), as one number."""
    weights = np.int64(1) << np.arange(products.shape[1], dtype=np.int64)
    sides: Codes = (products >= -_ON_THE_PLANE) @ weights
    return sides


def lsh_codes(sides: Sequence[Codes], bits: int) -> list[Codes]:
    """The block of every record of every table, from the sides it lies on."""
    codes, _ = compress_codes(np.concatenate(sides), 1 << bits)
    return list(np.split(codes, np.cumsum([len(table) for table in sides])[:-1]))


def key_codes(rule: Rule, spec: ColumnSpec, columns: Sequence[ColumnData]) -> tuple[Codes, int]:
    """One column's keys over all tables, stacked, as codes 0 .. count-1; a missing key is a code of its own."""
    return _codes(columns[0], rule, spec, columns)


@singledispatch
def _codes(first: ColumnData, rule: Rule, spec: ColumnSpec, columns: Sequence[ColumnData]) -> tuple[Codes, int]:
    """The codes of columns that are all of the first one's kind."""
    return _exact_codes(columns)


def _exact_codes(columns: Sequence[ColumnData]) -> tuple[Codes, int]:
    """Codes that are equal if both ends of the cells are equal."""
    low, high = (distinct(np.concatenate(end)) for end in zip(*(column.ends() for column in columns), strict=True))
    return compress_codes(low[0] * high[1] + high[0], low[1] * high[1])


@_codes.register(Numbers)
def _number_codes(first: Numbers, rule: Rule, spec: ColumnSpec, columns: Sequence[Numbers]) -> tuple[Codes, int]:
    if not isinstance(rule, Bin):
        return _exact_codes(columns)
    values = np.concatenate([column.values for column in columns])
    values /= rule.bin
    return _whole(np.floor(values, out=values))


@_codes.register(Times)
def _time_codes(first: Times, rule: Rule, spec: ColumnSpec, columns: Sequence[Times]) -> tuple[Codes, int]:
    if not isinstance(rule, Truncate):
        return _exact_codes(columns)
    return _whole(np.concatenate([truncate_times(column.middle(), rule.truncate) for column in columns]))


@_codes.register(Labels)
def _label_codes(first: Labels, rule: Rule, spec: ColumnSpec, columns: Sequence[Labels]) -> tuple[Codes, int]:
    numbered: dict[object, int] = {}
    numbers = [numbered.setdefault(key, len(numbered)) for key in label_keys(rule, spec, first.labels)]
    # The last entry is for missing values, whose code is -1.
    table = np.array([*numbers, len(numbered)], dtype=np.int64)
    return table[np.concatenate([column.codes for column in columns])], len(numbered) + 1


def label_keys(rule: Rule, spec: ColumnSpec, labels: Sequence[str]) -> list[object]:
    """The key of each label: its path down to a level, its prefix, or the label itself."""
    if isinstance(rule, Level):
        return [spec.path(label)[: rule.level] for label in labels]
    if isinstance(rule, Prefix):
        return [label[: rule.prefix] for label in labels]
    return list(labels)


def truncate_times(times: NDArray[np.datetime64], unit: Unit) -> NDArray[np.float64]:
    """The number of units from the start of 1970 to each time; a week starts on Monday. NaN where it is missing."""
    cut = times.astype(f"datetime64[{_NUMPY_UNIT[unit]}]")
    whole = np.where(np.isnat(cut), np.nan, cut.astype(np.int64).astype(np.float64))
    # 1970-01-01 was a Thursday: three days on, weeks start on Monday.
    return np.floor((whole + 3) / 7) if unit == "week" else whole


def _whole(values: NDArray[np.float64]) -> tuple[Codes, int]:
    """The codes that `distinct` gives, without sorting if the whole numbers are close together."""
    low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
    if not high - low <= len(values):
        return distinct(values)
    codes = np.where(np.isnan(values), high - low + 1, values - low).astype(np.int64)
    return compress_codes(codes, int(high - low) + 2)


def distinct(values: NDArray[np.float64] | NDArray[np.datetime64]) -> tuple[Codes, int]:
    """The values as codes from 0, in sorted order, and the number of codes."""
    found, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), len(found)


def compress_codes(codes: Codes, size: int) -> tuple[Codes, int]:
    """The same partition with codes 0 .. count-1, in the order of the old codes."""
    if size <= 4 * len(codes) + 1024:
        present = np.zeros(size, dtype=np.bool_)
        present[codes] = True
        numbers = np.cumsum(present, dtype=np.int32 if size < 1 << 31 else np.int64)
        numbered = numbers[codes].astype(np.int64)
        numbered -= 1
        return numbered, int(present.sum())
    found, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64, copy=False), len(found)


def _per_table(codes: Codes, tables: Sequence[Table]) -> list[Codes]:
    return list(np.split(codes, np.cumsum([table.rows for table in tables])[:-1]))


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
    return _ranges(truncate_times(low, rule.truncate), truncate_times(high, rule.truncate))


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
    codes, count = compress_codes(first * many + last, (int(first.max(initial=0)) + 1) * many)
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


Words = NDArray[np.int64]


def block_words(scheme: tuple[Key, ...], table: Table) -> list[Words]:
    """The words of every record under a scheme; records with equal words share a block. No words: one block."""
    specs = {spec.name: spec for spec in table.specs}
    return [word for key in scheme for word in _words(table.columns[key.column], key.rule, specs[key.column])]


@singledispatch
def _words(column: ColumnData, rule: Rule, spec: ColumnSpec) -> list[Words]:
    """The words of one key; a missing key has words of its own."""
    return [bits.view(np.int64) for bits in column.bits()]


@_words.register(Numbers)
def _number_words(column: Numbers, rule: Rule, spec: ColumnSpec) -> list[Words]:
    if not isinstance(rule, Bin):
        return [bits.view(np.int64) for bits in column.bits()]
    return [_bits(np.floor(column.values / rule.bin))]


@_words.register(Times)
def _time_words(column: Times, rule: Rule, spec: ColumnSpec) -> list[Words]:
    if not isinstance(rule, Truncate):
        return [bits.view(np.int64) for bits in column.bits()]
    return [_bits(truncate_times(column.middle(), rule.truncate))]


@_words.register(Labels)
def _label_words(column: Labels, rule: Rule, spec: ColumnSpec) -> list[Words]:
    numbered: dict[object, int] = {}
    numbers = [numbered.setdefault(key, len(numbered)) for key in label_keys(rule, spec, column.labels)]
    # The last entry is for missing values, whose code is -1.
    return [np.array([*numbers, len(numbered)], dtype=np.int64)[column.codes]]


def _bits(values: NDArray[np.float64]) -> Words:
    """The bits of whole numbers; -0.0 counts as 0.0, and all missing numbers are equal."""
    return np.where(np.isnan(values), np.nan, values + 0.0).view(np.int64)
