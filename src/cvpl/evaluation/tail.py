"""The tail: the most exposed tenth and hundredth of people, beside the mean.

Who is most exposed is settled before the attack, by rarity: how few others share a person's values. Choosing those who
were linked would only repeat the result. `rarity_deciles` has the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.intervals.shares import CONFIDENCE, Component, sampling_design

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARES = (0.01, 0.1, 1.0)
"""The rarest hundredth, the rarest tenth, everybody."""
FEWEST = 20
"""The fewest people of a row."""


@dataclass(frozen=True)
class TailRow:
    """The rarest `share` of people: their number, and the share of them that is linked, look-alikes included.

    The interval is Wilson's at 95%. `right` is how often the best candidate is the right person, None if fewer than 20
    of them have a known match.
    """

    share: float
    people: int
    linked: float
    low: float
    high: float
    right: float | None


def tail_rows(rarity: Floats, linked: Floats, hit: Floats | None = None, unit: Ints | None = None) -> list[TailRow]:
    """The rows of the tail; a share of fewer than 20 people has none.

    The rarest share p are the ⌈p n⌉ people with the highest `rarity`, and all who are as rare as the last of them.
    `hit` is NaN for people without a known match.
    """
    found = []
    for share in SHARES:
        count = int(np.ceil(share * len(rarity) - 1e-9))
        if count < FEWEST:
            continue
        inside = rarity >= np.partition(rarity, len(rarity) - count)[len(rarity) - count]
        values = linked[inside]
        rate = float(values.mean())
        own = None if unit is None else unit[inside]
        design = sampling_design([Component(values, own)], least=1.0, alike=unit is not None)
        known = np.zeros(0) if hit is None else hit[inside & ~np.isnan(hit)]
        right = float(known.mean()) if len(known) >= FEWEST else None
        low, high = design.cautious_ends(rate, len(values), CONFIDENCE)
        found.append(TailRow(share, int(inside.sum()), rate, low, high, right))
    return found
