"""What a cluster does with parts of tables, tested without a cluster: parts together give what the whole gives."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvpl.operators.blocking import Bin, Key, Level, Prefix, Truncate, block_words, scheme_codes
from cvpl.search.best import BestCandidates, ScoredPairs
from cvpl.spark.merging import merge_parts
from cvpl.spark.packing import pack, unpack
from cvpl.spark.partitioning import BlockCounts, Partitioning
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table, Times
from cvpl.tables.meaning.column_facts import LabelFacts, NumberFacts, TimeFacts

SCORES = st.sampled_from([0.5, 0.5 + 4e-7, 0.5 + 9e-7, 0.5 + 2e-6, 0.25, 1.0])


def best_of(score, row):
    """What a search finds for one query among these candidates."""
    found = BestCandidates.none(1)
    order = np.argsort(row)
    ScoredPairs(np.zeros(len(row), np.int64), row[order], score[order]).reduce_into(found)
    found.candidates[:] = len(row)
    return found


@given(st.lists(st.lists(SCORES, max_size=6), min_size=1, max_size=4))
def test_merged_parts_are_what_a_search_of_all_candidates_finds(parts):
    rows = np.arange(sum(map(len, parts)))
    pieces = np.split(rows, np.cumsum([len(part) for part in parts])[:-1])
    scores = np.array([score for part in parts for score in part])
    whole = best_of(scores, rows) if len(rows) else BestCandidates.none(1)
    found = [
        best_of(np.array(part), piece) if part else BestCandidates.none(1)
        for part, piece in zip(parts, pieces, strict=True)
    ]
    names = ("best", "row", "second", "second_row", "candidates", "ties")
    joined = BestCandidates(*(np.concatenate([getattr(part, name) for part in found]) for name in names))
    merged = merge_parts(np.zeros(len(found), np.int64), joined)
    for name in names[:-1]:
        assert getattr(merged.found, name)[0] == getattr(whole, name)[0], name
    assert merged.unsure[0] or merged.found.ties[0] == whole.ties[0]


def test_only_queries_whose_ties_are_not_settled_are_unsure():
    best = np.array([0.5, 0.5 + 5e-7, 0.5, 0.5])
    second = np.array([0.5 - 6e-7, 0.1, 0.4, 0.1])
    parts = BestCandidates(best, np.arange(4), second, np.arange(4) + 10, np.full(4, 9), np.array([3, 1, 1, 2]))
    merged = merge_parts(np.array([0, 0, 1, 1]), parts)
    # The first part of the first query counts three within a millionth of its own best, which is not the best of all.
    assert merged.unsure.tolist() == [False, False] and merged.found.ties.tolist() == [2, 3]
    parts = BestCandidates(
        best, np.arange(4), np.array([0.5, 0.1, 0.4, 0.1]), np.arange(4) + 10, np.full(4, 9), np.array([3, 1, 1, 2])
    )
    assert merge_parts(np.array([0, 0, 1, 1]), parts).unsure.tolist() == [True, False]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=40))
def test_packed_records_are_unpacked_by_their_groups(groups):
    """Every record is in the pack of its group, and in no other."""
    records = pa.table({"place": np.arange(len(groups)), "x": np.linspace(0, 1, len(groups))})
    sides = [np.array(side, dtype=np.int64) for side in zip(*groups, strict=True)] or [np.zeros(0, np.int64)] * 2
    values, packed = pack(records, sides)
    assert sorted(set(groups)) == list(zip(*(side.tolist() for side in values), strict=True))
    for number, group in enumerate(sorted(set(groups))):
        mine = [place for place, other in enumerate(groups) if other == group]
        found = unpack(pa.chunked_array([packed[number : number + 1]]), records.schema)
        assert found.equals(records.take(pa.array(mine, pa.int64())).combine_chunks())
    assert unpack(pa.chunked_array([], pa.binary()), records.schema).num_rows == 0


def kinds(rng, rows):
    """Some records of every kind of column, with missing values and ranges."""
    low = np.where(rng.random(rows) < 0.2, np.nan, rng.integers(-3, 30, rows).astype(float))
    high = low + rng.integers(0, 3, rows)
    first = np.datetime64("2024-01-01", "us") + rng.integers(0, 60, rows).astype("timedelta64[D]")
    first[rng.random(rows) < 0.1] = np.datetime64("NaT")
    labels = ("A/x", "A/y", "B/x", "B/*")
    return {
        "number": Numbers((low + high) / 2, low, high),
        "time": Times(first, first + np.timedelta64(1, "h")),
        "label": Labels(rng.integers(-1, 4, rows).astype(np.int32), labels),
    }


SPECS = (
    ColumnSpec("number", "quasi_identifier", "numeric"),
    ColumnSpec("time", "quasi_identifier", "datetime"),
    ColumnSpec("label", "quasi_identifier", "category", separator="/"),
)


@pytest.mark.parametrize(
    "scheme",
    [
        (),
        (Key(column="number", rule=Bin(bin=10)),),
        (Key(column="number", rule="exact"),),
        (Key(column="time", rule=Truncate(truncate="week")), Key(column="label", rule=Level(level=1))),
        (Key(column="time", rule="exact"),),
        (Key(column="label", rule=Prefix(prefix=1)), Key(column="number", rule=Bin(bin=5))),
        (Key(column="label", rule="exact"),),
    ],
)
def test_records_with_equal_words_share_a_block(scheme):
    rng = np.random.default_rng(4)
    tables = [Table(name, rows, SPECS, kinds(rng, rows)) for name, rows in (("original", 60), ("protected", 50))]
    codes = np.concatenate(scheme_codes(scheme, tables))
    words = [np.concatenate(pair) for pair in zip(*(block_words(scheme, table) for table in tables), strict=True)]
    by_words = np.unique(np.column_stack([*words, np.zeros(110)]), axis=0, return_inverse=True)[1].reshape(-1)
    assert np.array_equal(codes[:, None] == codes, by_words[:, None] == by_words)


@pytest.mark.parametrize("rows", [2, 7, 1000])
def test_every_pair_of_a_block_meets_in_one_task(rows):
    rng = np.random.default_rng(rows)
    blocks = [rng.choice(np.array([-5, 3, 9, 2**40]), size, p=[0.6, 0.2, 0.1, 0.1]) for size in (23, 31)]
    many = {block: [int((side == block).sum()) for side in blocks] for block in np.unique(np.concatenate(blocks))}
    large = np.array([block for block, sizes in many.items() if max(sizes) > rows and min(sizes)], np.int64)
    sizes = np.array([many[block] for block in large], np.int64).reshape(-1, 2).T
    partitioning = Partitioning.of(BlockCounts(0, rows, large, *sizes), sum(map(len, blocks)))
    met = {}
    asked, there = (
        list(zip(*partitioning.tasks(side, np.arange(len(side)), name), strict=True))
        for side, name in zip(blocks, ("queries", "candidates"), strict=True)
    )
    for query, *task in asked:
        for candidate, *other in there:
            if task == other and blocks[0][query] == blocks[1][candidate]:
                met[query, candidate] = met.get((query, candidate), 0) + 1
    wanted = {(q, c) for q, one in enumerate(blocks[0]) for c, other in enumerate(blocks[1]) if one == other}
    assert met == dict.fromkeys(wanted, 1)
    in_task = {}
    for _, *task in there:
        if task[0] in large:
            in_task[tuple(task)] = in_task.get(tuple(task), 0) + 1
    assert max(in_task.values(), default=0) <= max(rows, 1) * 2  # places are dealt by remainder: nearly equal pieces


def test_facts_of_parts_join_to_those_of_the_whole():
    rng = np.random.default_rng(1)
    for values in (
        rng.normal(size=9),
        rng.integers(0, 9, 9).astype(float),
        np.full(9, np.nan),
        np.array([np.nan, 4.0] * 5),
    ):
        whole, parts = NumberFacts.of(values), [NumberFacts.of(part) for part in np.array_split(values, 4)]
        for joined in (parts, parts[::-1]):
            found = NumberFacts()
            for part in joined:
                found = found.joined(part)
            assert found == whole
    times = np.array(["2024-05-01", "NaT", "2023-01-01T10:00", "2024-06-01"], "datetime64[us]")
    found = TimeFacts()
    for part in np.array_split(times, 3):
        found = found.joined(TimeFacts.of(part))
    assert found == TimeFacts.of(times) and found.clock
    assert found.ends == (datetime.datetime(2023, 1, 1, 10), datetime.datetime(2024, 6, 1))
    assert TimeFacts.of(times[1:2]) == TimeFacts() and TimeFacts().ends == (None, None)
    assert TimeFacts().joined(TimeFacts(released_clock=True)).released_clock


def test_a_label_means_what_the_labels_of_all_tables_say():
    spec = ColumnSpec("code", "quasi_identifier", "category")
    facts = LabelFacts(spec, {"original": ("1", "2"), "protected": ("*", "1.0", "3"), "control": ("*", "2")})
    assert facts.labels == ("1", "2", "3") and facts.originals == {"1", "2"}
    assert facts.codes("original") == [0, 1] and facts.as_spelled("original")
    assert facts.codes("protected") == [-1, 0, 2] and not facts.as_spelled("protected")
    assert facts.codes("control") == [-1, 1] and facts.as_spelled("control")
