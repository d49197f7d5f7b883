"""Blocking by what a value still allows: candidates by containment instead of equality."""

from __future__ import annotations

import itertools
from datetime import datetime
from math import inf, nextafter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvpl
from cvpl.attack.attack import attack
from cvpl.attack.table_blocks import CompatibleBlocks, assign_blocks
from cvpl.config.loading import load
from cvpl.errors import InputError, LimitError, UsageError
from cvpl.laboratory.mechanisms.mondrian import Mondrian
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.blocking import Bin, Blocking, BlockingLadder, Key, Level, Prefix, Truncate, cells
from cvpl.operators.similarity import CosineScorer
from cvpl.search import blocks
from cvpl.search.best import TIE
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.compatible import class_sets
from cvpl.search.compatible.class_sets import ClassSets, meeting_boxes
from cvpl.search.exact import find_best
from cvpl.search.machine import Budget
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table, Times
from cvpl.tables.evaluation_only import IdentityKeys
from cvpl.tables.meaning.labels import allowed_labels
from cvpl.tables.pair import read_inputs
from examples import examples
from search_checks import assert_same, units
from worlds import make_pair

# Education as in a hierarchy file: label, group, wider group.
SCHOOL = {
    "Bachelors": ("Higher", "Undergraduate", "Bachelors"),
    "Some-college": ("Higher", "Undergraduate", "Some-college"),
    "Masters": ("Higher", "Graduate", "Masters"),
    "9th": ("Secondary", "School", "9th"),
    "Higher": ("Higher",),
    "Undergraduate": ("Higher", "Undergraduate"),
    "Graduate": ("Higher", "Graduate"),
    "Secondary": ("Secondary",),
    "School": ("Secondary", "School"),
}
# A group with the name of one of its members.
ODD = {"Other": ("Other", "Other"), "Craft": ("Other", "Craft"), "Sales": ("Sales", "Sales")}

# the column, its labels -> what each of them allows
ALLOWED = [
    ({}, {"A": "A", "B": "B"}),
    ({}, {"A": "A", "B": "B", "C": "C", "{A, C}": "A C", "{B}": "B", "{A,D}": "A D", "A~B": "A B"}),
    ({}, {"12345": "12345", "12399": "12399", "13000": "13000", "123**": "12345 12399", "1****": "12345 12399 13000"}),
    ({}, {"12345": "12345", "99345": "99345", "**345": "12345 99345", "1*3*5": "12345"}),
    ({}, {"12345": "12345", "123": "123", "12**": "12345 123"}),  # nobody has four characters: any number of them
    ({}, {"12345": "12345", "1234": "1234", "123**": "12345"}),
    ({}, {"12345": "12345", "77**": "77**"}),  # without a member, a group is what nobody else is
    ({}, {"{A, {B": "{A, {B", "{}": "{}", "{A,}": "{A,}", "A": "A"}),  # no sets, and so labels
    ({"separator": "/"}, {"N/u": "N/u", "N/r": "N/r", "S/u": "S/u", "N/*": "N/u N/r", "N": "N/u N/r", "S": "S/u"}),
    ({"separator": "/"}, {"N/u": "N/u", "S/u": "S/u", "*/u": "N/u S/u", "{N/u, S/*}": "N/u S/u"}),
    ({"separator": "/"}, {"N/u": "N/u", "W/*": "W/*"}),
    ({"parents": SCHOOL}, {"Bachelors": "Bachelors", "Undergraduate": "Bachelors Some-college"}),
    ({"parents": SCHOOL}, {"Higher": "Bachelors Some-college Masters", "School": "9th", "11th": "11th"}),
    ({"parents": SCHOOL}, {"{Graduate, 9th}": "Masters 9th", "Mast***": "Masters"}),
    ({"parents": ODD}, {"Other": "Other Craft", "Craft": "Craft", "Sales": "Sales"}),
]


@pytest.mark.parametrize(("column", "cases"), ALLOWED)
def test_a_released_label_allows_the_labels_below_it(column, cases):
    spec = ColumnSpec("c", "quasi_identifier", "category", **column)
    found = allowed_labels(spec, list(cases))
    for label, members in zip(cases, found.members, strict=True):
        wanted = {label} if cases[label] == label else set(cases[label].split())
        assert {found.leaves[at] for at in members} == wanted, label


@pytest.mark.parametrize("parents", [None, SCHOOL])
def test_the_leaves_below_a_node_stand_together(parents):
    spec = ColumnSpec("c", "quasi_identifier", "category", separator=None if parents else "/", parents=parents)
    labels = list(parents or ["N/u/1", "S/u", "N/r", "N/u/2", "S/r", "N/*", "N/u"])
    for members in allowed_labels(spec, labels).members:
        assert list(members) == list(range(members[0], members[-1] + 1))


# ---------------------------------------------------------------------------------------------------------------------
# The slow, obvious version: what a cell may mean, listed; two keys are compatible if the lists share something.

AGES = [*range(10, 30)]
NUMBERS = [(18, 18), (20, 24), (20, 29), (15, 19), (10, 29), (24, 24), None]
LABELS = ["N/u", "N/r", "S/u", "N/*", "{N/u, S/u}", "S/*", None]
LEAVES = {
    "N/u": {"N/u"},
    "N/r": {"N/r"},
    "S/u": {"S/u"},
    "N/*": {"N/u", "N/r"},
    "{N/u, S/u}": {"N/u", "S/u"},
    "S/*": {"S/u"},
    None: {"N/u", "N/r", "S/u"},
}
DAYS = [datetime(2024, month, day) for month in (1, 2) for day in (1, 5, 30) if (month, day) != (2, 30)]
SPANS = [*((day, day) for day in DAYS), (DAYS[0], DAYS[2]), (DAYS[0], DAYS[-1]), None]
RULES = {
    "age": ["exact", Bin(bin=5), Bin(bin=10)],
    "place": ["exact", Level(level=1), Prefix(prefix=1)],
    "when": ["exact", Truncate(truncate="month"), Truncate(truncate="year")],
}
SPECS = (
    ColumnSpec("age", "quasi_identifier", "numeric"),
    ColumnSpec("place", "quasi_identifier", "category", separator="/"),
    ColumnSpec("when", "quasi_identifier", "datetime"),
)


def meanings(column, rule, value):
    """Every cell of the rule that a value may lie in."""
    if column == "age":
        allowed = AGES if value is None else [age for age in AGES if value[0] <= age <= value[1]]
        return {age // int(rule.bin) if isinstance(rule, Bin) else age for age in allowed}
    if column == "place":
        cut = {"exact": str, Level: lambda leaf: leaf[0], Prefix: lambda leaf: leaf[0]}
        return {cut[rule if rule == "exact" else type(rule)](leaf) for leaf in LEAVES[value]}
    allowed = DAYS if value is None else [day for day in DAYS if value[0] <= day <= value[1]]
    if rule == "exact":
        return set(allowed)
    return {day.replace(day=1) if rule.truncate == "month" else day.year for day in allowed}


def table(name, rows):
    ages = [row[0] for row in rows]
    low = np.array([np.nan if age is None else age[0] for age in ages], dtype=np.float64)
    high = np.array([np.nan if age is None else nextafter(age[1] + 1, -inf) for age in ages], dtype=np.float64)
    labels = sorted(label for label in LABELS if label is not None)
    codes = np.array([-1 if row[1] is None else labels.index(row[1]) for row in rows], dtype=np.int32)
    first, last = (
        np.array(["NaT" if row[2] is None else row[2][end] for row in rows], dtype="datetime64[us]") for end in (0, 1)
    )
    columns = {
        "age": Numbers((low + high) / 2, low, high),
        "place": Labels(codes, tuple(labels)),
        "when": Times(first, last),
    }
    return Table(name, len(rows), SPECS, columns)


def rows_of(count):
    row = st.tuples(st.sampled_from(NUMBERS), st.sampled_from(LABELS), st.sampled_from(SPANS))
    return st.lists(row, min_size=1, max_size=count)


def compatible(scheme, one, other):
    return all(
        meanings(key.column, key.rule, one[["age", "place", "when"].index(key.column)])
        & meanings(key.column, key.rule, other[["age", "place", "when"].index(key.column)])
        for key in scheme
    )


def _key(name):
    return st.sampled_from(RULES[name]).map(lambda rule: Key(column=name, rule=rule))


schemes = st.lists(st.sampled_from(list(RULES)), unique=True, max_size=3).flatmap(
    lambda names: st.tuples(*(_key(name) for name in names))
)


@settings(deadline=None, max_examples=examples(75))
@given(schemes, rows_of(12), rows_of(12), st.booleans())
def test_candidates_are_those_that_can_mean_the_same(scheme, mine, theirs, in_trees):
    tables = [table("original", mine), table("protected", theirs)]
    with pytest.MonkeyPatch.context() as patch:
        if in_trees:
            patch.setattr(class_sets, "TREE_PAIRS", 0)
        found = assign_blocks(Blocking(match="compatible", any_of=(scheme,)), tables, None, 0)
        (partition,) = found.partitions("original", "protected")
    wanted = np.array([[compatible(scheme, one, other) for other in theirs] for one in mine])
    everything = slice(0, len(mine)), slice(0, len(theirs))
    np.testing.assert_array_equal(partition.shared(*everything), wanted)
    np.testing.assert_array_equal(partition.counts(), wanted.sum(axis=1))
    assert partition.pairs == found.pairs == wanted.sum()
    query, candidate = np.nonzero(np.ones_like(wanted))
    np.testing.assert_array_equal(partition.shares(query, candidate), wanted.ravel())
    some = np.arange(0, len(mine), 2)
    np.testing.assert_array_equal(
        found.partitions("original", "protected", some)[0].shared(slice(0, len(some)), everything[1]), wanted[some]
    )
    laid_out = np.zeros_like(wanted)
    for part in blocks.layouts(partition):
        for asked, there in part.rows():
            laid_out[np.ix_(asked, there)] = True
            assert list(there) == sorted(set(there.tolist()))
    np.testing.assert_array_equal(laid_out, wanted)
    assert partition.unmet() == _unmet(found, wanted)


def _unmet(found, wanted):
    scheme = found.schemes[0]
    if not isinstance(scheme, CompatibleBlocks):
        return 0
    classes = scheme.codes["protected"]
    return len(np.unique(classes)) - len(np.unique(classes[wanted.any(axis=0)]))


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(schemes, min_size=1, max_size=3), rows_of(15), rows_of(15), st.data())
def test_the_search_finds_what_every_compatible_pair_finds(several, mine, theirs, data):
    """Also with pairs left out, with several schemes, in small pieces, and whichever way a block is searched."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    tables = [table("original", mine), table("protected", theirs)]
    found = assign_blocks(Blocking(match="compatible", any_of=tuple(several)), tables, None, 0)
    partitions = found.partitions("original", "protected")
    scorer = CosineScorer(units(rng, len(mine), 4, "spread"), units(rng, len(theirs), 4, "copies"))
    pairs = list(itertools.product(range(len(mine)), range(len(theirs))))
    left = sorted(data.draw(st.sets(st.sampled_from(pairs), max_size=6)))
    left_out = LeftOut(*np.array(left, dtype=np.int64).reshape(-1, 2).T)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MOST_PLACES", data.draw(st.sampled_from([1, 7, 1 << 24])))
        patch.setattr("cvpl.search.exact.SMALL_BLOCK", data.draw(st.sampled_from([0, 4, 1_500])))
        best = find_best(scorer, partitions, left_out=left_out, budget=Budget(threads=1))
    wanted = {name: [] for name in ("best", "row", "second", "second_row", "candidates", "ties")}
    for one in range(len(mine)):
        rows = [
            other
            for other in range(len(theirs))
            if (one, other) not in left and any(compatible(item, mine[one], theirs[other]) for item in several)
        ]
        scores = scorer.pairs(np.full(len(rows), one), np.array(rows, dtype=np.int64))
        ranked = sorted(zip(-scores, rows, strict=True))
        wanted["best"].append(-ranked[0][0] if ranked else -inf)
        wanted["row"].append(ranked[0][1] if ranked else -1)
        wanted["second"].append(-ranked[1][0] if len(ranked) > 1 else -inf)
        wanted["second_row"].append(ranked[1][1] if len(ranked) > 1 else -1)
        wanted["candidates"].append(len(rows))
        wanted["ties"].append(sum(score >= max(scores) - TIE for score in scores))
    assert_same(best, wanted)


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(0, 40), st.integers(0, 40))
@settings(deadline=None, max_examples=examples(30))
def test_a_tree_of_boxes_finds_what_one_by_one_finds(seed, axes, mine, theirs):
    rng = np.random.default_rng(seed)

    def boxes(count):
        low = rng.integers(20, size=(count, axes)).astype(np.float64)
        high = low + rng.integers(4, size=(count, axes))
        open_ended = rng.random((count, axes)) < 0.2
        return np.where(open_ended, -inf, low), np.where(open_ended, inf, high)

    sides = (*boxes(mine), *boxes(theirs))
    found = []
    for limit in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(class_sets, "TREE_PAIRS", limit)
            pairs = list(meeting_boxes(*sides))
        found.append(sorted((int(a), int(b)) for one, other in pairs for a, b in zip(one, other, strict=True)))
    assert found[0] == found[1]
    assert len(set(found[0])) == len(found[0])


@given(st.lists(st.sets(st.integers(0, 9)), max_size=20))
def test_kinds_with_the_same_classes_share_a_set(rows):
    pairs = [(kind, member) for kind, members in enumerate(rows) for member in sorted(members)]
    kind, member = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    number, sets = ClassSets.gathered([(kind, member), (kind[::2], member[::2])], len(rows), 10)
    assert [set(sets.classes[sets.starts[item] : sets.starts[item + 1]].tolist()) for item in number] == rows
    assert len(sets) == len({frozenset(row) for row in rows})


def test_too_many_pairs_of_kinds_are_a_limit(monkeypatch):
    monkeypatch.setattr(class_sets, "MOST_MEMBERSHIPS", 3)
    with pytest.raises(LimitError, match="compatible"):
        ClassSets.gathered([(np.arange(4), np.arange(4))], 4, 4)


def test_units_are_bound_by_common_candidates():
    """Ages 18 and 22 meet 15-24 both, 28 does not; 12 meets nobody."""
    original = table("original", [((age, age), None, None) for age in (18, 22, 28, 12)])
    control = table("control", [((age, age), None, None) for age in (24, 29)])
    protected = table("protected", [((15, 19), None, None), ((15, 24), None, None), ((25, 29), None, None)])
    found = assign_blocks(
        Blocking(match="compatible", any_of=((Key(column="age"),),)), [original, protected, control], None, 0
    )
    mine, theirs = found.clusters(["original", "control"])
    assert mine[0] == mine[1] == theirs[0]
    assert mine[2] == theirs[1]
    assert len({mine[0], mine[2], mine[3]}) == 3


def test_a_partition_without_sets_answers_alike():
    """Sets of one class each are the partition itself."""
    rng = np.random.default_rng(3)
    queries, candidates = rng.integers(5, size=30), rng.integers(5, size=40)
    plain = Partition(queries, candidates)
    sets = Partition(queries, candidates, ClassSets(np.arange(6), np.arange(5)))
    assert plain.pairs == sets.pairs
    np.testing.assert_array_equal(plain.counts(), sets.counts())
    np.testing.assert_array_equal(plain.shared(slice(0, 30), slice(0, 40)), sets.shared(slice(0, 30), slice(0, 40)))
    assert plain.unmet() == sets.unmet()


@pytest.mark.parametrize(
    ("rule", "low", "high", "first", "last"),
    [
        ("exact", 30, nextafter(40, -inf), 30, nextafter(40, -inf)),
        (Bin(bin=10), 30, nextafter(40, -inf), 3, 3),
        (Bin(bin=10), 30, 40, 3, 4),
        (Bin(bin=7), 21, nextafter(28, -inf), 3, 3),
        (Bin(bin=5), 18, 18, 3, 3),
        (Bin(bin=2.5), -5, nextafter(0, -inf), -2, -1),
        (Bin(bin=10), np.nan, np.nan, -inf, inf),
    ],
)
def test_a_number_lies_in_the_cells_it_touches(rule, low, high, first, last):
    column = Numbers(np.array([(low + high) / 2]), np.array([low], dtype=float), np.array([high], dtype=float))
    found = cells(rule, ColumnSpec("n", "quasi_identifier", "numeric"), [column])
    assert (found.low[0], found.high[0]) == (first, last)


# ---------------------------------------------------------------------------------------------------------------------
# Whole audits.

CONFIG = {
    "columns": {
        "person_id": {"role": "id"},
        "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
        "gender": {"role": "quasi_identifier", "type": "category", "block": "exact"},
        "region": {"role": "quasi_identifier", "type": "category", "separator": "/", "block": {"level": 1}},
        "purchase_time": {"role": "attribute", "type": "datetime", "features": ["hour", "day_of_week"]},
        "ad_channel": {"role": "attribute", "type": "category"},
    },
    "seed": 4,
}


def people(count, seed=1):
    return Touchpoints(records=count).draw(np.random.default_rng(seed))


def frame(table):
    return pd.DataFrame(table.to_columns())


def rounded(table):
    """Ages in tens, regions at their first level, times by month: one granularity a column."""
    release = frame(table)
    release["age"] = [f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in release["age"].astype(int)]
    release["region"] = [region.split("/")[0] + "/*" for region in release["region"]]
    release["purchase_time"] = pd.to_datetime(release["purchase_time"]).dt.strftime("%Y-%m")
    return release


UNIFORM = {
    "bins, levels and months": {"age": {"bin": 10}, "region": {"level": 1}, "purchase_time": {"truncate": "month"}},
    "aligned, exact": {"age": "exact", "region": "exact", "purchase_time": "exact"},
    "coarser than the release": {"age": {"bin": 20}, "region": {"level": 1}, "purchase_time": {"truncate": "year"}},
}


@pytest.mark.parametrize("keys", UNIFORM)
def test_where_granularity_is_uniform_compatible_is_equal(keys):
    """Every figure of the two audits is the same, intervals and diagnostics included."""
    original = people(600)
    control = frame(people(300, seed=2))
    results = []
    for match in ("equality", "compatible"):
        blocking = {"match": match, "any_of": [[{name: rule} for name, rule in UNIFORM[keys].items()]]}
        attacker = {"alignment": "release" if "aligned" in keys else "none", "blocking": blocking}
        config = {**CONFIG, "attacker": attacker, "canaries": True}
        found = cvpl.audit(frame(original), rounded(original), config, control=control)
        results.append(found.model_dump(exclude={"attacker", "attackers", "provenance", "config", "seconds"}))
    assert results[0]["truth"]["blocking_recall"] > 0.99
    assert results[0] == results[1]


def finest_to_coarsest():
    """Three blockings: by equality on the finest keys, by compatible ones, by equality on the coarsest."""
    keys = {"age": "exact", "region": "exact"}
    coarse = {"age": Bin(bin=200), "region": Level(level=1)}
    return (
        Blocking(any_of=(tuple(Key(column=name, rule=rule) for name, rule in keys.items()),)),
        Blocking(match="compatible", any_of=(tuple(Key(column=name, rule=rule) for name, rule in keys.items()),)),
        Blocking(any_of=(tuple(Key(column=name, rule=rule) for name, rule in coarse.items()),)),
    )


def nested_release(table, seed):
    """Local recoding along a hierarchy: some cells stay as they are, others rise to a ten or a first level."""
    rng = np.random.default_rng(seed)
    release = frame(table)
    tens = [f"[{age // 10 * 10}, {age // 10 * 10 + 10})" for age in release["age"].astype(int)]
    release["age"] = np.where(rng.random(len(release)) < 0.5, tens, release["age"].astype(int).astype(str))
    wide = release["region"].str.split("/").str[0] + "/*"
    release["region"] = np.where(rng.random(len(release)) < 0.5, wide, release["region"])
    return release


@pytest.mark.parametrize("seed", range(5))
def test_compatible_lies_between_the_finest_and_the_coarsest_granularity(seed):
    """For a nested hierarchy; so rates, recalls and best similarities rise from one to the next."""
    original = people(400, seed)
    release = nested_release(original, seed)
    resolved = load({**CONFIG, "attacker": "paper"})
    inputs = read_inputs(frame(original), release, resolved.specs, identity=IdentityKeys("person_id", "person_id"))
    fine, between, coarse = finest_to_coarsest()
    shared, best = [], []
    for blocking in (fine, between, coarse):
        done = attack(inputs.pair, resolved.attackers["main"].model_copy(update={"blocking": blocking}))
        (partition,) = done.partitions
        shared.append(partition.shared(slice(0, 400), slice(0, 400)))
        best.append(done.found.best)
    assert not (shared[0] & ~shared[1]).any()
    assert not (shared[1] & ~shared[2]).any()
    assert shared[0].sum() < shared[1].sum() < shared[2].sum()
    for threshold in (0.7, 0.9, 0.99):
        rates = [np.mean(item >= threshold) for item in best]
        assert rates == sorted(rates)
    assert all((finer <= coarser).all() for finer, coarser in itertools.pairwise(best))
    own = shared[1][inputs.evaluation.matches.original, inputs.evaluation.matches.protected]
    assert own.all()
    assert shared[0][inputs.evaluation.matches.original, inputs.evaluation.matches.protected].mean() < 0.5


def test_mondrian_no_longer_empties_the_blocks():
    """Local recoding: by equality nearly nobody meets the own record, by containment everybody does."""
    original = people(800)
    columns = ("age", "gender", "region", "purchase_time")
    release = Mondrian(10, columns).protect(original, np.random.default_rng(2))
    keys = [{name: "exact"} for name in columns]
    recalls = {}
    for match in ("equality", "compatible"):
        config = {**CONFIG, "attacker": {"blocking": {"match": match, "any_of": [keys]}}}
        found = cvpl.audit(frame(original), frame(release), config)
        recalls[match] = found.truth.blocking_recall
    assert recalls["equality"] < 0.05
    assert recalls["compatible"] == 1.0


def test_a_hierarchy_file_makes_a_group_compatible_with_its_members(tmp_path):
    lines = [";".join([label, *reversed(path[:-1]), "*"]) for label, path in SCHOOL.items() if len(path) == 3]
    path = str(tmp_path / "edu.csv")
    (tmp_path / "edu.csv").write_text("\n".join(lines), encoding="utf-8")
    rows = [["Some-college", 1.0], ["Masters", 2.0], ["9th", 3.0], ["Bachelors", 4.0]]
    original = pd.DataFrame([[at, *row] for at, row in enumerate(rows)], columns=["id", "edu", "amount"])
    released = original.assign(edu=["Undergraduate", "Higher", "*", "Bachelors"])
    config = {
        "columns": {
            "id": {"role": "id"},
            "edu": {"role": "quasi_identifier", "type": "category", "hierarchy": path, "block": "exact"},
            "amount": {"role": "attribute", "type": "numeric"},
        },
        "attacker": {"blocking": "compatible"},
    }
    found = cvpl.audit(original, released, config)
    assert found.truth.blocking_recall == 1.0
    # Some-college: Undergraduate, Higher, *; Masters: Higher, *; 9th: *; Bachelors: those three and itself.
    assert found.blocks.pairs == 3 + 2 + 1 + 4
    equal = cvpl.audit(original, released, {**config, "attacker": {"blocking": "columns"}})
    assert equal.truth.blocking_recall == 0.25


def test_a_missing_value_is_compatible_with_everything():
    rows = {"a": ["x", None, "y"], "b": [1.0, 2.0, 3.0]}
    columns = {"a": {"role": "quasi_identifier", "type": "category"}, "b": {"role": "attribute", "type": "numeric"}}
    pair = make_pair(columns, rows, {"a": ["y", None], "b": [1.0, 2.0]}, {"a": ["x"], "b": [1.0]})
    found = assign_blocks(
        Blocking(match="compatible", any_of=((Key(column="a"),),)), [pair.original, pair.protected], None, 0
    )
    (partition,) = found.partitions("original", "protected")
    assert partition.shared(slice(0, 3), slice(0, 2)).tolist() == [[False, True], [True, True], [True, True]]


def test_cutting_blocks_is_refused_and_sampling_is_not():
    original = people(200)
    config = {**CONFIG, "attacker": {"blocking": "compatible"}}
    for lever in ({"max_block": 5}, {"sub_block": {"by": ["ad_channel"]}}):
        with pytest.raises((UsageError, InputError), match="compatible"):
            cvpl.audit(frame(original), rounded(original), {**config, "search": lever})
    found = cvpl.audit(frame(original), rounded(original), {**config, "search": {"sample": 0.5}})
    assert found.lower_bound
    assert 0.3 < found.search.share_examined < 0.7


AGE, REGION = Key(column="age"), Key(column="region")
TENS = Key(column="age", rule=Bin(bin=10))


@pytest.mark.parametrize(
    ("fine", "coarse", "relaxes"),
    [
        (("equality", (AGE, REGION)), ("compatible", (AGE, REGION)), True),
        (("compatible", (AGE, REGION)), ("compatible", (TENS,)), True),
        (("compatible", (TENS,)), ("compatible", (AGE,)), False),
        (("compatible", (AGE,)), ("equality", (AGE,)), False),
        (("compatible", (AGE,)), ("equality", ()), True),
        (("equality", (Key(column="zip", rule=Prefix(prefix=2)),)), ("compatible", ()), True),
        (
            ("equality", (Key(column="zip", rule=Prefix(prefix=2)),)),
            ("compatible", (Key(column="zip", rule=Prefix(prefix=2)),)),
            False,
        ),
    ],
)
def test_a_ladder_may_go_from_equal_to_compatible_keys(fine, coarse, relaxes):
    rungs = [Blocking(match=match, any_of=(scheme,)) for match, scheme in (fine, coarse)]
    assert rungs[1].relaxes(rungs[0]) == relaxes
    if relaxes:
        BlockingLadder(rungs=tuple(rungs))
    else:
        with pytest.raises(ValueError, match="does not relax"):
            BlockingLadder(rungs=tuple(rungs))


def test_without_keys_everybody_is_compared_however_they_match():
    columns = {
        name: {key: item for key, item in entry.items() if key != "block"} for name, entry in CONFIG["columns"].items()
    }
    resolved = load({**CONFIG, "columns": columns, "attacker": "default"})
    assert resolved.attackers["aligned"].blocking.compares_everybody
    asked = {name: resolved.max_queries(attacker, 10**6) for name, attacker in resolved.attackers.items()}
    assert asked["aligned"] == asked["unblocked"] is not None


def test_the_short_form_takes_the_columns_own_rules():
    resolved = load({**CONFIG, "attacker": {"blocking": "compatible"}})
    blocking = resolved.attackers["main"].blocking
    assert blocking.match == "compatible"
    assert blocking == load({**CONFIG, "attacker": "paper"}).attackers["main"].blocking.model_copy(
        update={"match": "compatible"}
    )
