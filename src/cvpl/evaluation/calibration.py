"""Strategy A: the smallest threshold at which the false link rate is at most α (paper, eq. precision-constrained).

It needs candidates that are known to be wrong: the originals' where all matches are known or, for the existential form,
those of a control.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attacker import Attacker
from cvpl.errors import InputError, Problem
from cvpl.operators.projection import Umap
from cvpl.operators.threshold import Calibrate
from cvpl.tables.evaluation_only import TrueMatches

Floats = NDArray[np.float64]


def smallest_threshold(wrong: Floats, alpha: float, maximum: float) -> float | None:
    """The smallest τ with |{s in wrong : s >= τ}| / |wrong| <= alpha.

    It is the next float above the (floor(α n) + 1)-th largest of the n scores. None if that is above the similarity's
    `maximum` ("not attainable"), and -inf if every threshold qualifies.
    """
    allowed = math.floor(alpha * len(wrong))
    if allowed >= len(wrong):
        return -math.inf
    bar = float(np.partition(wrong, len(wrong) - 1 - allowed)[len(wrong) - 1 - allowed])
    if math.isinf(bar) and bar < 0:
        return -math.inf
    threshold = math.nextafter(bar, math.inf)
    return None if threshold > maximum else threshold


def check_calibration(attackers: Iterable[Attacker], matches: TrueMatches | None, *, has_control: bool) -> None:
    """Refuse calibrated thresholds for which no wrong candidate will be known, before anybody has searched."""
    complete = matches is not None and matches.complete
    for attacker in attackers:
        # An embedding of the two tables alone has no place for the people of a control.
        base = has_control and not (attacker.projects and isinstance(attacker.projection, Umap))
        if isinstance(attacker.threshold, Calibrate) and not has_wrong_candidates(attacker.threshold, complete, base):
            raise no_wrong_candidates(attacker.threshold)


def has_wrong_candidates(setting: Calibrate, complete_truth: bool, base: bool) -> bool:
    """Whether calibration can tell wrong candidates: all matches are known, or controls serve for the existential."""
    return complete_truth or (base and setting.calibrate == "existential")


def no_wrong_candidates(setting: Calibrate) -> InputError:
    """The refusal of a calibration that has nothing to go by."""
    what = f"a threshold calibrated {setting.calibrate} needs candidates that are known to be wrong"
    cure = "Declare the true matches (an id column, `truth`), pass a control for the existential form, or set a value."
    return InputError([Problem("configuration", what, cure)])
