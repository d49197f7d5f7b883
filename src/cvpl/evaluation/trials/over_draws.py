"""A figure over several draws of a mechanism from the same people: its mean, with an interval over people and draws.

In a trial other people are in each round. Here the same originals are in every draw, and the same controls in none, so
that mechanisms and releases can be compared person by person. The variance is that of a trial
(`cvpl.evaluation.trials.rounds_error`). With f(p, d) = m + a(p) + b(d) + c(p, d) for people p and draw d, and D draws,

    Var(mean) = Var(a) + Var(b) / D + Var(c) / D = people² + draws² - both²

since people² estimates Var(a) + Var(c) / D, draws² estimates (Var(b) + Var(c)) / D, and both² estimates Var(c) / D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cvpl.estimates import Estimate
from cvpl.evaluation.intervals.coverage import OVER_DRAWS
from cvpl.evaluation.intervals.intervals import covered
from cvpl.evaluation.intervals.paired import FigureEstimate
from cvpl.evaluation.trials.rounds_error import FEWEST_ROUNDS, Floats, Ints, TwoWayError, numbered, two_way_error
from cvpl.evaluation.trials.two_way import FEWEST_UNITS, powers_and_parts

Groups = tuple[Ints, Ints | None]
"""The units of the rows of originals and of the control, in one numbering."""


@dataclass(frozen=True, eq=False)
class MeanOverDraws:
    """A share of people, read in every draw. `originals` and `controls` are each row's part in the mean's error."""

    by_draw: tuple[float, ...]
    error: TwoWayError
    originals: Floats
    controls: Floats
    grouped: bool

    @property
    def estimate(self) -> float:
        """The mean over draws."""
        return float(np.mean(self.by_draw))

    def interval(self, confidence: float) -> Estimate:
        """The interval over people and draws, by Student's t with one degree of freedom less than draws."""
        ends = self.error.ends(self.estimate, confidence)
        return covered(self.estimate, ends, confidence, f"{self._units} and draws", OVER_DRAWS)

    @property
    def deviation(self) -> float:
        """The standard deviation between draws beyond what people explain: sqrt(max(0, S² - between_people²))."""
        between = self.error.draws**2 * self.error.rounds
        return math.sqrt(max(0.0, between - self.error.between_people**2))

    @property
    def power(self) -> FigureEstimate:
        """The figure as a power against a control, to be compared with that of another mechanism or release."""
        return FigureEstimate(
            "power",
            "groups" if self.grouped else "people",
            "control",
            self.estimate,
            self.interval,
            self.originals,
            self.controls,
            self.error.variance,
            draws=len(self.by_draw),
        )

    @property
    def _units(self) -> str:
        return "groups" if self.grouped else "people"


def power_over_draws(
    originals: Floats, controls: Floats, false_rate: float, groups: Groups | None = None
) -> MeanOverDraws:
    """The mean power over draws at a false-positive rate.

    `originals` and `controls` have a row for each person and a column for each draw; a score is NaN if the person was
    not searched for. `groups` says which rows belong together. Raises ValueError with fewer than 2 draws, or fewer than
    20 units of originals or of controls.
    """
    count, draws = originals.shape
    if draws < FEWEST_ROUNDS:
        raise ValueError(f"{draws} draw: the spread over draws needs at least {FEWEST_ROUNDS} draws")
    scores = np.vstack([originals, controls])
    inside = np.zeros(scores.shape, dtype=bool)
    inside[:count] = True
    unit = numbered(_joined(groups), len(scores))
    for table, rows in (("originals", slice(None, count)), ("controls", slice(count, None))):
        fewest = min(len(np.unique(unit[rows][~np.isnan(column)])) for column in scores[rows].T)
        if fewest < FEWEST_UNITS:
            raise ValueError(f"a draw has scores for {fewest} {table}; at least {FEWEST_UNITS} are needed")
    by_draw, deviations = powers_and_parts(scores, inside, unit, false_rate)
    error = two_way_error(by_draw, deviations, unit, ~np.isnan(scores) & inside)
    mean = deviations.mean(axis=1)
    return MeanOverDraws(tuple(map(float, by_draw)), error, mean[:count], mean[count:], groups is not None)


def share_over_draws(values: Floats, groups: Groups | None = None) -> MeanOverDraws:
    """The mean over draws of a share of originals, such as the top-1 hit rate; `values` are 0 to 1, people x draws.

    NaN for people who do not count in a draw. Raises ValueError with fewer than 2 draws, or if nobody counts in one.
    """
    if values.shape[1] < FEWEST_ROUNDS:
        raise ValueError(f"{values.shape[1]} draw: the spread over draws needs at least {FEWEST_ROUNDS} draws")
    counted = ~np.isnan(values)
    people = counted.sum(axis=0)
    if not people.all():
        raise ValueError("in one draw nobody counts")
    by_draw = np.where(counted, values, 0.0).sum(axis=0) / people
    deviations = np.where(counted, values - by_draw, 0.0) / people
    unit = numbered(None if groups is None else groups[0], len(values))
    error = two_way_error(by_draw, deviations, unit, counted)
    return MeanOverDraws(tuple(map(float, by_draw)), error, deviations.mean(axis=1), np.zeros(0), groups is not None)


def _joined(groups: Groups | None) -> Ints | None:
    if groups is None:
        return None
    mine, others = groups
    return mine if others is None else np.concatenate([mine, others])
