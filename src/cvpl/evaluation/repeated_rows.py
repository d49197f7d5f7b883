"""Rows that are not independent: equal rows in or across tables, and rows that belong together undeclared.

A household, a class or a person with several rows is usually in one table, originals or control, as a whole. Then a
row has more mates in its own table than in the other: rows that agree with it on a set of columns S.

    T_S = sum over rows of the share of the row's mates by S that are in its own table

If rows are independent people of one population, tables can be exchanged row by row, and T_S is as likely after any
exchange. All columns, pairs and triples of columns are looked at together, as far as 150 sets reach:

    M = max over S of |T_S - E T_S| / SD T_S

The test alarms if none of 999 exchanges has as large an M: at most once in 1,000 independent tables of any size.
Far too few mates in the own table mean that the control resembles the originals more than itself: people, or members
of one household, are in both. Rows of one household on both sides alike are exchangeable, and do no harm.

Rows that occur more than once among originals and control: copies of originals in the control, and doubles in it. Both
are tested exactly. If the rows are independent people of one population, tables can be exchanged row by row whatever
rows are equal, so a table of few categories, where many are, raises no alarm. The statistics are

    the number of rows that are unique among the originals and occur in the control,
    the number of the control's rows that occur in it more than once,

and each alarms if none of 4,999 exchanges reaches it, and if it is beyond chance by half a percent of the control. If
no row occurs twice in a table, but J rows in both, the exchanges are counted instead:

    p = 2^J C(N - 2J, n - J) / C(N, n)            for n originals among N rows

and p <= 0.005 alarms: a population with repeated rows would hardly show none of them inside the tables, so on
independent rows this happens at most once in 1,000 tables, however often the population repeats its rows.

An exact test of two tables: if their rows are independent people of one population, any exchange is as likely.

    p = (1 + number of exchanges whose statistic is at least the observed one) / (1 + number of exchanges)

A finding needs a statistic that no exchange reaches, so the test stops at the first that does: on independent rows
after about log(number of exchanges) of them. Whatever is computed from the rows without regard to their table, such as
a choice among statistics, leaves the test exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cvpl.tables.columns import ColumnData, Labels, Table
from cvpl.tables.keys import Keys

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


RELATED_EXCHANGES = 999
LEAST = 0.02
"""The smallest share of rows with a mate beyond chance that matters; two slightly different populations have less."""
MOST_SETS = 150
"""The most sets of columns; of those with the most columns a random choice fills the last places."""
MOST_COLUMNS = 3
"""The most columns of a set."""
BINS = 10
"""Numbers and times with more different values are compared by as many classes of equal size."""
TIED = 0.05
"""Such columns are also compared by equal values if so large a share of the rows has one in common with another."""
_MOST_KEYS = 50
"""Keys are numbered by a table of all possible ones if these are at most so many a row."""
SCALE = 64
"""The exchanges that give the standard deviations; they are no part of the test."""


@dataclass(frozen=True)
class RelatedRows:
    """The columns by which rows are related, and the share of rows that have a mate beyond chance.

    `across` is true if control and originals are related to each other, false if rows of one table are.
    """

    columns: tuple[str, ...]
    share: float
    across: bool


@dataclass(frozen=True, eq=False)
class _Cells:
    """Rows that agree on a set of columns: the cells of two and more rows, and which rows are in them."""

    columns: tuple[str, ...]
    members: csr_array
    sizes: Floats

    def own(self, labels: Labels01) -> Floats:
        """T_S for every column of labels.

        A cell of s rows, f of them of the first table, has f (s - f) pairs across, and each row s - 1 mates.
        """
        first = np.asarray(self.members @ labels, dtype=np.float64)
        weight = 2 / (self.sizes - 1)
        return np.asarray(self.sizes.sum() - (weight * self.sizes) @ first + weight @ first**2)


def related_rows(original: Table, control: Table, rng: np.random.Generator) -> RelatedRows | None:
    """The relation of rows within tables, or across, that independent rows would not show; None without one."""
    rows, originals = original.rows + control.rows, original.rows
    found = _sets(original, control, rng)
    if not found or not originals or not control.rows:
        return None
    truth = np.zeros((rows, 1), dtype=np.int16)
    truth[:originals] = 1

    def own(labels: Labels01) -> Floats:
        return np.array([cells.own(labels) for cells in found])

    drawn = own(permuted_labels(rows, originals, SCALE, rng))
    same = 1 - 2 * originals * control.rows / (rows * (rows - 1))
    expected = np.array([cells.sizes.sum() * same for cells in found])
    # A statistic that never varies says nothing.
    spread = np.where(drawn.std(axis=1) > 1e-9 * rows, drawn.std(axis=1), np.inf)

    def standardized(labels: Labels01) -> Floats:
        return np.asarray((own(labels) - expected[:, None]) / spread[:, None])

    seen = standardized(truth)[:, 0]
    beyond = own(truth)[:, 0] - expected
    shares = np.where(beyond > 0, beyond / (1 - same), -beyond / same) / rows
    seen = np.where(shares < LEAST, 0.0, seen)
    place = int(np.abs(seen).argmax())
    if seen[place] == 0:
        return None

    def exchanged(size: int) -> Floats:
        labels = permuted_labels(rows, originals, size, rng)
        return np.asarray(np.abs(standardized(labels)).max(axis=0, keepdims=True))

    if not never_reached(np.abs(seen[[place]]), exchanged, RELATED_EXCHANGES)[0]:
        return None
    return RelatedRows(found[place].columns, min(1.0, float(shares[place])), across=bool(beyond[place] < 0))


def _sets(original: Table, control: Table, rng: np.random.Generator) -> list[_Cells]:
    """The cells of every set of columns that is looked at; chosen without regard to the table of a row."""
    codes: list[tuple[str, Ints]] = []
    for spec in original.specs:
        both = original.columns[spec.name].joined(control.columns[spec.name])
        codes += [(spec.name, item) for item in column_codings(both)]
    found: list[_Cells] = []
    for size in range(1, MOST_COLUMNS + 1):
        chosen = [
            some for some in choose_sets(len(codes), size, MOST_SETS - len(found), rng) if _are_distinct(codes, some)
        ]
        cells = [shared_cells([codes[place] for place in some]) for some in chosen]
        found += [item for item in cells if len(item.sizes) > 1]
    return found


def choose_sets(count: int, size: int, most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """All sets of `size` of so many things, or a random choice of them."""
    if most <= 0 or count < size:
        return []
    tried = count**size
    if tried <= 1_000_000:
        sets = list(combinations(range(count), size))
        places = np.arange(len(sets)) if len(sets) <= most else np.sort(rng.choice(len(sets), most, replace=False))
        return [sets[place] for place in places]
    drawn = (tuple(sorted(rng.choice(count, size, replace=False).tolist())) for _ in range(most))
    return sorted(set(drawn))


def _are_distinct(codes: Sequence[tuple[str, Ints]], some: Sequence[int]) -> bool:
    """Whether no column is in the set twice."""
    return len({codes[place][0] for place in some}) == len(some)


def shared_cells(parts: Sequence[tuple[str, Ints]]) -> _Cells:
    """The groups of rows that agree on several columns."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - loaded when a control is checked

    cell = parts[0][1]
    for _, codes in parts[1:]:
        levels = int(codes.max()) + 1
        cell = _number_keys(cell * levels + codes, (int(cell.max()) + 1) * levels)
    counts = np.bincount(cell)
    rows = np.flatnonzero(counts[cell] > 1)
    place = (np.cumsum(counts > 1) - 1)[cell[rows]]
    sizes = counts[counts > 1].astype(np.float64)
    ones = np.ones(len(rows), dtype=np.int16)
    members = csr_array((ones, (place, rows)), shape=(len(sizes), len(cell)))
    return _Cells(tuple(name for name, _ in parts), members, sizes)


def _number_keys(keys: Ints, count: int) -> Ints:
    """The keys, below `count`, as numbers from 0 in the same order."""
    if count > _MOST_KEYS * len(keys):
        return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
    there = np.zeros(count, dtype=bool)
    there[keys] = True
    return np.asarray((np.cumsum(there) - 1)[keys])


@singledispatch
def column_codings(column: ColumnData) -> list[Ints]:
    """The codings of a column of both tables by which rows may agree; missing values agree with each other."""
    known = column.known()
    values = column.ordinal()
    exact = np.zeros(len(known), dtype=np.int64)
    distinct, inverse, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    exact[known] = 1 + inverse
    if len(distinct) <= 2 * BINS:
        return [exact]
    binned = np.zeros(len(known), dtype=np.int64)
    below = np.cumsum(counts) - counts
    binned[known] = 1 + (below * BINS // max(1, counts.sum()))[inverse]
    tied = float(counts[counts > 1].sum()) / len(known)
    return [binned, exact] if tied >= TIED else [binned]


@column_codings.register(Labels)
def _label_codes(column: Labels) -> list[Ints]:
    return [column.codes.astype(np.int64) + 1]


REPEATED_EXCHANGES = 4_999
FAR = 0.005
"""The smallest share of the control beyond chance that matters: it may hide as much of the attributable rate."""
ACROSS_ALONE = 0.005
"""The largest chance of rows that occur in both tables, and none twice in one."""
MOST_REPEATED = 4_000
"""Of more repeated rows, some values are drawn."""


@dataclass(frozen=True)
class RepeatedRows:
    """Whether the control has too many copies of originals, and too many doubles of its own.

    `doubled` is the share of the control's rows that occur in it more than once, `expected` that share by exchanges.
    """

    copied: bool
    doubles: bool
    doubled: float
    expected: float


def repeated_rows(originals: Keys, control: Keys, rng: np.random.Generator) -> RepeatedRows:
    """Test the rows of two tables, given as keys that are equal for equal rows."""
    rows, mine, others = len(originals) + len(control), len(originals), len(control)
    value = np.unique(np.concatenate([originals, control]), return_inverse=True)[1].reshape(-1)
    times = np.bincount(value, minlength=1)
    first = np.bincount(value[:mine], minlength=len(times))
    several = np.flatnonzero(times > 1)
    doubled = float(_doubles(first[several, None], times[several])[0]) / max(1, others)
    drawn = rng.permutation(several)
    drawn = np.sort(drawn[: 1 + int(np.searchsorted(np.cumsum(times[drawn]), MOST_REPEATED))])
    times, first = times[drawn], first[drawn]
    if not len(drawn):
        return RepeatedRows(copied=False, doubles=False, doubled=doubled, expected=0.0)
    alone = chance_of_one(times, mine, others)
    chance = np.array([alone.sum(), (times * others / rows - chance_of_one(times, others, mine)).sum()])
    seen = np.array([_copies(first[:, None], times)[0], _doubles(first[:, None], times)[0]])
    far = seen - chance > FAR * others * len(drawn) / len(several)

    def exchanged(size: int) -> Floats:
        labels = _first_of(times, mine, rows, size, rng)
        return np.array([_copies(labels, times), _doubles(labels, times)])

    beyond = np.zeros(2, dtype=np.bool_)
    if far.any():
        observed = np.where(far, seen, -1.0)
        beyond = far & never_reached(observed, exchanged, REPEATED_EXCHANGES)
    across = bool(((first == 1) & (times == 2)).all()) and chance_all_across(len(drawn), mine, rows) <= ACROSS_ALONE
    expected = chance[1] * len(several) / len(drawn) / max(1, others)
    return RepeatedRows(
        copied=bool(beyond[0] or (far[0] and across)), doubles=bool(beyond[1]), doubled=doubled, expected=expected
    )


def _copies(first: Ints, times: Ints) -> Floats:
    """How many values are unique among the originals and in the control; `first` is their number of originals."""
    return np.asarray(((first == 1) & (times[:, None] > 1)).sum(axis=0), dtype=np.float64)


def _doubles(first: Ints, times: Ints) -> Floats:
    """How many rows of the control occur in it more than once."""
    others = times[:, None] - first
    return np.asarray(np.where(others > 1, others, 0).sum(axis=0), dtype=np.float64)


def _first_of(times: Ints, mine: int, rows: int, size: int, rng: np.random.Generator) -> Ints:
    """For every value, how many of its rows are originals after an exchange; one column an exchange."""
    repeated = int(times.sum())
    among = rng.hypergeometric(mine, rows - mine, repeated, size=size)
    labels = rng.permuted(np.arange(repeated)[None, :] < among[:, None], axis=1)
    starts = np.cumsum(times) - times
    return np.ascontiguousarray(np.add.reduceat(labels, starts, axis=1, dtype=np.int64).T)


def chance_of_one(times: Ints, mine: int, others: int) -> Floats:
    """The chance that exactly one of `times` equal rows falls to `mine` rows, and the rest to `others`."""
    counts, place = np.unique(times, return_inverse=True)
    whole = mine + others
    chance = [
        math.exp(math.log(k) + _log_binomial(whole - k, mine - 1) - _log_binomial(whole, mine))
        if mine >= 1 and others >= k - 1
        else 0.0
        for k in counts.tolist()
    ]
    return np.array(chance)[place.reshape(-1)]


def chance_all_across(pairs: int, mine: int, rows: int) -> float:
    """The chance that every one of so many pairs of equal rows has one row in each table."""
    if pairs > min(mine, rows - mine):
        return 0.0
    log = pairs * math.log(2) + _log_binomial(rows - 2 * pairs, mine - pairs) - _log_binomial(rows, mine)
    return math.exp(min(0.0, log))


def _log_binomial(whole: int, some: int) -> float:
    return math.lgamma(whole + 1) - math.lgamma(some + 1) - math.lgamma(whole - some + 1)


Labels01 = NDArray[np.int16]

_FIRST, _LARGEST = 16, 256


def never_reached(observed: Floats, exchanged: Callable[[int], Floats], replicates: int) -> NDArray[np.bool_]:
    """Which of the observed statistics none of `replicates` exchanges reaches: p <= 1 / (replicates + 1) for each.

    `exchanged` returns the statistics of so many exchanges, one column each.
    """
    never = np.ones(len(observed), dtype=np.bool_)
    done, batch = 0, _FIRST
    while done < replicates and never.any():
        size = min(batch, replicates - done)
        never &= ~(exchanged(size) >= observed[:, None]).any(axis=1)
        done, batch = done + size, min(4 * batch, _LARGEST)
    return never


def permuted_labels(rows: int, first: int, size: int, rng: np.random.Generator) -> Labels01:
    """Random labels of all rows: 1 for the first table, which has `first` of them; one column an exchange."""
    labels = np.zeros((size, rows), dtype=np.int16)
    labels[:, :first] = 1
    return np.ascontiguousarray(rng.permuted(labels, axis=1).T)
