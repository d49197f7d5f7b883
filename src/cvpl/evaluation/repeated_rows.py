"""Rows that occur more than once among originals and control: copies of originals in the control, and doubles in it.

Both are tested exactly. If the rows are independent people of one population, tables can be exchanged row by row
whatever rows are equal, so a table of few categories, where many are, raises no alarm. The statistics are

    the number of rows that are unique among the originals and occur in the control,
    the number of the control's rows that occur in it more than once,

and each alarms if none of 4,999 exchanges reaches it, and if it is beyond chance by half a percent of the control. If
no row occurs twice in a table, but J rows in both, the exchanges are counted instead:

    p = 2^J C(N - 2J, n - J) / C(N, n)            for n originals among N rows

and p <= 0.005 alarms: a population with repeated rows would hardly show none of them inside the tables, so on
independent rows this happens at most once in 1,000 tables, however often the population repeats its rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.exchanged_rows import never_reached
from cvpl.tables.keys import Keys

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXCHANGES = 4_999
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
        beyond = far & never_reached(observed, exchanged, EXCHANGES)
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
