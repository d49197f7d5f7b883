"""The check that control and originals come from one population."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from cvpl.evaluation.control_likeness import (
    area,
    chi_square_tail,
    column_likeness,
    control_likeness,
    kolmogorov_smirnov,
    row_keys,
    total_variation,
)
from cvpl.result.publishing import ALL_NUMBERS
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table, Times
from cvpl.tables.pair import read_inputs
from examples import examples
from shared_data import SHARED, needs_data

ADULT = SHARED / "adult_study_2021" / "trn.csv.gz"
CELLS = st.integers(0, 6).map(float)
A_CELL = "never-to-be-told"


def people(rng, rows, shift=0.0, together=0.0):
    """A number, a label of four, a time; `shift` moves the number, `together` ties the label to the number."""
    x = rng.normal(shift, 1, rows)
    codes = rng.integers(0, 4, rows)
    codes = np.where(rng.random(rows) < together, (x > shift).astype(int) * 3, codes).astype(np.int32)
    when = np.datetime64("2024-01-01", "us") + rng.integers(0, 10**12, rows).astype("timedelta64[us]")
    return table(x, codes, when)


def table(x, codes, when):
    specs = (
        ColumnSpec("x", "attribute", "numeric"),
        ColumnSpec("c", "attribute", "category"),
        ColumnSpec("t", "attribute", "datetime"),
    )
    labels = Labels(codes, (f"{A_CELL}1", "b", "c", "d"))
    return Table("people", len(x), specs, {"x": Numbers(x, x, x), "c": labels, "t": Times(when, when)})


def test_the_distance_of_two_distribution_functions_by_hand():
    """F1 steps at 1, 2, 3, 4 and F2 at 3, 4, 5, 6: at 2 they are 1/2 apart."""
    assert kolmogorov_smirnov(np.arange(1.0, 5), np.arange(3.0, 7))[0] == 0.5


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 5), (5, 0)])
def test_an_empty_sample_is_at_no_distance(first, second):
    assert kolmogorov_smirnov(np.ones(first), np.ones(second)) == (0.0, 1.0)
    assert total_variation(np.array([first, 0]), np.array([0, second])) == (0.0, 1.0)


def test_a_column_differs_only_if_its_p_value_is_below_the_level():
    """A p-value on the level is not below it; half of the level is for the values, half for those that are missing."""
    rng = np.random.default_rng(3)
    first, second = (Numbers(x, x, x) for x in (rng.normal(size=300), rng.normal(0.5, 1, 300)))
    p_value = column_likeness("x", first, second, 1.0, ALL_NUMBERS, enough=True).p_value
    assert 0 < p_value < 0.01
    for level, differs in ((2 * p_value, False), (2.001 * p_value, True)):
        assert column_likeness("x", first, second, level, ALL_NUMBERS, enough=True).figures.differs == differs
        assert not column_likeness("x", first, second, level, ALL_NUMBERS, enough=False).figures.differs


def test_total_variation_by_hand_with_rare_labels_pooled():
    """Shares 0.5, 0.4, 0.1 against 0.3, 0.6, 0.1, where the last stands for three rare labels."""
    first, second = np.array([50, 40, 4, 3, 3]), np.array([30, 60, 2, 2, 6])
    distance, p_value = total_variation(first, second)
    assert distance == pytest.approx(0.2)
    expected = stats.chi2_contingency([[50, 40, 10], [30, 60, 10]], correction=False)
    assert p_value == pytest.approx(expected.pvalue)


@given(st.floats(0.01, 2000), st.integers(1, 400))
def test_the_tail_of_chi_square_is_scipys(statistic, freedom):
    assert chi_square_tail(statistic, freedom) == pytest.approx(stats.chi2.sf(statistic, freedom), rel=1e-8, abs=1e-12)


@given(st.lists(CELLS, min_size=1, max_size=30), st.lists(CELLS, min_size=1, max_size=30))
def test_the_distance_is_the_largest_gap_and_its_p_value_that_of_scipys_limit_law(first, second):
    distance, p_value = kolmogorov_smirnov(np.array(first), np.array(second))
    gaps = [abs(np.mean(np.array(first) <= at) - np.mean(np.array(second) <= at)) for at in first + second]
    assert distance == pytest.approx(max(gaps))
    scaled = distance * np.sqrt(len(first) * len(second) / (len(first) + len(second)))
    assert p_value == pytest.approx(stats.kstwobign.sf(scaled), abs=1e-9)


@given(st.lists(CELLS, min_size=1, max_size=30), st.lists(CELLS, min_size=1, max_size=30))
def test_the_area_under_the_curve_is_that_of_scikit_learn(positive, negative):
    truth = [1] * len(positive) + [0] * len(negative)
    assert area(np.array(positive), np.array(negative)) == pytest.approx(roc_auc_score(truth, positive + negative))


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(CELLS | st.just(float("nan")), st.integers(-1, 3), st.integers(0, 2)), min_size=1))
def test_rows_have_equal_keys_exactly_where_they_are_equal(rows):
    x, codes, days = (np.array(side) for side in zip(*rows, strict=True))
    when = np.array([np.datetime64("NaT", "us"), *np.array(["2024-01-01", "2024-01-02"], "datetime64[us]")])[days]
    keys = row_keys(table(x, codes.astype(np.int32), when))
    parts = [repr(row) for row in rows]
    assert [[mine == other for other in keys] for mine in keys] == [[a == b for b in parts] for a in parts]


def test_zero_with_either_sign_is_one_value():
    keys = [
        row_keys(table(np.array([item]), np.array([0], np.int32), np.array(["2024"], "M8[us]"))) for item in (0.0, -0.0)
    ]
    assert keys[0] == keys[1]


@pytest.mark.parametrize(
    ("changed", "columns", "joint"),
    [
        ({}, [False, False, False], False),
        ({"shift": 0.4}, [True, False, False], True),
        ({"together": 0.5}, [False, True, False], True),
    ],
)
def test_people_from_elsewhere_are_noticed_and_others_are_not(changed, columns, joint):
    rng = np.random.default_rng(5)
    found = control_likeness(people(rng, 4000), people(rng, 1500, **changed), rng)
    assert [column.figures.differs for column in found.columns] == columns
    assert found.joint.differs == joint
    assert found.figures.alike == (not joint)
    assert not found.copies.suspicious


def test_columns_that_agree_one_by_one_but_not_together_are_noticed():
    rng = np.random.default_rng(6)
    mine, other = people(rng, 3000, together=0.8), people(rng, 3000, together=0.8)
    shuffled = {name: column.take(rng.permutation(3000)) for name, column in other.columns.items()}
    found = control_likeness(mine, Table("control", 3000, other.specs, shuffled), rng)
    assert not any(item.figures.differs for item in found.columns)
    assert found.joint.differs and not found.figures.alike
    assert "all columns together" in found.figures.alarms[0]


def test_values_missing_far_more_often_are_noticed():
    rng = np.random.default_rng(7)
    mine, other = people(rng, 2000), people(rng, 2000)
    x = np.where(rng.random(2000) < 0.3, np.nan, other.columns["x"].values)
    found = control_likeness(mine, Table("control", 2000, other.specs, {**other.columns, "x": Numbers(x, x, x)}), rng)
    assert found.columns[0].figures.missing == pytest.approx(0.3, abs=0.05)
    assert found.columns[0].figures.differs and "missing values" in found.columns[0].message


@pytest.mark.parametrize(("copied", "suspicious"), [(0, False), (1, False), (50, True), (1000, True)])
def test_originals_in_the_control_are_noticed(copied, suspicious):
    rng = np.random.default_rng(8)
    mine, other = people(rng, 5000), people(rng, 1000)
    both = {
        name: type(column)(*(np.concatenate([a[:copied], b[copied:]]) for a, b in sides), *rest)
        for name, column, other_column in (
            (spec.name, mine.columns[spec.name], other.columns[spec.name]) for spec in mine.specs
        )
        for sides, rest in [_sides(column, other_column)]
    }
    found = control_likeness(mine, Table("control", 1000, mine.specs, both), rng)
    assert found.copies.control_share == copied / 1000
    assert found.copies.original_share == 0
    assert found.copies.beyond_chance == copied / 1000
    assert found.copies.suspicious == suspicious


def _sides(column, other):
    if isinstance(column, Numbers):
        return [(column.values, other.values)] * 3, ()
    if isinstance(column, Labels):
        return [(column.codes, other.codes)], (column.labels,)
    return [(column.first, other.first)] * 2, ()


def test_equal_rows_by_chance_are_no_copies():
    """Four labels alone: nearly every row has a double, in the control as among the originals, and that is said."""
    rng = np.random.default_rng(9)
    found = control_likeness(people(rng, 500).only(("c",)), people(rng, 500).only(("c",)), rng)
    assert found.copies.original_share == found.copies.control_share == 1
    assert not found.copies.suspicious and "cannot show" in found.copies.message


def test_few_records_are_not_called_different():
    rng = np.random.default_rng(10)
    found = control_likeness(people(rng, 1000), people(rng, 20, shift=9.0), rng)
    assert not found.figures.enough and found.figures.alike


def test_originals_in_a_control_of_few_records_are_noticed():
    """The test of copies is exact, so it needs no least number of records."""
    rng = np.random.default_rng(12)
    mine, other = people(rng, 200), people(rng, 45)
    rows = np.concatenate([np.arange(20), 200 + np.arange(25)])
    joined = {name: mine.columns[name].joined(column).take(rows) for name, column in other.columns.items()}
    found = control_likeness(mine, Table("control", 45, mine.specs, joined), rng)
    assert not found.figures.enough and found.copies.suspicious
    assert not control_likeness(mine, other, rng).copies.suspicious


def test_no_message_holds_a_label_of_the_tables():
    rng = np.random.default_rng(11)
    found = control_likeness(people(rng, 900), people(rng, 900, shift=1.0, together=0.9), rng)
    parts = [*(column.message for column in found.columns), found.joint.message, found.copies.message]
    assert found.figures.alarms and not any(A_CELL in item for item in parts)


def test_random_splits_raise_no_alarm():
    """60 splits in a full run: at a false alarm rate of 1 in 1,000 one of them would raise one in 6% of such tests."""
    rng = np.random.default_rng(12)
    whole = people(rng, 1200, together=0.3)
    for _ in range(min(60, examples(20))):
        rows = rng.permutation(1200)
        assert control_likeness(whole.take(rows[:800]), whole.take(rows[800:]), rng).figures.alike


@needs_data
def test_adult_split_by_sex_is_noticed_and_split_at_random_is_not():
    names = {"age": "numeric", "education": "category", "occupation": "category", "sex": "category"}
    specs = [ColumnSpec(name, "attribute", kind) for name, kind in names.items()]
    adult = read_inputs(ADULT, ADULT, specs, checks=False).pair.original
    rng = np.random.default_rng(13)
    rows = rng.permutation(adult.rows)
    at_random = control_likeness(adult.take(rows[:9000]), adult.take(rows[9000:15000]), rng)
    assert at_random.figures.alike
    sex = adult.columns["sex"].codes
    others = adult.only(("age", "education", "occupation"))
    by_sex = control_likeness(*(others.take(np.flatnonzero(sex == code)) for code in (0, 1)), rng)
    assert by_sex.joint.differs and {one.column for one in by_sex.figures.columns if one.differs} >= {"occupation"}
