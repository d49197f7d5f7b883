"""Singling out: uniques by sets of columns, SUDA2 scores, exact rows and predicates, against plain loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvpl.evaluation.singling_out import predicates
from cvpl.evaluation.singling_out.codes import SharedCodes, Tally, uniques
from cvpl.evaluation.singling_out.column_sets import column_sets, exact_rows, suda_weights
from cvpl.evaluation.singling_out.compiled_tally import CompiledTally
from cvpl.evaluation.singling_out.predicates import (
    Condition,
    QueryTable,
    SeenRelease,
    among_as_many,
    predicate_rates,
    singled_out,
    write_predicates,
)
from cvpl.tables.columns import ColumnSpec
from cvpl.tables.pair import read_inputs
from examples import examples
from oracle import singling_out as slow
from shared_data import SHARED, needs_data

cells = st.tuples(st.integers(-1, 2), st.integers(0, 3), st.integers(-1, 1), st.integers(0, 9))
tables = st.lists(cells, min_size=1, max_size=30)
GUIDELINE = [
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Secondary incomplete", "Employed"),
    ("Urban", "Female", "Primary incomplete", "Non-LF"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Rural", "Female", "Secondary complete", "Unemployed"),
    ("Urban", "Male", "Secondary complete", "Employed"),
    ("Urban", "Female", "Primary complete", "Non-LF"),
    ("Urban", "Male", "Post-secondary", "Unemployed"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
    ("Urban", "Female", "Secondary incomplete", "Non-LF"),
]
"""The example of the guideline for sdcMicro, "Calculating SUDA scores"."""


def coded(original, released):
    """The codes of two tables of small numbers."""
    width = len(original[0])
    mine, theirs = (np.array(rows, dtype=np.int32).reshape(-1, width).T.copy() for rows in (original, released))
    return SharedCodes(tuple(f"c{at}" for at in range(width)), mine, theirs)


def as_codes(rows):
    """Texts as numbers, column by column."""
    columns = list(zip(*rows, strict=True))
    numbers = [{value: at for at, value in enumerate(sorted(set(column)))} for column in columns]
    return [tuple(number[cell] for number, cell in zip(numbers, row, strict=True)) for row in rows]


def test_the_scores_are_those_of_sdcmicros_guideline():
    """Four key columns and sets of up to three: the scores that the guideline prints."""
    rows = as_codes(GUIDELINE)
    found = column_sets(coded(rows, rows), ("c0", "c1", "c2", "c3"))
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert slow.suda_scores(GUIDELINE) == found.scores.tolist()
    # the fifth is the only one in the country: one column is enough
    assert found.smallest.tolist() == [0, 0, 1, 0, 1, 0, 1, 1, 0, 0]


@pytest.mark.parametrize(("keys", "weights"), [(4, (6, 2, 1)), (3, (2, 1)), (10, (504, 56, 7)), (2, (1,))])
def test_weights_of_minimal_sets(keys, weights):
    """(ATT - 1)(ATT - 2)(ATT - 3), (ATT - 2)(ATT - 3), ATT - 3; with few columns up to ATT - 1 of them."""
    assert suda_weights(keys) == weights


@settings(max_examples=examples(60), deadline=None)
@given(tables, tables)
def test_sets_of_columns_equal_the_loops(original, released):
    """Counts of every set, the smallest set of each person, and the scores."""
    codes = coded(original, released)
    found = column_sets(codes, codes.names, workers=2)
    assert len(found.sets) == 4 + 6 + 4 and found.left_out == 0
    for item in found.sets:
        counts = item.found.original, item.found.released, item.found.both
        assert counts == slow.uniques(original, released, item.columns)
    minimal = [slow.minimal_sets(original, at, range(4)) for at in range(len(original))]
    assert found.smallest.tolist() == [min(map(len, sets), default=0) for sets in minimal]
    assert found.scores.tolist() == slow.suda_scores(original)
    whole = uniques(codes)
    assert (whole.original, whole.released, whole.both) == slow.uniques(original, released, range(4))


@settings(max_examples=examples(25), deadline=None)
@given(tables, tables, st.booleans())
def test_compiled_counts_equal_those_of_numpy(original, released, many):
    """With a place for each combination, and with a hash table."""
    codes = coded(original, released)
    if many:
        spread = np.int32(40_000)
        wide = [np.where(part >= 0, part * spread, -1) for part in (codes.original, codes.released)]
        codes = SharedCodes(codes.names, *wide)
    plain, compiled = Tally(codes), CompiledTally(codes)
    for columns in ((0,), (1, 3), (0, 1, 3), (1, 2, 3)):
        bits, counts = plain(columns)
        other, same = compiled(columns)
        assert counts == same and bits.tolist() == other.tolist()


def test_scores_are_those_of_the_key_columns():
    """A column that is no key adds nothing to a score, and fewer than three keys have none."""
    rows = as_codes(GUIDELINE)
    more = [(*row, at) for at, row in enumerate(rows)]
    found = column_sets(coded(more, more), ("c0", "c1", "c2", "c3"))
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert set(found.smallest.tolist()) == {1}
    assert column_sets(coded(more, more), ("c0", "c1")).scores is None


def test_sets_are_left_out_where_tables_are_too_large():
    """Sets of three that are not all keys go first, then all of three, then pairs; it is said how many."""
    codes = coded([(0, 1, 2, 3, 4)] * 10, [(0, 1, 2, 3, 4)] * 10)
    keys = ("c0", "c1", "c2")
    for visits, sets in ((25 * 20, 25), (16 * 20, 16), (15 * 20, 15), (14 * 20, 5)):
        found = column_sets(codes, keys, most_visits=visits)
        assert (len(found.sets), found.left_out) == (sets, 25 - sets)


@settings(max_examples=examples(60), deadline=None)
@given(tables, tables)
def test_exact_rows_equal_the_loops(original, released):
    mine, theirs = (
        np.array([hash(row) for row in rows], dtype=np.int64).view(np.uint64) for rows in (original, released)
    )
    found = exact_rows(mine, theirs)
    assert (found.originals, found.unique, found.released) == slow.exact_rows(original, released)
    assert found.share is None or 0 <= found.share <= 1


def read(original, released, control=None, **kinds):
    """The pair of data frames; `kinds` names the type of each column."""
    specs = [ColumnSpec(name, "quasi_identifier", kind) for name, kind in kinds.items()]
    return read_inputs(pd.DataFrame(original), pd.DataFrame(released), specs, control=control).pair


def met(table, asked, names, groups):
    """The records of a table that meet each predicate."""
    tested = QueryTable(table, names, groups)
    return [tested.meeting(predicate).tolist() for predicate in asked]


@pytest.fixture(params=["kept", "searched"])
def way(request, monkeypatch):
    """Both ways to find who meets a predicate: of small tables it is kept by condition, large ones are searched."""
    if request.param == "searched":
        monkeypatch.setattr(predicates, "FEW_RECORDS", 0)
    return request.param


@pytest.mark.usefixtures("way")
def test_conditions_by_hand():
    """Values inside an interval, labels of a group, ends of a column, and missing values."""
    pair = read(
        {"age": [31, 38, 40, None], "town": ["A1", "A2", "B1", "A1"]},
        {"age": ["30-39", "40-49", "*"], "town": ["{A1, A2}", "B1", "A1"]},
        age="numeric",
        town="category",
    )
    from cvpl.evaluation.singling_out.predicates import LabelGroups  # noqa: PLC0415 - one test needs it

    specs = pair.protected.specs
    groups = [LabelGroups.of(spec, pair.protected.columns[spec.name]) for spec in specs]
    release = SeenRelease.of(pair.protected, ("age", "town"), groups)
    assert release.condition(0, 2) == Condition(0, "missing", 0.0, 0.0)
    asked = [
        (Condition(0, "=", 30.0, 39.0),),
        (Condition(0, "<=", 30.0, 39.0),),
        (Condition(0, ">=", 40.0, 49.0),),
        (Condition(0, "missing", 0.0, 0.0),),
        (release.condition(1, 0),),
        (Condition(0, "<=", 30.0, 39.0), release.condition(1, 2)),
    ]
    found = met(pair.original, asked, ("age", "town"), groups)
    assert [sorted(rows) for rows in found] == [[0, 1], [0, 1], [2], [3], [0, 1, 3], [0]]
    # in the release itself, the set holds A1 too
    assert sorted(release.tested.meeting(asked[4])) == [0, 2]


def people(rng, rows):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "pay": rng.normal(3000, 900, rows).round(1),
            "town": rng.choice([f"t{at}" for at in range(30)], rows),
        }
    )


KINDS = {"age": "numeric", "pay": "numeric", "town": "category"}


@pytest.mark.usefixtures("way")
def test_every_predicate_singles_out_one_released_record():
    """By a loop over the rows of the release, and no predicate comes twice."""
    rng = np.random.default_rng(3)
    table = people(rng, 300)
    pair = read(table, table, **KINDS)
    names = tuple(KINDS)
    release = SeenRelease.of(pair.protected, names, [None, None, None])
    values = table[list(names)].to_numpy()
    codes = pair.protected.columns["town"].codes
    for columns in (1, 2, 3):
        found = write_predicates(release, columns, 60, np.random.default_rng(columns))
        assert 0 < len(found) == len(set(found)) <= 60
        for predicate in found:
            assert len(predicate) == columns
            alone = 0
            for at, row in enumerate(values):
                cells_of = [codes[at] if item.column == 2 else row[item.column] for item in predicate]
                alone += all(
                    {"=": cell == item.low, "<=": cell <= item.high, ">=": cell >= item.low}[item.relation]
                    for cell, item in zip(cells_of, predicate, strict=True)
                )
            assert alone == 1


def test_both_ways_to_find_who_meets_a_predicate_agree(monkeypatch):
    """With missing values, intervals, sets of labels and a larger control: the same predicates, with the same rates."""
    rng = np.random.default_rng(12)
    table, control = (
        people(rng, rows).assign(age=lambda frame: frame.age.where(frame.index % 7 > 0)) for rows in (200, 300)
    )
    cells = {"age": "60-79", "town": "{t1, t2}"}
    released = table.astype({"age": object}).assign(
        **{name: table[name].astype(object).where(rng.random(200) < 0.7, cell) for name, cell in cells.items()}
    )
    pair = read(table, released, control, **KINDS)
    found = []
    for few in (predicates.FEW_RECORDS, 0):
        monkeypatch.setattr(predicates, "FEW_RECORDS", few)
        found.append(predicate_rates(pair.original, pair.protected, pair.control, np.random.default_rng(1), wanted=150))
    assert found[0] == found[1] and [rate.columns for rate in found[0]] == [1, 2, 3]


def test_a_copy_singles_out_everybody_and_strangers_less():
    """Every predicate on a copy of the originals is met by one original; the release of others helps nobody."""
    rng = np.random.default_rng(8)
    table, control, others = (people(rng, 400) for _ in range(3))
    copied = read(table, table, control, **KINDS)
    for rate in predicate_rates(
        copied.original, copied.protected, copied.control, np.random.default_rng(1), wanted=150
    ):
        assert rate.rate == 1.0
        assert rate.control < 0.7 and rate.attributable == 1.0
        assert rate.attributable_interval[0] > 0.8 and rate.attributable_interval[1] == pytest.approx(1.0)
    strange = read(table, others, control, **KINDS)
    for rate in predicate_rates(
        strange.original, strange.protected, strange.control, np.random.default_rng(1), wanted=150
    ):
        assert rate.attributable_interval[0] <= 0 <= rate.attributable_interval[1]


def test_predicates_by_the_same_seed_are_the_same():
    rng = np.random.default_rng(4)
    pair = read(people(rng, 200), people(rng, 200), **KINDS)
    found = [
        predicate_rates(pair.original, pair.protected, None, np.random.default_rng(seed), wanted=40) for seed in (1, 1)
    ]
    assert found[0] == found[1]
    assert all(rate.control is None and rate.attributable is None for rate in found[0])


class Met:
    """A table in which so many records meet each predicate."""

    def __init__(self, rows, counts):
        self.rows, self.counts = rows, counts

    def meeting(self, predicate, most=None):
        return np.arange(self.counts[predicate])


@pytest.mark.parametrize("people_asked", [30, 100, 250])
def test_a_larger_control_is_thinned(people_asked):
    """The probability that one is left of those who meet a predicate, against drawing many times."""
    counts = np.array([0, 1, 2, 5])
    found = among_as_many(range(4), Met(100, counts), people_asked)
    if people_asked >= 100:
        assert found.tolist() == [0, 1, 0, 0]
        return
    rng = np.random.default_rng(0)
    drawn = rng.binomial(counts, people_asked / 100, size=(200_000, 4))
    assert found == pytest.approx((drawn == 1).mean(axis=0), abs=0.005)


def test_predicates_on_the_same_person_are_one_unit():
    """Two predicates that single out record 0 share a unit; a miss is its own."""
    table = QueryTable.__new__(QueryTable)
    table.meeting = lambda predicate, most: np.array({0: [0], 1: [0], 2: [3], 3: [], 4: [1, 2]}[predicate], dtype=int)
    table.rows = 4
    hits, units = singled_out(range(5), table)
    assert hits.tolist() == [1, 1, 1, 0, 0]
    assert units[0] == units[1] and len(set(units.tolist())) == 4
    for household, different in (([7, 8, 9, 7], 3), ([7, 8, 9, 9], 4)):
        _, units = singled_out(range(5), table, np.array(household))
        assert (units[0] == units[2]) == (different == 3) and len(set(units.tolist())) == different


NIST = ["AGEP", "RAC1P", "MSP", "SEX", "HOUSING_TYPE", "OWN_RENT", "DVET", "DEYE", "PINCP_DECILE", "EDU"]


@needs_data
@pytest.mark.parametrize(
    ("release", "percent"),
    [("pram", 62.72), ("sdcmicro_k6", 56.58), ("sdcmicro_k12", 33.88), ("synthpop_cart", 25.96), ("mst_eps10", 15.62)],
)
def test_exact_rows_are_those_that_sdnist_prints(release, percent):
    """Of the unique originals of the Massachusetts excerpts, the share whose row is in the release, in percent."""
    folder = SHARED / "nist_ma"
    specs = [ColumnSpec(name, "quasi_identifier", "category") for name in NIST]
    rows = read_inputs(folder / "ma2019.csv", folder / f"{release}.csv", specs).whole.equal_rows
    assert round(100 * exact_rows(rows["original"], rows["protected"]).share, 2) == percent


def test_rows_are_equal_by_numbers_and_by_texts():
    """1.0 is 1, and blanks around a cell do not count; a missing cell equals a missing cell only."""
    original = {"a": ["1", "2", "x", None], "b": ["u", "v", "w", "z"]}
    released = {"a": ["1.0", "3", " x", ""], "b": ["u", "v", "w", "z"]}
    specs = [ColumnSpec(name, "quasi_identifier", "category") for name in "ab"]
    rows = read_inputs(pd.DataFrame(original), pd.DataFrame(released), specs).whole.equal_rows
    assert (rows["original"] == rows["protected"]).tolist() == [True, False, True, True]
