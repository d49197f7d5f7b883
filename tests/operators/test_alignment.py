"""The aligned attacker: what it reads off a release, and what it makes of its own data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvpl
from cvpl.assessment.diagnostics.validity import perturbed_self_rate, validity
from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.config.loading import load
from cvpl.laboratory.mechanisms import Perturbation, Rounding
from cvpl.laboratory.mechanisms.hierarchies import floor_time
from cvpl.operators.alignment import detect
from cvpl.operators.alignment.common_form import add_shifts
from cvpl.operators.alignment.granularity import DayAndMonthExchanged, NumberGranularity, TimeGranularity
from cvpl.operators.alignment.rounding import (
    Calendar,
    Digits,
    DistinctRanges,
    GridRounding,
    Histogram,
    NumberGrid,
    TimeGrid,
    changed_overlap,
    containing_grids,
    distinct_ranges,
    fit_numbers,
    fit_times,
    natural_grids,
)
from cvpl.operators.blocking import Blocking, Key
from cvpl.operators.similarity import Agreement
from cvpl.tables.column_store import ColumnStore
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table, Times
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.pair import read_inputs
from cvpl.tables.source.reading_settings import Reading
from cvpl.workflows.audit import plan_audit
from cvpl.workflows.made_tables import Protector
from cvpl_paper.world import CONFIG, people
from examples import TIMES, examples, examples_apart
from one_column import read
from shared_data import SHARED, needs_data

TOWNS = {
    "Ulm": ("Germany", "Ulm"),
    "Bonn": ("Germany", "Bonn"),
    "Lyon": ("France", "Lyon"),
    "Germany": ("Germany",),
    "France": ("France",),
}
NUMBER = ColumnSpec("x", "attribute", "numeric")
TIME = ColumnSpec("x", "attribute", "datetime")
LABEL = ColumnSpec("x", "attribute", "category")
LEVELS = ColumnSpec("x", "attribute", "category", separator="/")
FILED = ColumnSpec("x", "attribute", "category", parents=TOWNS)
AGES = list(range(20, 60))
LINKAGE_ALONE = {"canaries": False, "sensitivity": False, "singling_out": False, "inference": False}
"""An audit that asks whether people are linked, and nothing else."""


def same(one, other):
    """Whether two columns hold the same cells."""
    parts = {Numbers: ("values", "low", "high"), Labels: ("codes",)}.get(type(one), ("first", "last"))
    pairs = [(getattr(one, part), getattr(other, part)) for part in parts]
    if isinstance(one, Labels):
        return one.labels == other.labels and np.array_equal(*pairs[0])
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def assert_same(one, other):
    for name in (spec.name for spec in one.specs):
        assert same(one.columns[name], other.columns[name]), name


def holds_its_laws(original, protected):
    """Applying twice is applying once, and the release's own cells stay."""
    granularity = detect(original, protected)
    once = granularity.apply(original)
    assert_same(granularity.apply(once), once)
    assert_same(granularity.apply(protected), protected)
    return once


CASES = {
    "dashes": (NUMBER, AGES, [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in AGES], "intervals of width 10"),
    "brackets": (NUMBER, AGES, [f"[{a // 5 * 5}, {a // 5 * 5 + 5}[" for a in AGES], "intervals of width 5"),
    "two widths": (
        NUMBER,
        AGES,
        ["[20, 30)" if a < 30 else "[30, 60)" for a in AGES],
        "intervals of width 10 to 30",
    ),
    "an open end": (NUMBER, AGES, [a if a < 50 else "50+" for a in AGES], "intervals of width 9"),
    "digits starred": (NUMBER, AGES, [f"{a // 10}*" for a in AGES], "intervals of width 10"),
    "down to tens": (NUMBER, AGES, [a // 10 * 10 for a in AGES], "rounded down to steps of 10"),
    "up to tens": (NUMBER, AGES, [-(-a // 10) * 10 for a in AGES], "rounded up to steps of 10"),
    "to the nearest five": (NUMBER, AGES, [(a + 2) // 5 * 5 for a in AGES], "rounded to the nearest of steps of 5"),
    "to the middle of tens": (NUMBER, AGES, [a // 10 * 10 + 5 for a in AGES], "rounded to the nearest of steps of 10"),
    "to an offset grid": (NUMBER, AGES, [(a - 3) // 7 * 7 + 3 for a in AGES], "rounded down to steps of 7"),
    "thousands": (
        NUMBER,
        [a * 317 for a in AGES],
        [a * 317 // 1000 * 1000 for a in AGES],
        "rounded down to steps of 1000",
    ),
    "halves": (NUMBER, [a / 8 for a in AGES], [a // 4 / 2 for a in AGES], "rounded down to steps of 0.5"),
    "tenths": (
        NUMBER,
        [a / 80 for a in AGES],
        [round(a / 80 + 1e-9, 1) for a in AGES],
        "rounded to the nearest of steps of 0.1",
    ),
    "toward zero": (
        NUMBER,
        range(-20, 20),
        [int(a / 6) * 6 for a in range(-20, 20)],
        "rounded toward zero to steps of 6",
    ),
    "two digits": (
        NUMBER,
        [3**a + 2 for a in range(40)],
        [f"{float(f'{3**a + 2:.1e}'):.0f}" for a in range(40)],
        "rounded to the nearest of numbers of 2 significant digits",
    ),
    "cut off above": (NUMBER, AGES, [min(a, 45) for a in AGES], "cut off at the release's largest value"),
    "cut off below": (NUMBER, AGES, [max(a, 30) for a in AGES], "cut off at the release's least value"),
    "rounded and cut off": (
        NUMBER,
        [2 * a for a in AGES],
        [min(2 * a // 10 * 10, 83) for a in AGES],
        "rounded down to steps of 10, cut off at the release's largest value",
    ),
    "hours": (
        TIME,
        [f"2024-05-0{d} 1{h}:37:21" for d in range(1, 6) for h in range(8)],
        [f"2024-05-0{d} 1{h}:00:00" for d in range(1, 6) for h in range(8)],
        "cut to hours",
    ),
    "minutes": (
        TIME,
        [f"2024-05-01 10:{m}:21" for m in AGES],
        [f"2024-05-01 10:{m}:00" for m in AGES],
        "cut to minutes",
    ),
    "quarters of an hour": (
        TIME,
        [f"2024-05-01 10:{m}:21" for m in AGES],
        [f"2024-05-01 10:{m // 15 * 15}:00" for m in AGES],
        "cut to steps of 15 minutes",
    ),
    "days": (
        TIME,
        [f"2024-05-{d} 1{h}:37:21" for d in range(10, 18) for h in range(5)],
        [f"2024-05-{d}" for d in range(10, 18) for _ in range(5)],
        "cut to days",
    ),
    "the next day": (
        TIME,
        [f"2024-05-{d} 1{h}:37:21" for d in range(10, 18) for h in range(5)],
        [f"2024-05-{d + 1}" for d in range(10, 18) for _ in range(5)],
        "rounded up to days",
    ),
    "weeks": (
        TIME,
        [f"2024-05-{d}" for d in range(10, 31)],
        [f"2024-05-{(d - 6) // 7 * 7 + 6:02}" for d in range(10, 31)],
        "cut to weeks",
    ),
    "months, as times": (
        TIME,
        [f"2024-0{m}-1{d} 10:00" for m in range(1, 6) for d in range(8)],
        [f"2024-0{m}-01" for m in range(1, 6) for _ in range(8)],
        "cut to months",
    ),
    "quarters": (
        TIME,
        [f"2024-0{m}-1{d} 10:00" for m in range(1, 9) for d in range(5)],
        [f"2024-0{(m - 1) // 3 * 3 + 1}-01" for m in range(1, 9) for _ in range(5)],
        "cut to quarters",
    ),
    "years, as times": (
        TIME,
        [f"202{y}-0{m}-11" for y in range(5) for m in range(1, 9)],
        [f"202{y}-01-01" for y in range(5) for _ in range(8)],
        "cut to years",
    ),
    "months, as spans": (
        TIME,
        [f"2024-0{m}-1{d} 10:00" for m in (1, 3) for d in range(8)],
        [f"2024-0{m}" for m in (1, 3) for _ in range(8)],
        "spans of 31 days",
    ),
    "a level, starred": (LEVELS, ["W/u", "W/r", "E/u"], ["W/*", "W/*", "E/*"], "level 1"),
    "a level, bare": (LEVELS, ["W/u", "W/r", "E/u"], ["W", "W", "E"], "level 1"),
    "the second of three levels": (LEVELS, ["W/u/1", "W/u/2", "E/u/1"], ["W/u/*", "W/u/*", "E/u/*"], "level 2"),
    "a hierarchy file": (FILED, ["Ulm", "Bonn", "Lyon"], ["Germany", "Germany", "France"], "level 1"),
    "characters masked": (LABEL, ["12345", "12399", "55555"], ["123**", "123**", "555**"], "2 characters masked"),
    "any rest masked": (LABEL, ["12345", "123", "9"], ["12*", "12*", "9"], "the rest masked"),
    "sets": (LABEL, ["A", "B", "C", "D"], ["{A, B}", "{A, B}", "{C,D}", "{C,D}"], "sets of labels"),
    "bare sets": (LABEL, ["A", "B", "C"], ["A, B", "A, B", "C"], "sets of labels"),
    "a set of labels with commas": (LABEL, ["A, x", "B", "C"], ["{A, x, B}", "{A, x, B}", "C"], "sets of labels"),
    "first characters": (LABEL, ["12345", "12399", "55555"], ["123", "123", "555"], "the first 3 characters"),
    "numbers as labels": (LABEL, ["31", "35", "44"], ["30-39", "30-39", "40-49"], "ranges of numbers"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_originals_become_the_release(name):
    """Row by row: each original is brought to the very cell that the release has in its place."""
    spec, original, released, words = CASES[name]
    mine, theirs, _ = read(spec, original=original, protected=released)
    assert_same(holds_its_laws(mine, theirs), theirs)
    assert detect(mine, theirs).describe() == [("x", words)]


CHOICES = {
    "the interval with most records": (NUMBER, ["5", "15"], ["0-9", "3-6", "3-6", "10-19"], ["3-6", "10-19"]),
    "of as many, the narrowest": (NUMBER, ["5"], ["0-9", "3-6"], ["3-6"]),
    "of as many and as narrow, the lowest": (NUMBER, ["5"], ["4-7", "3-6"], ["3-6"]),
    "a value still released stays": (NUMBER, ["5", "6"], ["0-9", "0-9", "5"], ["5", "0-9"]),
    "a value in no interval stays": (NUMBER, ["5", "12", "25"], ["0-9", "20-29"], ["0-9", "12", "20-29"]),
    "a missing number stays missing": (NUMBER, ["5", ""], ["0-9", "0-9"], ["0-9", ""]),
    "suppressed numbers change nobody": (NUMBER, ["5", "7"], ["5", "*"], ["5", "7"]),
    "of two groups the one with most records": (LEVELS, ["W/u/1"], ["W/u/*", "W/*", "W/*"], ["W/*"]),
    "of as many the group with the fewest labels": (LEVELS, ["W/u/1", "W/r/1"], ["W/u/*", "W/*"], ["W/u/*", "W/*"]),
    "a label still released stays": (LEVELS, ["W/u", "W/r"], ["W/*", "W/*", "W/u"], ["W/u", "W/*"]),
    "a label covered nowhere stays": (LEVELS, ["W/u", "N/u"], ["W/*", "E/*"], ["W/*", "N/u"]),
    "a missing label stays missing": (LEVELS, ["W/u", ""], ["W/*", "W/*"], ["W/*", ""]),
    "own labels are no sets": (LABEL, ["A", "A, B", "B"], ["A, B", "A, B", "B"], ["A", "A, B", "B"]),
    "a beginning that no original has leaves the others": (
        LABEL,
        [f"{code}{rest}" for code in range(1000, 1019) for rest in ("01", "02")],
        [str(code) for code in range(1000, 1020)],
        [str(code) for code in range(1000, 1019) for _ in range(2)],
    ),
    "labels of which many are no beginnings": (LABEL, ["12301", "45602"], ["123", "789"], ["12301", "45602"]),
    "a text with a comma is no set": (LABEL, ["A", "B"], ["A, and so on", "B"], ["A", "B"]),
    "a span that overlaps": (
        TIME,
        ["2024-05-02", "2024-07-01"],
        ["2024-05", "[2024-05-01, 2024-05-03]", "2024-05"],
        ["2024-05", "2024-07-01"],
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_where_the_release_leaves_a_choice(name):
    spec, original, released, expected = CHOICES[name]
    mine, theirs, wanted = read(spec, original=original, protected=released, expected=expected)
    assert_same(holds_its_laws(mine, theirs), wanted)


def noisy(values, scale=3.0):
    return np.random.default_rng(1).normal(values, scale)


UNTOUCHED = {
    "the same numbers": (NUMBER, AGES, AGES),
    "half of them": (NUMBER, AGES, [a for a in AGES if a % 7 in (0, 1, 4)]),
    "noise": (NUMBER, AGES, noisy(AGES)),
    "noise on whole numbers": (NUMBER, AGES, np.rint(noisy(AGES))),
    "fives on both sides": (NUMBER, [a * 5 for a in AGES], [a * 5 for a in reversed(AGES)]),
    "a few numbers that happen to be even": (NUMBER, AGES, [20, 24, 30, 32, 36]),
    "a largest value by chance": (NUMBER, AGES, [a for a in AGES if a < 58]),
    "all suppressed but one": (NUMBER, AGES, ["*"] * 39 + [30]),
    "the same times": (TIME, [f"2024-05-01 10:{m}" for m in AGES], [f"2024-05-01 10:{m}" for m in AGES]),
    "days on both sides": (TIME, ["2024-05-01", "2024-06-02"] * 20, ["2024-05-07", "2024-06-02"] * 20),
    "the same labels": (LEVELS, ["W/u", "W/r"], ["W/r", "W/u"]),
    "foreign labels": (LABEL, ["A", "B"], ["C", "D"]),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_what_is_not_coarser_is_left_alone(name):
    """The very same table comes back, so that nothing is copied."""
    spec, original, released = UNTOUCHED[name]
    mine, theirs, _ = read(spec, original=original, protected=released)
    assert detect(mine, theirs).apply(mine) is mine


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([2, 3, 5, 10, 25, 100, 1000]),
    st.integers(0, 6),
    st.sampled_from([1, 10, 100]),
    st.sampled_from(["floor", "ceil", "rint"]),
    st.booleans(),
)
def test_rounded_numbers_are_found_again(seed, step, offset, scale, way, whole):
    """Whatever step, offset and way of rounding: the rounded originals are the release."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=300) * step * 20
    numbers = np.rint(numbers) if whole else numbers
    points = getattr(np, way)((numbers - offset) / step) * step + offset
    original, released = (Numbers(item, item, item) for item in (numbers / scale, points / scale))
    shuffled = released.take(rng.permutation(300))
    mine, theirs = (
        Table(name, 300, (NUMBER,), {"x": item}) for name, item in (("original", original), ("protected", shuffled))
    )
    assert same(detect(mine, theirs).apply(mine).columns["x"], released)


LADDER = ("age", "gender", "region", "purchase_time")


def protected_world(method, strength, seed, columns, frame=None, time=None, rows=400, **protect):
    """Simulated people, their release, and the rows of both by person, as the package reads them."""
    table = people(rows, 0.0, seed, "people")
    resolved = load({**CONFIG, "protect": {"columns": list(columns), **protect}})
    released = (
        frame(table) if frame else Protector(resolved, table, lambda: table).release(method, strength, seed).frame
    )
    if time:
        released = replace(released, times={name: floor_time(item, time) for name, item in released.times.items()})
    made = [pd.DataFrame(item.to_columns()) for item in (table, released)]
    inputs = read_inputs(*made, resolved.specs, identity=IdentityKeys("person_id", "person_id"), checks=False)
    return inputs.pair, inputs.evaluation.matches


@settings(max_examples=examples(15) if TIMES > 1 else 8, deadline=None)
@given(
    st.integers(0, 1000),
    st.sampled_from([2, 3, 5, 10, 20, 40]),
    st.lists(st.sampled_from(LADDER), min_size=1, max_size=4, unique=True),
    st.sampled_from([(3,), (5, 10), (4, 8, 24), (20,)]),
    st.sampled_from([("hour", "day", "week"), ("day", "month", "year"), ("hour",), ("week",)]),
    st.sampled_from([0.0, 0.1]),
)
def test_full_domain_generalization_is_found_again(seed, k, columns, widths, units, removal):
    """Every released record is exactly its person's aligned record, in every column that still has a value."""
    options = {"widths": {"age": widths}, "units": {"purchase_time": units}, "removal": removal}
    pair, matches = protected_world("k-anonymity", k, seed, columns, **options)
    aligned = holds_its_laws(pair.original, pair.protected).take(matches.original)
    released = pair.protected.take(matches.protected)
    for spec in pair.original.specs:
        known = np.flatnonzero(released.columns[spec.name].known())
        assert same(aligned.columns[spec.name].take(known), released.columns[spec.name].take(known)), spec.name


@pytest.mark.parametrize("age", [5, 10])
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("time", ["hour", "day", "week", "month"])
def test_the_paper_s_roundings_are_found_again(age, level, time):
    mechanism = Rounding(age=age, region_level=level, time=time)
    pair, matches = protected_world("", 0, 5, LADDER, lambda table: mechanism.protect(table, np.random.default_rng(1)))
    aligned = holds_its_laws(pair.original, pair.protected)
    assert_same(aligned.take(matches.original), pair.protected.take(matches.protected))


@pytest.mark.parametrize("seed", range(min(3, examples(1))))
@pytest.mark.parametrize("k", [3, 10, 40])
def test_locally_recoded_values_are_brought_to_a_range_that_holds_them(k, seed):
    """Mondrian's ranges overlap: each original goes to a released range around it, or stays, if it is released."""
    pair, _ = protected_world("mondrian", k, seed, LADDER)
    aligned = detect(pair.original, pair.protected).apply(pair.original)
    for name, low, high, value in (("age", "low", "high", "values"), ("purchase_time", "first", "last", "first")):
        before, after = pair.original.columns[name], aligned.columns[name]
        assert (getattr(after, low) <= getattr(before, value)).all()
        assert (getattr(after, high) >= getattr(before, value)).all()
        sides = after, pair.protected.columns[name]
        cells = [set(zip(getattr(side, low), getattr(side, high), strict=True)) for side in sides]
        assert cells[0] <= cells[1]
    spec = next((spec for spec in pair.original.specs if spec.name == "region"), None)
    if spec is None:  # starred in every row, and left out of the comparison
        return
    before, after = pair.original.columns["region"], aligned.columns["region"]
    for old, new in set(zip(before.codes.tolist(), after.codes.tolist(), strict=True)):
        path = spec.path(after.labels[new])
        assert new == old or spec.path(before.labels[old])[: len(path)] == path


@settings(max_examples=examples(100), deadline=None)
@given(st.data(), st.booleans())
def test_the_sweep_equals_looking_at_every_range(data, whole):
    ends = st.tuples(st.integers(0, 12), st.integers(0, 5)).map(lambda item: (item[0], item[0] + item[1]))
    released = data.draw(st.lists(ends, min_size=1, max_size=12))
    kind = np.int64 if whole else np.float64
    low, high = (np.array(item, dtype=kind) for item in zip(*released, strict=True))
    values = np.arange(-1, 20, dtype=kind)
    cells, _ = DistinctRanges.of(low, high)
    for value, found in zip(values.tolist(), cells.find(values).tolist(), strict=True):
        around = [item for item in set(released) if item[0] < item[1] and item[0] <= value <= item[1]]
        best = min(around, key=lambda item: (-released.count(item), item[1] - item[0], item[0]), default=None)
        if (value, value) in released or best is None:
            assert found == -1
        else:
            assert (cells.low[found], cells.high[found]) == best


ROUNDED = {
    ("down", "up"): [-3, -2, -1, 0, 1, 2, 0, -1],
    ("nearest", "up"): [-2, -1, 0, 1, 2, 3, 0, 0],
    ("nearest", "even"): [-2, -2, 0, 0, 2, 2, 0, 0],
    ("nearest", "down"): [-3, -2, -1, 0, 1, 2, 0, 0],
    ("nearest", "odd"): [-3, -1, -1, 1, 1, 3, 0, 0],
    ("up", "up"): [-2, -1, 0, 1, 2, 3, 1, 0],
    ("toward zero", "up"): [-2, -1, 0, 0, 1, 2, 0, 0],
}


@pytest.mark.parametrize("way", ROUNDED)
def test_every_way_of_rounding_by_hand(way):
    values = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.25, -0.25])
    for step, scale in ((1, 1), (5, 1), (1, 100), (25, 10)):
        grid = NumberGrid(step, 0, scale, GridRounding(*way))
        assert grid(values * step / scale).tolist() == [number * step / scale for number in ROUNDED[way]]
        assert np.isnan(grid(np.array([np.nan]))).all()
    if way[0] != "toward zero":
        shifted = NumberGrid(10, 3, 1, GridRounding(*way))
        assert shifted(values * 10 + 3).tolist() == [3 + 10 * number for number in ROUNDED[way]]


def test_significant_digits_by_hand():
    values = np.array([1234.0, 1250.0, -1299.0, 0.0456, 9.99, 1000.0, 0.0, np.nan])
    cases = {
        ("nearest", "up"): [1200, 1300, -1300, 0.046, 10, 1000, 0],
        ("toward zero", "up"): [1200, 1200, -1200, 0.045, 9.9, 1000, 0],
    }
    for way, wanted in cases.items():
        found = Digits(2, GridRounding(*way))(values)
        assert found[:-1].tolist() == wanted
        assert np.isnan(found[-1])


@pytest.mark.parametrize("digits", [1, 4])
def test_numbers_of_few_digits_are_recognized(digits):
    own = np.random.default_rng(digits).uniform(1, 9, 4_000).round(6)
    assert fit_numbers(own, Digits(digits, GridRounding("nearest"))(own)) is not None
    wide = own * 10.0 ** np.random.default_rng(5).integers(0, 6, 4_000)
    found = fit_numbers(wide, Digits(digits, GridRounding("nearest"))(wide))
    assert isinstance(found, Digits)
    assert found.digits == digits


def test_numbers_that_keep_all_their_digits_are_not_said_to_have_few():
    own = np.random.default_rng(2).uniform(0, 1, 4_000)
    half = np.arange(4_000) % 2 == 0
    others = np.random.default_rng(3).uniform(0, 1, 4_000)
    assert fit_numbers(own, np.where(half, Digits(1, GridRounding("nearest"))(own), others)) is None
    wide = own * 10.0 ** np.random.default_rng(4).integers(0, 9, 4_000)
    assert fit_numbers(wide, Digits(5, GridRounding("nearest"))(wide)) is None  # as if five were all


def test_a_cut_off_beside_the_grid_costs_no_overlap():
    own, grid = np.arange(20.0, 120.0), NumberGrid(10, 0, 1, GridRounding("down"))
    for low, high in ((-np.inf, np.inf), (-np.inf, 75), (34, np.inf), (34, 75)):
        released = np.clip(grid(own), low, high)
        assert changed_overlap(grid, Histogram.of(own), Histogram.of(released)) == pytest.approx(1)


@pytest.mark.parametrize("size", [5, 60])
def test_distinct_ranges_are_numbered_in_their_order(size):
    """Few are counted, many are sorted."""
    rng = np.random.default_rng(size)
    low, width = rng.permutation(size).astype(float), rng.random(size)
    low, high = np.append(low, low[:2]), np.append(low + width, (low + width)[:2])
    first, counts, codes = distinct_ranges(low, high)
    pairs = list(zip(low.tolist(), high.tolist(), strict=True))
    wanted = sorted(set(pairs))
    assert [pairs[row] for row in first] == wanted
    assert first.tolist() == [pairs.index(one) for one in wanted]
    assert counts.tolist() == [pairs.count(one) for one in wanted]
    assert codes.tolist() == [wanted.index(one) for one in pairs]


def test_usual_steps_of_time_and_weeks_from_monday():
    monday = int(np.datetime64("2024-01-01", "us").astype(np.int64))
    week = 7 * 86_400_000_000
    assert [(monday - offset) % step for step, offset in natural_grids() if step == week] == [0]
    assert all(offset == 0 for step, offset in natural_grids() if step != week)
    minutes = [1 / 60, 1, 5, 10, 15, 20, 30, *(60 * hours for hours in (1, 2, 3, 4, 6, 8, 12, 24, 168))]
    assert [step for step, _ in natural_grids()] == [round(60_000_000 * item) for item in minutes]


@pytest.mark.parametrize("points", [[0, 10, 20], [0, 10, 20, 27], [3, 10, 20, 30], [3, 10, 20, 30, 37]])
def test_three_points_show_a_grid_beside_the_cut_offs(points):
    assert (10, 0) in {(grid.step, grid.offset) for grid in containing_grids(np.array(points, dtype=float))}
    assert not containing_grids(np.array(points[:2], dtype=float))


def test_the_middle_of_a_month_is_rounded_up():
    nearest = Calendar("month", GridRounding("nearest"))
    times = ["2023-02-15T00:00", "2023-02-14T23:59", "2023-04-16T00:00", "2023-04-01T00:00"]
    found = nearest(np.array(times, dtype="datetime64[us]").astype(np.int64)).astype("datetime64[us]")
    assert found.astype("datetime64[D]").astype(str).tolist() == [
        "2023-03-01",
        "2023-02-01",
        "2023-05-01",
        "2023-04-01",
    ]


def test_a_rounding_has_to_explain_a_tenth_of_what_it_moves():
    own = np.repeat(np.arange(10) * 10.0 + 3, 16)
    elsewhere = np.repeat(np.arange(100, 109) * 10.0, 16)
    exactly = np.concatenate([np.zeros(16), elsewhere])
    assert fit_numbers(own, exactly) == NumberGrid(10, 0, 1, GridRounding("down"))
    assert fit_numbers(own, np.concatenate([np.zeros(15), elsewhere])) is None


def test_every_released_instant_is_on_the_grid_that_is_found():
    minute, hour = 60_000_000, 3_600_000_000
    own = np.arange(0, 3 * 24 * 60, 7) * minute
    later = own // hour * hour + hour
    assert fit_times(own, later) == TimeGrid(hour, 0, GridRounding("up"))
    found = fit_times(own, np.append(30 * minute, later))
    assert found is not None
    assert found.step == 30 * minute


def test_times_in_released_spans_do_not_count_for_the_rounding_of_the_others():
    hour, rng = 3_600_000_000, np.random.default_rng(1)
    inside = rng.integers(0, 24 * 60, 9_600) * 60_000_000
    outside = 30 * 24 * hour + rng.integers(0, 48 * 60, 400) * 60_000_000
    ends = [np.concatenate([np.full(9_600, end), outside // hour * hour]) for end in (0, 24 * hour - 1)]
    own, first, last = (side.astype("datetime64[us]") for side in (np.concatenate([inside, outside]), *ends))
    found = TimeGranularity.detect(Times(own, own), Times(first, last))
    assert found.rounding == TimeGrid(hour, 0, GridRounding("down"))
    assert found.cells.low.tolist() == [0]


def test_a_span_of_the_attacker_becomes_the_released_span_unless_it_is_wider():
    day = 86_400_000_000
    cells, _ = DistinctRanges.of(np.array([30 * day, 30 * day]), np.array([31 * day - 1, 31 * day - 1]))
    first, last = (np.rint(np.array(ends) * day).astype(np.int64) for ends in ([29.6, 30.2, 40], [31.2, 30.4, 41]))
    found = TimeGranularity(cells, None).apply(Times(*(ends.astype("datetime64[us]") for ends in (first, last))))
    assert found.first.astype(np.int64).tolist() == [first[0], 30 * day, 40 * day]
    assert found.last.astype(np.int64).tolist() == [last[0], 31 * day - 1, 41 * day]
    assert TimeGranularity(cells, None).words == "spans of 1 days"


def test_a_missing_time_stays_missing_when_the_others_are_rounded():
    times = np.array(["2024-05-17T13:45", "NaT"], dtype="datetime64[us]")
    cells, _ = DistinctRanges.of(np.zeros(2, dtype=np.int64), np.full(2, 86_400_000_000 - 1))
    for spans in (None, cells):
        found = TimeGranularity(spans, TimeGrid(3_600_000_000, 0, GridRounding("down"))).apply(Times(times, times))
        assert np.isnat(found.first).tolist() == np.isnat(found.last).tolist() == [False, True]
        assert found.first[0] == found.last[0] == np.datetime64("2024-05-17T13:00")


def test_a_span_stays_one_when_instants_are_rounded():
    first = np.array(["2024-05-17T13:45", "2024-05-17T10:20"], dtype="datetime64[us]")
    last = np.array(["2024-05-17T13:45", "2024-05-17T12:40"], dtype="datetime64[us]")
    found = TimeGranularity(None, TimeGrid(3_600_000_000, 0, GridRounding("down"))).apply(Times(first, last))
    assert found.first.astype("datetime64[m]").astype(str).tolist() == ["2024-05-17T13:00", "2024-05-17T10:20"]
    assert found.last.astype("datetime64[m]").astype(str).tolist() == ["2024-05-17T13:00", "2024-05-17T12:40"]


def test_an_interval_of_the_attacker_stays_one_if_plain_numbers_are_rounded():
    grain = NumberGranularity(rounding=NumberGrid(10, 0, 1, GridRounding("down")))
    found = grain.apply(Numbers(np.array([14.0, 27.0]), np.array([12.0, 27.0]), np.array([16.0, 27.0])))
    assert [found.values.tolist(), found.low.tolist(), found.high.tolist()] == [[14, 20], [12, 20], [16, 20]]
    plain = grain.apply(Numbers(*[np.array([14.0, 27.0])] * 3))
    assert plain.plain
    assert plain.values.tolist() == [10, 20]


def test_the_overlap_of_histograms_by_hand():
    """Shares 1/2, 1/2 against 1/4, 3/4 on the second and a third value: only the second is shared, by 1/4."""
    one, other = Histogram.of(np.array([1, 2])), Histogram.of(np.array([2, 3, 3, 3]))
    assert one.overlap(other) == 0.25
    assert one.overlap(one) == 1.0


def test_the_description_holds_no_cell():
    """Labels and values of the tables do not appear; widths, levels and shares do."""
    pair, _ = protected_world("k-anonymity", 10, 1, LADDER)
    words = dict(detect(pair.original, pair.protected).describe())
    assert words["age"].startswith("intervals of width ") and words["region"] == "level 1"
    text = " ".join(words.values())
    assert not any(part in text for label in pair.original.columns["region"].labels for part in label.split("/"))


def test_shares_without_a_value_are_reported():
    mine, theirs, _ = read(NUMBER, original=["5", "7", "9", "11"], protected=["5", "7", "*", "*"])
    assert detect(mine, theirs).describe() == [("x", "50.0% without a value")]


def test_tables_on_disk_stay_there_and_read_the_same():
    pair, _ = protected_world("k-anonymity", 10, 1, LADDER)
    on_disk = Table("original", pair.original.rows, pair.original.specs, pair.original.columns, ColumnStore())
    granularity = detect(pair.original, pair.protected)
    aligned = granularity.apply(on_disk)
    assert not aligned.place.in_memory
    assert_same(aligned, granularity.apply(pair.original))


@pytest.mark.parametrize("seed", range(min(3, examples(1))))
@pytest.mark.parametrize("k", [5, 10, 20, 50][:: examples_apart(3)])
def test_the_rate_of_an_aligned_attacker_is_no_lower_than_its_top_1(k, seed):
    """k-anonymity and times cut to days: the paper's attacker understates and is warned of, the aligned one is not."""
    table, others = people(500, 0.0, seed, "people"), people(500, 0.0, seed, "control")
    resolved = load({**CONFIG, "protect": {"columns": ["age", "gender", "region"]}})
    released = Protector(resolved, table, lambda: table).release("k-anonymity", k, seed).frame
    released = replace(released, times={name: floor_time(time, "day") for name, time in released.times.items()})
    frames = [pd.DataFrame(item.to_columns()) for item in (table, released)]
    inputs = read_inputs(*frames, resolved.specs, identity=IdentityKeys("person_id", "person_id"), checks=False)
    rate, found = {}, {}
    for alignment in ("none", "release"):
        config = {**CONFIG, "attacker": {"alignment": alignment}, "seed": seed, **LINKAGE_ALONE}
        found[alignment] = cvpl.audit(*frames, config, control=pd.DataFrame(others.to_columns()))
        best = attack(inputs.pair, load(config).attackers["main"], seed=seed).found.best
        rate[alignment] = float(np.mean(best[np.unique(inputs.evaluation.matches.original)] >= 0.9))
    top1 = {name: result.truth.top1_hit_rate for name, result in found.items()}
    warned = {
        name: "top1_above_rate" in [warning.rule for warning in result.warnings] for name, result in found.items()
    }
    assert rate["release"] >= top1["release"] > top1["none"] > rate["none"]
    assert warned == {"none": True, "release": False}
    assert found["release"].validity.assessable


@pytest.mark.parametrize("similarity", ["cosine", Agreement()], ids=["cosine", "agreement"])
def test_an_aligned_attacker_is_alive(similarity):
    """Its own people, perturbed and coarsened again, are found as far as their coarse records differ."""
    pair, _ = protected_world("k-anonymity", 10, 2, LADDER)
    resolved = load({**CONFIG, "attacker": {"alignment": "release"}})
    attacker = resolved.attackers["main"].model_copy(update={"similarity": similarity})
    done = attack(pair, attacker, seed=1)
    found = perturbed_self_rate(done, 0.9, np.random.default_rng(1))
    valid = validity(done, found, np.random.default_rng(2))
    assert valid.assessable
    assert found.top1_hit_rate > 0.6 * valid.attainable_top1


def test_blocks_and_controls_are_coarse_as_well():
    """Blocking by exact age and region keeps the true pairs together only where the originals are aligned."""
    table = people(300, 0.0, 4, "people")
    released = Rounding().protect(table, np.random.default_rng(1))
    others = people(300, 0.0, 4, "control")
    resolved = load(CONFIG)
    frames = [pd.DataFrame(item.to_columns()) for item in (table, released, others)]
    keys = IdentityKeys("person_id", "person_id")
    inputs = read_inputs(*frames[:2], resolved.specs, control=frames[2], identity=keys, checks=False)
    blocking = Blocking(any_of=((Key(column="age"), Key(column="region")),))
    together = {}
    for alignment in ("none", "release"):
        changes = {"blocking": blocking, "alignment": alignment}
        done = attack(inputs.pair, resolved.attackers["main"].model_copy(update=changes))
        codes = done.blocks.schemes[0].codes
        pairs = (
            codes["original"][inputs.evaluation.matches.original],
            codes["protected"][inputs.evaluation.matches.protected],
        )
        together[alignment] = float(np.mean(pairs[0] == pairs[1]))
        if alignment == "release":
            assert_same(done.control, done.form.apply(inputs.pair.control))
            assert np.isin(codes["control"], codes["protected"]).mean() > 0.9
    assert together == {"none": 0.0, "release": 1.0}


def test_the_plan_counts_the_pairs_of_aligned_blocks():
    """Exact ages meet no interval: unaligned there is no pair at all, and the aligned plan needs more memory."""
    table = people(200, 0.0, 4, "people")
    frames = [pd.DataFrame(item.to_columns()) for item in (table, Rounding().protect(table, np.random.default_rng(1)))]
    plans = {}
    for alignment in ("none", "release"):
        attacker = {"alignment": alignment, "blocking": [{"age": "exact"}]}
        plans[alignment] = plan_audit(*frames, {**CONFIG, "attacker": attacker})
    assert plans["none"].attackers[0].pairs == 0 < plans["release"].attackers[0].pairs
    assert plans["none"].needed < plans["release"].needed


def test_without_alignment_nothing_is_looked_for():
    pair, _ = protected_world(
        "", 0, 3, LADDER, lambda table: Perturbation("low").protect(table, np.random.default_rng(1))
    )
    done = attack(pair, Attacker())
    assert done.form is None and done.held is done.original


@needs_data
@pytest.mark.parametrize(
    "release", ["flip10", "flip90", "synthpop", "tvae", "ctgan", "gaussian_copula"][:: examples_apart(3)]
)
def test_flipped_and_synthetic_releases_by_others_have_no_grain(release):
    names = {"age": "numeric", "fnlwgt": "numeric", "capital-gain": "numeric", "hours-per-week": "numeric"}
    names |= {"education": "category", "occupation": "category", "native-country": "category"}
    specs = [ColumnSpec(name, "attribute", kind) for name, kind in names.items()]
    files = [SHARED / "adult_study_2021" / f"{name}.csv.gz" for name in ("trn", release)]
    pair = read_inputs(*files, specs, checks=False).pair
    assert not detect(pair.original, pair.protected).grains


@needs_data
def test_the_intervals_of_a_release_by_others_are_found():
    """Stroke, k = 2: every age from 1 on is brought to its released interval, younger ones stay."""
    reading = Reading(missing=("", "NULL"))
    files = [SHARED / "stroke" / name for name in ("stroke.csv", "stroke_k2.csv")]
    inputs = read_inputs(
        *files, [ColumnSpec("age", "quasi_identifier", "numeric")], reading=reading, identity=IdentityKeys("id", "id")
    )
    mine = detect(inputs.pair.original, inputs.pair.protected).apply(inputs.pair.original).columns["age"]
    theirs = inputs.pair.protected.columns["age"].take(inputs.evaluation.matches.protected)
    mine = mine.take(inputs.evaluation.matches.original)
    known = np.flatnonzero(theirs.known())
    assert same(mine.take(known), theirs.take(known))
    assert (mine.low[mine.low == mine.high] < 1).all()


# Rounded and shifted, and days exchanged with months


def column_likeness(values):
    values = np.asarray(values, dtype=float)
    return Numbers(values, values, values)


def _dates(days):
    times = np.asarray(days, dtype="datetime64[D]").astype("datetime64[us]")
    return Times(times, times)


def _one_column(column, kind):
    spec = ColumnSpec("x", kind, "quasi_identifier")
    return Table("people", len(column.known()), (spec,), {"x": column})


@pytest.mark.parametrize("kept", [1.0, 0.0])
def test_values_that_were_rounded_and_shifted_are_found_in_a_release_of_members_and_of_strangers(kept):
    """The attacker's values become the released ones, bit by bit, whoever is in the release."""
    rng = np.random.default_rng(3)
    own, others = (np.round(rng.normal(50, 12, 1_500), 1) for _ in range(2))
    own, others = (values + 0.1 * (values % 5 == 2.5) for values in (own, others))  # no ties
    made = np.round(np.round((own if kept else others) / 5) * 5 + 17.3, 1)
    people = _one_column(column_likeness(own), "numeric")
    released = _one_column(column_likeness(rng.permutation(made)), "numeric")
    grains = add_shifts(detect(people, released), people, released)
    assert grains.describe() == [("x", "rounded to the nearest of steps of 5, and shifted")]
    found = grains.apply(people).columns["x"].values
    np.testing.assert_array_equal(found, np.round(np.round(own / 5) * 5 + 17.3, 1))


def test_times_that_were_cut_and_shifted_become_the_released_ones():
    rng = np.random.default_rng(4)
    days = rng.integers(0, 900, 2_000)
    people = _one_column(_dates(days), "datetime")
    released = _one_column(_dates(rng.permutation(days) // 30 * 30 + 412), "datetime")
    grains = add_shifts(detect(people, released), people, released)
    found = grains.apply(people).columns["x"].first.astype("datetime64[D]").astype(int)
    np.testing.assert_array_equal(found, days // 30 * 30 + 412)


@pytest.mark.parametrize("change", [lambda x: x, lambda x: np.round(x / 5) * 5, lambda x: x + 17.3, lambda x: x * 1.7])
def test_other_releases_are_not_taken_for_shifted_ones(change):
    rng = np.random.default_rng(5)
    own = np.round(rng.normal(50, 12, 1_500), 1)
    people = _one_column(column_likeness(own), "numeric")
    released = _one_column(column_likeness(change(np.round(rng.normal(50, 12, 1_500), 1))), "numeric")
    assert "shifted" not in str(add_shifts(detect(people, released), people, released).describe())


def _exchanged_in_python(day):
    date = day.astype("datetime64[D]").item()
    return np.datetime64(date.replace(day=date.month, month=date.day) if date.day <= 12 else date)


def test_days_and_months_that_were_exchanged_are_found_and_undone():
    rng = np.random.default_rng(6)
    days = np.datetime64("1950-01-01") + rng.integers(0, 20_000, 1_000)
    made = np.array([_exchanged_in_python(day) for day in days])
    grain = DayAndMonthExchanged.detect(_dates(days), _dates(made[::3]))
    assert grain is not None
    np.testing.assert_array_equal(grain.apply(_dates(days)).first.astype("datetime64[D]"), made)
    np.testing.assert_array_equal(grain.apply(grain.apply(_dates(days))).first, _dates(days).first)
    missing = Times(*(np.append(_dates(days).first, np.datetime64("NaT")) for _ in range(2)))
    assert np.isnat(grain.apply(missing).first[-1])


def test_days_and_months_of_other_releases_are_not_exchanged():
    rng = np.random.default_rng(7)
    own, strangers = (np.datetime64("1950-01-01") + rng.integers(0, 20_000, 1_000) for _ in range(2))
    assert DayAndMonthExchanged.detect(_dates(own), _dates(own)) is None
    found = [
        DayAndMonthExchanged.detect(_dates(own), _dates(np.datetime64("1950-01-01") + rng.integers(0, 20_000, 1_000)))
        for _ in range(50)
    ]
    assert sum(grain is not None for grain in found) <= 2
    assert DayAndMonthExchanged.detect(_dates(own), _dates(strangers[:0])) is None
