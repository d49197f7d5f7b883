"""Parts of the evaluation, each on its own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.evaluation.combined_evidence import RIDGE, logistic_regression
from cvpl.evaluation.inference.figures import simultaneous
from cvpl.evaluation.intervals.coverage import DIFFERENCES, ENOUGH, MEASURED
from cvpl.evaluation.intervals.uncertainty import Uncertainty
from cvpl.search.best import BestCandidates


@pytest.mark.parametrize("share", [0.08, 0.5, 0.9])
def test_a_logistic_regression_ends_where_its_objective_is_flat(share):
    rng = np.random.default_rng(3)
    features, label = rng.normal(size=(60, 2)), (np.arange(60) < 60 * share).astype(float)
    weights = logistic_regression(features, label)
    linear = weights[0] + features @ weights[1:]
    missed = label - 1 / (1 + np.exp(-linear))
    np.testing.assert_allclose([missed.sum(), *(features.T @ missed - RIDGE * weights[1:])], 0, atol=1e-6)


def test_intervals_that_hold_together_share_the_risk_of_error():
    np.testing.assert_allclose([simultaneous(figures) for figures in (0, 1, 5, 50)], [0.95, 0.95, 0.99, 0.999])


def test_measured_coverages_are_shares_and_higher_at_the_higher_level():
    for figures, refused in ((MEASURED, ("power_left_out", "groups")), (DIFFERENCES, ("power_left_out", "groups"))):
        for figure, lowest in figures.items():
            assert 0 <= lowest.at_95 <= lowest.at_999 <= 1
            assert (lowest.at_95 >= ENOUGH) == (figure != refused), figure


def test_controls_have_units_of_their_own():
    mine, control = (BestCandidates.none(count) for count in (6, 4))
    groups = {"original": np.array([0, 0, 1, 1, 2, 2]), "control": np.array([3, 3, 3, 4])}
    attack = SimpleNamespace(reads_best=True, found=mine, people=slice(None), control_rows=slice(None))
    found = Uncertainty.of(attack, control, control.best, "control", method="people", groups=groups)
    assert found.originals.unit.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.base.unit.tolist() == [3, 3, 3, 4]
