"""Representation validity: whether a low rate means protection or a representation that cannot detect links.

A dead representation cannot distinguish people even in a lightly perturbed copy of their own table. Under a shifted
one, the two tables do not overlap in feature space, so originals are not linked whatever the release discloses. In both
cases the result is "not assessable", never "low".

Self-linkage: whether the representation distinguishes records at all.

original    each original against the other originals of its block (leave-one-out)
protected   the same inside the release
perturbed   the originals against a lightly perturbed copy of themselves, in their own blocks; the truth is known, so
            there is a top-1 hit rate: close to 1 if the representation keeps what distinguishes people

At most 10,000 records are searched, sampled by the seed. In an ensemble, attackers other than the headline are checked
with 625 records of a perturbed copy: a share of 625 records has a standard error of at most 2 points. A quick look
searches 625 records everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.attack.embedding import linear
from cvpl.evaluation.rates import linkage_rate
from cvpl.operators.blocking import Key, scheme_codes
from cvpl.result import SelfRate, Validity
from cvpl.search.best import TIE
from cvpl.search.blocks import LeftOut
from cvpl.search.machine import threads
from cvpl.tables.columns import ColumnData, Numbers, Table, Times
from cvpl.tables.keys import Keys, hash_columns

Floats = NDArray[np.float64]


DEAD_TOP1 = 0.10
"""More than this share of the distinct records must be found in a perturbed copy."""
DEAD_ZERO = 0.50
"""At most this share of either table's vectors may be zero, or of the released records equal."""
ALONE = 0.50
"""The largest accepted share of originals without a candidate in their block."""
SHIFTED = 0.6
"""The distance of the tables' mean embeddings, in units of their pooled spread, from which they count as shifted."""
SHIFT = "the representation is shifted: the two tables do not overlap in feature space"
_SAMPLE = 20_000
_RELEASED = 100_000
"""The most released records that are compared with each other."""
_NO_VARIANCE = 1e-12
"""Variance below this share of a feature's mean square counts as rounding error."""
_SAME = 1e-9
"""Correlations whose spread is at most this differ only by rounding."""


def validity(
    attack: Attack,
    perturbed: SelfRate | None,
    rng: np.random.Generator,
    *,
    released: NDArray[np.bool_] | None = None,
) -> Validity:
    """Measure the representation of an attack, and find the reasons why its figures cannot be read as risk.

    `duplicate_share` is the share of originals whose vector equals another original's; `shift` the distance of the mean
    embeddings over the root of the pooled total variance, None if that is 0; `covariance_distance` the Frobenius
    distance of the two feature covariances over the norm of the original's; `correlation_preservation` the correlation
    of their off-diagonal correlations, a utility cross-check.

    `released` says which originals are in the release, if all matches are known: the others may well have no candidate.
    """
    representation = attack.representation
    projection = linear(representation.projection)
    if not attack.attacker.compares_values:
        tables = attack.original, attack.protected
        summaries = attack.shared.get_or_compute(
            "summaries",
            attack.keys.projection,
            lambda: [_Summary.of(representation.chunks(table), attack.budget.workers) for table in tables],
        )
        distinct, duplicates = summaries[0].distinct, summaries[0].duplicates
        zeros = summaries[0].zero_share, summaries[1].zero_share
        shift = _shift(*summaries) if attack.attacker.projects else None
    else:
        distinct, duplicates = _distinct_records(attack)
        zeros, shift = (0.0, 0.0), None
    distance, correlation = attack.shared.get_or_compute(
        "covariances", attack.keys.space, lambda: _covariances(attack, rng)
    )
    top1 = None if perturbed is None else perturbed.top1_hit_rate
    reasons = []
    without = attack.found.candidates == 0
    some = released is not None and bool(released.any())
    alone = float(np.mean(without[released] if some else without))
    if alone > ALONE:
        whom = "of the originals in the release" if some else "of the originals"
        reasons.append(f"blocking leaves more than half {whom} without a single candidate")
    if max(zeros) > DEAD_ZERO:
        reasons.append("the representation is dead: most vectors are zero")
    elif _most_alike(attack) > DEAD_ZERO:
        reasons.append("the release is dead: most of its records are equal in all compared columns")
    elif top1 is not None and top1 <= DEAD_TOP1 * distinct:
        reasons.append(
            "the representation is dead: it does not find people in a lightly perturbed copy of their own table"
        )
    if shift is not None and shift >= SHIFTED:
        reasons.append(SHIFT)
    return Validity(
        assessable=not reasons,
        reasons=reasons,
        explained_variance=None if projection is None else projection.explained_variance,
        perturbed_top1=top1,
        attainable_top1=distinct,
        zero_share_original=zeros[0],
        zero_share_protected=zeros[1],
        duplicate_share=duplicates,
        shift=shift if shift is not None and np.isfinite(shift) else None,
        covariance_distance=distance,
        correlation_preservation=correlation,
    )


def _distinct_records(attack: Attack) -> tuple[float, float]:
    """Distinct originals over all, and the share of duplicates, by the columns that an agreement weight compares."""

    def shares() -> tuple[float, float]:
        counts = np.bincount(_numbers(attack, attack.original))
        return len(counts) / counts.sum(), float(counts[counts > 1].sum() / counts.sum())

    return attack.shared.get_or_compute("distinct records", attack.keys.space, shares)


def _most_alike(attack: Attack) -> float:
    """The largest share of released records that are equal in all compared columns, of at most 100,000 of them."""

    def share() -> float:
        table = attack.protected
        if table.rows > _RELEASED:
            table = table.take(np.linspace(0, table.rows - 1, _RELEASED).astype(np.intp))
        counts = np.bincount(_numbers(attack, table))
        return float(counts.max() / counts.sum())

    return attack.shared.get_or_compute("most alike", attack.keys.space, share)


def _numbers(attack: Attack, table: Table) -> NDArray[np.int64]:
    """A number for every record, equal if all compared values are equal."""
    compared = attack.attacker.vectorization.compared(table)
    (codes,) = scheme_codes(tuple(Key(column=name) for name in compared), [table])
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Summary:
    """Summary of a table's embeddings: their number, their sum and sum of squares, and three shares.

    `zero_share` is the share of zero vectors; `distinct` is distinct vectors over all, the largest top-1 with fair
    ties; `duplicates` is the share of records with a duplicate.
    """

    count: int
    total: Floats
    squares: Floats
    zero_share: float
    distinct: float
    duplicates: float

    @classmethod
    def of(cls, chunks: Sequence[Callable[[], Floats]], workers: int = 1) -> _Summary:
        """Summarize embeddings that are computed in chunks of records, by so many threads."""
        with threads(workers) as pool:
            parts = list(pool.map(_chunk_summary, chunks))
        norms = np.concatenate([part[0] for part in parts])
        zero_share = float(np.mean(norms <= 1e-9 * max(np.sqrt((norms**2).mean()), 1e-300)))
        hashes = np.concatenate([part[1] for part in parts])
        hashes.sort()
        starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
        alone = int((np.diff(starts, append=len(hashes)) == 1).sum())
        totals, squares = (np.sum([part[at] for part in parts], axis=0) for at in (2, 3))
        count = len(hashes)
        return cls(count, totals, squares, zero_share, len(starts) / count, (count - alone) / count)


def _chunk_summary(chunk: Callable[[], Floats]) -> tuple[Floats, Keys, Floats, Floats]:
    """The norms and hashes of a chunk's records, and their sum and sum of squares."""
    embedded = chunk()
    squares = embedded**2
    return np.sqrt(squares.sum(axis=1)), _hash_vectors(embedded), embedded.sum(axis=0), squares.sum(axis=0)


def _hash_vectors(embedded: Floats) -> Keys:
    """A hash of every vector, rounded to 9 decimals; two of ten million share one by a chance of 3 in a million."""
    components = np.ascontiguousarray((np.round(embedded, 9) + 0.0).T).view(np.uint64)
    return hash_columns(components, len(embedded))


def _shift(one: _Summary, other: _Summary) -> float | None:
    counts = one.count, other.count
    means = one.total / counts[0], other.total / counts[1]
    inner = sum(
        float((side.squares - count * mean**2).sum())
        for side, count, mean in zip((one, other), counts, means, strict=True)
    )
    gap = float(np.sqrt(((means[0] - means[1]) ** 2).sum()))
    scale = float((one.squares + other.squares).sum())
    if inner <= 1e-12 * scale:
        return None if gap == 0 else float("inf")
    return gap / float(np.sqrt(inner / sum(counts)))


def _covariances(attack: Attack, rng: np.random.Generator) -> tuple[float | None, float | None]:
    """Frobenius distance and correlation of the two tables' feature covariances, on up to 20,000 records each."""
    space = attack.representation.space
    if not space.width:
        return None, None
    found, squares = [], np.zeros(space.width)
    for table in (attack.original, attack.protected):
        some = table if table.rows <= _SAMPLE else table.take(rng.choice(table.rows, _SAMPLE, replace=False))
        total, first, second = space(some).moments(space.neutral)
        mean = first / total
        found.append(second / total - np.outer(mean, mean))
        squares = np.maximum(squares, np.diag(second) / total)
    norm = float(np.linalg.norm(found[0]))
    distance = float(np.linalg.norm(found[1] - found[0])) / norm if norm > 0 else None
    off = np.triu_indices(space.width, 1)
    correlations = [_correlation(covariance, squares)[off] for covariance in found]
    both = np.isfinite(correlations[0]) & np.isfinite(correlations[1])
    left, right = (values[both] for values in correlations)
    if len(left) < 2 or min(left.std(), right.std()) <= _SAME:
        return distance, None
    return distance, float(np.corrcoef(left, right)[0, 1])


def _correlation(covariance: Floats, squares: Floats) -> Floats:
    """The correlations, NaN for features whose variance is but a rounding error of their mean squares."""
    variance = np.diag(covariance)
    deviation = np.sqrt(np.where(variance > _NO_VARIANCE * squares, variance, np.nan))
    return np.asarray(covariance / np.outer(deviation, deviation))


Ints = NDArray[np.int64]

SAMPLE = 10_000
SCREENED = 625
NUMBER_NOISE = 0.02
"""Standard deviation of the noise on numbers, as a share of the column's own."""
TIME_NOISE = 300.0
"""Standard deviation of the noise on times, in seconds."""
SWAP = 0.02
"""Share of values that are replaced by another record's."""


def leave_one_out(
    attack: Attack, name: str, threshold: float | None, rng: np.random.Generator, most: int = SAMPLE
) -> SelfRate:
    """Search at most `most` records of a table in the table itself, each record's own row left out."""
    table = attack.original if name == "original" else attack.protected
    rows = sampled_originals(attack, rng, most) if name == "original" else sampled_rows(table.rows, rng, most)
    scorer = attack.representation.scorer(table, table, rows)
    partitions = attack.blocks.partitions(name, name, rows)
    found = attack.engine.find_best(scorer, partitions, left_out=LeftOut.itself(rows))
    rate = None if threshold is None else linkage_rate(found.best, threshold)
    return SelfRate(rate=rate, top1_hit_rate=None, asked=len(rows), records=table.rows)


def perturbed_self_rate(
    attack: Attack, threshold: float | None, rng: np.random.Generator, most: int = SAMPLE
) -> SelfRate | None:
    """Search at most `most` originals in a lightly perturbed copy; None if the projection cannot map the copy."""
    if not attack.representation.maps_others:
        return None
    best, top1 = attack.shared.get_or_compute(
        f"perturbed copy, {most}", attack.keys.search, lambda: _search_perturbed(attack, rng, most)
    )
    rate = None if threshold is None else linkage_rate(best, threshold)
    return SelfRate(rate=rate, top1_hit_rate=top1, asked=len(best), records=attack.original.rows)


def _search_perturbed(attack: Attack, rng: np.random.Generator, most: int) -> tuple[Floats, float]:
    """The best scores of some originals in the copy, and their top-1 hit rate."""
    table = attack.original
    rows = sampled_originals(attack, rng, most)
    copy = lightly_perturbed(attack.held, rng, noise=not attack.attacker.compares_values)
    if attack.form is not None:
        # An aligned attacker coarsens whatever it compares, here as after any other protection.
        copy = attack.form.apply(copy)
    representation = replace(attack.representation, arranged={})
    representation.arrange(copy, attack.blocks.schemes[0].codes["original"])
    scorer = representation.scorer(table, copy, rows)
    partitions = attack.blocks.partitions("original", "original", rows)
    found = attack.engine.find_best(scorer, partitions)
    own = scorer.pairs(np.arange(len(rows)), rows)
    hits = np.where(own >= found.best - TIE, 1 / np.maximum(found.ties, 1), 0.0)
    return found.best, float(hits.mean())


def sampled_originals(attack: Attack, rng: np.random.Generator, most: int = SAMPLE) -> Ints:
    """All originals of an attack, or a sample of `most` of them in ascending order."""
    return attack.draw.sample("original", attack.people, most, rng)


def sampled_rows(rows: int, rng: np.random.Generator, most: int = SAMPLE) -> Ints:
    """All rows, or a sample of `most` of them in ascending order."""
    if rows <= most:
        return np.arange(rows, dtype=np.int64)
    return np.sort(rng.choice(rows, most, replace=False)).astype(np.int64)


def lightly_perturbed(table: Table, rng: np.random.Generator, *, noise: bool = True) -> Table:
    """A copy with a few values swapped for another record's and a little normal noise on numbers and times.

    Without `noise` values are only swapped: a score that requires equal numbers would find none.
    """

    def change(column: ColumnData) -> ColumnData:
        swap = rng.random(table.rows) < SWAP
        rows = np.where(swap, rng.integers(table.rows, size=table.rows), np.arange(table.rows))
        return _noisy(column.take(rows), rng) if noise else column.take(rows)

    return table.changed(table.rows, change)


@singledispatch
def _noisy(column: ColumnData, rng: np.random.Generator) -> ColumnData:
    return column


@_noisy.register(Numbers)
def _noisy_numbers(column: Numbers, rng: np.random.Generator) -> Numbers:
    known = column.values[column.known()]
    shift = rng.normal(size=len(column.values)) * (NUMBER_NOISE * float(known.std()) if known.size else 0.0)
    values = column.values + shift
    if column.plain:
        return Numbers(values, values, values)
    return Numbers(values, column.low + shift, column.high + shift)


@_noisy.register(Times)
def _noisy_times(column: Times, rng: np.random.Generator) -> Times:
    moved = (rng.normal(scale=TIME_NOISE, size=len(column.first)) * 1e6).astype("timedelta64[us]")
    first = column.first + moved
    return Times(first, first if column.plain else column.last + moved)
