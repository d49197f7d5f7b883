"""Parts of the evaluation, each on its own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.evaluation.block_sizes import block_sizes
from cvpl.evaluation.combined_evidence import RIDGE, logistic_regression
from cvpl.evaluation.groups.units import choose_units
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.figures import simultaneous
from cvpl.evaluation.inference.scores import Hits
from cvpl.evaluation.intervals.coverage import DIFFERENCES, ENOUGH, MEASURED, offer_difference
from cvpl.evaluation.intervals.uncertainty import Uncertainty
from cvpl.evaluation.ordering import beaten_by
from cvpl.evaluation.singling_out.predicates import Release
from cvpl.evaluation.truth import own_match_left_out
from cvpl.search.best import BestCandidates
from cvpl.search.blocks import Partition


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


def test_without_pairs_no_block_has_work():
    sizes = block_sizes(Partition(np.array([0, 0]), np.array([1, 2, 2])))
    assert (sizes.count, sizes.original_only, sizes.protected_only, sizes.pairs) == (0, 1, 2, 0)
    assert (sizes.work_in_largest_tenth, sizes.blocks_with_80_percent_of_work, sizes.sizes) == (0.0, 0, ())
    assert (sizes.smallest, sizes.median, sizes.mean, sizes.largest) == (0, 0.0, 0.0, 0)


def test_a_share_of_people_is_never_above_one():
    """The sum of weights that are all right may exceed the sum of the weights by rounding."""
    rng = np.random.default_rng(0)
    weights = [rng.random(size) for size in rng.integers(3, 40, size=300)]
    assert any(float(weight @ np.ones(len(weight))) / float(weight.sum()) > 1 for weight in weights)
    assert all(Hits(np.ones(len(weight)), weight).score <= 1 for weight in weights)


def test_an_interval_of_a_difference_is_offered_if_both_figures_were_measured():
    assert offer_difference([("power", "people"), ("left_out", "people")]).coverage.at_95 == 0.942
    assert offer_difference([("power", "people"), ("power_left_out", "groups")]).refused is not None


def test_a_release_is_beaten_by_one_that_is_better_in_one_figure_and_no_worse_in_the_other():
    found = beaten_by([0.1, 0.1, 0.2, 0.2, 0.1], [0.5, 0.6, 0.5, 0.7, 0.6])
    assert found == [[1, 4], [], [0, 1, 3, 4], [], []]


@pytest.mark.parametrize(
    ("regresses", "classes", "iterations"), [(True, 50, 100), (False, 2, 100), (False, 12, 50), (False, 90, 20)]
)
def test_boosting_takes_fewer_steps_for_many_classes(regresses, classes, iterations):
    assert models._boosted(regresses, classes, 100, [False], 0).max_iter == iterations


def test_an_attack_without_its_matches_is_searched_once():
    searched, matches = [], object()
    attack = SimpleNamespace(
        attacker=SimpleNamespace(evidence="margin"),
        shared=SimpleNamespace(cache=lambda *_, kept={}: kept),
        keys=SimpleNamespace(search=0),
        found=range(4),
        search=lambda rows, left_out: searched.append((rows.tolist(), left_out)) or "found",
        evidence=lambda table, found: (table, found),
    )
    for _ in range(2):
        assert own_match_left_out(attack, SimpleNamespace(matches=matches)) == ("original", "found")
    assert searched == [([0, 1, 2, 3], matches)]


def test_without_controls_there_are_no_units_of_controls():
    codes = np.array([3, 3, 8])
    alone, both = choose_units(None, [codes]), choose_units(None, [codes, np.array([8, 1])])
    assert (alone.original.tolist(), alone.control) == ([0, 0, 1], None)
    assert (both.original.tolist(), both.control.tolist()) == ([1, 1, 2], [2, 0])


def test_an_ordered_value_is_asked_for_on_its_side_of_the_median():
    cells = SimpleNamespace(low=np.array([1.0, 5.0, 9.0, np.nan]), high=np.array([1.0, 6.0, 9.0, np.nan]))
    release = Release(SimpleNamespace(columns=[cells, cells]), (), (5.0, 5.0), (True, False))
    assert [release.condition(0, row).relation for row in range(4)] == ["<=", "<=", ">=", "missing"]
    assert [release.condition(1, row).relation for row in range(4)] == ["=", "=", "=", "missing"]
    assert release.condition(0, 2, equal=True).relation == "="
