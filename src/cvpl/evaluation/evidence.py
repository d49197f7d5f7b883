"""The score distributions of originals and controls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.distributions import Shares, binned
from cvpl.evaluation.measurement import Measurement


@dataclass(frozen=True, eq=False)
class Evidence:
    """Shares by score: the originals', then the control's if there is one; `read_at` is the threshold."""

    shares: Shares
    with_control: bool
    read_at: float | None


def evidence_shares(measured: Measurement, k: int = 1) -> Evidence | None:
    """The shares by score, in bins that do not tell the score of fewer than k people; None without a candidate."""
    base = measured.base_scores if measured.basis == "control" else None
    found = binned(*([measured.attack.scores] if base is None else [measured.attack.scores, base]), k=k)
    if found is None:
        return None
    read_at = measured.threshold
    if read_at is None and measured.rate is not None and measured.base_scores is not None:
        read_at = measured.roc.threshold(FALSE_RATE)
    return Evidence(found, base is not None, read_at if read_at is not None and np.isfinite(read_at) else None)
