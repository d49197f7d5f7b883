"""Rates by group as they are published, worked by hand: steps of a tenth for 100 people, and of 0.05 for 200."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cvpl.evaluation.groups.subgroups import GroupRow, GroupTable, Maximum, Subgroups, rounded_rates

SHOWN = GroupRow("a", 1, 104, 0.34, None, None, 0.26, 0.43, 0.12, 0.28)
HIDDEN = GroupRow("b", 1, 100, None, 0.43, 0.26, 0.18, 0.52, None, None)
MAXIMUM = Maximum(0.34, 0.26, 0.43, "g", "a", 2, 0)


def rounded(*rows, average=0.3, maximum=MAXIMUM, k=10):
    return rounded_rates(Subgroups((GroupTable("g", rows),), average, maximum, 0.28), k)


def row(*args, **changed):
    (found,) = rounded(replace(*args, **changed)).tables[0].rows
    return found


def test_rates_are_exact_if_every_count_may_be_told():
    found = Subgroups((GroupTable("g", (SHOWN, HIDDEN)),), 0.3, MAXIMUM, 0.28)
    assert rounded_rates(found, 1) is found
    assert rounded_rates(found, 2) != found


def test_a_row_is_rounded_by_its_own_number_of_people():
    found = row(SHOWN)
    assert (found.label, found.groups, found.records) == ("a", 1, 100)
    assert (found.linked, found.low, found.high) == pytest.approx((0.3, 0.2, 0.5))
    assert (found.control, found.attributable) == pytest.approx((0.1, 0.3))
    assert found.at_least is None and found.at_most is None
    assert row(SHOWN, records=204).linked == pytest.approx(0.35)


def test_bounds_never_get_narrower():
    found = row(HIDDEN)
    assert found.linked is None and found.control is None and found.attributable is None
    assert (found.at_least, found.at_most, found.low, found.high) == pytest.approx((0.2, 0.5, 0.1, 0.6))


def test_a_bound_that_says_nothing_is_left_out_with_its_end():
    found = row(HIDDEN, at_least=0.06)
    assert found.at_least is None and found.low is None and found.at_most == pytest.approx(0.5)
    assert found.high == pytest.approx(0.6)
    found = row(HIDDEN, at_most=0.91)
    assert found.at_most is None and found.high is None and found.at_least == pytest.approx(0.2)
    assert found.low == pytest.approx(0.1)
    assert row(HIDDEN, at_most=0.9).at_most == pytest.approx(0.9)
    assert row(HIDDEN, at_most=None).at_most is None


def test_an_end_that_is_not_known_stays_so():
    found = row(SHOWN, low=None, high=None, control=None, attributable=None)
    assert (found.low, found.high, found.control, found.attributable) == (None, None, None, None)


def test_the_average_is_rounded_by_all_people():
    assert rounded(SHOWN, HIDDEN, average=0.333).average == pytest.approx(0.35)
    assert rounded(SHOWN, average=0.333).average == pytest.approx(0.3)


def test_the_largest_attributable_rate_is_that_of_the_rounded_rows():
    assert rounded(SHOWN, replace(SHOWN, label="c", attributable=0.49)).maximum_attributable == pytest.approx(0.5)
    assert rounded(HIDDEN).maximum_attributable is None


def test_the_maximum_has_the_figures_of_its_row():
    found = rounded(replace(SHOWN, label="c", linked=0.2, low=0.1, high=0.3), replace(SHOWN, linked=0.47)).maximum
    assert (found.table, found.label, found.estimate) == ("g", "a", pytest.approx(0.5))
    assert (found.low, found.high) == pytest.approx((0.2, 0.5))
    by_bound = rounded(HIDDEN, replace(HIDDEN, label="a", at_least=0.47)).maximum
    assert by_bound.estimate == pytest.approx(0.4)


def test_the_maximum_is_never_below_the_average():
    assert rounded(replace(SHOWN, linked=0.1), average=0.3).maximum.estimate == pytest.approx(0.3)
    nobody = replace(MAXIMUM, table=None, label=None)
    assert rounded(replace(SHOWN, linked=0.6), average=0.3, maximum=nobody).maximum.estimate == pytest.approx(0.3)


def test_the_ends_of_the_maximum_hold_its_estimate():
    found = rounded(replace(SHOWN, low=0.26, high=0.21), average=0.3, maximum=replace(MAXIMUM, high=0.21)).maximum
    assert found.low <= found.estimate <= found.high
    alone = rounded(SHOWN, maximum=replace(MAXIMUM, low=0.27, high=0.44)).maximum
    assert (alone.low, alone.high) == pytest.approx((0.2, 0.5))
    hidden = replace(HIDDEN, at_most=None, high=0.52)
    assert rounded(SHOWN, hidden, maximum=replace(MAXIMUM, high=0.52)).maximum.high == 1.0
    higher = rounded(replace(SHOWN, low=0.45), maximum=replace(MAXIMUM, low=0.45)).maximum
    assert higher.low == pytest.approx(0.3)
