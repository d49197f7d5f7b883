"""All figures of one attack, from similarities that are computed once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.estimates import CONFIDENCE, FALSE_RATE, Estimate
from cvpl.evaluation.attack_rates import attack_rates, base_scores
from cvpl.evaluation.calibration import has_wrong_candidates, no_wrong_candidates, smallest_threshold
from cvpl.evaluation.control import FALSE_RATES, Basis, Roc, power_at
from cvpl.evaluation.distributions import exceedance
from cvpl.evaluation.intervals.intervals import Method, attributable_from_power, refused_interval
from cvpl.evaluation.intervals.uncertainty import Uncertainty
from cvpl.evaluation.rates import integrated_risk, risk_curve, worst_case_risk
from cvpl.evaluation.truth import Truth, evaluate_truth
from cvpl.operators.threshold import Calibrate
from cvpl.randomness import stream
from cvpl.search.best import BestCandidates
from cvpl.search.pairs import PairSimilarities, candidate_similarities
from cvpl.tables.evaluation_only import TrueMatches

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
    rate: float | None
    curve: Floats
    basis: Basis | None
    base_scores: Floats | None
    base_rate: float | None
    attributable: float | None
    power: dict[float, float] | None
    rate_interval: Estimate | None = None
    curve_intervals: list[Estimate] | None = None
    base_interval: Estimate | None = None
    attributable_interval: Estimate | None = None
    power_intervals: dict[float, Estimate] | None = None
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
            rate=rates.rate,
            base_rate=rates.base_rate,
            attributable=rates.attributable,
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
            rate_interval=rate_end,
            curve_intervals=spread.rates(self.grid) if on_scale else None,
            base_interval=base_end,
            attributable_interval=attributable_end if self.attributable is not None else None,
            power_intervals=None if powers is None else dict(zip(FALSE_RATES, powers, strict=True)),
            power_curve_intervals=power_curve,
            attributable_curve_intervals=attributable_curve,
            top1_interval=spread.top1(self.truth),
        )


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
    power = None if base is None else {rate: power_at(best, base, rate) for rate in FALSE_RATES}
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
        rate=rates.rate,
        curve=curve,
        basis=basis,
        base_scores=base,
        base_rate=rates.base_rate,
        attributable=rates.attributable,
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
