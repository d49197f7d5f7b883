"""The patterns in which some originals agree with every record of a release, and how often each occurs.

A pattern is a whole number with two bits for each column: whether both values are known, and whether they agree. A
column without missing values in the release needs only the second. Few records are compared by array operations, many
by a compiled loop; all ways give the same patterns in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.compiling import worth_it
from cvpl.operators.similarity.agreement import ComparedColumn
from cvpl.operators.similarity.patterns import Patterns

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Each = Callable[[Callable[[int], Patterns], Iterable[int]], Iterable[Patterns]]
"""Calls a function for each of some numbers, as `map` does, in whatever threads; its results come in their order."""

COMPILED_PAIRS = 5_000_000
"""From this number of pairs on, the compiled loop repays loading the compiler."""
MOST_CODES = 1 << 18
"""With more possible patterns, those that occur are numbered."""
BINS_PER_RECORD = 20
"""With more possible patterns than this for each candidate, sorting them is faster than counting all of them."""
FEW_RECORDS = 2_000
"""With at most so many candidates, several originals are compared with them at once, ..."""
PAIRS_AT_ONCE = 1 << 18
"""... so many pairs at a time, ..."""
CELLS_AT_ONCE = 1 << 23
"""... or so many cells of pairs, ..."""
MOST_COLUMNS = 22
"""... and a pair is a whole number if there are no more columns than fit into it, with the original."""


def record_patterns(columns: Sequence[ComparedColumn], originals: int, each: Each = map) -> tuple[Patterns, Ints]:
    """The patterns of each original with all candidates, with their counts, and the original of each pattern.

    They are sorted by the original and then by the columns. `each` runs the compiled loop.
    """
    if len(columns[0].candidates) <= FEW_RECORDS:
        few = len(columns) <= MOST_COLUMNS
        return _patterns_at_once(columns, originals) if few else _wide_patterns(columns, originals)
    bits = len(columns) + int(_have_gaps(columns).sum())
    if 1 << bits <= MOST_CODES and worth_it(originals * len(columns[0].candidates), COMPILED_PAIRS):
        return _counted(columns, originals, each)
    agrees, knows, counts, records = [], [], [], []
    for record in range(originals):
        codes, size = np.zeros(len(columns[0].candidates), dtype=np.int32), 1
        for column in columns:
            agree, known = _compared(column, record)
            codes <<= 2
            codes |= agree
            codes |= known.view(np.int8) << 1
            size *= 4
            if size > MOST_CODES:
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
    """The same for few candidates and many columns: a pair is a row of bytes, which sorts like the columns."""
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


def _counted(columns: Sequence[ComparedColumn], originals: int, each: Each) -> tuple[Patterns, Ints]:
    """The same for many candidates: all pairs of an original are counted in one pass of a compiled loop."""
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


def _numbered(codes: Codes, size: int) -> tuple[Codes, int]:
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


def _compared(
    column: ComparedColumn, record: int, candidates: NDArray[np.intp] | slice = slice(None)
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a record agrees with candidates, and whether both values are known."""
    code, there = int(column.queries[record]), column.candidates[candidates]
    if code < 0:
        nothing = np.zeros(len(there), dtype=bool)
        return nothing, nothing
    return (there >= column.first[code]) & (there <= column.last[code]), there >= 0
