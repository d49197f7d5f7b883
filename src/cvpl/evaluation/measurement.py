"""All figures of one attack, from similarities that were found once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack import Attack
from cvpl.errors import InputError, Problem
from cvpl.evaluation.calibration import smallest_threshold
from cvpl.evaluation.control import FALSE_RATES, Basis, attributable_rate, power_at
from cvpl.evaluation.distributions import exceedance
from cvpl.evaluation.intervals import Interval, Method, attributable_from_power
from cvpl.evaluation.rates import linkage_rate, risk_curve
from cvpl.evaluation.truth import Truth, weigh
from cvpl.evaluation.uncertainty import Uncertainty
from cvpl.operators.similarity import AgreementMeasure
from cvpl.operators.threshold import Calibrate
from cvpl.search.best import BestCandidates
from cvpl.search.pairs import PairSimilarities, candidate_similarities
from cvpl.streams import stream
from cvpl.tables.identity import TrueMatches

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OFF_SCALE_FALSE_RATE = 0.05
"""A score without a scale of its own is read where so many of the controls are linked."""
OFF_SCALE_CURVE = np.round(np.arange(0.01, 0.305, 0.01), 2)


@dataclass(frozen=True, eq=False)
class Measurement:
    """An attack with its threshold resolved, its rates, and what truth and control say of them.

    `threshold` is None where calibration has no answer, and for a score off the scale without anything to read it
    against; `pairs` are the wrong pairs' similarities where truth is known, and all candidate pairs' otherwise.
    """

    attack: Attack
    truth: Truth | None
    pairs: PairSimilarities
    control: BestCandidates | None
    threshold: float | None
    rate: float | None
    rate_interval: Interval | None
    curve: Floats
    curve_intervals: list[Interval] | None
    basis: Basis | None
    base_scores: Floats | None
    base_rate: float | None
    base_interval: Interval | None
    attributable: float | None
    attributable_interval: Interval | None
    power: dict[float, float] | None
    power_intervals: dict[float, Interval] | None = None
    power_curve_intervals: list[Interval] | None = None
    attributable_curve_intervals: list[Interval] | None = None
    top1_interval: Interval | None = None


def measure(
    attack: Attack,
    matches: TrueMatches | None,
    control: BestCandidates | None,
    *,
    grid: Floats,
    method: Method,
    groups: Mapping[str, Ints] | None = None,
) -> Measurement:
    """Evaluate an attack; `grid` holds the thresholds of the risk curve, `groups` which rows belong together."""
    truth = None if matches is None else weigh(attack, matches)
    left_out = None if truth is None else truth.matches
    rng = stream(attack.seed, "pairs")
    pairs = candidate_similarities(attack.scorer, attack.partitions, rng, left_out=left_out, budget=attack.budget)
    best = attack.found.best
    basis: Basis | None = None
    base: Floats | None = None
    if control is not None:
        basis, base = "control", control.best
    elif truth is not None and truth.complete and truth.has_match.any():
        basis, base = "own_match_left_out", truth.best_wrong
    power = None if base is None else {rate: power_at(best, base, rate) for rate in FALSE_RATES}
    threshold = resolve_threshold(attack, truth, pairs, base)

    spread = Uncertainty.of(attack, control, truth, basis, method=method, groups=groups)
    powers = spread.powers(FALSE_RATES)
    power_curve: list[Interval] | None = None
    if attack.attacker.on_scale:
        curve = risk_curve(best, grid)
        curve_intervals: list[Interval] | None = spread.rates(grid)
        attributable_curve = spread.attributable(grid)
    else:
        curve = np.array([power_at(best, base, rate) for rate in OFF_SCALE_CURVE]) if base is not None else np.zeros(0)
        curve_intervals = attributable_curve = None
        power_curve = spread.powers(OFF_SCALE_CURVE)
        if power_curve is not None:
            attributable_curve = list(map(attributable_from_power, power_curve, OFF_SCALE_CURVE))

    rate = base_rate = attributable = None
    rate_end = base_end = attributable_end = None
    if threshold is not None:
        at = np.array([threshold])
        rate, rate_end = linkage_rate(best, threshold), spread.rates(at)[0]
        if base is not None:
            base_rate = linkage_rate(base, threshold)
            attributable = attributable_rate(rate, base_rate)
            base_end, attributable_end = (
                None if found is None else found[0] for found in (spread.base_rates(at), spread.attributable(at))
            )
    elif not attack.attacker.on_scale and power is not None and powers is not None:
        # Read between attainable points, for which there is no threshold.
        rate, base_rate = power[OFF_SCALE_FALSE_RATE], OFF_SCALE_FALSE_RATE
        attributable = attributable_rate(rate, base_rate)
        rate_end = powers[FALSE_RATES.index(OFF_SCALE_FALSE_RATE)]
        attributable_end = attributable_from_power(rate_end, OFF_SCALE_FALSE_RATE)
    return Measurement(
        attack=attack,
        truth=truth,
        pairs=pairs,
        control=control,
        threshold=threshold,
        rate=rate,
        rate_interval=rate_end,
        curve=curve,
        curve_intervals=curve_intervals,
        basis=basis,
        base_scores=base,
        base_rate=base_rate,
        base_interval=base_end,
        attributable=attributable,
        attributable_interval=attributable_end if attributable is not None else None,
        power=power,
        power_intervals=None if powers is None else dict(zip(FALSE_RATES, powers, strict=True)),
        power_curve_intervals=power_curve,
        attributable_curve_intervals=attributable_curve,
        top1_interval=spread.top1(truth),
    )


def resolve_threshold(
    attack: Attack, truth: Truth | None, pairs: PairSimilarities, base: Floats | None
) -> float | None:
    """The threshold as a number: the value, or the calibrated one; None where there is none.

    Calibration needs wrong candidates: the originals' with their matches known or, for the existential form, the
    control's.
    """
    setting = attack.attacker.threshold
    if not isinstance(setting, Calibrate):
        return float(setting) if attack.attacker.on_scale else None
    if truth is not None and not truth.complete:
        truth = None  # an unknown match would count as wrong, and raise the threshold beyond what was asked for
    if truth is None and (base is None or setting.calibrate != "existential"):
        what = f"a threshold calibrated {setting.calibrate} needs candidates that are known to be wrong"
        cure = (
            "Declare the true matches (an id column, `truth`), pass a control for the existential form, or set a value."
        )
        raise InputError([Problem("configuration", what, cure)])
    maximum = 1.0
    if isinstance(attack.representation.measure, AgreementMeasure):
        weights = attack.representation.measure
        maximum = float(np.maximum(weights.agree, weights.differ).sum())
    if setting.calibrate == "existential":
        wrong = truth.best_wrong if truth is not None else base
        assert wrong is not None  # noqa: S101 - checked above
        found = smallest_threshold(wrong, setting.alpha, maximum)
    else:
        alpha = setting.alpha
        if setting.calibrate == "bonferroni":
            alpha /= max(1.0, float(attack.found.candidates.mean()))
        found = smallest_threshold(pairs.values, alpha, maximum)
    # Every threshold would do: the lowest score there can be is as good as any.
    return (-1.0 if attack.attacker.on_scale else -1e300) if found is not None and math.isinf(found) else found


def pairwise_false_link_rate(measured: Measurement) -> float | None:
    """P(S- >= τ) over wrong pairs."""
    return None if measured.threshold is None else exceedance(measured.pairs.values, measured.threshold)
