"""Joined evidence against the oracle's, written from the documentation: folds, scales, regression and scores.

Random evidence with what can go wrong in it: records without a candidate, members that say nothing or nearly the same,
evidence far out, units across both tables. Whole audits are in test_verdict_against_oracle.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from cvpl.assessment import combined
from cvpl.assessment.combined import assign_folds, cross_fitted
from cvpl.randomness import stream
from examples import examples
from oracle import combined as oracle

CLOSE = 1e-9
SEEDS = range(examples(12))


def evidence(seed):
    """Originals and controls, one row each with a column for each member, and their units."""
    rng = np.random.default_rng(seed)
    sizes, members = rng.integers(1, 90, 2), int(rng.integers(1, 8))
    both = rng.normal(size=(sizes.sum(), members)) * 10.0 ** rng.integers(-3, 4, members)
    both[: sizes[0]] += rng.choice([0.0, 1.0, 5.0], members) * both.std(axis=0)
    for column in both.T:
        kind = rng.integers(0, 8)
        if kind == 0:
            column[:] = rng.normal()
        elif kind == 1:
            column[:] = both[:, 0] + 1e-3 * column
        elif kind == 2:
            column[rng.random(len(column)) < 0.02] *= 1e4
        elif kind == 3:
            column[:] = np.round(column / np.abs(column).max(), 1)
    both[rng.random(both.shape) < rng.choice([0.0, 0.1, 0.5])] = -np.inf
    if rng.random() < 0.1:
        both[:, -1] = -np.inf
    units = rng.integers(0, max(2, len(both) // 3), len(both))
    return (both[: sizes[0]], both[sizes[0] :]), (units[: sizes[0]], units[sizes[0] :])


def theirs(sides, folds):
    """The oracle's scores of evidence in which -inf is None."""
    rows = [[[None if math.isinf(value) else value for value in row] for row in side.tolist()] for side in sides]
    return oracle.cross_fitted(*rows, *folds)


def far(sides, folds, fold_lists):
    """The largest difference of a score."""
    pairs = zip(cross_fitted(*sides, folds), theirs(sides, fold_lists), strict=True)
    return max(np.abs(mine - np.array(other)).max() for mine, other in pairs)


@pytest.mark.parametrize("seed", SEEDS)
def test_folds_and_scores_of_single_people_are_the_oracles(seed):
    sides, _ = evidence(seed)
    sizes = [len(side) for side in sides]
    folds = assign_folds(*sizes, stream(seed, "combined"))
    expected = oracle.drawn_folds(sizes, seed, "combined")
    assert [fold.tolist() for fold in folds] == expected
    assert far(sides, folds, expected) <= CLOSE


@pytest.mark.parametrize("seed", SEEDS)
def test_folds_and_scores_of_units_are_the_oracles(seed):
    sides, units = evidence(seed)
    folds = assign_folds(*units, stream(seed, "combined"))
    expected = oracle.folds_of_units([codes.tolist() for codes in units], oracle.generator(seed, "combined"))
    assert [fold.tolist() for fold in folds] == expected
    assert far(sides, folds, expected) <= CLOSE


@pytest.mark.parametrize(
    ("name", "value"), [("RIDGE", 2.0), ("FARTHEST", 5.0), ("FOLDS", 4), ("_ROUNDING", 0.0), ("_NO_SPREAD", 1e-2)]
)
def test_a_wrong_constant_is_noticed(name, value, monkeypatch):
    monkeypatch.setattr(combined, name, value)
    if name == "RIDGE":
        monkeypatch.setattr(combined.logistic_regression, "__defaults__", (value,))
    differences = []
    for seed in range(12):
        sides, _ = evidence(seed)
        folds = oracle.drawn_folds([len(side) for side in sides], seed, "combined")
        differences.append(far(sides, tuple(np.array(fold) for fold in folds), folds))
    assert max(differences) > CLOSE


def test_by_hand():
    # Two people a side, one member: mean 0, deviation 1, so z = 1, 1, -1, -1. With weight b and no intercept by
    # symmetry, 4 log(sigmoid(b)) - b² / 2 is largest where 4 sigmoid(-b) = b: b = 1.0426
    weights = oracle.regression([[1.0], [1.0], [-1.0], [-1.0]], [1, 1, 0, 0])
    assert weights[0] == pytest.approx(0)
    assert weights[1] == pytest.approx(1.0426, abs=1e-4)
    # Filled up, 3, 1, 1, 1, 3 and 1: mean 10/6, variance 8/9
    assert oracle.scale([3.0, None, 1.0, 1.0, 3.0, 1.0]) == pytest.approx((1.0, 10 / 6, math.sqrt(8) / 3))
    scales = [(1.0, 2.0, 1.0)] * 3 + [(1.0, 2.0, 0.0)]
    assert oracle.standardized([None, 0.0, 9.0, 9.0], scales) == [-1.0, -1.0, 6.0, 0.0]
    # A fold whose others are all originals scores 0.
    assert oracle.cross_fitted([[1.0], [2.0]], [[0.0]], [0, 1], [0])[0][0] == 0
