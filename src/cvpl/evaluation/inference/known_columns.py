"""Nested sets of the columns that an attacker knows, so that more knowledge does not make it weaker.

A column that the release does not keep makes candidates worse, and one that tells nothing of the secret makes classes
smaller. So attackers that choose records also ask with the three quarters, the half and the quarter of the columns
that they gain most by (`column_gains`). That is chosen on some of the people and read on the others
(`column_choices`). The compatible class asks with the half and the quarter that tell most of the secret in the release;
no person is read for that choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute
from cvpl.tables.columns import ColumnData, Table

Ints = NDArray[np.int64]

SAMPLE = 20_000
"""The records in which columns are ranked."""
_GROUPS = 12
"""Numbers are ranked in so many groups of equal size, labels by so many of the commonest ones and the others."""


def by_information(
    released: Table, names: Sequence[str], secret: SensitiveAttribute, rng: np.random.Generator
) -> tuple[str, ...]:
    """The columns in the order of their mutual information with the secret in the release, the largest first."""
    rows = np.flatnonzero(secret.released >= 0)
    if len(rows) > SAMPLE:
        rows = np.sort(rng.permutation(rows)[:SAMPLE])
    values = _grouped_codes(secret.released[rows])
    told = {name: mutual_information(_grouped(released.columns[name].take(rows)), values) for name in names}
    return tuple(sorted(names, key=lambda name: (-told[name], list(names).index(name))))


def nested_sets(names: Sequence[str], ranked: Sequence[str], shares: Sequence[float]) -> list[tuple[str, ...]]:
    """The first columns of a ranking, a share of them for each set, rounded up; each set in the order of `names`."""
    sizes = dict.fromkeys(math.ceil(share * len(names)) for share in shares)
    return [tuple(name for name in names if name in ranked[:size]) for size in sizes if size]


def mutual_information(one: Ints, other: Ints) -> float:
    """Sum over pairs of values of p(a, b) log(p(a, b) / (p(a) p(b))), in nats, from codes from 0 on; 0 without records.

    The expected value of unrelated columns, (A - 1)(B - 1) / (2 n), is taken off (Miller and Madow).
    """
    if not len(one):
        return 0.0
    wide = int(other.max()) + 1
    joint = np.bincount(one * wide + other, minlength=(int(one.max()) + 1) * wide).reshape(-1, wide) / len(one)
    a, b = joint.sum(axis=1), joint.sum(axis=0)
    there = joint > 0
    found = float((joint[there] * np.log(joint[there] / np.outer(a, b)[there])).sum())
    return found - (int((a > 0).sum()) - 1) * (int((b > 0).sum()) - 1) / (2 * len(one))


def _grouped(column: ColumnData) -> Ints:
    if not column.ordered:
        return _grouped_codes(column.distinct(plain=True)[1].astype(np.int64))
    numbers = column.ordinal()
    known = np.isfinite(numbers)
    cuts = np.unique(np.quantile(numbers[known], np.arange(1, _GROUPS) / _GROUPS)) if known.any() else np.zeros(0)
    return np.where(known, np.searchsorted(cuts, np.where(known, numbers, 0.0), side="right") + 1, 0).astype(np.int64)


def _grouped_codes(codes: Ints) -> Ints:
    """The commonest codes, and one for all others; missing ones are 0."""
    counts = np.bincount(codes[codes >= 0])
    place = np.full(len(counts) + 1, _GROUPS + 1, dtype=np.int64)
    place[np.argsort(-counts, kind="stable")[:_GROUPS]] = np.arange(1, min(_GROUPS, len(counts)) + 1)
    place[-1] = 0
    return place[codes]
