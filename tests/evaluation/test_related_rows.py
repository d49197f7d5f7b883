"""Rows that belong together without a declared group, and rows that occur more than once: exact tests."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from cvpl.evaluation import repeated_rows as module
from cvpl.evaluation.control_likeness import control_likeness
from cvpl.evaluation.repeated_rows import (
    chance_all_across,
    chance_of_one,
    choose_sets,
    column_codings,
    never_reached,
    permuted_labels,
    related_rows,
    repeated_rows,
    shared_cells,
)
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table, Times
from examples import examples

SHARED, OWN = {"region": 20, "income": 5, "origin": 5}, {"age": 70, "sex": 2, "trade": 8}


def rare(tried):
    """The most alarms that are still no sign of more than one in 1,000: four standard errors beyond it."""
    return 1 + tried / 1_000 + 4 * math.sqrt(tried / 1_000)


def table(**columns):
    """Whole numbers are labels, others are numbers."""
    specs, data = [], {}
    for name, values in columns.items():
        numeric = values.dtype.kind == "f"
        specs.append(ColumnSpec(name, "attribute", "numeric" if numeric else "category"))
        labels = tuple(map(str, range(200)))
        data[name] = Numbers(values, values, values) if numeric else Labels(values.astype(np.int32), labels)
    return Table("people", len(values), tuple(specs), data)


def people(rng, rows, sizes=(1, 1), shared=SHARED):
    """Households of so many people, who share some columns."""
    home = np.repeat(np.arange(rows), rng.integers(sizes[0], sizes[1], rows, endpoint=True))[:rows]
    common = {name: rng.choice(count, rows, p=_skewed(count))[home] for name, count in shared.items()}
    own = {name: rng.integers(count, size=rows) for name, count in OWN.items()}
    return table(**common, **own, weight=rng.normal(size=rows))


def _skewed(count):
    weight = np.arange(1, count + 1) ** -0.5
    return weight / weight.sum()


def both(first, second):
    """The rows of two tables in one."""
    columns = {name: column.joined(second.columns[name]) for name, column in first.columns.items()}
    return Table("people", first.rows + second.rows, first.specs, columns)


@pytest.mark.parametrize(("originals", "controls"), [(50, 100), (100, 50), (300, 600), (1_000, 500)])
def test_undeclared_households_are_found_at_every_size(originals, controls):
    for seed in range(examples(5)):
        rng = np.random.default_rng(seed)
        found = related_rows(people(rng, originals, (2, 6)), people(rng, controls, (2, 6)), rng)
        assert found is not None and not found.across and set(found.columns) <= set(SHARED)
        assert 0.02 <= found.share <= 1


def test_independent_rows_raise_no_alarm():
    alarms, tried = 0, examples(100)
    for seed in range(tried):
        rng = np.random.default_rng(1_000 + seed)
        alarms += related_rows(people(rng, 60), people(rng, 90), rng) is not None
    assert alarms <= rare(tried)


@pytest.mark.parametrize("rows", [(60, 60), (400, 800)])
def test_households_on_both_sides_alike_are_exchangeable_and_no_alarm(rows):
    alarms, tried = 0, examples(20)
    for seed in range(tried):
        rng = np.random.default_rng(seed)
        whole = people(rng, sum(rows), (2, 6))
        order = rng.permutation(whole.rows)
        alarms += related_rows(whole.take(order[: rows[0]]), whole.take(order[rows[0] :]), rng) is not None
    assert alarms <= rare(tried)


def test_a_control_that_resembles_the_originals_more_than_itself_is_told_apart():
    """A third of the control are originals with another age."""
    rng = np.random.default_rng(3)
    mine, others = people(rng, 400), people(rng, 400)
    near = mine.take(np.arange(200))
    near = Table("near", 200, near.specs, {**near.columns, "age": others.columns["age"].take(np.arange(200))})
    found = related_rows(mine, both(near, others), rng)
    assert found is not None and found.across
    said = control_likeness(mine, both(near, others), rng)
    assert said.relations.across and "resemble rows of the originals" in said.relations.message
    assert said.relations.message in said.figures.alarms


def test_the_statistic_counts_mates_in_the_own_table_by_hand():
    """Cells aa|b, cd|cc and e|: a row's share of mates in its own table, summed over rows."""
    labels = np.array([[1], [1], [0], [1], [0], [0], [0]], dtype=np.int16)
    cells = shared_cells([("x", np.array([0, 0, 0, 1, 1, 1, 2]))])
    assert cells.sizes.tolist() == [3, 3]
    assert cells.own(labels).tolist() == [(0.5 + 0.5 + 0) + (0 + 0.5 + 0.5)]


def test_rows_agree_on_a_set_if_they_agree_on_each_of_its_columns():
    rng = np.random.default_rng(1)
    one, other = rng.integers(0, 3, 40), rng.integers(0, 3, 40)
    cells = shared_cells([("x", one), ("y", other)])
    sizes = [((one == a) & (other == b)).sum() for a in range(3) for b in range(3)]
    assert sorted(cells.sizes) == sorted(size for size in sizes if size > 1)
    assert cells.members.sum(axis=1).tolist() == cells.sizes.tolist()


def test_numbers_are_compared_by_classes_and_by_equal_values_if_many_are_equal():
    values = np.random.default_rng(2).normal(size=1_000)
    (binned,) = column_codings(Numbers(values, values, values))
    assert np.bincount(binned).tolist() == [0] + [100] * 10
    tied = np.repeat(values[:500], 2)
    binned, exact = column_codings(Numbers(tied, tied, tied))
    assert len(np.unique(binned)) == 10 and len(np.unique(exact)) == 500
    few = np.round(values).clip(-2, 2)
    assert len(column_codings(Numbers(few, few, few))) == 1
    gone = np.where(np.arange(1_000) < 50, np.nan, values)
    assert (column_codings(Numbers(gone, gone, gone))[0] == 0).sum() == 50
    times = np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[us]")
    assert column_codings(Times(times, times))[0].tolist() == [1, 0, 2]


def test_all_sets_are_looked_at_as_far_as_there_is_room():
    rng = np.random.default_rng(1)
    assert choose_sets(5, 2, 150, rng) == list(combinations(range(5), 2))
    assert len(choose_sets(30, 2, 120, rng)) == 120
    assert choose_sets(3, 2, 0, rng) == choose_sets(1, 2, 9, rng) == []
    wide = choose_sets(2_000, 2, 100, rng)
    assert 0 < len(wide) <= 100 and all(a < b for a, b in wide)


def test_columns_that_tell_nothing_alarm_nothing():
    rng = np.random.default_rng(1)
    same = table(x=np.zeros(80, dtype=np.int64))
    assert related_rows(same, same, rng) is None
    apart = table(x=np.arange(80))
    assert related_rows(apart.take(np.arange(40)), apart.take(np.arange(40, 80)), rng) is None
    assert related_rows(apart.take(np.arange(0)), apart, rng) is None


def test_an_exchange_keeps_the_sizes_of_the_tables_and_each_row_is_as_likely():
    labels = permuted_labels(30, 10, 4_000, np.random.default_rng(5))
    assert labels.shape == (30, 4_000) and (labels.sum(axis=0) == 10).all()
    assert np.abs(labels.mean(axis=1) - 1 / 3).max() < 5 * math.sqrt(2 / 9 / 4_000)


def test_exchanges_stop_where_everything_is_reached_and_end_at_their_number():
    asked = []

    def exchanged(size):
        asked.append(size)
        return np.zeros((2, size))

    assert never_reached(np.array([1.0, 0.0]), exchanged, 999).tolist() == [True, False]
    assert sum(asked) == 999
    asked.clear()
    assert not never_reached(np.array([0.0, -1.0]), exchanged, 999).any()
    assert len(asked) == 1


def test_a_p_value_is_that_of_all_exchanges(monkeypatch):
    """How often the test is passed by independent rows is at most one over the exchanges."""
    monkeypatch.setattr(module, "RELATED_EXCHANGES", 9)
    monkeypatch.setattr(module, "LEAST", 0.0)
    tried = examples(200)
    found = 0
    for seed in range(tried):
        rng = np.random.default_rng(seed)
        found += related_rows(people(rng, 30), people(rng, 30), rng) is not None
    assert found / tried < 0.1 + 4 * math.sqrt(0.09 / tried)


def keys(rng, rows, values):
    return rng.integers(0, values, rows).astype(np.uint64)


def test_copies_of_originals_in_a_control_are_found_at_every_size():
    for originals, controls, copied in ((250, 500, 100), (2_000, 500, 5), (60, 60, 12), (5_000, 20_000, 400)):
        rng = np.random.default_rng(1)
        mine = np.arange(originals, dtype=np.uint64)
        others = np.concatenate([mine[:copied], 10**6 + np.arange(controls - copied, dtype=np.uint64)])
        found = repeated_rows(mine, rng.permutation(others), rng)
        assert found.copied and not found.doubles


def test_copies_are_found_in_a_table_where_some_rows_are_equal_by_chance():
    rng = np.random.default_rng(2)
    mine, others = keys(rng, 1_000, 5_000), keys(rng, 1_000, 5_000)
    assert not repeated_rows(mine, others, rng).copied
    assert repeated_rows(mine, np.concatenate([mine[:150], others[150:]]), rng).copied


@pytest.mark.parametrize("values", [3, 40, 500, 20_000, 10**9])
def test_equal_rows_by_chance_raise_no_alarm(values):
    """Whatever the number of categories."""
    alarms, tried = 0, examples(60)
    for seed in range(tried):
        rng = np.random.default_rng(seed)
        found = repeated_rows(keys(rng, 300, values), keys(rng, 500, values), rng)
        alarms += found.copied or found.doubles
    assert alarms <= rare(tried)


def test_a_single_copy_is_none():
    mine, others = np.arange(500, dtype=np.uint64), 499 + np.arange(500, dtype=np.uint64)
    found = repeated_rows(mine, others, np.random.default_rng(1))
    assert not found.copied and not found.doubles and found.doubled == 0


def test_rows_that_stand_twice_in_the_control_are_found_and_counted():
    rng = np.random.default_rng(3)
    mine, others = np.arange(400, dtype=np.uint64), 1_000 + np.arange(300, dtype=np.uint64)
    found = repeated_rows(mine, np.concatenate([others, others[:60]]), rng)
    assert found.doubles and not found.copied
    assert found.doubled == 120 / 360
    assert found.expected == pytest.approx(60 * 2 * (360 / 760) * (359 / 759) / 360)
    natural = repeated_rows(np.repeat(mine[:200], 2), np.concatenate([others, others[:60]]), rng)
    assert not natural.doubles


def test_people_who_stand_twice_in_one_table_are_no_copies():
    rng = np.random.default_rng(3)
    mine, others = np.repeat(np.arange(150, dtype=np.uint64), 2), 1_000 + np.repeat(np.arange(150, dtype=np.uint64), 2)
    assert not repeated_rows(mine, others, rng).copied


@pytest.mark.parametrize(("times", "mine", "others"), [(2, 3, 4), (3, 3, 4), (4, 2, 5), (5, 1, 4), (3, 5, 1)])
def test_the_chance_of_one_original_is_that_of_all_exchanges(times, mine, others):
    rows = mine + others
    ways = [sum(place < times for place in some) for some in combinations(range(rows), mine)]
    expected = sum(count == 1 for count in ways) / len(ways)
    assert chance_of_one(np.array([times]), mine, others)[0] == pytest.approx(expected)


@pytest.mark.parametrize(("pairs", "mine", "rows"), [(1, 2, 5), (2, 3, 7), (3, 4, 8), (3, 2, 8)])
def test_the_chance_that_all_pairs_are_split_is_that_of_all_exchanges(pairs, mine, rows):
    ways = list(combinations(range(rows), mine))
    split = [all((2 * at in some) != (2 * at + 1 in some) for at in range(pairs)) for some in ways]
    assert chance_all_across(pairs, mine, rows) == pytest.approx(np.mean(split))
