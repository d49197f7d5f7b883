"""Releases in order: which places each may have, and which are beaten by another in risk and utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Place:
    """The places that something may have in an order, from `first` to `last`; the same where it is tied with none."""

    first: int
    last: int


def places(above: NDArray[np.bool_]) -> list[Place]:
    """The places of each of m things; `above[i, j]` says that i stands clearly above j.

        first = 1 + |{j : j clearly above i}|        last = m - |{j : i clearly above j}|

    Being tied does not carry over: where a stands above c, and b is tied with both, a has the places 1 to 2, b 1 to 3
    and c 2 to 3.
    """
    return [Place(1 + int(above[:, i].sum()), len(above) - int(above[i].sum())) for i in range(len(above))]


def places_by_value(values: Sequence[float]) -> list[Place]:
    """The places by value alone, the largest first; equal values share their places."""
    found = np.asarray(values, dtype=np.float64)
    return places(found[:, None] > found[None, :])


def beaten_by(risks: Sequence[float], utilities: Sequence[float]) -> list[list[int]]:
    """For each release those that beat it: at most its risk, at least its utility, and one of the two is better.

    Those that nobody beats are the efficient frontier. Two that are equal in both do not beat each other.
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
