"""Releases in order: the possible ranks of each, and which others beat it in both risk and utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RankRange:
    """The range of possible ranks of an item, from `first` to `last`; equal if it has no ties."""

    first: int
    last: int


def places(above: NDArray[np.bool_]) -> list[RankRange]:
    """The rank ranges of m items; `above[i, j]` says that i is clearly above j.

        first = 1 + |{j : j clearly above i}|        last = m - |{j : i clearly above j}|

    Ties are not transitive: if a is above c, and b is tied with both, a has the ranks 1 to 2, b 1 to 3 and c 2 to 3.
    """
    return [RankRange(1 + int(above[:, i].sum()), len(above) - int(above[i].sum())) for i in range(len(above))]


def places_by_value(values: Sequence[float]) -> list[RankRange]:
    """The ranks by value alone, the largest first; equal values share their ranks."""
    found = np.asarray(values, dtype=np.float64)
    return places(found[:, None] > found[None, :])


def beaten_by(risks: Sequence[float], utilities: Sequence[float]) -> list[list[int]]:
    """For each release, those that beat it: at most its risk, at least its utility, and strictly better in one.

    Releases that none beats are the efficient frontier. Two that are equal in both do not beat each other.
    """
    return [
        [
            j
            for j in range(len(risks))
            if risks[j] <= risks[i]
            and utilities[j] >= utilities[i]
            and (risks[j] < risks[i] or utilities[j] > utilities[i])
        ]
        for i in range(len(risks))
    ]
