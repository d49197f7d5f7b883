"""Every set of up to three columns: how many people it singles out, and the smallest sets that single a person out.

A minimal sample unique (MSU) of a record is a set of columns by which it is unique, while it is not by any part of the
set. The score of SUDA2 sums, over the MSUs of a record, the product of ATT - i for i from the size of the MSU to M,
where ATT is the number of key columns and M the largest size (Elliot et al., 2005; Manning et al., 2008).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.singling_out.codes import SharedCodes, Tally, Uniques
from cvpl.search.machine import threads
from cvpl.tables.keys import Keys

Ints = NDArray[np.int64]


Flags = NDArray[np.uint8]

LARGEST = 3
"""The largest sets of columns that are searched."""
MOST_VISITS = 1_000_000_000
"""The most records that are looked at, over all sets. Beyond it sets of three that are not all key columns are left
out, then all other sets of three, then pairs."""
FEW_VISITS = 20_000_000
FEW_SETS = 10_000
"""With fewer records to look at, and fewer sets, NumPy is done before Numba is loaded."""
AT_ONCE = 100
"""The most groups of sets that a thread is given at once: fewer in large tables, where their results take memory."""
FEWEST_KEYS = 3
"""The fewest key columns for a score: with fewer all scores are 0, or there is no smaller set."""


@dataclass(frozen=True, eq=False)
class ColumnSets:
    """What all sets of up to three columns single out.

    `smallest` is the size of the smallest set of columns by which each original is unique, 0 if there is none of up to
    three. `scores` are the SUDA2 scores of the originals over the key columns, None with fewer than three of these.
    `left_out` is the number of sets that were not searched because the tables are too large.
    """

    sets: SearchedSets
    smallest: Flags
    scores: Ints | None
    left_out: int


def suda_weights(keys: int, largest: int = LARGEST) -> tuple[int, ...]:
    """What an MSU of 1, 2, ... columns adds to the score: Π over i from its size to M of (ATT - i).

    M is `largest`, but at most ATT - 1, since a set of all columns would make every product 0.
    """
    most = min(largest, keys - 1)
    return tuple(prod(keys - i for i in range(size, most + 1)) for size in range(1, most + 1))


def column_sets(
    codes: SharedCodes, keys: Sequence[str], workers: int = 1, most_visits: int = MOST_VISITS
) -> ColumnSets:
    """Count the unique records of every set of up to three columns; `keys` names the key columns of the scores."""
    rows = codes.original.shape[1]
    is_key = [name in keys for name in codes.names]
    records = max(1, rows + codes.released.shape[1])
    asked, left_out = _sets_to_search(is_key, records, most_visits)
    weights = suda_weights(sum(is_key)) if sum(is_key) >= FEWEST_KEYS else ()
    tally = _tally_of(codes, sum(len(item.last) for groups in asked for item in groups))
    smallest, scores = np.zeros(rows, dtype=np.uint8), np.zeros(rows, dtype=np.int64)
    searched: list[SizedSets] = []
    bits: dict[tuple[int, ...], Flags] = {}
    together = max(2, min(AT_ONCE, FEW_VISITS // max(1, records * len(codes.names)))) * workers
    for size, groups in enumerate(asked, start=1):
        weight = weights[size - 1] if size <= len(weights) else 0
        counts: list[Ints] = []
        with threads(workers) as pool:
            for batch in range(0, len(groups), together):
                some = groups[batch : batch + together]
                done = pool.map(tally.extended, [item.first for item in some], [item.last for item in some])
                for group, (unique, counted) in zip(some, done, strict=True):
                    minimal = unique.copy()
                    for part in group.parts(bits):
                        minimal &= ~part
                    _settle(minimal, size, smallest, scores, weight, group.use_only(is_key))
                    if size < len(asked):
                        bits[group.first] = unique
                    counts.append(counted)
        none = np.zeros((0, size), dtype=np.int64), np.zeros((0, 3), dtype=np.int64)
        columns = np.concatenate([none[0], *(group.sets() for group in groups)])
        searched.append(SizedSets(columns, np.concatenate([none[1], *counts])))
    return ColumnSets(SearchedSets(tuple(searched)), smallest, scores if weights else None, left_out)


@dataclass(frozen=True)
class _Group:
    """The sets that differ in their last column only: `first` with each of `last`."""

    first: tuple[int, ...]
    last: tuple[int, ...]

    def sets(self) -> Ints:
        """The columns of each set, a row for each."""
        found = np.empty((len(self.last), len(self.first) + 1), dtype=np.int64)
        found[:, :-1], found[:, -1] = self.first, self.last
        return found

    def use_only(self, chosen: Sequence[bool]) -> NDArray[np.bool_]:
        """Which of the sets have chosen columns only."""
        last = np.array([chosen[at] for at in self.last])
        return last & all(chosen[at] for at in self.first)

    def parts(self, bits: Mapping[tuple[int, ...], Flags]) -> Iterator[Flags]:
        """The originals that are unique by the sets with one column less, from those of each smaller group.

        A smaller group has every column after its first ones, in their order.
        """
        if not self.first:
            return
        *before, latest = self.first
        yield bits[tuple(before)][latest - (before[-1] + 1 if before else 0)]
        for left in range(len(self.first)):
            kept = self.first[:left] + self.first[left + 1 :]
            start = kept[-1] + 1 if kept else 0
            yield bits[kept][np.array(self.last) - start]


def _settle(minimal: Flags, size: int, smallest: Flags, scores: Ints, weight: int, weighed: NDArray[np.bool_]) -> None:
    """Enter sets that are minimal for some records, packed as bits, into their smallest sizes and scores.

    The scores get the weight for each set of `weighed`.
    """
    rows = np.unpackbits(np.bitwise_or.reduce(minimal, axis=0), count=len(smallest)).astype(bool)
    if not rows.any():
        return
    smallest[rows & (smallest == 0)] = size
    if weight and weighed.any():
        scores += weight * np.unpackbits(minimal[weighed], axis=1, count=len(smallest)).sum(axis=0, dtype=np.int64)


def _sets_to_search(is_key: Sequence[bool], records: int, most_visits: int) -> tuple[list[list[_Group]], int]:
    """The sets of one, two and three columns that are searched, and the number of those left out."""
    columns = len(is_key)
    sizes = list(range(1, min(LARGEST, columns) + 1))
    known = [comb(columns, size) for size in sizes]
    whole = sum(known)
    fits = max(1, most_visits // max(1, records))
    keys_alone = whole > fits and len(sizes) == LARGEST
    if keys_alone:
        known[-1] = comb(sum(is_key), LARGEST)
    while sum(known) > fits and len(known) > 1:
        known.pop()
    every = tuple(range(columns))
    keys = tuple(at for at in every if is_key[at])
    among = [keys if keys_alone and size == LARGEST else every for size in sizes[: len(known)]]
    return [_groups(places, size) for size, places in zip(sizes, among, strict=False)], whole - sum(known)


def _groups(places: tuple[int, ...], size: int) -> list[_Group]:
    """Every set of some columns, by its first ones."""
    firsts = combinations(range(len(places)), size - 1)
    groups = [(first, places[first[-1] + 1 if first else 0 :]) for first in firsts]
    return [_Group(tuple(places[at] for at in first), last) for first, last in groups if last]


def _tally_of(codes: SharedCodes, sets: int) -> Tally:
    tally = Tally(codes)
    if sets < FEW_SETS and sets * (codes.original.shape[1] + codes.released.shape[1]) < FEW_VISITS:
        return tally
    from cvpl.evaluation.singling_out.compiled_tally import CompiledTally  # noqa: PLC0415 - Numba takes a second

    return CompiledTally(codes)


@dataclass(frozen=True)
class SetUniques:
    """A set of columns, by their place, and the records that are unique by it."""

    columns: tuple[int, ...]
    found: Uniques


@dataclass(frozen=True, eq=False)
class SizedSets:
    """All searched sets of one size, in ascending order.

    `columns` has a row for each set. `counts` has its unique originals, unique released records, and both.
    """

    columns: Ints
    counts: Ints

    def __len__(self) -> int:
        return len(self.columns)

    def at(self, place: int) -> SetUniques:
        """The set at a place of the order."""
        original, released, both = self.counts[place].tolist()
        return SetUniques(tuple(self.columns[place].tolist()), Uniques(original, released, both))


@dataclass(frozen=True, eq=False)
class SearchedSets:
    """All searched sets, the smallest first."""

    by_size: tuple[SizedSets, ...]

    def __len__(self) -> int:
        return sum(map(len, self.by_size))

    def __iter__(self) -> Iterator[SetUniques]:
        return (sets.at(place) for sets in self.by_size for place in range(len(sets)))

    def strongest(self, size: int, most: int) -> Sequence[SetUniques]:
        """At most so many sets of a size: those with the most records unique in both tables, then in the originals."""
        if size > len(self.by_size):
            return []
        sets = self.by_size[size - 1]
        order = np.lexsort((-sets.counts[:, 0], -sets.counts[:, 2]))
        return [sets.at(int(place)) for place in order[:most]]


@dataclass(frozen=True)
class ExactRowCounts:
    """How many originals there are, how many are unique, and how many of these have their exact row in the release."""

    originals: int
    unique: int
    released: int

    @property
    def share(self) -> float | None:
        """The share of the unique originals whose exact row is released; None if nobody is unique."""
        return self.released / self.unique if self.unique else None


def exact_rows(original: Keys, released: Keys) -> ExactRowCounts:
    """Count unique originals and those among them whose row is in the release, once or more often.

    The keys are equal for equal rows, over all columns that the two tables share.
    """
    found, counts = np.unique(original, return_counts=True)
    unique = found[counts == 1]
    return ExactRowCounts(len(original), len(unique), int(np.isin(unique, released).sum()))
