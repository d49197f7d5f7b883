"""Several attackers' evidence joined into one score, by a logistic regression that is cross-fitted.

    score(x) = b0 + sum over members of b_k z_k(x)        z_k: the evidence of member k, standardized

The regression separates originals (1) from controls (0). It is fitted on four fifths of the people and scores the last
fifth, five times over, so that nobody is scored by a model that was fitted on them, or on somebody of their unit (a
household, an account). A score that was fitted on the people whom it scores would separate them even if the release had
nothing to do with them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

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
    """The fold of every original and every control: those of one unit are in one fold, and folds are of equal size.

    Units are given as codes in one numbering; a number of people means that each is a unit of their own.
    """
    if isinstance(originals, int) or isinstance(controls, int):
        sizes = (side if isinstance(side, int) else len(side) for side in (originals, controls))
        first, second = (rng.permutation(size) % FOLDS for size in sizes)
        return first, second
    units = np.unique(np.concatenate([originals, controls]), return_inverse=True)[1]
    folds = (rng.permutation(int(units.max(initial=-1)) + 1) % FOLDS)[units]
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
