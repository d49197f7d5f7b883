"""The most exposed people of an attack, beside the mean."""

from __future__ import annotations

import numpy as np

from cvpl.evaluation.groups.rarity_deciles import rarity
from cvpl.evaluation.measurement import Measurement
from cvpl.evaluation.tail import TailRow, tail_rows


def tail(measured: Measurement) -> list[TailRow]:
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
