"""Figures of the evaluation at their edges: the ends of a grid, the smallest samples, one run, missing values."""

from __future__ import annotations

import numpy as np
import pytest

from cvpl.evaluation.criteria import ClassValueCounts, recursive_c
from cvpl.evaluation.groups.subgroups import groups_by_columns
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import FEWEST_BEYOND, FEWEST_CLUSTERS, FEWEST_RECORDS, Uncertainty, offer
from cvpl.evaluation.rates import exposure, integrated_risk, risk_curve, worst_case_risk
from cvpl.evaluation.trials.one_run import epsilon_bound
from cvpl.evaluation.truth import inner_ends
from cvpl.tables.columns import Numbers

GRID = np.array([0.5, 0.6, 0.75, 1.0])


def test_exposure_is_the_way_from_the_lowest_to_the_highest_threshold():
    best = np.array([-np.inf, 0.2, 0.5, 0.75, 0.9, 1.0, 1.2])
    assert exposure(best, GRID) == pytest.approx([0, 0, 0, 0.5, 0.8, 1, 1])
    assert integrated_risk(best, GRID) == pytest.approx(3.3 / 7)
    assert worst_case_risk(best, GRID) == pytest.approx(5 / 7)
    assert risk_curve(best, GRID) == pytest.approx([5 / 7, 4 / 7, 4 / 7, 2 / 7])


def test_the_class_that_is_least_diverse_decides():
    """Counts 4, 2, 1 give 4 / (2 + 1) and 5, 1 gives 5 / 1; at the third value 4 / 1."""
    classes, values, count = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 1]), np.array([2, 4, 1, 1, 5])
    counts = ClassValueCounts(classes, values, count, np.array([7, 6]), 3)
    assert recursive_c(counts, 2) == pytest.approx(5.0)
    alone = ClassValueCounts(classes[:3], values[:3], count[:3], np.array([7]), 3)
    assert recursive_c(alone, 2) == pytest.approx(4 / 3)
    assert recursive_c(alone, 3) == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ({"records": FEWEST_RECORDS, "controls": None}, True),
        ({"records": FEWEST_RECORDS - 1, "controls": None}, False),
        ({"records": 500, "controls": FEWEST_RECORDS}, True),
        ({"records": 500, "controls": FEWEST_RECORDS - 1}, False),
        ({"beyond": FEWEST_BEYOND}, True),
        ({"beyond": FEWEST_BEYOND - 1e-6}, False),
        ({"kind": "groups", "clusters": FEWEST_CLUSTERS}, True),
        ({"kind": "groups", "clusters": FEWEST_CLUSTERS - 1e-6}, False),
        ({"clusters": 1.0}, True),
    ],
)
def test_an_interval_is_offered_from_the_smallest_sample_that_was_measured(given, offered):
    found = offer("power", **{"kind": "people", "records": 500, "controls": 500, "clusters": 500.0} | given)
    assert (found.refused is None) == (found.coverage is not None) == offered


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 1.5])
def test_a_confidence_lies_between_zero_and_one(confidence):
    with pytest.raises(ValueError, match="allowed are values between 0 and 1"):
        epsilon_bound(10, 20, 20, confidence=confidence)


def test_a_number_that_is_missing_in_the_release_is_no_value_of_it():
    values = np.array([5.0, np.nan, 80.0, 5.0])
    secret = SensitiveAttribute.of("s", Numbers(values, values, values), Numbers(values, values, values), None)
    assert secret.released.tolist() == [0, -1, 1, 0]
    assert secret.values.tolist() == [5.0, 80.0] and secret.shares == pytest.approx([2 / 3, 1 / 3])


def test_only_a_control_has_a_rate_of_its_own():
    rng = np.random.default_rng(1)
    mine, other = Sample(rng.random(100)), Sample(rng.random(100))
    assert Uncertainty(mine, other, "control", 0.95).base_rates([0.5])[0].low is not None
    assert Uncertainty(mine, other, "own_match_left_out", 0.95).base_rates([0.5]) is None
    assert Uncertainty(mine, None, None, 0.95).base_rates([0.5]) is None
    assert Uncertainty(mine, None, None, 0.95).powers([0.05]) is None
    assert Uncertainty(mine, None, None, 0.95).attributable([0.5]) is None


def test_numbers_are_grouped_by_the_quartiles_of_the_originals():
    values = np.arange(1.0, 9), np.array([0.0, 4.4, 4.6, 99, np.nan])
    mine, other = (Numbers(x, x, x) for x in values)
    (found,) = groups_by_columns({"n": (mine, other)}, np.arange(8), np.arange(5))
    assert found.original.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.control.tolist() == [0, 1, 2, 3, -1]


@pytest.mark.parametrize(("k", "ends"), [(1, (1, 10)), (2, (2, 9)), (5, (5, 6)), (20, (5, 6))])
def test_the_ends_of_a_picture_leave_out_fewer_than_k_people_on_each_side(k, ends):
    assert inner_ends(np.arange(10, 0, -1.0), k) == ends
