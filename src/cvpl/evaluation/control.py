"""What is left of a rate once look-alikes are taken off: control, attributable rate, power.

A person who is in no release still finds a look-alike in it. `control` are such people, attacked in the same way; where
there is none but the true matches are known, the originals with their own match left out take their place.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Basis = Literal["control", "own_match_left_out"]

FALSE_RATES = (0.01, 0.05, 0.10)


def attributable_rate(rate: float, control: float) -> float | None:
    """(LR - control) / (1 - control): the share linked beyond what look-alikes explain; None if control is 1."""
    return None if control >= 1 else (rate - control) / (1 - control)


def power_at(originals: Floats, controls: Floats, false_rate: float) -> float:
    """The share of originals linked at the threshold where a share `false_rate` of the controls is.

    Read off the ROC, linear between attainable points. A record without candidates scores -inf: it is linked only at
    the last point, where everybody is.
    """
    thresholds = np.unique(np.concatenate([originals, controls]))[::-1]
    shares = [
        (len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left")) / len(scores)
        for scores in (controls, originals)
    ]
    false = np.concatenate([[0.0], shares[0], [1.0]])
    true = np.concatenate([[0.0], shares[1], [1.0]])
    reached = int(np.searchsorted(false, false_rate, side="right"))
    before = reached - 1  # the last, hence highest, point with a false rate of at most what is allowed
    if reached == len(false) or false[before] == false_rate:
        return float(true[before])
    weight = (false_rate - false[before]) / (false[reached] - false[before])
    return float(true[before] + weight * (true[reached] - true[before]))
