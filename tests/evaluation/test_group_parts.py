"""Parts of groups and of formal criteria, each on its own."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from cvpl.evaluation.criteria import ClassValueCounts, EquivalenceClasses, compatible_sizes
from cvpl.evaluation.groups.subgroups import GroupRow, largest_rate
from cvpl.evaluation.groups.suppression import enlarge_pool, hidden_shares, hide_another_row, pooled_rows


def test_without_suppression_no_row_of_a_table_is_hidden():
    found = hidden_shares([np.array([0, 0]), np.array([2, 1])], np.ones(2), 1)
    assert [table.tolist() for table in found] == [[False], [False, False, False]]


def test_a_leak_is_closed_in_its_own_table_as_long_as_groups_are_left():
    sizes = [np.array([3.0, 12.0, 9.0]), np.array([5.0, 6.0, 7.0, 8.0])]
    pools = [{0}, set()]
    assert enlarge_pool(sizes, pools, (0, None))
    assert pools == [{0, 2}, set()]
    pools = [{0, 1, 2}, {3}]
    assert enlarge_pool(sizes, pools, (0, None))
    assert pools == [{0, 1, 2}, {0, 3}]
    assert not enlarge_pool(sizes, [{0, 1, 2}, {0, 1, 2, 3}], (0, None))


def test_a_suppressed_cell_agrees_with_every_value():
    codes = np.random.default_rng(3).integers(-1, 3, size=(3, 40)).astype(np.int32)
    agree = (codes[:, :, None] == codes[:, None]) | (codes[:, :, None] < 0) | (codes[:, None] < 0)
    assert compatible_sizes(list(codes), 40).tolist() == agree.all(axis=0).sum(axis=1).tolist()


def test_of_equal_maxima_the_one_that_is_shown_is_named():
    shown = GroupRow("shown", 1, 40, 0.5, None, None, 0.4, 0.6, None, None)
    hidden = GroupRow("hidden", 1, 40, None, 0.9, 0.5, 0.3, 0.95, None, None)
    for rows in ([shown, hidden], [hidden, shown]):
        found = largest_rate([SimpleNamespace(name=row.label, rows=[row]) for row in rows], 0.2, 0.1)
        assert (found.estimate, found.low, found.high, found.label) == (0.5, 0.4, 0.95, "shown")


def test_another_row_is_hidden_until_none_is_left():
    """The first table has one row hidden; the second none, and a single hidden row would follow from the total."""
    sums = [(np.array([5.0, 6.0]), np.array([10.0, 20.0])), (np.array([1.0, 2.0, 9.0]), np.array([9.0, 8.0, 10.0]))]
    hidden = [np.array([True, False]), np.zeros(3, dtype=bool)]
    assert hide_another_row(sums, hidden, (0, None))
    assert [table.tolist() for table in hidden] == [[True, True], [False, False, False]]
    assert hide_another_row(sums, hidden, (0, None))
    assert [table.tolist() for table in hidden] == [[True, True], [True, True, False]]
    assert hide_another_row(sums, hidden, (0, None))
    assert not hide_another_row(sums, hidden, (0, None))


def test_a_row_within_one_of_another_table_is_pooled_if_few_are_beside_it():
    """The second table's first group is all but 5 of the first table's first group: their difference shows 5 people."""
    one = np.repeat([0, 0, 1], [27, 5, 20])
    other = np.repeat([0, 1, 1], [27, 5, 20])
    assert [rows.tolist() for rows in pooled_rows([one, other], 10)] == [[1, 2], [0, 0]]
    assert [rows.tolist() for rows in pooled_rows([one, other], 5)] == [[1, 2], [1, 2]]


def test_the_first_value_of_a_secret_counts_as_others_do():
    classes = EquivalenceClasses.by([np.array([0, 0, 0, 1, 1])], 5)
    found = ClassValueCounts.of_sensitive(classes, np.array([0, 1, 0, 0, -1]))
    assert (found.of.tolist(), found.value.tolist()) == ([0, 0, 1, 1], [0, 1, 0, 2])
    assert (found.count.tolist(), found.values) == ([2, 1, 1, 1], 3)
