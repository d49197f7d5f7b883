"""The tail: the most exposed tenth and hundredth of people, beside the mean.

Who is most exposed is settled before the attack, by rarity: how few others share a person's values. Choosing those who
were linked would only repeat the result. `rarity_deciles` has the same order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.groups.subgroups import rarity
from cvpl.evaluation.intervals.bounds import Component, sampling_design
from cvpl.evaluation.measurement import Measurement
from cvpl.result import TailShare

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARES = (0.01, 0.1, 1.0)
"""The rarest hundredth, the rarest tenth, everybody."""
FEWEST = 20
"""The fewest people of a row."""


def tail(measured: Measurement) -> list[TailShare]:
    """The rarest hundredth and tenth, and everybody; empty if links are not defined."""
    linked = measured.linked
    if linked is None:
        return []
    done, truth = measured.attack, measured.truth
    own, _ = rarity(done.held)
    hit = None if truth is None else np.where(truth.has_match, truth.hit, np.nan)
    originals = measured.spread.originals
    unit = originals.unit if originals.alike else None
    return tail_rows(own, linked[0], hit, unit)


def tail_rows(rare: Floats, linked: Floats, hit: Floats | None = None, unit: Ints | None = None) -> list[TailShare]:
    """The rows of the tail; a share of fewer than 20 people has none.

    The rarest share p are the ⌈p n⌉ people with the highest rarity `rare`, and all who are as rare as the last of them.
    `hit` is NaN for people without a known match. The interval is Wilson's at 95%; `right` is null if fewer than 20 of
    them have one.
    """
    found = []
    for share in SHARES:
        count = int(np.ceil(share * len(rare) - 1e-9))
        if count < FEWEST:
            continue
        inside = rare >= np.partition(rare, len(rare) - count)[len(rare) - count]
        values = linked[inside]
        rate = float(values.mean())
        own = None if unit is None else unit[inside]
        design = sampling_design([Component(values, own)], least=1.0, alike=unit is not None)
        known = np.zeros(0) if hit is None else hit[inside & ~np.isnan(hit)]
        right = float(known.mean()) if len(known) >= FEWEST else None
        low, high = design.cautious_ends(rate, len(values), CONFIDENCE)
        people = int(inside.sum())
        found.append(TailShare(share=share, people=people, linked=rate, low=low, high=high, right=right))
    return found
