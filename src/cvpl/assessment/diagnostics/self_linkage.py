"""Self-linkage: whether the representation distinguishes records at all.

original    each original against the other originals of its block (leave-one-out)
protected   the same inside the release
perturbed   the originals against a lightly perturbed copy of themselves, in their own blocks; the truth is known, so
            there is a top-1 hit rate: close to 1 if the representation keeps what distinguishes people

At most 10,000 records are searched, sampled by the seed. In an ensemble, attackers other than the headline are checked
with 625 records of a perturbed copy: a share of 625 records has a standard error of at most 2 points. A quick look
searches 625 records everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.evaluation.rates import linkage_rate
from cvpl.result import SelfRate
from cvpl.search.best import TIE
from cvpl.search.blocks import LeftOut
from cvpl.tables.columns import ColumnData, Numbers, Table, Times

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

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


def perturbed(attack: Attack, threshold: float | None, rng: np.random.Generator, most: int = SAMPLE) -> SelfRate | None:
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
