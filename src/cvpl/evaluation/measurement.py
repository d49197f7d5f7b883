"""All figures of one attack, from similarities that were found once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack import Attack
from cvpl.errors import InputError, Problem
from cvpl.evaluation.calibration import smallest_threshold
from cvpl.evaluation.control import FALSE_RATES, Basis, attributable_rate, power_at
from cvpl.evaluation.distributions import exceedance
from cvpl.evaluation.intervals import Interval, Method, Replicates, attributable_interval, rate_intervals
from cvpl.evaluation.rates import linkage_rate, risk_curve
from cvpl.evaluation.truth import Truth, own_match_left_out, weigh
from cvpl.operators.threshold import Calibrate
from cvpl.search.best import BestCandidates
from cvpl.search.pairs import PairSimilarities, candidate_similarities
from cvpl.streams import stream
from cvpl.tables.identity import TrueMatches

Floats = NDArray[np.float64]

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


def measure(
    attack: Attack,
    matches: TrueMatches | None,
    control: BestCandidates | None,
    *,
    grid: Floats,
    method: Method,
    replicates: int,
) -> Measurement:
    """Evaluate an attack; `grid` holds the thresholds of the risk curve."""
    truth = None if matches is None else weigh(attack, matches)
    left_out = None if truth is None else truth.matches
    rng = stream(attack.seed, "pairs")
    pairs = candidate_similarities(attack.scorer, attack.partitions, rng, left_out=left_out, budget=attack.budget)
    best = attack.scores
    basis: Basis | None = None
    base: Floats | None = None
    if control is not None:
        basis, base = "control", attack.evidence("control", control)
    elif truth is not None and truth.complete and truth.has_match.any():
        basis, base = "own_match_left_out", own_match_left_out(attack, truth)
    power = None if base is None else {rate: power_at(best, base, rate) for rate in FALSE_RATES}
    threshold = resolve_threshold(attack, truth, pairs, base)

    mine, both = _replicates(attack, basis, method, replicates)
    if attack.attacker.on_scale:
        curve = risk_curve(best, grid)
        curve_intervals: list[Interval] | None = rate_intervals(best, grid, mine)
    else:
        curve = np.array([power_at(best, base, rate) for rate in OFF_SCALE_CURVE]) if base is not None else np.zeros(0)
        curve_intervals = None

    rate = base_rate = attributable = None
    rate_end = base_end = attributable_end = None
    if threshold is not None:
        at = np.array([threshold])
        rate, rate_end = linkage_rate(best, threshold), rate_intervals(best, at, mine)[0]
        if base is not None:
            base_rate = linkage_rate(base, threshold)
            base_end = rate_intervals(base, at, _own(both, len(best), basis))[0]
            attributable = attributable_rate(rate, base_rate)
            paired = basis == "own_match_left_out"
            attributable_end = attributable_interval(best, base, threshold, both, paired=paired)
    elif not attack.attacker.on_scale and base is not None and power is not None:
        # Read between attainable points, for which there is no threshold and no interval.
        rate, base_rate = power[OFF_SCALE_FALSE_RATE], OFF_SCALE_FALSE_RATE
        attributable = attributable_rate(rate, base_rate)
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
    maximum = attack.representation.most
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


def _replicates(
    attack: Attack, basis: Basis | None, method: Method, replicates: int
) -> tuple[Replicates | None, Replicates | None]:
    """Bootstrap weights for the originals, and for originals and controls together."""
    if method == "wilson":
        return None, None
    blocks = attack.blocks.codes[0]
    rng = stream(attack.seed, "bootstrap")
    mine = Replicates.draw(blocks["original"], replicates, rng, method)
    if basis != "control":
        return mine, mine
    joined = np.concatenate([blocks["original"], blocks["control"]])
    return mine, Replicates.draw(joined, replicates, rng, method)


def _own(both: Replicates | None, originals: int, basis: Basis | None) -> Replicates | None:
    """The weights of the records that serve as control."""
    if both is None or basis == "own_match_left_out":
        return both
    return Replicates(both.weights, both.unit[originals:], both.method)
