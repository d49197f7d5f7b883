"""All figures of one attack, from similarities that are computed once, and the risk that follows from them.

The risk of a release under one attacker, on one scale for every score. With a control, the risk is read where a share α
of the control is linked:

    risk = (power - α) / (1 - α)        power: true-positive rate at the false-positive rate α

α is 5%. If the control is too small for an interval at 5%, the next larger rate with an interval is used. Without a
control the true matches are used: risk = (top-1 - 1/n) / (1 - 1/n) over n released records, since a random guess is
right with probability 1/n.

Membership: how well an attack tells the people of the release from people who are not in it. The scores are those of
the ROC curve. A true-positive rate is a power; this module adds the area under the curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.estimates import CONFIDENCE, FALSE_RATE, FALSE_RATES, Estimate
from cvpl.evaluation.intervals.bounds import (
    FEW_RECORDS,
    LEAST_EFFECT,
    Component,
    Sample,
    quantile,
    sampling_design,
    wilson_bounds,
)
from cvpl.evaluation.intervals.intervals import Method, Uncertainty, attributable_from_power, offer, refused_interval
from cvpl.evaluation.rates import (
    Basis,
    Roc,
    attack_rates,
    base_scores,
    comparable,
    has_wrong_candidates,
    integrated_risk,
    no_wrong_candidates,
    power_at,
    risk_curve,
    smallest_threshold,
    worst_case_risk,
)
from cvpl.evaluation.truth import Truth, evaluate_truth, exceedance, top1_hit_rate
from cvpl.operators.threshold import Calibrate
from cvpl.randomness import stream
from cvpl.result import Risk
from cvpl.search.best import BestCandidates
from cvpl.search.pairs import PairSimilarities, candidate_similarities
from cvpl.tables.evaluation_only import TrueMatches
from cvpl.wording import count_phrase

Floats = NDArray[np.float64]


Ints = NDArray[np.int64]

OFF_SCALE_CURVE = np.round(np.arange(0.01, 0.305, 0.01), 2)


@dataclass(frozen=True, eq=False)
class Measurement:
    """An attack with its resolved threshold, its rates, and its figures from truth and control.

    `threshold` is None if calibration has no solution, and for a score off the scale without a base. The intervals are
    those of `spread`, at its confidence.
    """

    attack: Attack
    truth: Truth | None
    control: BestCandidates | None
    grid: Floats
    spread: Uncertainty
    threshold: float | None
    rate: Estimate
    curve: Floats
    basis: Basis | None
    base_scores: Floats | None
    base_rate: Estimate
    attributable: Estimate
    power: dict[float, Estimate] | None
    curve_intervals: list[Estimate] | None = None
    power_curve_intervals: list[Estimate] | None = None
    attributable_curve_intervals: list[Estimate] | None = None
    top1_interval: Estimate | None = None

    @cached_property
    def pairs(self) -> PairSimilarities:
        """Similarities of wrong pairs if truth is known, otherwise of all candidate pairs; computed on first use."""
        return wrong_pairs(self.attack, self.truth)

    @property
    def linked(self) -> tuple[Floats, Floats | None] | None:
        """How much each original, and each record of the base, counts as linked, from 0 to 1; None if unknown.

        At the threshold a record is linked or not. A score off the scale is read at a 5% false-positive rate, where
        records between two attainable points count in part.
        """
        scores, base = self.attack.scores, self.base_scores
        if self.threshold is not None:
            theirs = None if base is None else (base >= self.threshold).astype(np.float64)
            return (scores >= self.threshold).astype(np.float64), theirs
        if self.attack.attacker.on_scale or base is None:
            return None
        return Roc.of(scores, base).counted(FALSE_RATE)

    @property
    def worst_case_risk(self) -> float | None:
        """The rate at the grid's lowest threshold; None for a score off the scale."""
        return worst_case_risk(self.attack.scores, self.grid) if self.attack.attacker.on_scale else None

    @property
    def integrated_risk(self) -> float | None:
        """The mean exposure over the grid; None for a score off the scale."""
        return integrated_risk(self.attack.scores, self.grid) if self.attack.attacker.on_scale else None

    @property
    def has_control(self) -> bool:
        """Whether a control was attacked too."""
        return self.basis == "control" and self.base_scores is not None

    @property
    def controls(self) -> int:
        """The number of records that the originals are compared with."""
        return 0 if self.base_scores is None else len(self.base_scores)

    @cached_property
    def roc(self) -> Roc:
        """The shares of the base and of the originals linked at every threshold; only if there is a base."""
        assert self.base_scores is not None  # noqa: S101 - callers ask only where there is a base
        return Roc.of(self.attack.scores, self.base_scores)

    def power_at(self, false_rate: float) -> float:
        """The true-positive rate at a false-positive rate; only if there is a base."""
        assert self.base_scores is not None  # noqa: S101 - callers ask only where there is a base
        return power_at(self.attack.scores, self.base_scores, false_rate)

    def power_interval(self, false_rate: float, confidence: float = CONFIDENCE) -> Estimate:
        """The interval of the power at a false-positive rate."""
        found = replace(self.spread, confidence=confidence).powers([false_rate])
        return refused_interval("there is no control") if found is None else found[0]

    def top1_interval_at(self, confidence: float) -> Estimate | None:
        """The interval of the top-1 hit rate; None if no match is known."""
        return replace(self.spread, confidence=confidence).top1(self.truth)

    def read_at(self, threshold: float) -> Measurement:
        """The same attack at another threshold; its intervals stay those of the old threshold."""
        rates = attack_rates(self.attack.scores, self.base_scores, threshold)
        return replace(
            self,
            threshold=threshold,
            rate=replace(self.rate, value=rates.rate),
            base_rate=replace(self.base_rate, value=rates.base_rate),
            attributable=replace(self.attributable, value=rates.attributable),
        )

    def at_confidence(self, confidence: float) -> Measurement:
        """The same figures with intervals at another confidence."""
        spread = replace(self.spread, confidence=confidence)
        powers = spread.powers(FALSE_RATES)
        on_scale = self.attack.attacker.on_scale
        power_curve = None if on_scale else spread.powers(OFF_SCALE_CURVE)
        attributable_curve = spread.attributable(self.grid) if on_scale else None
        if power_curve is not None:
            attributable_curve = list(map(attributable_from_power, power_curve, OFF_SCALE_CURVE))
        rate_end = base_end = attributable_end = None
        if self.threshold is not None:
            at = [self.threshold]
            rate_end, base_ends, attributable_bounds = (
                spread.rates(at)[0],
                spread.base_rates(at),
                spread.attributable(at),
            )
            base_end = None if base_ends is None else base_ends[0]
            attributable_end = None if attributable_bounds is None else attributable_bounds[0]
        elif not on_scale and powers is not None:
            rate_end = powers[FALSE_RATES.index(FALSE_RATE)]
            attributable_end = attributable_from_power(rate_end, FALSE_RATE)
        return replace(
            self,
            spread=spread,
            rate=_with_interval(self.rate, rate_end),
            curve_intervals=spread.rates(self.grid) if on_scale else None,
            base_rate=_with_interval(self.base_rate, base_end),
            attributable=_with_interval(self.attributable, attributable_end),
            power=_powers_with_intervals(self.power, powers),
            power_curve_intervals=power_curve,
            attributable_curve_intervals=attributable_curve,
            top1_interval=spread.top1(self.truth),
        )


def _with_interval(figure: Estimate, interval: Estimate | None) -> Estimate:
    """The figure with its interval; one that does not exist, or has none, stays without."""
    if figure.value is None or interval is None:
        return Estimate(figure.value)
    return replace(interval, value=figure.value)


def _powers_with_intervals(
    power: dict[float, Estimate] | None, intervals: Sequence[Estimate] | None
) -> dict[float, Estimate] | None:
    if power is None or intervals is None:
        return power
    return {rate: _with_interval(power[rate], one) for rate, one in zip(FALSE_RATES, intervals, strict=True)}


def measure(
    attack: Attack,
    matches: TrueMatches | None,
    control: BestCandidates | None,
    *,
    grid: Floats,
    method: Method,
    groups: Mapping[str, Ints] | None = None,
    intervals: bool = True,
) -> Measurement:
    """Evaluate an attack; `grid` holds the thresholds of the risk curve, `groups` says which rows belong together.

    Without `intervals` the figures have none, which takes less time.
    """
    truth = None if matches is None else evaluate_truth(attack, matches)
    best = attack.scores
    basis, base = base_scores(attack, control, truth)
    power = None if base is None else {rate: Estimate(power_at(best, base, rate)) for rate in FALSE_RATES}
    threshold = resolve_threshold(attack, truth, base)
    if attack.attacker.on_scale:
        curve = risk_curve(best, grid)
    else:
        curve = (
            np.zeros(0) if base is None else np.array([power_at(best, base, float(rate)) for rate in OFF_SCALE_CURVE])
        )
    rates = attack_rates(best, base, threshold, on_scale=attack.attacker.on_scale)
    found = Measurement(
        attack=attack,
        truth=truth,
        control=control,
        grid=grid,
        spread=Uncertainty.of(attack, control, base, basis, method=method, groups=groups),
        threshold=threshold,
        rate=Estimate(rates.rate),
        curve=curve,
        basis=basis,
        base_scores=base,
        base_rate=Estimate(rates.base_rate),
        attributable=Estimate(rates.attributable),
        power=power,
    )
    return found.at_confidence(CONFIDENCE) if intervals else found


def wrong_pairs(attack: Attack, truth: Truth | None) -> PairSimilarities:
    """Similarities of pairs that share a block and are not known to match."""
    left_out = None if truth is None else truth.matches
    rng = stream(attack.seed, "pairs")
    return candidate_similarities(attack.scorer, attack.partitions, rng, left_out=left_out, budget=attack.budget)


def resolve_threshold(attack: Attack, truth: Truth | None, base: Floats | None) -> float | None:
    """The threshold as a number: the set value or the calibrated one; None if there is none.

    Calibration needs wrong candidates: those of originals with known matches or, for the existential form, the
    control's.
    """
    setting = attack.attacker.threshold
    if not isinstance(setting, Calibrate):
        return float(setting) if attack.attacker.on_scale and setting != "false_rate" else None
    if truth is not None and not truth.complete:
        truth = None  # an unknown match would count as wrong, and raise the threshold beyond what was asked for
    if not has_wrong_candidates(setting, truth is not None, base is not None):
        raise no_wrong_candidates(setting)
    maximum = attack.representation.most
    if setting.calibrate == "existential":
        wrong = truth.best_wrong if truth is not None else base
        assert wrong is not None  # noqa: S101 - checked above
        found = smallest_threshold(wrong, setting.alpha, maximum)
    else:
        alpha = setting.alpha
        if setting.calibrate == "bonferroni":
            alpha /= max(1.0, float(attack.found.candidates.mean()))
        found = smallest_threshold(wrong_pairs(attack, truth).values, alpha, maximum)
    # Every threshold qualifies, so use the lowest possible score.
    return (-1.0 if attack.attacker.on_scale else -1e300) if found is not None and math.isinf(found) else found


def pairwise_false_link_rate(measured: Measurement) -> float | None:
    """P(S- >= τ) over wrong pairs."""
    return None if measured.threshold is None else exceedance(measured.pairs.values, measured.threshold)


LARGER_FALSE_RATES = (0.10, 0.20, 0.30)
"""The rates to try, in this order, if the control is too small for an interval at 5%."""
FEWEST_LINKED_CONTROLS = FEW_RECORDS * LEAST_EFFECT
"""The fewest controls, α m, that must be linked at a false-positive rate α: with fewer, the lower end is useless."""
CERTAIN_FALSE_RATE = 0.01
"""A few people who are linked with certainty show at this rate before they show at 5%."""


@dataclass(frozen=True)
class RiskReading:
    """The false-positive rate for all attackers of one audit, or None and the reason if no rate has an interval."""

    false_rate: float | None
    refused: str = ""


def choose_reading(measurements: Iterable[Measurement]) -> RiskReading:
    """The smallest false-positive rate at which the power of every attacker with a control has an interval.

    All attackers use one rate, so that they can be compared. Without any attacker with a control there is none.
    """
    found = [measured for measured in measurements if measured.has_control]
    if not found:
        return RiskReading(None, "there is no control")
    refused = ""
    fewest = min(measured.controls for measured in found)
    for rate in (FALSE_RATE, *LARGER_FALSE_RATES):
        refusals = [measured.power_interval(rate).refused for measured in found]
        refused = next((reason for reason in refusals if reason), "")
        if not refused and can_be_read(rate, fewest):
            return RiskReading(rate)
    return RiskReading(None, refused or f"{count_phrase(fewest, 'control')} {'is' if fewest == 1 else 'are'} too few")


def can_be_read(false_rate: float, controls: int) -> bool:
    """Whether enough controls are linked at a false-positive rate to determine its threshold."""
    return false_rate * controls >= FEWEST_LINKED_CONTROLS - 1e-9


def risk_by_control(
    name: str, measured: Measurement, false_rate: float, confidence: float = CONFIDENCE, among: int = 1
) -> Risk:
    """Compute (power - α) / (1 - α) with its interval at `confidence`, for an attacker picked from `among`."""
    power = measured.power_interval(false_rate, confidence)
    found = attributable_from_power(power, false_rate)
    return Risk.of(found, power=power.value, false_rate=false_rate, basis="control", attacker=name, among=among)


def risk_by_matches(name: str, measured: Measurement, confidence: float = CONFIDENCE, among: int = 1) -> Risk | None:
    """Compute (top-1 - 1/n) / (1 - 1/n) with its interval; None if no match is known, or one record is released."""
    hits, released = best_candidate(measured), measured.attack.protected.rows
    if hits is None or released < 2:
        return None
    found = measured.top1_interval_at(confidence) or refused_interval("no match is known", hits, confidence)
    beyond = found.beyond_chance(1 / released)
    return Risk.of(beyond, power=None, false_rate=None, basis="true_matches", attacker=name, among=among)


def best_candidate(measured: Measurement) -> float | None:
    """The top-1 hit rate; None if no match is known."""
    return None if measured.truth is None else top1_hit_rate(measured.truth)


def certain_risk(measurements: Mapping[str, Measurement], headline: str, reading: float, attackers: int) -> Risk | None:
    """A risk above 0 that the headline's reading misses: at 1%, or by another attacker at the same rate.

    The intervals hold simultaneously over all `attackers` and both false-positive rates: each at 1 - 0.05 / (2 K). Of
    several, the one with the largest lower end is returned; None if no lower end is above 0.
    """
    confidence = 1 - (1 - CONFIDENCE) / (2 * attackers)
    found = []
    for name, measured in measurements.items():
        for rate in dict.fromkeys((CERTAIN_FALSE_RATE, reading)):
            if (rate == reading and name == headline) or measured.power_interval(rate).refused:
                continue
            risk = risk_by_control(name, measured, rate, confidence, attackers)
            if risk.low is not None and risk.low > 0:
                found.append((risk.low, risk))
    return max(found, key=lambda pair: pair[0])[1] if found else None


SMALLEST_FALSE_RATE = 0.001
FEWEST_FOR_SMALLEST = 10_000
"""The fewest controls for a false-positive rate of 0.1%: ten of them are then linked."""
MEMBERSHIP_RATES = (SMALLEST_FALSE_RATE, *FALSE_RATES)


def read_at(false_rate: float, controls: int) -> bool:
    """Whether a false-positive rate is read with so many controls: 0.1% needs 10,000 of them."""
    return false_rate != SMALLEST_FALSE_RATE or controls >= FEWEST_FOR_SMALLEST


def placements(scores: Floats, others: Floats) -> Floats:
    """For every score, the share of `others` below it; an equal score counts one half."""
    ordered = np.sort(others)
    below, up_to = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return (below + up_to) / (2 * len(others))


def area_under_curve(originals: Floats, controls: Floats) -> float:
    """The probability that an original scores higher than a control; a tie counts one half.

        AUC = P(X > Y) + P(X = Y) / 2        X: score of an original, Y: score of a control

    It is the area under the ROC curve, linear between attainable points. A record without candidates scores -inf.
    """
    return float(placements(comparable(originals), comparable(controls)).mean())


def area_interval(originals: Sample, controls: Sample, confidence: float = CONFIDENCE) -> Estimate:
    """An interval for the area under the curve A of n originals and m controls.

    The variance V is DeLong's, from the placement of every record among those of the other table, over the sampling
    clusters. The interval is Wilson's for A (1 - A) / V independent records, at most 3 n m / (n + m): that is their
    number at A = 1/2, and it keeps the interval open where no record is on the wrong side. Its coverage is not part of
    the measured table.
    """
    first, second = comparable(originals.best), comparable(controls.best)
    n, m = len(first), len(second)
    clusters = min(originals.clusters, controls.clusters)
    refused = offer("power", originals.kind, records=n, controls=m, clusters=clusters).refused
    if refused is not None:
        return refused_interval(refused, area_under_curve(originals.best, controls.best), confidence)
    mine, theirs = placements(first, second), 1 - placements(second, first)
    parts = [Component(mine, originals.cluster), Component(theirs, controls.cluster)]
    design = sampling_design(parts, least=LEAST_EFFECT, alike=originals.alike)
    area, most = float(mine.mean()), 3 * n * m / (n + m) / design.effect
    variance = design.effect * sum(float(part.deviation @ part.deviation) for part in parts)
    count = most if variance <= 0 else min(most, area * (1 - area) / variance)
    low, high = wilson_bounds(area, max(1.0, count), quantile(confidence, design.clusters - 1))
    return Estimate(area, low, high, confidence, originals.kind)
