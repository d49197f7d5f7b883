"""Rates by subgroup: what they are, and that nothing follows about small groups."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import cvpl
from cvpl.evaluation.groups.subgroups import LABELS, NO_VALUE, Grouping, deciles, rarity, subgroups
from cvpl.evaluation.groups.suppression import hidden_shares, is_spanned, pooled_rows
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table
from examples import examples


def codes_of(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def hits_of(sizes, linked):
    return np.concatenate([np.arange(size) < count for size, count in zip(sizes, linked, strict=True)]).astype(float)


def grouping(sizes, name="g"):
    return Grouping(name, tuple("abcdefgh"[: len(sizes)]), codes_of(sizes))


@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ([30, 20, 40], [1, 2, 3]),  # nothing is small
        ([30, 20, 4], [1, 0, 0]),  # one small group takes the next smallest with it
        ([30, 6, 5], [1, 0, 0]),  # two small ones have ten together
        ([30, 20, 3, 2], [1, 0, 0, 0]),  # two small ones have not
        ([30, 0, 20, 40], [1, -1, 2, 3]),  # a group without people has no row
        ([4, 30], [0, 0]),  # of two groups, either tells the other
        ([4], [0]),  # nothing else is there
    ],
)
def test_small_groups_are_pooled_until_ten_people_of_two_groups_stand_together(sizes, rows):
    assert pooled_rows([codes_of(sizes)], 10)[0].tolist() == rows


@pytest.mark.parametrize(
    ("sizes", "linked", "hidden"),
    [
        ([100, 100, 100], [50, 40, 30], [0, 0, 0]),  # nothing is small
        ([100, 90, 80], [50, 40, 3], [0, 1, 1]),  # the smallest other one goes too, but not the highest share
        ([100, 90, 80], [50, 40, 0], [0, 1, 1]),  # a zero is treated like a nine
        ([100, 90, 80], [50, 40, 77], [0, 1, 1]),  # all but three are as telling as three
        ([100, 90, 80, 70], [50, 40, 8, 9], [0, 1, 1, 1]),  # 17 in two rows of at most 9 each: 8 or 9
        ([100, 90, 80, 70], [50, 40, 5, 4], [0, 0, 1, 1]),  # 9 in two rows of at most 9 each: anything
        ([100, 12], [50, 6], [1, 1]),
        ([100], [3], [1]),
    ],
)
def test_shares_that_tell_of_few_are_hidden_with_others_from_which_they_would_follow(sizes, linked, hidden):
    found = hidden_shares([codes_of(sizes)], hits_of(sizes, linked), 10)
    assert found[0].astype(int).tolist() == hidden


def test_a_table_by_hand():
    """Two groups of 100 and 50 with 60 and 20 linked; their controls, 40 each, have 10 and 20."""
    own = Grouping("sex", ("a", "b"), codes_of([100, 50]), codes_of([40, 40]))
    found = subgroups([own], hits_of([100, 50], [60, 20]), hits_of([40, 40], [10, 20]))
    first, second = found.tables[0].rows
    assert (first.label, first.groups, first.records, first.linked, first.control) == ("a", 1, 100, 0.6, 0.25)
    assert first.attributable == pytest.approx((0.6 - 0.25) / 0.75)
    assert (second.linked, second.control) == (0.4, 0.5)
    assert second.attributable == pytest.approx(-0.2)
    assert found.average == pytest.approx(80 / 150)
    assert (found.maximum.estimate, found.maximum.table, found.maximum.label) == (0.6, "sex", "a")
    assert found.maximum_attributable == pytest.approx((0.6 - 0.25) / 0.75)
    # Two rows share 5%: z = 2.2414, and the Wilson interval of 60 in 100 is 0.4873 to 0.7031.
    assert (first.low, first.high) == pytest.approx((0.4873, 0.7031), abs=1e-3)
    assert found.maximum.low == pytest.approx(first.low) and found.maximum.high == pytest.approx(first.high)


def test_few_and_nearly_all_are_reported_as_bounds():
    sizes = [200, 100, 50, 30]
    rows = subgroups([grouping(sizes)], hits_of(sizes, [100, 60, 2, 29])).tables[0].rows
    # 2 and 29 are 31 together, so that 0 and 31 would not do: the first row is hidden as well, the highest share last.
    assert [row.linked for row in rows] == [None, 0.6, None, None]
    # The three hidden rows have 131 together; 0 to 9 and 21 to 30 leave 92 to 110 for the first.
    assert (rows[0].at_least, rows[0].at_most) == (92 / 200, 110 / 200)
    assert rows[0].low < 92 / 200 and rows[0].high > 110 / 200
    assert (rows[2].at_most, rows[2].at_least) == (9 / 50, None)
    assert (rows[3].at_most, rows[3].at_least) == (None, 21 / 30)
    assert rows[2].low is None and rows[2].high > 9 / 50
    assert rows[3].high is None and rows[3].low < 21 / 30


def test_a_row_hidden_only_to_protect_another_has_a_range():
    """102 people of whom 97 are linked hide 2,454 others: 1,796 and 97 are 1,893, less 93 to 102."""
    sizes = [2444, 2454, 102]
    rows = subgroups([grouping(sizes)], hits_of(sizes, [1961, 1796, 97])).tables[0].rows
    assert rows[0].linked == 1961 / 2444 and rows[1].linked is None and rows[2].linked is None
    assert (rows[1].at_least, rows[1].at_most) == (1791 / 2454, 1800 / 2454)
    assert (rows[2].at_least, rows[2].at_most) == (93 / 102, None)


def test_a_number_that_the_average_gives_away_gets_no_range():
    """One group is everybody: its share is the average, and the table adds a bound only."""
    row = subgroups([grouping([100])], hits_of([100], [3])).tables[0].rows[0]
    assert (row.linked, row.at_least, row.at_most) == (None, None, 9 / 100)


def test_people_who_count_in_part_are_inside_their_bound():
    """9.5 of 100 is not "at most 9": at least ten people count for it, so that it may be shown."""
    sizes = [100, 100]
    linked = np.concatenate([hits_of([100], [9]), hits_of([100], [50])])
    linked[99] = 0.5
    rows = subgroups([grouping(sizes)], linked).tables[0].rows
    assert [row.linked for row in rows] == [0.095, 0.5]


def numbers_of(row):
    """The fewest and the most linked people of a row by what is published of it."""
    if row.linked is not None:
        return round(row.linked * row.records), round(row.linked * row.records)
    low = 0 if row.at_least is None else round(row.at_least * row.records)
    return low, row.records if row.at_most is None else round(row.at_most * row.records)


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), st.sampled_from([2, 3, 4]))
def test_ranges_leave_every_hidden_number_as_open_as_the_bounds_do(data, k):
    """All numbers of small tables are tried: those that fit all that is published are k, or all that the row allows."""
    sizes = data.draw(st.lists(st.integers(k, 9), min_size=2, max_size=4))
    linked = [data.draw(st.integers(0, size)) for size in sizes]
    rows = subgroups([grouping(sizes)], hits_of(sizes, linked), None, k).tables[0].rows
    ends = [numbers_of(row) for row in rows]
    assert all(low <= number <= high for (low, high), number in zip(ends, linked, strict=True))
    # What was published before there were ranges: shares, and "fewer than k" or "all but fewer than k".
    small = [(number < k, size - number < k) for number, size in zip(linked, sizes, strict=True)]
    sides = [(0, k - 1) if few else (size - k + 1, size) for (few, _), size in zip(small, sizes, strict=True)]
    bounds = [
        end if row.linked is not None else side if few != many else (0, row.records)
        for row, end, side, (few, many) in zip(rows, ends, sides, small, strict=True)
    ]
    worlds = {world for world in product(*(range(size + 1) for size in sizes)) if sum(world) == sum(linked)}
    before, now = (
        {world for world in worlds if all(low <= x <= high for x, (low, high) in zip(world, published, strict=True))}
        for published in (bounds, ends)
    )
    assert now == before
    if all(row.linked is None for row in rows):
        return  # the average alone is known, and it is not this table's
    for at, row in enumerate(rows):
        if row.linked is None:
            open_numbers = {world[at] for world in now}
            assert len(open_numbers) >= min(k, row.records + 1)
            assert (min(open_numbers), max(open_numbers)) == ends[at]


@settings(max_examples=examples(20), deadline=None)
@given(st.data(), st.sampled_from([2, 3]))
def test_ranges_of_several_tables_rule_out_nothing_together_that_their_bounds_do_not(data, k):
    """Two tables that cross each other, every world tried: each range follows from what its own table publishes."""
    cells = data.draw(st.lists(st.integers(1, 5), min_size=6, max_size=6))
    linked = [data.draw(st.integers(0, size)) for size in cells]
    across, down = np.repeat([0, 0, 0, 1, 1, 1], cells), np.repeat([0, 1, 2, 0, 1, 2], cells)
    hits = hits_of(cells, linked)
    tables = [Grouping("across", tuple("ab"), across), Grouping("down", tuple("abc"), down)]
    found = subgroups(tables, hits, None, k)
    place = pooled_rows([across, down], k)
    worlds = np.array(list(product(*(range(size + 1) for size in cells))))
    worlds = worlds[worlds.sum(axis=1) == sum(linked)]
    before = now = np.ones(len(worlds), dtype=bool)
    for table, codes, rows in zip(found.tables, ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]), place, strict=True):
        order = [*range(1, int(rows.max()) + 1), *([0] if 0 in rows else [])]
        for row, number in zip(table.rows, order, strict=True):
            inside = rows[codes] == number
            totals, true = worlds[:, inside].sum(axis=1), int(np.array(linked)[inside].sum())
            low, high = numbers_of(row)
            assert low <= true <= high
            now = now & (low <= totals) & (totals <= high)
            few, many = true < k, row.records - true < k
            if row.linked is None:
                low, high = (
                    (0, row.records) if few == many else (0, k - 1) if few else (row.records - k + 1, row.records)
                )
            before = before & (low <= totals) & (totals <= high)
    assert now.any() and np.array_equal(now, before)


@settings(max_examples=examples(66), deadline=None)
@given(st.data(), st.sampled_from([3, 5, 10]))
def test_the_largest_rate_agrees_with_its_row_and_the_average(data, k):
    tables, hits = data.draw(people())
    if data.draw(st.booleans()):
        hits = hits * np.random.default_rng(0).random(len(hits))  # people who count in part
    found = subgroups([Grouping(str(at), tuple("abcdef"), table) for at, table in enumerate(tables)], hits, None, k)
    most = found.maximum
    assert most.low <= most.estimate <= most.high
    assert most.estimate >= found.average
    rows = [(table.name, row) for table in found.tables for row in table.rows]
    for (_, row), true in zip(rows, true_shares(tables, hits, k), strict=True):
        assert (row.at_least or 0) - 1e-9 <= true <= (1 if row.at_most is None else row.at_most) + 1e-9
    tops = [1.0 if row.at_most is None else row.at_most for _, row in rows if row.linked is None]
    if most.table is None:
        assert most.at_least == (found.average > 0) and most.label is None and most.estimate == found.average
        return
    assert most.at_least == any(top > most.estimate + 1e-12 for top in tops)
    named = [row for name, row in rows if (name, row.label) == (most.table, most.label)]
    assert any((row.low, row.linked or row.at_least) == (most.low, pytest.approx(most.estimate)) for row in named)
    if not most.at_least:
        assert any((row.low, row.high) == (most.low, most.high) for row in named)


def true_shares(tables, hits, k):
    """The shares of all rows, in the order in which they are listed."""
    found = []
    for place, table in zip(pooled_rows(tables, k), tables, strict=True):
        rows = place[table]
        found += [hits[rows == row].mean() for row in [*range(1, int(place.max()) + 1), *([0] if 0 in rows else [])]]
    return found


def test_records_without_a_value_are_a_group_and_pooled_ones_come_last_without_a_name():
    own = Grouping("g", ("a", "b", "c"), np.repeat([0, 1, 2, -1], [3, 4, 30, 40]))
    rows = subgroups([own], np.tile([0.0, 1.0], 39)[:77]).tables[0].rows
    assert [(row.label, row.groups, row.records) for row in rows] == [(NO_VALUE, 1, 40), (None, 3, 37)]


def test_the_interval_of_the_maximum_covers_the_true_rate_of_the_group_that_was_picked():
    """Twenty groups of 50 with a true rate of 0.3 each: 400 draws, at least 95% covered less 3.5 errors."""
    rng = np.random.default_rng(3)
    own = Grouping("g", tuple(str(item) for item in range(20)), codes_of([50] * 20))
    covered = above = 0
    for _ in range(400):
        found = subgroups([own], (rng.random(1000) < 0.3).astype(float)).maximum
        covered += found.low <= 0.3 <= found.high
        above += found.estimate > 0.36
    assert covered >= 400 * 0.95 - 3.5 * np.sqrt(400 * 0.05 * 0.95)
    assert above > 300  # the bare estimate of the maximum is far too high, which is why it has an interval


def test_codes_that_fit_nobody_are_refused():
    with pytest.raises(ValueError, match="code of a label"):
        subgroups([Grouping("g", ("a",), np.array([0, 1]))], np.zeros(2))
    with pytest.raises(ValueError, match="at least one record"):
        subgroups([], np.zeros(2))


def test_two_tables_do_not_give_away_by_difference_what_each_hides():
    """Fine groups of 3, 20 and 40; coarse ones of 43 (the first and the last) and 20: 43 - 40 would be 3."""
    fine, coarse = codes_of([3, 20, 40]), np.repeat([0, 1, 0], [3, 20, 40])
    assert pooled_rows([fine], 10)[0].tolist() == [0, 0, 1]
    rows = pooled_rows([fine, coarse], 10)
    assert not recovered([fine, coarse], rows, 10)


def test_two_tables_do_not_give_away_by_difference_how_few_are_linked():
    """Of four groups 3, 40, 50 and 60 are linked; pairs of them have 53 and 100: 53 - 50 would be 3."""
    sizes = [100, 90, 110, 120]
    fine, hits = codes_of(sizes), hits_of(sizes, [3, 40, 50, 60])
    coarse = np.array([0, 1, 0, 1])[fine]
    assert [mask.tolist() for mask in hidden_shares([fine], hits, 10)] == [[True, True, False, False]]
    assert not hidden_shares([coarse], hits, 10)[0].any()
    found = hidden_shares([fine, coarse], hits, 10)
    assert found[0][0] and (found[0][2] or found[1][0])
    # Nested rows: of 210 people 53 are linked, of the 110 inside 50, so that 3 of the rest would be told.
    nested = hidden_shares([coarse, np.where(fine == 2, 0, 1)], hits, 10)
    assert nested[0][0] or nested[1][0]


@st.composite
def people(draw):
    """Up to three groupings of the same people, some made of each other's groups, and who is linked."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count = draw(st.integers(10, 300))
    tables = [rng.choice(draw(st.integers(1, 6)), count, p=None)]
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            merged = rng.integers(0, 3, 6)
            tables.append(merged[tables[0]])
        else:
            weights = rng.dirichlet(np.full(5, 0.4))
            tables.append(rng.choice(5, count, p=weights))
    weights = rng.dirichlet(np.full(6, 0.5))
    tables[0] = rng.choice(6, count, p=weights) if draw(st.booleans()) else tables[0]
    hits = (rng.random(count) < draw(st.sampled_from([0.0, 0.05, 0.3, 0.7, 0.95, 1.0]))).astype(float)
    return [table.astype(np.int64) for table in tables], hits


def recovered(tables, rows, k):
    """Small groups whose size is a combination of the sizes shown, by the rank of the equations."""
    atoms = sorted(set(zip(*(table.tolist() for table in tables), strict=True)))
    shown = [np.ones(len(atoms))]
    for at, row_of in enumerate(rows):
        shown += [[row_of[atom[at]] == row for atom in atoms] for row in set(row_of[row_of >= 0].tolist())]
    equations = np.array(shown, dtype=float)
    rank = np.linalg.matrix_rank(equations)
    found = []
    for at, table in enumerate(tables):
        for group in np.unique(table):
            line = np.array([[atom[at] == group for atom in atoms]], dtype=float)
            if (table == group).sum() < k and np.linalg.matrix_rank(np.vstack([equations, line])) == rank:
                found.append((at, int(group)))
    return found


@settings(max_examples=examples(100), deadline=None)
@given(people(), st.sampled_from([3, 5, 10]))
def test_no_size_of_a_small_group_follows_from_what_all_tables_show(world, k):
    tables, _ = world
    rows = pooled_rows(tables, k)
    for table, row_of in zip(tables, rows, strict=True):
        shown = np.bincount(row_of[table])
        pooled = [int(group) for group in np.unique(table) if row_of[group] == 0]
        if len(np.unique(row_of[table])) > 1:
            assert all(size >= k for size in shown if size)
            assert len(pooled) != 1
    # Where all groups are in one row, nothing but the total is shown, which the table itself does not add.
    if any(len(np.unique(row_of[table])) > 1 for table, row_of in zip(tables, rows, strict=True)):
        single = [at for at, table in enumerate(tables) if len(np.unique(table)) == 1]
        assert [leak for leak in recovered(tables, rows, k) if leak[0] not in single] == []


@settings(max_examples=examples(100), deadline=None)
@given(people(), st.sampled_from([3, 5, 10]))
def test_every_hidden_number_of_linked_people_could_be_one_of_k_by_all_that_its_table_shows(world, k):
    """The attacker knows all that is printed: sizes, shares, bounds, the average. A linear program finds the range."""
    tables, hits = world
    names = tuple("abcdef")
    found = subgroups([Grouping(str(at), names, table) for at, table in enumerate(tables)], hits, None, k)
    for table in found.tables:
        hidden = [row for row in table.rows if row.linked is None]
        if not hidden or len(hidden) == len(table.rows):
            continue  # all hidden: the average alone is known, and it is not this table's
        left = found.average * len(hits) - sum(row.linked * row.records for row in table.rows if row.linked is not None)
        ends = [
            (
                0 if row.at_least is None else row.at_least * row.records,
                row.records if row.at_most is None else row.at_most * row.records,
            )
            for row in hidden
        ]
        for at, row in enumerate(hidden):
            aim = np.eye(len(hidden))[at]
            low, high = (
                linprog(sign * aim, A_eq=[np.ones(len(hidden))], b_eq=[left], bounds=ends).fun * sign
                for sign in (1, -1)
            )
            assert high - low >= min(k - 1, row.records) - 1e-6


@settings(max_examples=examples(66), deadline=None)
@given(people(), st.sampled_from([3, 5, 10]))
def test_no_hidden_number_of_linked_people_is_a_combination_of_shown_ones_over_all_tables(world, k):
    tables, hits = world
    rows = [row_of[table] for row_of, table in zip(pooled_rows(tables, k), tables, strict=True)]
    hidden = hidden_shares(rows, hits, k)
    assume(any(mask.any() for mask in hidden))
    atoms = sorted(set(zip(*(row.tolist() for row in rows), strict=True)))
    shown = [np.ones(len(atoms))]
    for at, mask in enumerate(hidden):
        shown += [[atom[at] == row for atom in atoms] for row in np.unique(rows[at]) if not mask[row]]
    rank = np.linalg.matrix_rank(np.array(shown, dtype=float))
    for at, mask in enumerate(hidden):
        for row in np.unique(rows[at]):
            line = np.array([atom[at] == row for atom in atoms], dtype=float)
            if mask[row] and not line.all():
                assert np.linalg.matrix_rank(np.vstack([shown, line])) > rank


def labelled(codes, x, labels=("a", "b", "c")):
    x = np.array(x, dtype=float)
    specs = (ColumnSpec("c", "attribute", "category"), ColumnSpec("x", "attribute", "numeric"))
    return Table("t", len(x), specs, {"c": Labels(np.array(codes, np.int32), labels), "x": Numbers(x, x, x)})


def test_rarity_by_hand():
    """Labels a, a, a, b and numbers 1, 1, 2, 2: log(4/3) + log(2) three times, log(4) + log(2) once."""
    own, other = rarity(labelled([0, 0, 0, 1], [1, 1, 2, 2]), labelled([2, 1, -1], [1, 7, np.nan]))
    assert own == pytest.approx(np.log([8 / 3, 8 / 3, 8 / 3, 8]))
    # A control is one more of five: c is 1 in 5, b 2 in 5; 1 is 3 in 5, 7 and a missing value 1 in 5.
    assert other == pytest.approx(np.log([5 * 5 / 3, 5 / 2 * 5, 25]))


def test_numbers_that_are_all_distinct_count_by_their_decile():
    own, _ = rarity(labelled([0] * 100, np.arange(100)))
    assert own == pytest.approx(np.full(100, np.log(10)))


def test_deciles_are_tenths_from_the_commonest_with_ties_together():
    assert deciles(np.arange(20.0)).tolist() == np.repeat(np.arange(10), 2).tolist()
    assert deciles(np.array([0.0] * 15 + [1.0] * 5)).tolist() == [0] * 15 + [7] * 5
    assert deciles(np.arange(10.0), np.array([-1.0, 4.5, 99.0])).tolist() == [0, 5, 9]
    assert len(LABELS) == 10


@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=60))
def test_a_rarer_record_is_never_in_a_commoner_decile(values):
    found = deciles(np.array(values))
    order = np.argsort(values)
    assert np.all(np.diff(found[order]) >= 0)
    assert all(len(set(found[np.array(values) == value])) == 1 for value in set(values))


def test_where_all_known_rates_are_lower_the_maximum_is_at_least_the_average():
    """Tenths of 50 people; in the last 40 are linked, elsewhere 3: hidden, and the last against subtraction."""
    codes = np.repeat(np.arange(10), 50)
    linked = np.concatenate([np.repeat([1.0, 0.0], [3, 47])] * 9 + [np.repeat([1.0, 0.0], [40, 10])])
    found = subgroups([Grouping("tenths", tuple("abcdefghij"), codes)], linked)
    assert (found.maximum.estimate, found.maximum.at_least) == (0.8, False)
    # Everybody is linked: "at least 41 of 50" is all that each row says, and it is below the average.
    most = subgroups([Grouping("tenths", tuple("abcdefghij"), codes)], np.ones(500)).maximum
    assert (most.estimate, most.table, most.label, most.at_least, most.high) == (1.0, None, None, True, 1.0)
    assert 0.9 < most.low < 1
    # Nobody is: no row has a lower bound that could be named, but the average leaves 0 for all of them.
    most = subgroups([Grouping("tenths", tuple("abcdefghij"), codes)], np.zeros(500)).maximum
    assert (most.estimate, most.low, most.table, most.at_least) == (0.0, 0.0, None, False)
    assert most.high > 9 / 50


def test_the_interval_of_the_largest_rate_is_that_of_its_row():
    """The small group has the wider interval but not the larger share."""
    sizes = [1000, 40]
    found = subgroups([grouping(sizes)], hits_of(sizes, [500, 19]))
    large, small = found.tables[0].rows
    assert (found.maximum.label, found.maximum.low, found.maximum.high) == ("a", large.low, large.high)
    assert small.high > large.high and not found.maximum.at_least


def test_a_hidden_row_that_cannot_have_more_leaves_the_largest_rate_exact():
    sizes = [100, 90, 80]
    found = subgroups([grouping(sizes)], hits_of(sizes, [50, 20, 3]))
    rows = found.tables[0].rows
    assert [row.linked is None for row in rows] == [False, True, True] and rows[1].at_most < 0.5
    assert (found.maximum.estimate, found.maximum.at_least) == (0.5, False)
    assert (found.maximum.low, found.maximum.high) == (rows[0].low, rows[0].high)


def test_a_hidden_row_that_may_have_more_makes_it_a_lower_bound_with_the_upper_end_of_that_row():
    sizes = [100, 90, 80]
    # The second row has 46 to 55 of 90, which may be more than 60 of 100.
    found = subgroups([grouping(sizes)], hits_of(sizes, [60, 52, 3]))
    rows = found.tables[0].rows
    assert (rows[1].at_least, rows[1].at_most) == (46 / 90, 55 / 90)
    assert (found.maximum.estimate, found.maximum.label, found.maximum.at_least) == (0.6, "a", True)
    assert (found.maximum.low, found.maximum.high) == (rows[0].low, max(rows[0].high, rows[1].high))


# Rows that belong together ------------------------------------------------------------------------------------------


def test_households_that_stand_or_fall_together_are_drawn_whole():
    """40 of 100 homes of five alike rows are linked: the interval is that of 100 people with Student's quantile."""
    home = np.repeat(np.arange(100), 5)
    linked = (home < 40).astype(float)
    own = Grouping("g", ("a", "b"), (np.arange(500) % 10 >= 5).astype(np.int64))
    alone, together = (subgroups([own], linked, cluster=cluster).tables[0].rows[0] for cluster in (None, home))
    # 50 homes, 20 of them linked; two rows share 5%: t = 2.3124 at 49 degrees of freedom for 49, z = 2.2414 for 250.
    assert (alone.low, alone.high) == pytest.approx((0.33318, 0.47076), abs=1e-5)
    assert (together.low, together.high) == pytest.approx((0.25586, 0.56382), abs=1e-4)
    assert (alone.linked, alone.records) == (together.linked, together.records) == (0.4, 250)


def test_units_of_one_record_each_change_an_interval_by_student_s_quantile_alone():
    sizes, linked = [400, 300], [100, 200]
    found = [
        subgroups([grouping(sizes)], hits_of(sizes, linked), cluster=cluster).tables[0].rows
        for cluster in (None, np.arange(700))
    ]
    for alone, each in zip(*found, strict=True):
        assert (each.low, each.high) == pytest.approx((alone.low, alone.high), abs=1e-3)
        assert each.low < alone.low and each.high > alone.high


def test_a_hidden_row_tells_nothing_of_the_links_in_its_units():
    """Whoever is linked in it, and in whatever homes: the ends of a hidden row follow from sizes and ranges."""
    sizes = [60, 60, 60]
    home = np.arange(180) // 3
    scattered, in_one_home = hits_of(sizes, [30, 30, 3]), hits_of(sizes, [30, 30, 3])
    scattered[120:] = 0
    scattered[[120, 130, 140]] = 1
    rows = [subgroups([grouping(sizes)], hits, cluster=home).tables[0].rows for hits in (scattered, in_one_home)]
    assert rows[0][2] == rows[1][2] and rows[0][2].linked is None
    assert rows[0][2].high > subgroups([grouping(sizes)], scattered).tables[0].rows[2].high


@pytest.mark.parametrize("role", ["group", "ignore"])
def test_declared_groups_widen_the_interval_of_a_subgroup_and_of_the_largest_rate(role):
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(100), 5)
    place = rng.normal(size=(100, 3))[home] + 0.01 * rng.normal(size=(500, 3))
    table = pd.DataFrame(place, columns=list("abc")).assign(home=home, side=np.where(home % 2, "odd", "even"))
    columns = {"home": {"role": role}, "side": {"role": "ignore"}}
    columns |= {name: {"role": "attribute", "type": "numeric"} for name in "abc"}
    attacker = {"blocking": "none", "projection": "identity"}
    config = {
        "columns": columns,
        "attacker": attacker,
        "threshold": 0.999,
        "report": {"subgroups": ["side"], "suppress_below": 1},
    }
    at_risk = cvpl.audit(table, table[home < 50], config).at_risk
    rows = [row for group in at_risk.tables if group.name == "side" for row in group.rows]
    widths = [row.high - row.low for row in [*rows, at_risk.maximum]]
    assert widths == pytest.approx([0.334 if role == "group" else 0.150] * 3, abs=1e-3)


@pytest.mark.parametrize("sets", [3, 20, 200])
def test_a_number_that_does_not_follow_from_the_shown_ones_is_not_told_even_if_it_nearly_does(sets):
    """A chain of sums of neighbours leaves the first set open: its alternating sum misses by 1 / sets at each place."""
    chain = np.eye(sets)[:-1] + np.eye(sets)[1:]
    first = np.arange(sets) == 0
    assert not is_spanned(chain, first)
    assert is_spanned(np.vstack([chain, np.arange(sets) == sets - 1]), first)
