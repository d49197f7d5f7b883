"""l-diversity: how varied the sensitive values are inside each equivalence class (Machanavajjhala et al., 2007)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.criteria.classes import Codes, EquivalenceClasses

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassValueCounts:
    """How often each sensitive value occurs in each class, one entry for each pair that occurs.

    Entries are sorted by class, then by value. A missing value (code -1) is a value of its own, after all others.
    """

    of: Ints
    value: Ints
    count: Ints
    sizes: Ints
    values: int
    """The number of different values in the whole release."""

    @classmethod
    def of_secret(cls, classes: EquivalenceClasses, secret: Codes) -> ClassValueCounts:
        """Count the values of a sensitive column in each class."""
        known = int(secret.max(initial=-1)) + 1
        codes = np.where(secret >= 0, secret, known).astype(np.int64)
        used, codes = np.unique(codes, return_inverse=True)
        width = max(1, len(used))
        pairs, count = np.unique(classes.of * width + codes.reshape(len(secret)), return_counts=True)
        return cls(pairs // width, pairs % width, count.astype(np.int64), classes.sizes, len(used))


@dataclass(frozen=True)
class Diversity:
    """l-diversity of one sensitive column.

    `distinct` is the least number of different values in a class. `entropy` is the largest l of entropy l-diversity,
    exp of the least entropy of a class. `recursive_c` belongs to recursive (c, l)-diversity with l = `distinct`: the
    release has it for every c above this number; None for l = 1, where every release has it.
    """

    distinct: int
    entropy: float
    recursive_c: float | None


def diversity(counts: ClassValueCounts) -> Diversity | None:
    """The l-diversity of one sensitive column; None without records."""
    if not len(counts.sizes):
        return None
    distinct = int(np.bincount(counts.of).min())
    c = recursive_c(counts, distinct) if distinct > 1 else None
    return Diversity(distinct, entropy_l(counts), c)


def entropy_l(counts: ClassValueCounts) -> float:
    """exp(min over classes of -Σ q_v log q_v), where q_v is the share of value v in the class."""
    share = counts.count / counts.sizes[counts.of]
    entropy = np.bincount(counts.of, -share * np.log(share))
    return float(np.exp(max(0.0, entropy.min())))


def recursive_c(counts: ClassValueCounts, level: int) -> float:
    """The largest r_1 / (r_l + ... + r_m) over classes; r_1 >= r_2 >= ... are the counts of the values of a class.

    Recursive (c, l)-diversity asks for r_1 < c (r_l + ... + r_m) in every class, so it holds for every c above this
    ratio. Every class needs at least l different values.
    """
    order = np.lexsort((-counts.count, counts.of))
    of, count = counts.of[order], counts.count[order]
    starts = np.searchsorted(of, np.arange(len(counts.sizes)))
    rank = np.arange(len(of)) - starts[of]
    tail = np.bincount(of[rank >= level - 1], count[rank >= level - 1], minlength=len(counts.sizes))
    return float((count[starts] / tail).max())
