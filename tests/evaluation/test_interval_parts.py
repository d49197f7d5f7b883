"""Parts of intervals, each on its own: samples, designs, differences."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.estimates import Estimate
from cvpl.evaluation import measurement
from cvpl.evaluation.attack_figures import curve_points
from cvpl.evaluation.control_likeness import kolmogorov_smirnov, total_variation
from cvpl.evaluation.groups.clusters import choose_clusters
from cvpl.evaluation.groups.subgroups import ShareSpread
from cvpl.evaluation.intervals.bounds import LEAST_EFFECT_OF_A_RATE, Component, Sample, rate_bounds, sampling_design
from cvpl.evaluation.intervals.intervals import DIFFERENCES, ENOUGH, MEASURED, Uncertainty, offer, offer_difference
from cvpl.evaluation.intervals.paired import (
    Difference,
    SearchedRows,
    attributable_estimate,
    confidence_of_picked,
    correlation,
    difference_bounds,
)
from cvpl.search.best import BestCandidates


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
    assert found.originals.cluster.tolist() == [0, 0, 1, 1, 2, 2]
    assert found.base.cluster.tolist() == [3, 3, 3, 4]


def test_an_interval_of_a_difference_is_offered_if_both_figures_were_measured():
    assert offer_difference([("power", "people"), ("left_out", "people")]).coverage.at_95 == 0.942
    assert offer_difference([("power", "people"), ("power_left_out", "groups")]).refused is not None


def test_without_controls_there_are_no_units_of_controls():
    codes = np.array([3, 3, 8])
    alone, both = choose_clusters(None, [codes]), choose_clusters(None, [codes, np.array([8, 1])])
    assert (alone.original.tolist(), alone.control) == ([0, 0, 1], None)
    assert (both.original.tolist(), both.control.tolist()) == ([1, 1, 2], [2, 0])


def test_links_to_one_row_of_the_release_widen_the_interval_of_a_rate():
    """All but one of thirty people are linked to the same row, so the rate hangs on that row."""
    best, row = np.append(np.ones(29), 0.0), np.zeros(30, dtype=np.int64)
    alone = rate_bounds(Sample(best), 0.9, 0.95)
    together = rate_bounds(Sample(best, row=row, second=np.zeros(30)), 0.9, 0.95)
    assert together[0] < alone[0] / 2
    assert rate_bounds(Sample(best, row=row, second=best), 0.9, 0.95) == alone


def test_the_confidence_for_a_picked_pair_leaves_one_in_twenty_to_all_pairs():
    assert confidence_of_picked(4, 5, by_this_figure=False) == pytest.approx(1 - 0.05 / 20)
    assert confidence_of_picked(4, 5, by_this_figure=True) == pytest.approx(1 - 0.1 / 9)


@pytest.mark.parametrize(
    ("low", "high", "tied"),
    [(None, None, True), (-0.1, 0.1, True), (0.0, 0.2, True), (0.1, 0.2, False), (-2, -1, False)],
)
def test_figures_are_tied_if_their_difference_may_be_nothing(low, high, tied):
    assert Difference(Estimate(0.0, low, high)).tied == tied


def test_what_hangs_on_rows_adds_to_the_variance_of_groups():
    linked, cluster = (np.arange(40) % 4 > 0).astype(float), np.arange(40) // 2
    design = sampling_design([Component(linked, cluster)], least=LEAST_EFFECT_OF_A_RATE, alike=True)
    row, wanted = np.arange(40) // 4, []
    for second, hanging in ((linked, 0), (np.zeros(40), 10 * 2**2)):
        sample = Sample(linked, cluster, "groups", row, second)
        assert sample.row_variance_sum(0.9) == hanging
        wanted.append(design.plus(hanging / 7.5).cautious_ends(0.75, 40, 0.95))
        assert rate_bounds(sample, 0.9, 0.95) == pytest.approx(wanted[-1])
    assert wanted[1][0] < wanted[0][0]


def test_rows_that_were_not_searched_have_no_part_in_an_error():
    rng = np.random.default_rng(2)
    mine, base = Sample(rng.random(40)), Sample(rng.random(30))
    asked = SearchedRows(np.sort(rng.permutation(50)[:40]), np.arange(10, 40), (50, 45))
    found = attributable_estimate(Uncertainty(mine, base, "control", 0.95), asked, 0.5)
    assert (len(found.originals), len(found.controls)) == (50, 45)
    assert np.flatnonzero(found.originals).tolist() == asked.originals.tolist()
    assert np.flatnonzero(found.controls).tolist() == asked.controls.tolist()
    assert found.variance == pytest.approx(1.1 * (found.originals @ found.originals + found.controls @ found.controls))


@pytest.mark.parametrize("on_scale", [True, False])
def test_a_curve_has_the_ends_of_its_attributable_rates(on_scale):
    ends = [Estimate(None, low, low + 0.1) for low in (0.1, 0.2)]
    measured = SimpleNamespace(curve=np.array([0.4, 0.5]), grid=np.array([0.7, 0.8]), base_scores=np.array([0.75, 0.1]))
    measured.curve_intervals = ends if on_scale else None
    measured.power_curve_intervals = None if on_scale else ends
    for beyond, wanted in ((ends[::-1], [0.2, 0.1]), (None, [None, None])):
        measured.attributable_curve_intervals = beyond
        points = curve_points(measured)
        assert [(point.low, point.linkage_rate) for point in points] == [(0.1, 0.4), (0.2, 0.5)]
        assert [point.attributable_low for point in points] == wanted
    assert [point.control_rate for point in points] == ([0.5, 0.0] if on_scale else [0.01, 0.02])
    assert [point.false_rate for point in points] == ([None, None] if on_scale else [0.01, 0.02])


@pytest.mark.parametrize(("together", "down", "up"), [(0.0, 0.05, 0.1), (1.0, 0.01, 0.02), (-1.0, 0.07, 0.14)])
def test_the_ends_of_a_difference_add_like_correlated_errors(together, down, up):
    """0.03 and 0.04 below and 0.06 and 0.08 above."""
    found = difference_bounds((0.5, (0.47, 0.56)), (0.3, (0.22, 0.34)), together)
    assert found == pytest.approx((0.2 - down, 0.2 + up))


def test_an_area_rests_on_one_record_at_least(monkeypatch):
    """Two blocks: the records of one are above all controls, those of the other below."""
    counts = []
    monkeypatch.setattr(measurement, "wilson_bounds", lambda _, count, __: counts.append(count) or (0.0, 1.0))
    block = np.repeat([0, 1], 100)
    originals, controls = Sample(np.where(block, 0.9, 0.1), block, "blocks"), Sample(np.full(200, 0.5), block, "blocks")
    assert measurement.area_interval(originals, controls).low == 0
    assert counts == [1.0]


@pytest.mark.parametrize(("records", "refused"), [(19, True), (20, False)])
def test_an_interval_needs_twenty_records_on_either_side(records, refused):
    for sides in ({"records": records, "controls": 90}, {"records": 90, "controls": records}):
        assert (offer("power", "people", clusters=90, **sides).refused is not None) == refused


def test_a_share_that_is_shown_has_the_error_of_its_own_people():
    linked, cluster = np.tile([0.0, 1.0], 30), np.arange(60) // 6
    people = np.arange(60)
    shown, hidden = (ShareSpread(linked, cluster, 0.05).of(people, hidden=hidden)(0.5) for hidden in (False, True))
    assert ShareSpread(linked, cluster, 0.05).of(people)(0.5) == shown
    assert hidden[0] < shown[0] < shown[1] < hidden[1]


def test_rare_labels_are_pooled_below_ten_expected():
    """Two labels with 20 of 200 people each: ten are expected in either sample."""
    assert total_variation(np.array([12, 8, 80]), np.array([8, 12, 80]))[0] == pytest.approx(0.04)
    assert total_variation(np.array([12, 7, 81]), np.array([7, 12, 81]))[0] == 0


def test_an_empty_sample_is_not_apart():
    assert kolmogorov_smirnov(np.zeros(0), np.ones(3)) == (0.0, 1.0)
    assert total_variation(np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)) == (0.0, 1.0)


def test_figures_are_correlated_by_the_sums_of_groups():
    """Two groups of originals, and one of controls beyond them."""
    first = SimpleNamespace(originals=np.array([1.0, 2.0, -1.0]), controls=np.array([1.0, 1.0]), variance=16.0)
    second = SimpleNamespace(originals=np.array([2.0, 0.0, 1.0]), controls=np.array([0.5, 0.5]), variance=25.0)
    groups = np.array([0, 0, 1]), np.array([2, 2])
    assert correlation(first, second, groups) == pytest.approx((3 * 2 - 1 * 1 + 2 * 1) / 20)
    assert correlation(first, second, (groups[0], None)) == pytest.approx((3 * 2 - 1 * 1) / 20)
    assert correlation(first, second) == pytest.approx((1 * 2 - 1 * 1 + 0.5 + 0.5) / 20)


def test_a_false_positive_rate_of_a_thousandth_needs_ten_thousand_controls():
    assert [measurement.read_at(rate, 9_999) for rate in (0.001, 0.01)] == [False, True]
    assert measurement.read_at(0.001, 10_000)
