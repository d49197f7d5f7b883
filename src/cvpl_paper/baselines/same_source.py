"""Closeness of the release to its source records: the two figures of RCE.

Both find the nearest neighbour of each protected record, by the attacker's own similarity and within its block, and
share a tie (within 1e-6) among all tied records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvpl.attack.attack import Attack
from cvpl.evaluation.truth import Truth
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.blocks import LeftOut
from cvpl_paper.baselines.hits import shared_hits


@dataclass(frozen=True)
class SameSource:
    """`share` against `baseline`, over `records` protected records with a known source; both None without any."""

    share: float | None
    baseline: float | None
    records: int


@dataclass(frozen=True)
class TrainingShare:
    """`share` against `baseline_in_blocks`, over the `records` that have a candidate; both None without any.

    `baseline` is what the sizes of the two tables alone would give.
    """

    share: float | None
    baseline: float
    baseline_in_blocks: float | None
    records: int


def same_source_share(attack: Attack, truth: Truth) -> SameSource:
    """The share of protected records with a known source whose nearest original is one of their sources.

    If r of t originals tied for the nearest are sources it counts r/t, and 0 if no source shares the block. The
    baseline is the mean over the same records of 1/|C|, 0 if C is empty.
    """
    found = _nearest(attack, "original")
    sources = LeftOut(truth.matches.candidate, truth.matches.query)
    known = np.unique(sources.query)
    if not known.size:
        return SameSource(None, None, 0)
    scorer = attack.representation.scorer(attack.protected, attack.original)
    hits = shared_hits(found, scorer, attack.searched.partitions("protected", "original"), sources)
    chance = np.divide(1.0, found.candidates, out=np.zeros(len(found)), where=found.candidates > 0)
    return SameSource(float(hits[known].mean()), float(chance[known].mean()), len(known))


def training_share(attack: Attack) -> TrainingShare | None:
    """The share of protected records whose nearest neighbour among originals and controls together is an original.

    If the nearest original and the nearest control are within 1e-6, all records tied with either count, and the record
    adds the originals' share of them. A record without a candidate on either side is left out. The baselines are
    n_original / (n_original + n_control) and, correct under blocking, the mean over the same records of the originals'
    share of their candidates. None without a control, or without a map for it.
    """
    if attack.control is None or not attack.representation.maps_others:
        return None
    original, control = _nearest(attack, "original"), _nearest(attack, "control")
    candidates = original.candidates + control.candidates
    asked = candidates > 0
    baseline = attack.original.rows / (attack.original.rows + attack.control.rows)
    if not asked.any():
        return TrainingShare(None, baseline, None, 0)
    best = np.maximum(original.best, control.best)
    tied = [np.where(side.best >= best - TIE, side.ties, 0)[asked] for side in (original, control)]
    part = tied[0] / (tied[0] + tied[1])
    chance = original.candidates[asked] / candidates[asked]
    return TrainingShare(float(part.mean()), baseline, float(chance.mean()), int(asked.sum()))


def _nearest(attack: Attack, name: str) -> BestCandidates:
    """The nearest records of the original or the control table for every protected record, as the attack searches."""
    table = attack.original if name == "original" else attack.control
    assert table is not None  # noqa: S101 - checked by the callers
    scorer = attack.representation.scorer(attack.protected, table)
    return attack.find(scorer, attack.searched.partitions("protected", name))
