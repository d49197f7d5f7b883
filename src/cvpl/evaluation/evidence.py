"""The score distributions of originals and controls."""

from __future__ import annotations

import numpy as np

from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.distributions import binned
from cvpl.evaluation.measurement import Measurement
from cvpl.result import EvidenceShares


def evidence_shares(measured: Measurement, k: int = 1) -> EvidenceShares | None:
    """The shares by score, in bins that do not tell the score of fewer than k people; None without a candidate."""
    base = measured.base_scores if measured.basis == "control" else None
    found = binned(*([measured.attack.scores] if base is None else [measured.attack.scores, base]), k=k)
    if found is None:
        return None
    read_at = measured.threshold
    if read_at is None and measured.rate is not None and measured.base_scores is not None:
        read_at = measured.roc.threshold(FALSE_RATE)
    return EvidenceShares(
        edges=found.edges.tolist(),
        originals=found.shares[0].tolist(),
        controls=None if base is None else found.shares[1].tolist(),
        originals_without=found.without[0],
        controls_without=None if base is None else found.without[1],
        read_at=read_at if read_at is not None and np.isfinite(read_at) else None,
    )
