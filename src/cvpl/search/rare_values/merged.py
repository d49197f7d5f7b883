"""Candidates merged by the columns with few values, so that a sum of products over them needs few steps.

Candidates that are equal in all groups of joined columns have one entry with their number. Entries that differ only in
one group, the inner one, follow each other in a run:

    sum over runs of   (product of the outer factors)  x  sum over the run's entries of   number x inner factor

Columns with many values are not in the entries. There most candidates disagree with a query, so the sum is first taken
as if all did, and then corrected for those that agree, which follow each other in a list of the candidates by value.
Which of these columns have a value at all is one more group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvpl.search.machine import threads
from cvpl.search.rare_values.counting_sort import code_starts, stable_order
from cvpl.search.rare_values.joined_columns import JoinedColumns
from cvpl.search.tree.simd import natural

Array = Any
Words = NDArray[np.int32]
Ints = NDArray[np.int64]

_LISTS = 3
"""The most columns with many values: each needs a copy of the candidates."""
_REPAYS = 0.7
"""Merging repays if it leaves at most this share of the steps of a sum over all candidates."""


@dataclass(frozen=True, eq=False)
class MergedCandidates:
    """Entries, runs and lists; see the module.

    Run r has the entries from `runs[r]` to `runs[r + 1]`; `outer` are its numbers in the outer groups `groups`, and
    `inner` and `count` are the entries' numbers in the group `inside` and their candidates. `joined` and `codes` are
    those of `JoinedColumns` for each column with many values, with the candidates sorted by its codes. Code c of column
    o begins at `starts[at[o] + c + 1]`.
    """

    groups: Ints
    inside: int
    runs: Ints
    outer: Words
    inner: Words
    count: NDArray[np.float64]
    joined: Words
    codes: Words
    starts: Ints
    at: Ints

    @classmethod
    def of(cls, columns: JoinedColumns, workers: int = 1) -> MergedCandidates | None:
        """Merge the candidates, with so many threads; None where that leaves too many steps."""
        many, candidates = columns.codes.shape
        if many > _LISTS:
            return None
        joined = list(columns.joined)
        if many:
            known = columns.codes >= 0
            joined.append(sum((known[o].astype(np.int32) << o for o in range(many)), np.zeros(candidates, np.int32)))
        if not joined:
            return None
        inside = int(np.argmax([group.max(initial=0) for group in joined]))
        groups = [number for number in range(len(joined)) if number != inside]
        order = places = np.arange(candidates, dtype=np.int32)
        for number in [inside, *groups]:
            order = stable_order(joined[number], order)
        outer = np.stack([joined[number][order] for number in groups] + [np.zeros(candidates, np.int32)])
        inner = joined[inside][order]
        new_run = _changes(outer)
        new_entry = new_run | _changes(inner[None, :])
        entries, first = np.flatnonzero(new_entry), np.flatnonzero(new_run)
        if len(first) * len(groups) + len(entries) > _REPAYS * candidates * (len(joined) + many):
            return None
        starts = [code_starts(codes) for codes in columns.codes]
        both = np.concatenate([columns.joined, columns.codes])
        reordered = np.empty((many, *both.shape), dtype=np.int32)

        def reorder(place: int) -> None:
            order = stable_order(columns.codes[place], places).astype(np.int64)
            for row, codes in zip(reordered[place], both, strict=True):
                row[:] = codes[order]

        with threads(workers) as pool:
            list(pool.map(reorder, range(many)))
        return cls(
            np.array(groups, dtype=np.int64),
            inside,
            np.append(np.searchsorted(entries, first), len(entries)),
            np.ascontiguousarray(outer[: len(groups), first].T),
            inner[entries],
            np.diff(np.append(entries, candidates)).astype(np.float64),
            np.ascontiguousarray(reordered[:, : len(columns.joined)]),
            np.ascontiguousarray(reordered[:, len(columns.joined) :]),
            np.concatenate([*starts, np.zeros(0, np.int64)]),
            np.cumsum([0, *(len(part) for part in starts)])[:-1].astype(np.int64),
        )


def _changes(rows: Words) -> NDArray[np.bool_]:
    """Where a column differs from the one before it; true for the first."""
    found = np.ones(rows.shape[1], dtype=np.bool_)
    found[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    return found


@njit(nogil=True, cache=True)
def sum_of_runs(
    groups: Array, inside: int, runs: Array, outer: Array, inner: Array, count: Array, tables: Array
) -> Any:
    """The sum over all candidates, as if none agreed in a column with many values."""
    total = 0.0
    table = tables[inside]
    for run in range(len(runs) - 1):
        part = 0.0
        for entry in range(runs[run], runs[run + 1]):
            part += count[natural(entry)] * table[natural(inner[natural(entry)])]
        for number in range(len(groups)):
            part *= tables[groups[number], natural(outer[natural(run), natural(number)])]
        total += part
    return total
