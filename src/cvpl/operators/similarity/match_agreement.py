"""m, the probability that a match agrees on a column, estimated by EM from a release without known matches.

Some originals are compared with the whole release. An original has at most one match in it, so of all pairs at most one
in n is a match; the model that EM fits says so (`one_match`). u is known: the chance that two
records agree. Every column then gets the m that explains the pairs best, near 1 where the release left the values as
they were, and near u where it replaced them.

The patterns in which some originals agree with every record of a release, and how often each occurs. A pattern is a
whole number with two bits for each column: whether both values are known, and whether they agree. A column without
missing values in the release needs only the second. Few records are compared by array operations, many by a compiled
loop; all ways give the same patterns in the same order.

EM for the Fellegi-Sunter model: agreement probabilities of matches and non-matches, and the share of matches. Two
models share the likelihood of a pattern, Π m^agree (1-m)^differ for a match and Π u^agree (1-u)^differ for any other
pair; a missing value is in neither product. They differ in what may be a match:

    every pair by itself     P(pattern) = share · Π m... + (1-share) · Π u...
    at most one a record     P(patterns of a record's n pairs) = Π u... · ((1-share) + share · mean of Π m... / Π u...)

The second is for one table searched in another without blocking, where matches are one in n pairs: taken one by one,
pairs that agree by chance outnumber the matches, and EM would describe those instead.

The likelihood does not distinguish matches from non-matches, since swapping m with u and share with 1 - share leaves it
unchanged: the start values decide, with m above u on every column. A column may still end with m below u.

Agreement patterns: the columns on which a pair agrees, and how often each pattern occurs. A pattern states for every
column whether the pair agrees, differs, or lacks a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.operators.similarity.agreement import ComparedColumn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


MOST_ORIGINALS = 200
"""The largest number of originals that are compared with the release."""
MOST_PAIRS = 3_000_000
"""Fewer originals are compared if they would make more pairs than this."""
FEWEST_ORIGINALS = 40
"""The least number of originals that are compared, whatever the pairs."""
START = 0.9
"""EM starts with m at this value, or half-way from u to 1 if that is larger, and m stays there if EM has no answer."""
START_SHARE = 0.5
ADDED = 0.5
"""Pairs that agree, and as many that differ, that are added to every column, so that no m is 0 or 1."""
RELEASE_TOLERANCE = 1e-4
RELEASE_STEPS = 500
FEWEST_MATCHES = 10.0
"""With fewer expected matches among the originals that are compared, m is not estimated."""


def compared_originals(originals: int, released: int) -> int:
    """The number of originals that are compared with the release."""
    return min(originals, MOST_ORIGINALS, max(FEWEST_ORIGINALS, MOST_PAIRS // max(1, released)))


@dataclass(frozen=True)
class MatchAgreement:
    """For each column the probability that a match agrees, and with a tolerance that one within it has equal values.

    Both are empty without an estimate.
    """

    agree: Mapping[str, float]
    equal: Mapping[str, float]


def estimate_m(
    columns: Sequence[ComparedColumn], u: Floats, within: Mapping[int, int] | None = None, *, each: Each = map
) -> Floats | None:
    """The m of every column; None if EM does not converge, or expects fewer than ten matches.

    `columns` compare some originals with the release. `u` has for each of these, and each column, the probability that
    a released record which is not their match agrees. m is at least the mean of u over the originals with a value:
    below it a column says nothing. `within` has pairs of columns: the first is compared only where the second agrees.
    `each` compares the originals with the release, see `record_patterns`.
    """
    originals, released = len(u), len(columns[0].candidates) if columns else 0
    if not originals or not released:
        return None
    patterns, record = record_patterns(columns, originals, each)
    for inner, outer in (within or {}).items():
        patterns.known[:, inner] &= patterns.agree[:, outer]
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
        tolerance=RELEASE_TOLERANCE,
        most_steps=RELEASE_STEPS,
    )
    found = estimate.parameters
    if not estimate.converged or found.share * originals < FEWEST_MATCHES:
        return None
    return np.asarray(np.maximum(found.m, mean))


SMALLEST = 1e-12
"""The smallest distance of probabilities from 0 and 1, where a weight would be infinite."""
TOLERANCE = 1e-8
"""EM has converged if no parameter changes by more in a step."""
MOST_STEPS = 10_000

Expected = tuple[Floats, float, float]
"""For each pattern the expected number of matches and of other pairs (two rows); the share; the log-likelihood."""
Expectation = Callable[[Floats, float], Expected]
"""Computed from the log-likelihoods of every pattern, as a match and as another pair, and the share of matches."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """m and u of each column, and the share of matches: among candidate pairs, or among records that have one."""

    m: Floats
    u: Floats
    share: float


@dataclass(frozen=True, eq=False)
class FittedParameters:
    """The result of EM, whether it converged, and the log-likelihood (natural) at the start and after every step.

    A step never lowers the log-likelihood, unless pairs were added.
    """

    parameters: Parameters
    converged: bool
    log_likelihood: Floats

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.log_likelihood) - 1


def every_pair(patterns: Patterns) -> Expectation:
    """The expectation where every pair may be a match by itself: g = P(match | pattern)."""
    counts = patterns.counts.astype(np.float64)
    pairs = float(counts.sum())

    def expect(logs: Floats, share: float) -> Expected:
        logs = logs + np.log([[share], [1 - share]])
        either = np.logaddexp(logs[0], logs[1])
        expected = counts * np.exp(logs - either)
        return expected, expected[0].sum() / pairs, float(counts @ either)

    return expect


def one_match(patterns: Patterns, record: Ints, candidates: int, others: Floats | None = None) -> Expectation:
    """The expectation where a record has at most one match among its `candidates`.

        g = share r / n / ((1-share) + share Σ r / n)        r = Π m... / Π u... of a pair, Σ over the record's pairs

    `record` is the record of each pattern. `others` are the log-likelihoods Π u... of the patterns, if u differs
    between records. The log-likelihood is that beyond the record's pairs all being others.
    """
    counts = patterns.counts.astype(np.float64)
    records = int(record.max(initial=-1)) + 1

    def expect(logs: Floats, share: float) -> Expected:
        ratio = logs[0] - (logs[1] if others is None else others)
        # Sums relative to the largest ratio of each record, since the ratio of a rare agreement may overflow.
        largest = np.zeros(records)
        np.maximum.at(largest, record, ratio)
        each = counts * np.exp(ratio - largest[record]) * (share / candidates)
        total = np.bincount(record, each, records) + (1 - share) * np.exp(-largest)
        found = each / total[record]
        likelihood = float((np.log(total) + largest).sum())
        return np.vstack([found, counts - found]), float(found.sum()) / records, likelihood

    return expect


def maximize(
    patterns: Patterns,
    start: Parameters,
    *,
    fixed_u: bool,
    expectation: Expectation | None = None,
    added: float = 0.0,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> FittedParameters:
    """Run EM on the pattern counts until no parameter changes by `tolerance` or more, or for `most_steps`.

    E: g by `expectation`, by default `every_pair`.  M: m = Σ g·agree / Σ g·known,  u the same with the other pairs;
    sums over pairs. `added` pairs that agree and as many that differ are counted in every column. A column that is
    missing in every match keeps its m, and likewise for u. At least one pair is required.
    """
    expectation = expectation or every_pair(patterns)
    width = patterns.agree.shape[1]
    cells = np.hstack([patterns.agree, patterns.known & ~patterns.agree]).astype(np.float64)
    # Row 0 is for matches, row 1 for non-matches: agreement probabilities, and shares.
    chances = _clip_chances(np.vstack([start.m, start.u]))
    share = float(_clip_chances(np.float64(start.share)))
    history: list[float] = []
    converged = False
    while True:
        logs = np.log(np.hstack([chances, 1 - chances])) @ cells.T
        expected, found_share, likelihood = expectation(logs, share)
        history.append(likelihood)
        if converged or len(history) > most_steps:
            return FittedParameters(Parameters(chances[0], chances[1], share), converged, np.array(history))
        sums = expected @ cells
        agree, known = sums[:, :width] + added, sums[:, :width] + sums[:, width:] + 2 * added
        moved = _clip_chances(np.divide(agree, known, out=chances.copy(), where=known > 0))
        if fixed_u:
            moved[1] = chances[1]
        new_share = float(_clip_chances(np.float64(found_share)))
        converged = max(float(np.abs(moved - chances).max()), abs(new_share - share)) < tolerance
        chances, share = moved, new_share


def _clip_chances(chance: Floats | np.float64) -> Floats:
    """Clip to [SMALLEST, 1 - SMALLEST]; the best value under that bound, so that the likelihood still never falls."""
    return np.minimum(np.maximum(chance, SMALLEST), 1 - SMALLEST)


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns that occur, one per row, with their number of pairs: which columns agree, and which are known."""

    agree: NDArray[np.bool_]
    known: NDArray[np.bool_]
    counts: Ints

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return int(self.counts.sum())

    def only(self, columns: NDArray[np.bool_]) -> Patterns:
        """The patterns of some of the columns; patterns that are equal on them are merged."""
        width = int(columns.sum())
        both = np.hstack([self.agree[:, columns], self.known[:, columns]])
        distinct, place = np.unique(both, axis=0, return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, place.ravel(), self.counts)
        return Patterns(distinct[:, :width], distinct[:, width:], counts)


Codes = NDArray[np.int32]
Each = Callable[[Callable[[int], Patterns], Iterable[int]], Iterable[Patterns]]
"""Calls a function for each of some numbers, as `map` does, in whatever threads; its results come in their order."""

COMPILED_PAIRS = 5_000_000
"""From this number of pairs on, the compiled loop repays loading the compiler."""
MOST_CODES = 1 << 18
"""With more possible patterns, those that occur are numbered."""
BINS_PER_RECORD = 20
"""With more possible patterns than this for each candidate, sorting them is faster than counting all of them."""
FEW_RECORDS = 2_000
"""With at most so many candidates, several originals are compared with them at once."""
PAIRS_AT_ONCE = 1 << 18
"""The number of pairs that are compared at once."""
CELLS_AT_ONCE = 1 << 23
"""The number of cells of pairs that are compared at once."""
MOST_COLUMNS = 22
"""The largest number of columns for which a pair is a whole number: they fit into it, with the original."""


def record_patterns(columns: Sequence[ComparedColumn], originals: int, each: Each = map) -> tuple[Patterns, Ints]:
    """The patterns of each original with all candidates, with their counts, and the original of each pattern.

    They are sorted by the original and then by the columns. `each` runs the compiled loop.
    """
    if len(columns[0].candidates) <= FEW_RECORDS:
        few = len(columns) <= MOST_COLUMNS
        return _patterns_at_once(columns, originals) if few else _wide_patterns(columns, originals)
    bits = len(columns) + int(_have_gaps(columns).sum())
    if 1 << bits <= MOST_CODES and worth_it(originals * len(columns[0].candidates), COMPILED_PAIRS):
        return _count_patterns(columns, originals, each)
    agrees, knows, counts, records = [], [], [], []
    for record in range(originals):
        codes, size = np.zeros(len(columns[0].candidates), dtype=np.int32), 1
        for column in columns:
            agree, known = _compare_record(column, record)
            codes <<= 2
            codes |= agree
            codes |= known.view(np.int8) << 1
            size *= 4
            if size > MOST_CODES:
                codes, size = _number_codes(codes, size)
        first, count = _occurring(codes, size)
        compared = [_compare_record(column, record, first) for column in columns]
        agrees.append(np.column_stack([agree for agree, _ in compared]))
        knows.append(np.column_stack([known for _, known in compared]))
        counts.append(count)
        records.append(np.full(len(count), record))
    joined = Patterns(np.vstack(agrees), np.vstack(knows), np.concatenate(counts).astype(np.int64))
    return joined, np.concatenate(records).astype(np.int64)


def _patterns_at_once(columns: Sequence[ComparedColumn], originals: int) -> tuple[Patterns, Ints]:
    """The patterns with few candidates: a pair is a whole number with its original and two bits for each column."""
    found, counts = [], []
    step = max(1, PAIRS_AT_ONCE // max(1, len(columns[0].candidates)))
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


def _wide_patterns(columns: Sequence[ComparedColumn], originals: int) -> tuple[Patterns, Ints]:
    """The patterns with few candidates and many columns: a pair is a row of bytes, which sorts like the columns."""
    candidates, width = len(columns[0].candidates), len(columns)
    agrees, knows, counts, records = [], [], [], []
    step = max(1, CELLS_AT_ONCE // (width * max(1, candidates)))
    for start in range(0, originals, step):
        rows = np.arange(start, min(start + step, originals))
        bits = np.zeros((len(rows), candidates, width, 2), dtype=bool)
        for place, column in enumerate(columns):
            asked, there = column.queries[rows], column.candidates
            has = asked >= 0
            if not has.any():
                continue
            first, last = column.first[asked][:, None], column.last[asked][:, None]
            bits[:, :, place, 0] = (there >= 0) & has[:, None]
            bits[:, :, place, 1] = (there >= first) & (there <= last) & has[:, None]
        packed = np.packbits(bits.reshape(len(rows) * candidates, 2 * width), axis=1)
        numbered = np.repeat(rows, candidates).astype(">u4").view(np.uint8).reshape(-1, 4)
        pairs = np.ascontiguousarray(np.hstack([numbered, packed]))
        _, found, count = np.unique(pairs.view(f"V{pairs.shape[1]}").reshape(-1), return_index=True, return_counts=True)
        known, agree = np.moveaxis(bits.reshape(len(pairs), width, 2)[found], 2, 0)
        agrees.append(agree)
        knows.append(known)
        counts.append(count)
        records.append(rows[found // max(1, candidates)])
    joined = Patterns(np.vstack(agrees), np.vstack(knows), np.concatenate(counts).astype(np.int64))
    return joined, np.concatenate(records).astype(np.int64)


def _count_patterns(columns: Sequence[ComparedColumn], originals: int, each: Each) -> tuple[Patterns, Ints]:
    """The patterns with many candidates: all pairs of an original are counted in one pass of a compiled loop."""
    from cvpl.operators.compiled import count_patterns  # noqa: PLC0415 - slow to load

    there = np.stack([column.candidates for column in columns])
    gaps = _have_gaps(columns)

    def of_one(record: int) -> Patterns:
        asked = np.array([column.queries[record] for column in columns])
        low, high = np.zeros((2, len(columns)), dtype=np.int32)
        for place, (column, code) in enumerate(zip(columns, asked, strict=True)):
            if code >= 0:
                low[place], high[place] = column.first[code], column.last[code]
        counts = np.zeros(1 << len(columns) + int(gaps.sum()), dtype=np.int64)
        count_patterns(there, low, high, asked >= 0, gaps, counts)
        codes = np.flatnonzero(counts)
        agree, known = np.empty((2, len(codes), len(columns)), dtype=bool)
        found = counts[codes]
        for place in reversed(range(len(columns))):
            agree[:, place], codes = codes & 1, codes >> 1
            known[:, place] = asked[place] >= 0
            if gaps[place]:
                known[:, place], codes = codes & 1, codes >> 1
        return Patterns(agree, known, found)

    parts = list(each(of_one, range(originals)))
    joined = [np.concatenate([getattr(part, name) for part in parts]) for name in ("agree", "known", "counts")]
    records = np.repeat(np.arange(originals), [len(part.counts) for part in parts])
    return Patterns(*joined), records.astype(np.int64)


def _have_gaps(columns: Sequence[ComparedColumn]) -> NDArray[np.bool_]:
    """Whether a candidate lacks a value, for each column."""
    return np.array([bool((column.candidates < 0).any()) for column in columns])


def _number_codes(codes: Codes, size: int) -> tuple[Codes, int]:
    """The codes that occur, numbered in their order, and how many there are."""
    if size > BINS_PER_RECORD * len(codes):
        found, place = np.unique(codes, return_inverse=True)
        return place.reshape(-1).astype(np.int32), len(found)
    number = np.cumsum(np.bincount(codes, minlength=size) > 0).astype(np.int32) - 1
    return number[codes], int(number[-1]) + 1


def _occurring(codes: Codes, size: int) -> tuple[NDArray[np.intp], Ints]:
    """For each code that occurs, in their order, the first candidate that has it, and how many do."""
    if size > BINS_PER_RECORD * len(codes):
        _, first, count = np.unique(codes, return_index=True, return_counts=True)
        return first, count
    count = np.bincount(codes, minlength=size)
    first = np.zeros(size, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first[count > 0], count[count > 0]


def _compare_record(
    column: ComparedColumn, record: int, candidates: NDArray[np.intp] | slice = slice(None)
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a record agrees with candidates, and whether both values are known."""
    code, there = int(column.queries[record]), column.candidates[candidates]
    if code < 0:
        nothing = np.zeros(len(there), dtype=bool)
        return nothing, nothing
    return (there >= column.first[code]) & (there <= column.last[code]), there >= 0
