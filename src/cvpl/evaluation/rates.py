"""The rates of one attack at one threshold: linkage rate, base rate, attributable rate and power.

Releases, canaries, variations and surface settings all use these functions.

The linkage rate and figures derived from it: curve, worst case, integral. All use each record's best similarity,
computed once. A record without candidates has the best similarity -inf: it is not linkable and stays in the
denominator.

Figures beyond look-alikes: control, attributable rate, power. A person who is not in the release may still find a
look-alike in it. The control consists of such people, attacked in the same way. Without a control, if the true matches
are known, the originals with their own match left out replace it.

Strategy A: the smallest threshold at which the false link rate is at most α (paper, eq. precision-constrained). It
needs candidates that are known to be wrong: the originals' where all matches are known or, for the existential form,
those of a control.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.attack.attacker import Attacker
from cvpl.errors import InputError, Problem
from cvpl.estimates import FALSE_RATE, beyond_chance
from cvpl.evaluation.truth import Truth, evaluate_truth, own_match_left_out
from cvpl.operators.projection import Umap
from cvpl.operators.threshold import Calibrate
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


Ints = NDArray[np.int64]


class ScoreCounts(Protocol):
    """The best scores of some records, wherever they are stored, as counts that a rate needs."""

    def __len__(self) -> int: ...

    def at_least(self, thresholds: Floats) -> Ints:
        """The number of records that reach each threshold."""


@dataclass(frozen=True, eq=False)
class HeldScores:
    """Scores in an array."""

    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    def at_least(self, thresholds: Floats) -> Ints:
        """The number of records that reach each threshold; many thresholds are looked up in the sorted scores."""
        if len(thresholds) == 1:
            return np.array([np.count_nonzero(self.values >= thresholds[0])])
        return len(self.values) - np.searchsorted(np.sort(self.values), thresholds, side="left")


def linkage_rate(best: Floats, threshold: float) -> float:
    """Share of records with a candidate at or above `threshold`.

    LR(τ) = |{x : max over y in C(x) of s(x, y) >= τ}| / n        (paper, eq. cvpl-lr)
    """
    return float(rates_at(HeldScores(best), np.array([threshold]))[0])


def risk_curve(best: Floats, thresholds: Floats) -> Floats:
    """LR(τ) at every threshold; it never rises with τ."""
    return rates_at(HeldScores(best), thresholds)


def rates_at(scores: ScoreCounts, thresholds: Floats) -> Floats:
    """LR(τ) at some thresholds, from counts alone."""
    rates: Floats = scores.at_least(thresholds) / len(scores)
    return rates


def worst_case_risk(best: Floats, thresholds: Floats) -> float:
    """LR at the lowest threshold of the grid, its largest value (strategy B; paper, eq. worst-case-risk)."""
    return linkage_rate(best, float(thresholds[0]))


def exposure(best: Floats, thresholds: Floats) -> Floats:
    """Each record's part of the integrated risk: clip((best - lowest) / (highest - lowest), 0, 1)."""
    low, high = float(thresholds[0]), float(thresholds[-1])
    return np.clip((np.maximum(best, low) - low) / (high - low), 0.0, 1.0)


def integrated_risk(best: Floats, thresholds: Floats) -> float:
    """The mean of LR(τ) over the range of the grid (strategy C; paper, eq. integrated-risk), scaled to [0, 1].

    ∫ LR(τ) dτ / (highest - lowest) = mean over records of clip((best - lowest) / (highest - lowest), 0, 1)
    """
    return float(exposure(best, thresholds).mean())


Basis = Literal["control", "own_match_left_out"]

_DECIMALS = 9
"""The decimals up to which two scores are compared: the last bits depend on the order in which a sum is taken."""


def comparable(scores: Floats) -> Floats:
    """The scores up to the decimals in which two of them are compared."""
    rounded: Floats = np.round(scores, _DECIMALS)
    return rounded


def attributable_rate(rate: float, control: float) -> float | None:
    """(LR - control) / (1 - control): the share linked beyond what look-alikes explain; None if control is 1."""
    return None if control >= 1 else beyond_chance(rate, control)


def power_at(originals: Floats, controls: Floats, false_rate: float) -> float:
    """The true-positive rate at a false-positive rate: originals linked if a share `false_rate` of controls is linked.

    Read off the ROC, linear between attainable points. A record without candidates scores -inf: it is linked only at
    the last point, where every record is. Same as `Roc.power`, without the other points of the ROC.
    """
    originals, controls = comparable(originals), comparable(controls)
    people, linked = len(controls), int(false_rate * len(controls))
    while linked < people and (linked + 1) / people <= false_rate:
        linked += 1
    while linked / people > false_rate:
        linked -= 1
    if linked == people:
        return 1.0
    # The two attainable points around the rate link the scores above this one, and those from it on.
    score = np.partition(controls, people - 1 - linked)[people - 1 - linked]
    before, reached = np.count_nonzero(controls > score) / people, np.count_nonzero(controls >= score) / people
    first = np.count_nonzero(originals > score) / len(originals)
    if before == false_rate:
        return float(first)
    weight = float((false_rate - before) / (reached - before))
    return float(first + weight * (np.count_nonzero(originals >= score) / len(originals) - first))


@dataclass(frozen=True, eq=False)
class Roc:
    """The shares of controls (`false`) and originals (`true`) linked at every threshold, from the highest down.

    Scores are rounded to nine decimals, so that people whose scores differ only in the last bits are linked together.
    """

    originals: Floats
    controls: Floats
    thresholds: Floats
    false: Floats
    true: Floats

    @classmethod
    def of(cls, originals: Floats, controls: Floats) -> Roc:
        """The attainable points, from (0, 0) at an infinite threshold to (1, 1)."""
        originals, controls = comparable(originals), comparable(controls)
        steps = np.unique(np.concatenate([originals, controls]))[::-1]
        thresholds = np.concatenate([[np.inf], steps])
        false, true = (
            (len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left")) / len(scores)
            for scores in (controls, originals)
        )
        return cls(originals, controls, thresholds, false, true)

    def power(self, false_rate: float) -> float:
        """The share of originals at the given share of controls, linear between attainable points."""
        before, reached, weight = self._between(false_rate)
        return float(self.true[before] + weight * (self.true[reached] - self.true[before]))

    def threshold(self, false_rate: float) -> float:
        """The lowest threshold at which no more than this share of the controls is linked."""
        return float(self.thresholds[self._between(false_rate)[0]])

    def counted(self, false_rate: float) -> tuple[Floats, Floats]:
        """How much each original and each control counts as linked at this rate, from 0 to 1.

        Between two attainable points, the records that only the second one links count in part, so that the controls'
        mean is `false_rate` and the originals' mean is the power.
        """
        before, reached, weight = self._between(false_rate)
        high, low = self.thresholds[before], self.thresholds[reached]
        mine, base = (
            np.where(scores >= high, 1.0, np.where(scores >= low, weight, 0.0))
            for scores in (self.originals, self.controls)
        )
        return mine, base

    def _between(self, false_rate: float) -> tuple[int, int, float]:
        """The last (highest) point with at most this false-positive rate, the next point, and the fraction between."""
        reached = int(np.searchsorted(self.false, false_rate, side="right"))
        before = reached - 1
        if reached == len(self.false) or self.false[before] == false_rate:
            return before, before, 0.0
        return before, reached, float((false_rate - self.false[before]) / (self.false[reached] - self.false[before]))


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
