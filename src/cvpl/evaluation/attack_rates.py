"""The rates of one attack at one threshold: linkage rate, base rate, attributable rate and power.

Releases, canaries, variations and surface settings all use these functions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.control import Basis, Roc, attributable_rate
from cvpl.evaluation.rates import linkage_rate
from cvpl.evaluation.truth import Truth, evaluate_truth, own_match_left_out
from cvpl.search.best import BestCandidates
from cvpl.tables.evaluation_only import TrueMatches

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AttackRates:
    """Shares of originals and of the base that are linked; None if unknown.

    `attributable` is (rate - base_rate) / (1 - base_rate). `power` is the true-positive rate where 5% of the base are
    linked.
    """

    rate: float | None
    base_rate: float | None
    attributable: float | None
    power: float | None


def attack_rates(scores: Floats, base: Floats | None, threshold: float | None, *, on_scale: bool = True) -> AttackRates:
    """Compute the rates at `threshold`.

    LR = |{x : score >= τ}| / n, also for the base. Without a threshold, a score on the cosine scale has no rate; one
    off the scale is read at a 5% false-positive rate, interpolating between attainable points if needed.
    """
    power = None if base is None else Roc.of(scores, base).power(FALSE_RATE)
    rate = base_rate = None
    if threshold is not None:
        rate = linkage_rate(scores, threshold)
        base_rate = None if base is None else linkage_rate(base, threshold)
    elif not on_scale and power is not None:
        rate, base_rate = power, FALSE_RATE
    attributable = None if rate is None or base_rate is None else attributable_rate(rate, base_rate)
    return AttackRates(rate, base_rate, attributable, power)


def base_scores(
    attack: Attack, control: BestCandidates | None, truth: Truth | None
) -> tuple[Basis, Floats] | tuple[None, None]:
    """The scores that the originals are compared with, and their basis.

    These are the control's scores. Without a control, if all matches are known, they are the originals' scores with
    their own match left out.
    """
    if control is not None:
        return "control", attack.evidence("control", control)
    if truth is not None and truth.complete and truth.has_match.any():
        return "own_match_left_out", own_match_left_out(attack, truth)
    return None, None


def searched_base(attack: Attack, matches: TrueMatches | None) -> Floats | None:
    """The scores that the originals are compared with, after searching the control; None if there are none."""
    control = attack.search_control()
    known = control is None and matches is not None and matches.complete and len(matches.original) > 0
    truth = evaluate_truth(attack, matches) if known and matches is not None else None
    return base_scores(attack, control, truth)[1]
