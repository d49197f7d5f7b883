"""Who is in: for every unit and round, whether the mechanism gets its records.

balanced    everybody is in for half of the rounds: two rounds share one random split, and swap its sides
coin        an independent fair coin for every unit and round, as a lower bound on epsilon needs it
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.randomness import stream

Membership = Literal["balanced", "coin"]
Bools = NDArray[np.bool_]


def balanced(units: int, rounds: int, seed: int) -> Bools:
    """Units x rounds: rounds 1 and 2 are the two halves of one random split, rounds 3 and 4 those of another.

    Of an odd number of rounds the last is a half of a new split. Halves of an odd number of units differ by one.
    """
    inside = np.zeros((units, rounds), dtype=bool)
    for first in range(0, rounds, 2):
        chosen = stream(seed, f"trial split {first // 2}").permutation(units)[: units // 2]
        inside[chosen, first] = True
        if first + 1 < rounds:
            inside[:, first + 1] = ~inside[:, first]
    return inside


def coins(units: int, rounds: int, seed: int) -> Bools:
    """Units x rounds: each in with probability 1/2, independently of all others."""
    return np.stack([stream(seed, f"trial coins {number}").random(units) < 0.5 for number in range(rounds)], axis=1)


def draw_membership(kind: Membership, units: int, rounds: int, seed: int) -> Bools:
    """Units x rounds: whether the unit is in."""
    return coins(units, rounds, seed) if kind == "coin" else balanced(units, rounds, seed)
