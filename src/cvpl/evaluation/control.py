"""Figures beyond look-alikes: control, attributable rate, power.

A person who is not in the release may still find a look-alike in it. The control consists of such people, attacked in
the same way. Without a control, if the true matches are known, the originals with their own match left out replace it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import FALSE_RATE, beyond_chance

Floats = NDArray[np.float64]
Basis = Literal["control", "own_match_left_out"]

FALSE_RATES = (0.01, FALSE_RATE, 0.10)
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
