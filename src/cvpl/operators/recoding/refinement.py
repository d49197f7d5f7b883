"""Ranks among all people made into ranks in the release, by records that seem to belong to people.

A release of some of the people has their ranks, not those among all people, and the two differ by sampling error: too
much in large tables, where people are close to each other. So each released record is paired with the person nearest to
it. Of the pairs, those count whose second-best person is much farther away; the local medians of their differences are
what ranks are off by, column by column. With ranks mended, pairs are found anew, a few times.

People are originals and controls alike. In a release of strangers, pairs are nobody's own, and both are moved alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

ROUNDS = 6
CLEAREST, FEWEST_PAIRS = 0.25, 60
"""The share of the pairs that count, those whose second best is farthest beyond the best, and the fewest of them."""
WINDOW = 15
"""A local median is that of so many neighbouring pairs."""
MOST_RECORDS = 3_000
"""The largest number of released records that are paired."""
_CHUNK = 100
_PRECISION = 1e9
"""Squared distances are rounded to one part in this, so that equal ones are equal however they were added up."""
_SMALLEST = 1e-3
"""A second-best distance of 0 counts as this, in the same parts."""


@dataclass(frozen=True, eq=False)
class Shift:
    """What is added to a rank score, given at some scores: straight lines between them, constant beyond."""

    at: Floats
    by: Floats

    @classmethod
    def of(cls, own: Floats, released: Floats) -> Shift:
        """The local medians of the differences between paired scores; none with less than a window of pairs."""
        if len(own) < WINDOW:
            return NO_SHIFT
        order = np.argsort(own, kind="stable")
        windows = np.lib.stride_tricks.sliding_window_view
        at = np.median(windows(own[order], WINDOW), axis=1)
        by = np.median(windows((released - own)[order], WINDOW), axis=1)
        places, inverse, count = np.unique(at, return_inverse=True, return_counts=True)
        return cls(places, np.bincount(inverse, by) / count)

    def added(self, scores: Floats) -> Floats:
        """The mended scores."""
        return np.asarray(scores + np.interp(scores, self.at, self.by))


NO_SHIFT = Shift(np.zeros(1), np.zeros(1))


def refine_scores(people: Floats, released: Floats, known: tuple[Bools, Bools]) -> list[Shift]:
    """The shift of each rank score; `known` tells which scores of both tables are those of values.

    The first columns of both tables are the rank scores, the others are compared as they are.
    """
    columns = known[0].shape[1]
    shifts = [NO_SHIFT] * columns
    if not columns or len(people) < 2 or not len(released):
        return shifts
    some = np.linspace(0, len(released) - 1, min(len(released), MOST_RECORDS)).astype(np.intp)
    records, there = released[some], known[1][some]
    moved = people.copy()
    for _ in range(ROUNDS):
        nearest, ratio = _pairs(records, moved)
        counted = np.argsort(ratio, kind="stable")[: max(FEWEST_PAIRS, int(CLEAREST * len(records)))]
        person = nearest[counted]
        for column in range(columns):
            both = known[0][person, column] & there[counted, column]
            shifts[column] = Shift.of(people[person[both], column], records[counted[both], column])
            moved[:, column] = np.where(known[0][:, column], shifts[column].added(people[:, column]), people[:, column])
    return shifts


def _pairs(records: Floats, people: Floats) -> tuple[Ints, Floats]:
    """The nearest person of each record, and its distance over that of the second nearest."""
    nearest, ratio = np.empty(len(records), dtype=np.int64), np.empty(len(records))
    squares = (people**2).sum(axis=1)
    columns = np.vstack([-2 * people.T, np.ones(len(people)), squares])
    for start in range(0, len(records), _CHUNK):
        part = records[start : start + _CHUNK]
        apart = np.column_stack([part, (part**2).sum(axis=1), np.ones(len(part))]) @ columns
        apart *= _PRECISION
        np.rint(apart, out=apart)
        rows = np.arange(len(part))
        first = apart.argmin(axis=1)
        best = apart[rows, first]
        apart[rows, first] = np.inf
        second = apart.min(axis=1)
        nearest[start : start + _CHUNK] = first
        ratio[start : start + _CHUNK] = np.maximum(best, 0) / np.maximum(second, _SMALLEST)
    return nearest, ratio
