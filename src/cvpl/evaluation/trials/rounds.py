"""A figure over several rounds of a mechanism: its mean, and an interval over people and draws.

A figure over several draws of a mechanism from the same people: its mean, with an interval over people and draws. In a
trial other people are in each round. Here the same originals are in every draw, and the same controls in none, so that
mechanisms and releases can be compared person by person. The variance is that of a trial
(`cvpl.evaluation.trials.rounds`). With f(p, d) = m + a(p) + b(d) + c(p, d) for people p and draw d, and D draws,

    Var(mean) = Var(a) + Var(b) / D + Var(c) / D = people² + draws² - both²

since people² estimates Var(a) + Var(c) / D, draws² estimates (Var(b) + Var(c)) / D, and both² estimates Var(c) / D.

A figure read in every round of a trial: its mean, and an interval over people and draws. Each round splits the people
into in and out and runs the mechanism once. Two things vary: the people (they are the same in all rounds) and the draws
of the mechanism (one in each round).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.estimates import CONFIDENCE, Estimate, beyond_chance
from cvpl.evaluation.intervals.bounds import FEW_CLUSTERS, LEAST_EFFECT, Sample, power_parts, quantile, wilson_bounds
from cvpl.evaluation.intervals.intervals import OVER_DRAWS, estimate_with_coverage
from cvpl.evaluation.intervals.paired import FigureEstimate
from cvpl.evaluation.rates import Roc
from cvpl.result import TrialPower, TrialRisk, TrialSpread

FEWEST_CLUSTERS = 20
"""The fewest clusters in, and out, in every round: those of the smallest tables for which an interval was measured."""


@dataclass(frozen=True)
class PowerOverRounds:
    """The power at a false-positive rate, over the rounds of a trial: its figures, and beside them its error.

    `by_round` has the power of every round, in order.
    """

    figures: TrialPower
    by_round: tuple[float, ...]
    error: TwoWayError
    confidence: float

    @property
    def estimate(self) -> float:
        """The mean power over rounds."""
        return self.figures.power

    @property
    def people_error(self) -> float:
        """The standard error over people."""
        return self.error.people

    def risk(self, attacker: str) -> TrialRisk:
        """The attributable form, (power - α) / (1 - α): its lower end may be below 0."""
        found, rate = self.figures, self.figures.false_rate
        return TrialRisk(
            estimate=beyond_chance(found.power, rate),
            low=beyond_chance(found.low, rate),
            high=beyond_chance(found.high, rate),
            power=found.power,
            false_rate=rate,
            attacker=attacker,
        )

    def low_at(self, confidence: float) -> float:
        """The lower end of the power at another confidence."""
        return self.error.ends(self.figures.power, confidence)[0]

    @property
    def spread(self) -> TrialSpread:
        """The spread between rounds beyond what sampling people explains.

        deviation = sqrt(max(0, S² - between_people²))

        S² is the variance between rounds, between_people² the part that follows from other people being in
        (`two_way_error`). 0 if people explain all of it.
        """
        error = self.error
        between = error.draws**2 * error.rounds
        return TrialSpread(
            deviation=math.sqrt(max(0.0, between - error.between_people**2)),
            people=error.between_people,
            smallest=min(self.by_round),
            largest=max(self.by_round),
        )


def power_over_rounds(
    scores: Floats, inside: Bools, false_rate: float, *, clusters: Ints | None = None, confidence: float = CONFIDENCE
) -> PowerOverRounds:
    """The mean power over rounds at a false-positive rate α, with an interval over people and draws.

    power of a round = share of the people who are in with a score above the threshold at which a share α of those who
    are out is linked, as `cvpl.evaluation.rates.Roc.power` reads it.

    `scores` and `inside` have a row for each person and a column for each round; a score is NaN if the person was not
    scored. `clusters` has a number for each person; people with the same number are drawn together (None: each alone).

    The estimand is the expected power for a fresh draw of the people and of the mechanism, for a release made from half
    of the people. A cluster enters with all its rounds and in both roles: those who are in move the power by being
    linked, those who are out by moving the threshold, weighed by the ROC's slope (`power_parts`). See `TwoWayError` for
    the interval. A jackknife over groups of clusters in place of the slope takes the jumps of a threshold for variance.

    Refused with a ValueError: fewer than 2 rounds, or fewer than 20 clusters in or out in a round. Whether enough
    people who are out lie above the threshold is for the caller to ask (`cvpl.evaluation.measurement.can_be_read`).
    """
    if scores.shape != inside.shape or scores.ndim != 2:
        raise ValueError(f"scores {scores.shape} and inside {inside.shape} must both be people x rounds")
    rounds = scores.shape[1]
    if rounds < FEWEST_ROUNDS:
        raise ValueError(f"{rounds} round: the spread over draws needs at least {FEWEST_ROUNDS} rounds")
    cluster = numbered(clusters, len(scores))
    by_round, deviations = powers_and_parts(scores, inside, cluster, false_rate)
    error = two_way_error(by_round, deviations, cluster, ~np.isnan(scores) & inside)
    power = float(by_round.mean())
    low, high = error.ends(power, confidence)
    figures = TrialPower(
        false_rate=false_rate,
        power=power,
        low=low,
        high=high,
        people_error=error.people,
        draws_error=error.draws,
        degrees=error.degrees,
    )
    return PowerOverRounds(figures, tuple(map(float, by_round)), error, confidence)


def powers_and_parts(scores: Floats, inside: Bools, cluster: Ints, false_rate: float) -> tuple[Floats, Floats]:
    """The power of every round, and each person's part in its deviation, people x rounds.

    0 for people who were not scored. Raises ValueError if fewer than 20 clusters are in or out in a round.
    """
    rounds, scored = scores.shape[1], ~np.isnan(scores)
    by_round, deviations = np.empty(rounds), np.zeros(scores.shape)
    for number in range(rounds):
        is_in, is_out = (scored[:, number] & (inside[:, number] == side) for side in (True, False))
        fewest = min(len(np.unique(cluster[side])) for side in (is_in, is_out))
        if fewest < FEWEST_CLUSTERS:
            raise ValueError(
                f"round {number + 1}: {fewest} clusters are in or out; at least {FEWEST_CLUSTERS} are needed on "
                "each side"
            )
        mine, base = Sample(scores[is_in, number]), Sample(scores[is_out, number])
        roc = Roc.of(mine.best, base.best)
        by_round[number] = roc.power(false_rate)
        parts = power_parts(mine, base, false_rate, CONFIDENCE, roc)
        deviations[is_in, number], deviations[is_out, number] = (part.deviation for part in parts)
    return by_round, deviations


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

FEWEST_ROUNDS = 2


@dataclass(frozen=True)
class TwoWayError:
    """The variance of a mean over rounds, by its two sources.

    `people` and `draws` are standard errors of the mean. `between_people` is the standard deviation between rounds that
    follows from different people being in, `draw_logit` what is left of it on the logit scale: the standard deviation
    of logit(figure) over draws. `clusters` is the number of independent clusters of equal weight.
    """

    people: float
    draws: float
    between_people: float
    draw_logit: float
    clusters: float
    rounds: int

    @property
    def degrees(self) -> int:
        """Degrees of freedom: rounds - 1."""
        return self.rounds - 1

    @property
    def variance(self) -> float:
        """people² + draws² - both²; not below the larger of people² and draws².

        both² = between_people² / rounds is what both contain: rounds differ because other people are in.
        """
        people, draws = self.people**2, self.draws**2
        return max(people + draws - self.between_people**2 / self.rounds, people, draws)

    def ends(self, share: float, confidence: float) -> tuple[float, float]:
        """The interval of a share: the outer ends of two or three intervals, clipped to [0, 1].

            share ± t sqrt(V)                                                    V the variance
            logit(s) ± t sqrt(V / (s (1 - s))² + draw_logit⁴ / (2 (rounds - 1)))        back from the logit scale

        t is Student's quantile with rounds - 1 degrees of freedom, s = (share · clusters + t² / 2) / (clusters + t²).
        The second interval is for draws whose figures are skewed: a few strong draws make most of the mean, and rounds
        without one seem to agree. Its last term is the error of the spread itself, as in Cox's interval for the mean of
        a log-normal.

        If fewer than 10 clusters are on one side of the share, Wilson's interval for clusters / 1.1 people at the same
        t is the third, as if all rounds had shown the same people again. So a share of 0 or 1 in all rounds has a width
        too.
        """
        t = quantile(confidence, self.degrees)
        half = t * math.sqrt(self.variance)
        inner = (share * self.clusters + t * t / 2) / (self.clusters + t * t)
        spread = self.draw_logit**4 / (2 * self.degrees)
        skewed = t * math.sqrt(self.variance / (inner * (1 - inner)) ** 2 + spread)
        lows = [share - half, _logistic(_logit(inner) - skewed)]
        highs = [share + half, _logistic(_logit(inner) + skewed)]
        if min(share, 1 - share) * self.clusters < FEW_CLUSTERS:
            low, high = wilson_bounds(share, self.clusters / LEAST_EFFECT, t)
            lows.append(low)
            highs.append(high)
        return max(0.0, min(*lows, share)), min(1.0, max(*highs, share))


def two_way_error(by_round: Floats, deviations: Floats, cluster: Ints, counted: Bools) -> TwoWayError:
    """The errors of the mean of `by_round`, from each person's part in each round's deviation from its expectation.

        C = U / (U - 1) Σ_u D_u D_u'        the covariance of the rounds' figures over people

        people² = 1'C1 / R²        draws² = S² / R        between_people² = mean of C's diagonal - mean of the rest

    D_u are the sums of `deviations` (people x rounds) over the people of cluster u, S² is the variance between rounds.
    Its expectation is between_people² plus the variance of the draws: so much do rounds with other people in them
    differ. `counted` marks the people x rounds of whom the figure is a share; `clusters` is (Σ n_u)² / Σ n_u² of these
    people.

        draw_logit² = variance of logit((n f + 1/2) / (n + 1)) over rounds - between_people² / (s (1 - s))²

    f and n are a round's figure and the number of people in it, s the mean of (n f + 1/2) / (n + 1); never below 0.
    """
    rounds, count = len(by_round), int(cluster.max()) + 1
    sums = np.stack([np.bincount(cluster, column, minlength=count) for column in deviations.T], axis=1)
    covariance = count / max(1, count - 1) * (sums.T @ sums)
    own, total = float(np.trace(covariance)) / rounds, float(covariance.sum())
    shared = (total - own * rounds) / (rounds * (rounds - 1))
    between = max(0.0, own - shared)
    read = counted.sum(axis=0)
    inner = (read * by_round + 0.5) / (read + 1)
    mean = float(inner.mean())
    logits = np.var(np.log(inner / (1 - inner)), ddof=1)
    sizes = np.bincount(cluster[np.any(counted, axis=1)]).astype(np.float64)
    return TwoWayError(
        people=math.sqrt(max(0.0, total)) / rounds,
        draws=math.sqrt(float(np.var(by_round, ddof=1)) / rounds),
        between_people=math.sqrt(between),
        draw_logit=math.sqrt(max(0.0, float(logits) - between / (mean * (1 - mean)) ** 2)),
        clusters=float(sizes.sum() ** 2 / (sizes @ sizes)),
        rounds=rounds,
    )


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _logistic(logit: float) -> float:
    # Written with tanh, which does not overflow.
    return (1 + math.tanh(logit / 2)) / 2


def numbered(clusters: Ints | None, people: int) -> Ints:
    """The cluster of each person, numbered from 0; each person alone if there are no clusters."""
    if clusters is None:
        return np.arange(people, dtype=np.int64)
    return np.unique(clusters, return_inverse=True)[1].reshape(-1).astype(np.int64)


Groups = tuple[Ints, Ints | None]
"""The clusters of the rows of originals and of the control, in one numbering."""


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
        return estimate_with_coverage(self.estimate, ends, confidence, f"{self._clusters} and draws", OVER_DRAWS)

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
    def _clusters(self) -> str:
        return "groups" if self.grouped else "people"


def power_over_draws(
    originals: Floats, controls: Floats, false_rate: float, groups: Groups | None = None
) -> MeanOverDraws:
    """The mean power over draws at a false-positive rate.

    `originals` and `controls` have a row for each person and a column for each draw; a score is NaN if the person was
    not searched for. `groups` says which rows belong together. Raises ValueError with fewer than 2 draws, or fewer than
    20 clusters of originals or of controls.
    """
    count, draws = originals.shape
    if draws < FEWEST_ROUNDS:
        raise ValueError(f"{draws} draw: the spread over draws needs at least {FEWEST_ROUNDS} draws")
    scores = np.vstack([originals, controls])
    inside = np.zeros(scores.shape, dtype=bool)
    inside[:count] = True
    cluster = numbered(_join_groups(groups), len(scores))
    for table, rows in (("originals", slice(None, count)), ("controls", slice(count, None))):
        fewest = min(len(np.unique(cluster[rows][~np.isnan(column)])) for column in scores[rows].T)
        if fewest < FEWEST_CLUSTERS:
            raise ValueError(f"a draw has scores for {fewest} {table}; at least {FEWEST_CLUSTERS} are needed")
    by_draw, deviations = powers_and_parts(scores, inside, cluster, false_rate)
    error = two_way_error(by_draw, deviations, cluster, ~np.isnan(scores) & inside)
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
    cluster = numbered(None if groups is None else groups[0], len(values))
    error = two_way_error(by_draw, deviations, cluster, counted)
    return MeanOverDraws(tuple(map(float, by_draw)), error, deviations.mean(axis=1), np.zeros(0), groups is not None)


def _join_groups(groups: Groups | None) -> Ints | None:
    if groups is None:
        return None
    mine, others = groups
    return mine if others is None else np.concatenate([mine, others])
