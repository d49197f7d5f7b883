"""m, the probability that a match agrees on a column, estimated by EM from a release without known matches.

Some originals are compared with the whole release. An original has at most one match in it, so of all pairs at most one
in n is a match; the model that EM fits says so (`expectation_maximization.one_match`). u is known: the chance that two
records agree. Every column then gets the m that explains the pairs best, near 1 where the release left the values as
they were, and near u where it replaced them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.agreement import ComparedColumn
from cvpl.operators.similarity.expectation_maximization import Parameters, maximize, one_match
from cvpl.operators.similarity.patterns import Patterns

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ASKED = 200
"""The most originals that are compared with the release, ..."""
PAIRS = 3_000_000
"""... and fewer if this would make more pairs, ..."""
FEWEST = 40
"""... but at least these."""
START = 0.9
"""EM starts with m at this value, or half-way from u to 1 if that is larger, and m stays there if EM has no answer."""
START_SHARE = 0.5
ADDED = 0.5
"""Pairs that agree, and as many that differ, that are added to every column, so that no m is 0 or 1."""
TOLERANCE = 1e-4
MOST_STEPS = 500
FEWEST_MATCHES = 10.0
"""With fewer expected matches among the originals that are compared, m is not estimated."""
_MOST_CODES = 1 << 18
"""With more possible patterns, those that occur are numbered."""
_BINS_PER_RECORD = 20
"""With more possible patterns than this for each candidate, sorting them is faster than counting all of them."""
_FEW_RECORDS = 2_000
"""With at most so many candidates, several originals are compared with them at once, ..."""
_PAIRS_AT_ONCE = 1 << 18
"""... so many pairs at a time, ..."""
_MOST_COLUMNS = 22
"""... if there are no more columns than fit into a whole number, with the original."""


def asked_originals(originals: int, released: int) -> int:
    """The number of originals that are compared with the release."""
    return min(originals, ASKED, max(FEWEST, PAIRS // max(1, released)))


def estimate_m(columns: Sequence[ComparedColumn], u: Floats) -> Floats | None:
    """The m of every column; None if EM does not converge, or expects fewer than ten matches.

    `columns` compare some originals with the release. `u` has for each of these, and each column, the probability that
    a released record which is not their match agrees. m is at least the mean of u over the originals with a value:
    below it a column says nothing.
    """
    originals, released = len(u), len(columns[0].candidates) if columns else 0
    if not originals or not released:
        return None
    patterns, record = record_patterns(columns, originals)
    differ = patterns.known & ~patterns.agree
    others = (patterns.agree * np.log(u)[record] + differ * np.log1p(-u)[record]).sum(axis=1)
    has = np.column_stack([column.queries >= 0 for column in columns])
    # A column without any value says nothing, whatever its m.
    mean = np.where(has.any(axis=0), (u * has).sum(axis=0) / np.maximum(has.sum(axis=0), 1), 0.5)
    estimate = maximize(
        patterns,
        Parameters(np.maximum(START, (1 + mean) / 2), mean, START_SHARE),
        fixed_u=True,
        expectation=one_match(patterns, record, released, others),
        added=ADDED,
        tolerance=TOLERANCE,
        most_steps=MOST_STEPS,
    )
    found = estimate.parameters
    if not estimate.converged or found.share * originals < FEWEST_MATCHES:
        return None
    return np.asarray(np.maximum(found.m, mean))


def record_patterns(columns: Sequence[ComparedColumn], originals: int) -> tuple[Patterns, Ints]:
    """The patterns of each original with all candidates, with their counts, and the original of each pattern.

    They are sorted by the original and then by the columns.
    """
    if len(columns[0].candidates) <= _FEW_RECORDS and len(columns) <= _MOST_COLUMNS:
        return _patterns_at_once(columns, originals)
    agrees, knows, counts, records = [], [], [], []
    for record in range(originals):
        codes, size = np.zeros(len(columns[0].candidates), dtype=np.int32), 1
        for column in columns:
            agree, known = _compared(column, record)
            codes <<= 2
            codes |= agree
            codes |= known.view(np.int8) << 1
            size *= 4
            if size > _MOST_CODES:
                codes, size = _numbered(codes, size)
        first, count = _occurring(codes, size)
        compared = [_compared(column, record, first) for column in columns]
        agrees.append(np.column_stack([agree for agree, _ in compared]))
        knows.append(np.column_stack([known for _, known in compared]))
        counts.append(count)
        records.append(np.full(len(count), record))
    joined = Patterns(np.vstack(agrees), np.vstack(knows), np.concatenate(counts).astype(np.int64))
    return joined, np.concatenate(records).astype(np.int64)


def _patterns_at_once(columns: Sequence[ComparedColumn], originals: int) -> tuple[Patterns, Ints]:
    """The same for few candidates: a pair is a whole number with its original and two bits for each column."""
    found, counts = [], []
    step = max(1, _PAIRS_AT_ONCE // max(1, len(columns[0].candidates)))
    for start in range(0, originals, step):
        rows = np.arange(start, min(start + step, originals))
        pairs = np.repeat(rows[:, None], len(columns[0].candidates), axis=1)
        for column in columns:
            asked, there = column.queries[rows], column.candidates
            has = asked >= 0
            pairs <<= 2
            if not has.any():
                continue
            first, last = column.first[asked][:, None], column.last[asked][:, None]
            pairs |= (there >= first) & (there <= last) & has[:, None]
            pairs |= ((there >= 0) & has[:, None]).astype(np.int64) << 1
        values, count = np.unique(pairs, return_counts=True)
        found.append(values)
        counts.append(count)
    values = np.concatenate(found)
    bits = 2 * np.arange(len(columns) - 1, -1, -1)
    agree, known = (values[:, None] >> bits & 1).astype(bool), (values[:, None] >> bits + 1 & 1).astype(bool)
    return Patterns(agree, known, np.concatenate(counts).astype(np.int64)), values >> 2 * len(columns)


def _numbered(codes: Codes, size: int) -> tuple[Codes, int]:
    """The codes that occur, numbered in their order, and how many there are."""
    if size > _BINS_PER_RECORD * len(codes):
        found, place = np.unique(codes, return_inverse=True)
        return place.reshape(-1).astype(np.int32), len(found)
    number = np.cumsum(np.bincount(codes, minlength=size) > 0).astype(np.int32) - 1
    return number[codes], int(number[-1]) + 1


def _occurring(codes: Codes, size: int) -> tuple[NDArray[np.intp], Ints]:
    """For each code that occurs, in their order, the first candidate that has it, and how many do."""
    if size > _BINS_PER_RECORD * len(codes):
        _, first, count = np.unique(codes, return_index=True, return_counts=True)
        return first, count
    count = np.bincount(codes, minlength=size)
    first = np.zeros(size, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first[count > 0], count[count > 0]


def _compared(
    column: ComparedColumn, record: int, candidates: NDArray[np.intp] | slice = slice(None)
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a record agrees with candidates, and whether both values are known."""
    code, there = int(column.queries[record]), column.candidates[candidates]
    if code < 0:
        nothing = np.zeros(len(there), dtype=bool)
        return nothing, nothing
    return (there >= column.first[code]) & (there <= column.last[code]), there >= 0
