"""What each attacker found in a release, and the combined attacker, which joins what several found.

The combined attacker: the evidence of the members that count, joined into one score. It runs after the members, and
takes its candidates from the strongest of them that compares everybody; if that member asked more people than the
others, it asks again the people whom all members asked. So its top-1 hit rate, its validity and its identity canary are
that member's. Its evidence, power and independent canary are its own.

Several attackers' evidence joined into one score, by a logistic regression that is cross-fitted.

    score(x) = b0 + sum over members of b_k z_k(x)        z_k: the evidence of member k, standardized

The regression separates originals (1) from controls (0). It is fitted on four fifths of the people and scores the last
fifth, five times over, so that nobody is scored by a model that was fitted on them, or on somebody of their cluster (a
household, an account). A score that was fitted on the people whom it scores would separate them even if the release had
nothing to do with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cvpl.assessment.diagnostics.canaries import CanaryOutcome, CanaryScores, joined_canaries
from cvpl.assessment.diagnostics.validity import SAMPLE
from cvpl.attack.attack import Attack, attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.combined_attack import CombinedAttack
from cvpl.config.resolved import ResolvedConfig
from cvpl.estimates import FALSE_RATE
from cvpl.evaluation.measurement import Measurement, best_candidate, measure
from cvpl.randomness import stream
from cvpl.result import SelfRate, Validity
from cvpl.search.best import BestCandidates
from cvpl.tables.columns import Pair
from cvpl.tables.pair import Inputs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


_DECIMALS = 9


def round_for_comparison(rate: float) -> float:
    """A rate up to the decimals in which attackers are compared: the last bits of a sum pick none."""
    return round(rate, _DECIMALS)


@dataclass(frozen=True, eq=False)
class AttackerOutcome:
    """One attacker: its measurement, its representation's validity, and its canaries where they were run."""

    measured: Measurement
    copied: SelfRate | None
    valid: Validity
    canaries: CanaryOutcome | None

    @property
    def fully_checked(self) -> bool:
        """Whether as many originals as possible were searched in a perturbed copy."""
        return self.copied is None or self.copied.asked >= min(SAMPLE, self.copied.records)

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the attacker does not count; empty if it does."""
        return tuple(self.valid.reasons) + (() if self.canaries is None else self.canaries.faults)

    def power_at(self, false_rate: float | None) -> float:
        """The attacker's power against the control at a false-positive rate; 0 if there is none."""
        if false_rate is None or not self.measured.has_control:
            return 0.0
        return round_for_comparison(self.measured.power_at(false_rate))

    @property
    def top1(self) -> float:
        """The attacker's top-1 hit rate, to compare it by; 0 if unknown."""
        return round_for_comparison(best_candidate(self.measured) or 0.0)


Some = TypeVar("Some")

COMBINED = "combined"
"""The name of the attacker."""
FEWEST_MEMBERS = 3
FEWEST_PEOPLE = 200
"""With fewer originals or controls, the weights of the members are mostly chance."""


def combine(
    outcomes: Mapping[str, AttackerOutcome], resolved: ResolvedConfig, inputs: Inputs
) -> AttackerOutcome | None:
    """The outcome of the members' joined evidence; None with fewer than three members, or too few people.

    Members that do not count, and those without a control, are left out. So are those that fit
    principal components: beside members without them they would tell who was in the fit, the originals.
    """
    able = {
        name: item
        for name, item in outcomes.items()
        if not item.faults and item.measured.has_control and not _fits_components(item.measured.attack.attacker)
    }
    if len(able) < FEWEST_MEMBERS:
        return None
    people = _common(able, lambda item: item.measured.attack.people)
    controls = _common(able, lambda item: item.measured.attack.control_rows)
    first = strongest_member(able)
    if first is None or min(len(people), len(controls)) < FEWEST_PEOPLE:
        return None
    seed, groups = resolved.config.seed, inputs.evaluation.groups.codes
    clusters = None if groups is None else (groups["original"][people], groups["control"][controls])
    scores = _joined_scores(
        [_evidence_of_people(item.measured, people, controls) for item in able.values()],
        clusters,
        stream(seed, "combined"),
    )
    member, control = _attack_on_common_people(able[first].measured, inputs.pair, people, controls)
    done = CombinedAttack.of(member, scores, tuple(able), first)
    joined = measure(
        done,
        inputs.evaluation.matches,
        control,
        grid=resolved.config.grid.values(),
        method=resolved.config.intervals.method,
        groups=groups,
    )
    canaries = combined_canaries({name: item.canaries for name, item in able.items()}, first, seed)
    return AttackerOutcome(joined, able[first].copied, able[first].valid, canaries)


def _fits_components(attacker: Attacker) -> bool:
    return attacker.projects and attacker.projection_operator.principal is not None


def strongest_member(able: Mapping[str, AttackerOutcome]) -> str | None:
    """The strongest member without blocking; None if there is none."""
    found = {
        name: item.power_at(FALSE_RATE)
        for name, item in able.items()
        if item.measured.attack.attacker.blocking.compares_everybody
    }
    return max(found, key=lambda name: found[name], default=None)


def _attack_on_common_people(
    measured: Measurement, pair: Pair, people: Ints, controls: Ints
) -> tuple[Attack, BestCandidates | None]:
    """The attack of a member on these originals and controls; it is run again if it asked more.

    The samples of members are nested, so a smaller one is drawn again. Members that need reference people ask the other
    half of the control; a member that needs none asks the same half now.
    """
    done = measured.attack
    if np.array_equal(done.people, people) and np.array_equal(done.control_rows, controls):
        return done, measured.control
    draw = done.draw
    if not done.attacker.needs_reference:
        assert pair.control is not None  # noqa: S101 - only members with a control are combined
        pair = replace(pair, control=pair.control.kept(controls))
        draw = draw.of_rows("control", controls)
    most = max(len(people), len(controls))
    again = attack(pair, done.attacker, seed=done.seed, budget=done.budget, levers=done.levers, most=most, draw=draw)
    assert np.array_equal(again.people, people)  # noqa: S101 - the samples are nested
    again = replace(again, control_rows=controls)
    return again, again.search_control()


def _common(able: Mapping[str, Some], rows: Callable[[Some], Ints]) -> Ints:
    """The rows that all have, in order."""
    return reduce(partial(np.intersect1d, assume_unique=True), (rows(item) for item in able.values()))


def _evidence_of_people(measured: Measurement, people: Ints, controls: Ints) -> tuple[Floats, Floats]:
    """The evidence of a member for these originals and controls."""
    done, base = measured.attack, measured.base_scores
    assert base is not None  # noqa: S101 - only members with a control are combined
    return (
        done.scores[np.searchsorted(done.people, people)],
        base[np.searchsorted(done.control_rows, controls)],
    )


def _joined_scores(
    members: list[tuple[Floats, Floats]], clusters: tuple[Ints, Ints] | None, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The cross-fitted scores of originals and controls."""
    originals, controls = (np.column_stack(side) for side in zip(*members, strict=True))
    folds = assign_folds(len(originals), len(controls), rng) if clusters is None else assign_folds(*clusters, rng)
    return cross_fitted(originals, controls, folds)


def combined_canaries(members: Mapping[str, CanaryOutcome | None], first: str, seed: int) -> CanaryOutcome | None:
    """The same combination on both canaries; None if a member has none, or they asked different people.

    The candidates on the identity canary are those of the member `first`, as on the release.
    """
    known = {name: item for name, item in members.items() if item is not None and item.scores is not None}
    if len(known) < len(members):
        return None
    joined = []
    for number in range(2):
        scores = {name: _canary_scores(item, number) for name, item in known.items()}
        people = _common(scores, lambda item: item.people)
        controls = _common(scores, lambda item: item.control_rows)
        same = [
            name
            for name, item in scores.items()
            if np.array_equal(item.people, people) and np.array_equal(item.control_rows, controls)
        ]
        if not same:
            return None
        evidence = [
            (
                item.originals[np.searchsorted(item.people, people)],
                item.controls[np.searchsorted(item.control_rows, controls)],
            )
            for item in scores.values()
        ]
        asked = scores[first if first in same else same[0]]
        mine, base = _joined_scores(evidence, _clusters(asked), stream(seed, f"combined canary {number}"))
        joined.append((asked, mine, base))
    return joined_canaries(known[first], joined)


def _clusters(asked: CanaryScores) -> tuple[Ints, Ints] | None:
    """The clusters of the people whom a canary asked; None if each row is one."""
    mine, base = asked.spread.originals, asked.spread.base
    if not mine.alike or mine.cluster is None or base is None or base.cluster is None:
        return None
    return mine.cluster, base.cluster


def _canary_scores(found: CanaryOutcome, number: int) -> CanaryScores:
    assert found.scores is not None  # noqa: S101 - checked by the caller
    return found.scores[number]


FOLDS = 5
RIDGE = 1.0
"""The penalty on the square of a coefficient, in people: members that say nearly the same share their weight."""
FARTHEST = 6.0
"""A standardized evidence farther out counts as this many standard deviations."""
_MOST_STEPS = 50
_CONVERGED = 1e-10
_NO_SPREAD = 1e-12
_ROUNDING = 1e-12


def assign_folds(originals: Ints | int, controls: Ints | int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """The fold of every original and every control: those of one cluster are in one fold, and folds are of equal size.

    Clusters are given as codes in one numbering; a number of people means that each is a cluster of their own.
    """
    if isinstance(originals, int) or isinstance(controls, int):
        sizes = (side if isinstance(side, int) else len(side) for side in (originals, controls))
        first, second = (rng.permutation(size) % FOLDS for size in sizes)
        return first, second
    clusters = np.unique(np.concatenate([originals, controls]), return_inverse=True)[1]
    folds = (rng.permutation(int(clusters.max(initial=-1)) + 1) % FOLDS)[clusters]
    return folds[: len(originals)], folds[len(originals) :]


def cross_fitted(originals: Floats, controls: Floats, folds: tuple[Ints, Ints]) -> tuple[Floats, Floats]:
    """The scores of originals and controls, one row each with a column for each member.

    Each is scored by the model of the other folds. A record without evidence (-inf) counts as the lowest evidence of
    that member among the people that the model is fitted on. If the other folds lack people of a kind, the score is 0.
    """
    scores = np.zeros(len(originals)), np.zeros(len(controls))
    for fold in range(FOLDS):
        fitted_on = originals[folds[0] != fold], controls[folds[1] != fold]
        if not all(len(side) for side in fitted_on):
            continue
        model = Standardization.of(np.vstack(fitted_on))
        member = np.repeat([1.0, 0.0], [len(side) for side in fitted_on])
        weights = logistic_regression(model(np.vstack(fitted_on)), member)
        for side, found, own in zip((originals, controls), scores, folds, strict=True):
            here = own == fold
            found[here] = weights[0] + _product(model(side[here]), weights[1:])
    return scores


class Standardization:
    """The lowest evidence, the mean and the standard deviation of each member, over the people of a model."""

    def __init__(self, lowest: Floats, mean: Floats, deviation: Floats) -> None:
        self.lowest, self.mean, self.deviation = lowest, mean, deviation

    @classmethod
    def of(cls, evidence: Floats) -> Standardization:
        """Fit it on the rows of `evidence`; a member without spread says nothing."""
        lowest = np.where(np.isneginf(evidence), np.inf, evidence).min(axis=0)
        lowest = np.where(np.isinf(lowest), 0.0, lowest)
        filled = np.maximum(evidence, lowest)
        deviation = filled.std(axis=0)
        return cls(lowest, filled.mean(axis=0), np.where(deviation > _NO_SPREAD, deviation, np.inf))

    def __call__(self, evidence: Floats) -> Floats:
        """Standardize evidence, at most six standard deviations from the mean."""
        standard = (np.maximum(evidence, self.lowest) - self.mean) / self.deviation
        return np.asarray(np.clip(standard, -FARTHEST, FARTHEST))


def logistic_regression(features: Floats, label: Floats, ridge: float = RIDGE) -> Floats:
    """The intercept and the weights that maximize the log-likelihood minus ridge/2 times the sum of squared weights.

    Newton's method (iteratively reweighted least squares), with halved steps while the objective would fall by more
    than rounding; the intercept is not penalized.
    """
    design = np.hstack([np.ones((len(features), 1)), features])
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 0.0

    def objective(at: Floats) -> float:
        linear = _product(design, at)
        return float((label * linear - np.logaddexp(0.0, linear)).sum() - 0.5 * (penalty * at**2).sum())

    weights = np.zeros(design.shape[1])
    reached = objective(weights)
    for _ in range(_MOST_STEPS):
        chance = 1 / (1 + np.exp(-_product(design, weights)))
        gradient = design.T @ (label - chance) - penalty * weights
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty + _NO_SPREAD)
        step = np.linalg.solve(curvature, gradient)
        tried = objective(weights + step)
        # Near the maximum the objective changes by rounding alone; a step halved for that would stop short of it.
        while tried < reached - _ROUNDING * abs(reached) and np.abs(step).max() > _CONVERGED:
            step = step / 2
            tried = objective(weights + step)
        weights, reached = weights + step, tried
        if np.abs(step).max() <= _CONVERGED:
            break
    return weights


def _product(matrix: Floats, weights: Floats) -> Floats:
    """A product summed column by column, so that equal rows get equal bits."""
    total = np.zeros(len(matrix))
    for column, weight in zip(matrix.T, weights, strict=True):
        total += column * weight
    return total
