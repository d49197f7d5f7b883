"""Searches by agreement on values, on few records: the index on rare values, the tree of cells, sums of products."""

from __future__ import annotations

import numpy as np
import pytest

from cell_crowd import CROWD, attacked, crowd
from cvpl.operators.similarity import AgreementScorer
from cvpl.search import exact
from cvpl.search.best import TIE, BestCandidates
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.cells.kernel import CellTree
from cvpl.search.cells.layout import EXACT, RANGE, SET, CellColumns
from cvpl.search.cells.tree import HUGE_WEIGHT, entropy, similar_order, sort_in_two, summarize
from cvpl.search.exact import find_best
from cvpl.search.machine import Budget
from cvpl.search.rare_values.counting_sort import code_starts, stable_order
from cvpl.search.rare_values.index import RareValues
from cvpl.search.rare_values.products import Products
from cvpl.search.tree.simd import LANES
from cvpl.search.two_best import ROOM, insert, is_skipped, write
from random_scorers import coded
from search_checks import assert_same, every_pair


@pytest.fixture
def as_large_blocks(monkeypatch):
    monkeypatch.setattr(exact, "INDEX_PAIRS", 1)
    monkeypatch.setattr(exact, "INDEX_ALL_PAIRS", 1)


def everywhere(scorer):
    return Partition(np.zeros(scorer.queries, dtype=np.int64), np.zeros(scorer.candidates, dtype=np.int64))


@pytest.mark.parametrize("seed", range(8))
def test_the_index_finds_the_best_of_few_candidates(seed, as_large_blocks):
    rng = np.random.default_rng(seed)
    shape = {"differ": seed % 2 == 1, "missing": 0.15 * (seed % 3), "wide": seed % 4 > 1, "copies": seed == 5}
    scorer = coded(rng, 12, 640, 5, **shape)
    left_out = LeftOut(np.repeat(np.arange(12), 3), rng.integers(640, size=36)) if seed % 3 == 0 else None
    partition = everywhere(scorer)
    found = find_best(scorer, [partition], left_out=left_out, budget=Budget(threads=1))
    assert_same(found, every_pair(scorer, partition, left_out))


def test_candidates_that_share_only_common_values_are_found_in_their_zones(as_large_blocks):
    """No value is rare: all lists are longer than what is scored one by one."""
    rng = np.random.default_rng(3)
    scorer = coded(rng, 8, 900, 6, differ=True, missing=0.0, wide=False, copies=False)
    scorer = AgreementScorer(scorer.a % 2, scorer.b % 2, scorer.worth)
    assert_same(find_best(scorer, [everywhere(scorer)]), every_pair(scorer, everywhere(scorer)))


def test_a_candidate_that_shares_only_a_rare_value_is_found_in_its_zone(as_large_blocks):
    """Everybody else shares a common value, which weighs less; the lists of common values are too long to be read."""
    rng = np.random.default_rng(9)
    b = np.column_stack([np.arange(600), *rng.integers(2, size=(3, 600))]).astype(np.int32)
    b[77, 1:] = 1
    a = np.array([[77, 0, 0, 0]] * 3, dtype=np.int32)
    scorer = weighed(rng, (a, b), (600, 2, 2, 2), 0.0)
    scorer.worth.agree[:600] = 10.0
    found = find_best(scorer, [everywhere(scorer)])
    assert found.row.tolist() == [77] * 3
    assert_same(found, every_pair(scorer, everywhere(scorer)))


@pytest.mark.parametrize("short", range(7))
def test_equal_seconds_in_other_zones_are_not_left_out_by_rounding(short, as_large_blocks):
    """One candidate agrees on all eight columns, the others on all but one of the first seven; the first row counts.

    Groups of 64 fill zones of their own, if the group that is one short stands behind the best in the first zone.
    """
    rng = np.random.default_rng(short)
    b = np.eye(8, dtype=np.int32)[np.append(np.repeat(np.arange(7), 64 - (np.arange(7) == short)), 7)]
    b[-1] = 0
    b = b[rng.permutation(len(b))]
    scorer = weighed(rng, (np.zeros((1, 8), np.int32), b), (2,) * 8, 0.0)
    scorer.worth.agree[:] = np.repeat([1.0] * 7 + [1.2], 2)
    assert_same(find_best(scorer, [everywhere(scorer)]), every_pair(scorer, everywhere(scorer)))


def test_no_query_is_left_over_unless_too_many_scores_are_nearly_tied(as_large_blocks):
    """Six columns add 1, 2, 4 ... billionths: 64 different scores within a tie, and room for 32."""
    rng = np.random.default_rng(2)
    scorer = coded(rng, 12, 300, 4, differ=True, missing=0.1, wide=False, copies=False)
    nothing, found = np.zeros(0, dtype=np.int64), BestCandidates.none(12)
    rows = np.arange(12), np.arange(300)
    assert not len(RareValues.of(scorer.b).search(scorer, rows[0], nothing, nothing, found, *rows))
    own, released = crowd(rng, 300)
    cells = attacked(CROWD, (own.iloc[:12], released), {"similarity": {"rarity": {"m": 0.99}}}).scorer.sorted(*rows)
    assert not len(CellTree.of(cells.cells).search(cells.cells, rows[0], nothing, nothing, found, *rows))
    bits = np.arange(300)[:, None] >> np.arange(6) & 1
    tied = weighed(rng, (np.ones((2, 6), np.int32), bits.astype(np.int32)), (2,) * 6, 0.0)
    tied.worth.agree[:] = np.repeat(1e-9 * 2.0 ** np.arange(6), 2)
    failed = RareValues.of(tied.b).search(tied, np.arange(2), nothing, nothing, found, *rows)
    assert failed.tolist() == [0, 1]
    assert_same(find_best(tied, [everywhere(tied)]), every_pair(tied, everywhere(tied)))


def test_a_query_without_a_value_looks_nobody_up_by_it(as_large_blocks):
    """The best candidate alone lacks the first value too, and shares a rare one with another candidate."""
    b = np.column_stack([np.arange(300) % 7, np.arange(300)]).astype(np.int32)
    b[5] = [-1, 250]
    scorer = weighed(np.random.default_rng(1), (np.array([[-1, 250]], dtype=np.int32), b), (7, 300), -0.5)
    assert_same(find_best(scorer, [everywhere(scorer)]), every_pair(scorer, everywhere(scorer)))


@pytest.mark.parametrize("differ", [-1.0, 0.3])
def test_candidates_that_agree_on_nothing_are_ranked_by_what_they_lack(as_large_blocks, differ):
    rng = np.random.default_rng(4)
    b = rng.integers(-1, 3, size=(400, 5)).astype(np.int32)
    b[:, :3][rng.random((400, 3)) < 0.7] = 0
    scorer = weighed(rng, (np.array([[5, 4, 3, 4, 5], [5, 0, 3, -1, 5]], dtype=np.int32), b), (6,) * 5, differ)
    assert_same(find_best(scorer, [everywhere(scorer)]), every_pair(scorer, everywhere(scorer)))


@pytest.mark.parametrize("differ", [-1.0, 0.3, 0.0])
@pytest.mark.parametrize("count", [1, 2, 400])
def test_a_query_that_agrees_with_nobody_ties_with_all(as_large_blocks, differ, count):
    """The lowest rows that are not left out come first; where candidates lack a value, those who do may be better."""
    rng = np.random.default_rng(6)
    b = rng.integers(0, 3, size=(count, 4)).astype(np.int32)
    left_out = LeftOut(np.array([1, 1, 2]), np.array([0, 1, 2])) if count > 3 else None
    for lacking in (False, True):
        b[:, 3] = np.where(rng.random(count) < 0.5, -1, b[:, 3]) if lacking else b[:, 3]
        a = np.array([[3, 3, 3, 3], [3, -1, 3, 3], [3, 3, 3, -1], [-1, -1, -1, -1]], dtype=np.int32)
        scorer = weighed(rng, (a, b), (4,) * 4, differ)
        found = find_best(scorer, [everywhere(scorer)], left_out=left_out)
        assert_same(found, every_pair(scorer, everywhere(scorer), left_out))


def test_a_single_candidate_has_no_second_and_no_candidate_is_no_best(as_large_blocks):
    scorer = coded(np.random.default_rng(5), 4, 2, 3, differ=True, missing=0.0, wide=False, copies=False)
    left_out = LeftOut(np.array([0, 1, 2, 3, 3]), np.array([0, 1, 0, 0, 1]))
    found = find_best(scorer, [everywhere(scorer)], left_out=left_out)
    assert found.second_row.tolist() == [-1] * 4
    assert found.row.tolist() == [1, 0, 1, -1]
    assert_same(found, every_pair(scorer, everywhere(scorer), left_out))


@pytest.mark.parametrize("similarity", [{"rarity": {"m": 0.99, "tolerance": 0.1}}, {"agreement": {"m": 0.9}}])
@pytest.mark.parametrize("left_out", [False, True])
def test_the_tree_of_cells_finds_the_best_of_few_candidates(similarity, left_out, as_large_blocks):
    rng = np.random.default_rng(int(left_out))
    columns = {name: CROWD[name] for name in CROWD if left_out or name != "colour"}
    own, released = (side[list(columns)] for side in crowd(rng, 300))
    done = attacked(columns, (own.iloc[:15], released), {"similarity": similarity})
    skips = LeftOut(np.repeat(np.arange(15), 2), rng.integers(300, size=30)) if left_out else None
    partition = everywhere(done.scorer)
    found = find_best(done.scorer, [partition], left_out=skips, budget=Budget(threads=1))
    assert_same(found, every_pair(done.scorer, partition, skips))


@pytest.mark.parametrize("count", [1, 5, 16, 17, 300])
def test_the_zones_of_an_index_hold_the_codes_of_their_candidates(count):
    rng = np.random.default_rng(count)
    codes = rng.integers(-1, 4, size=(count, 3)).astype(np.int32)
    codes[:, 2] = -1
    index = RareValues.of(codes)
    np.testing.assert_array_equal(index.records, codes[index.rows])
    assert sorted(index.rows) == list(range(count))
    for column in range(3):
        np.testing.assert_array_equal(index.listed[column], np.sort(codes[:, column]))
        np.testing.assert_array_equal(index.records[index.lists[column], column], index.listed[column])
        for low, high, size in ((index.low, index.high, LANES), (index.lowest, index.highest, LANES**2)):
            for zone in range(low.shape[1]):
                there = index.records[zone * size : (zone + 1) * size, column]
                known = there[there >= 0]
                ends = (low[column, zone], high[column, zone])
                assert ends == ((known.min(), known.max()) if len(known) else (np.iinfo(np.int32).max, -1))
    zoned = index.zoned.reshape(-1, 3, LANES).transpose(0, 2, 1).reshape(-1, 3)
    np.testing.assert_array_equal(zoned[:count], index.records)
    assert np.all(zoned[count:] == -1)


def test_codes_are_sorted_stably_and_their_starts_are_counted():
    rng = np.random.default_rng(1)
    codes, order = rng.integers(-1, 5, size=50).astype(np.int32), rng.permutation(50).astype(np.int32)
    np.testing.assert_array_equal(stable_order(codes, order), order[np.argsort(codes[order], kind="stable")])
    wanted = [int((codes < code).sum()) for code in range(-1, codes.max() + 2)]
    np.testing.assert_array_equal(code_starts(codes), wanted)
    assert code_starts(codes[:0]).tolist() == [0, 0]


def kept(scores, rows):
    """What is kept of scored candidates, one after the other; None if there is no room."""
    top, who = np.full(2, -np.inf), np.full(2, -1, dtype=np.int64)
    near, many = np.zeros(ROOM), np.zeros(ROOM, dtype=np.int64)
    for score, row in zip(scores, rows, strict=True):
        if not insert(float(score), int(row), top, who, near, many):
            return None
    found, numbers = BestCandidates.none(3), 10 * np.arange(1_000)
    write(1, top, who, near, many, numbers, found.best, found.row, found.second, found.second_row, found.ties)
    assert (found.row[[0, 2]] == -1).all(), "only its own place is written"
    return tuple(float(part[1]) for part in (found.best, found.row, found.second, found.second_row, found.ties))


@pytest.mark.parametrize("seed", range(10))
def test_the_two_best_and_the_ties_are_those_of_sorting(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(4, size=60) / 2 + rng.integers(4, size=60) * TIE * (0.4 if seed % 2 else 3)
    rows = rng.permutation(60)
    order = np.lexsort((rows, -scores))
    best, second = scores[order[:2]]
    wanted = best, 10 * rows[order[0]], second, 10 * rows[order[1]], np.sum(scores >= best - TIE)
    assert kept(scores, rows) == wanted


def test_few_candidates_have_no_second_and_too_many_ties_no_room():
    assert kept([], []) == (-np.inf, -1, -np.inf, -1, 0)
    assert kept([0.5], [3]) == (0.5, 30, -np.inf, -1, 1)
    apart = TIE / 100
    assert kept(1 + apart * np.arange(ROOM), np.arange(ROOM))[4] == ROOM
    assert kept(1 + apart * np.arange(ROOM + 1), np.arange(ROOM + 1)) is None
    assert kept([*(1 + apart * np.arange(ROOM)), 2.0], np.arange(ROOM + 1))[4] == 1
    assert kept([2.0 - TIE, 2.0, 2.0 - TIE / 2], [0, 1, 2])[4] == 3, "a score just within the tie keeps its place"
    skips = np.array([4, 7, 9])
    assert [bool(is_skipped(place, 0, 2, skips)) for place in (4, 7, 9, 5)] == [True, True, False, False]


@pytest.mark.parametrize("sizes", [(3, 4, 5), (3, 5_000), (5_000, 2, 5_000, 3), (2,) * 13])
@pytest.mark.parametrize("differ", [0.0, -0.7])
def test_the_sum_of_products_is_that_of_every_pair(sizes, differ):
    """Columns of up to 4,096 combinations are joined, and those of many values are not."""
    rng = np.random.default_rng(len(sizes))
    codes = [
        np.column_stack([rng.integers(-1, min(size, 25), size=count) * (1 + (size > 99) * 190) for size in sizes])
        for count in (6, 80)
    ]
    codes = [np.maximum(side, -1).astype(np.int32) for side in codes]
    codes[0][0], codes[0][1], codes[1][:9] = codes[1][0], 0, 0
    scorer = weighed(rng, codes, sizes, differ)
    every = np.array([scorer.pairs(np.full(80, query), np.arange(80)) for query in range(6)])
    np.testing.assert_allclose(Products.of(scorer.b)(scorer), np.log(np.exp(every).sum(axis=1)), atol=1e-11)


@pytest.mark.parametrize("size", [6, 5_000])
def test_the_sum_of_products_counts_a_column_of_two_levels_once_for_each(size):
    """With many values the candidates are merged by the other column, and listed by this one."""
    rng = np.random.default_rng(5)
    sides = [np.column_stack([rng.integers(-1, 6, size=count)] * 3).astype(np.int32) for count in (6, 300)]
    sides[1][-1] = size - 1
    for side in sides:
        side[:, 1] = rng.integers(-1, 4, size=len(side))
    scorer = weighed(rng, sides, (size, 4, size), -0.4, wide=0)
    scorer.worth.differ[2] = 0.0  # equal values only add to near ones
    assert Products.of(scorer.b, ("age", "sex", "age")).merged is not None
    every = np.array([scorer.pairs(np.full(300, query), np.arange(300)) for query in range(6)])
    found = Products.of(scorer.b, ("age", "sex", "age"))(scorer)
    np.testing.assert_allclose(found, np.log(np.exp(every).sum(axis=1)), atol=1e-11)


def test_sums_are_corrected_only_if_agreement_never_weighs_less_than_disagreement():
    rng = np.random.default_rng(6)
    sides = [np.column_stack([rng.integers(3, size=count), rng.integers(5_000, size=count)]) for count in (4, 300)]
    sides[1][0, 1] = 4_999
    scorer = weighed(rng, [side.astype(np.int32) for side in sides], (3, 5_000), -0.2)
    products = Products.of(scorer.b)
    assert products.columns.others.tolist() == [1]
    for place, lowest, adds in ((5_002, -0.2, True), (5_002, -0.3, False), (3, -0.3, False), (2, -0.3, True)):
        scorer.worth.agree[:] = 0.5
        scorer.worth.agree[place] = lowest
        assert products.agreement_adds(scorer) == adds


def weighed(rng, sides, sizes, differ, wide=None):
    """A scorer of these codes, with random weights; in the column `wide` neighbouring codes agree too."""
    weights = coded(rng, 1, 8, 1, differ=False, missing=0, wide=False, copies=False).worth
    reach = [int(column == wide) for column in range(len(sizes))]
    parts = [np.arange(size) - near for size, near in zip(sizes, reach, strict=True)]
    last = [np.arange(size) + near for size, near in zip(sizes, reach, strict=True)]
    worth = type(weights)(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.maximum(np.concatenate(parts), 0).astype(np.int32),
        np.concatenate(last).astype(np.int32),
        rng.exponential(1, sum(sizes)),
        np.full(len(sizes), differ),
    )
    return AgreementScorer(*sides, worth)


def cell_columns():
    """An exact column, ranges of pieces, and sets of labels: 3 cells each."""
    allowed = np.zeros((3, 40), dtype=np.uint8)
    allowed[0, [2, 35]] = allowed[1, 7] = 1
    return CellColumns(
        kinds=np.array([EXACT, RANGE, SET]),
        begins=np.array([0, 0, 3]),
        first=np.array([1, 4, 9, 2, 7, 1], dtype=np.int32),
        last=np.array([5, 4, 30, 35, 7, 0], dtype=np.int32),
        agree=np.array([1.5, 2.25, 0.5, 3.0, 1.0, 2.0]),
        differ=np.array([-1.0, 0.0, -0.25, -2.0, -0.5, 0.0]),
        allowed=allowed.ravel(),
        rows=np.array([0, 0, 0]),
        labels=np.array([0, 0, 40]),
    )


@pytest.mark.parametrize("count", [3, 16, 40, 700])
def test_a_summary_allows_what_the_records_below_it_allow(count):
    columns, rng = cell_columns(), np.random.default_rng(count)
    codes = np.column_stack([rng.integers(-1, 50, size=count), *rng.integers(-1, 3, size=(2, count))]).astype(np.int32)
    found, per = summarize(columns, codes, 1.0), LANES
    ends = [*found.starts[1:], len(found.nodes)]
    for start, end in zip(found.starts, ends, strict=True):
        nodes = found.nodes[start:end].reshape(-1, 3, 5, LANES)
        for node in range(-(-count // per)):
            for column in range(3):
                there = codes[node * per : (node + 1) * per, column]
                summary = nodes[node // LANES, column, :, node % LANES].tolist()
                assert summary == summarized(columns, column, there), (per, node, column)
        per *= LANES
    np.testing.assert_array_equal(
        found.zoned.reshape(-1, LANES)[:, : min(count, LANES)][0], codes[: min(count, LANES), 0]
    )


def summarized(columns, column, there):
    """The lowest and highest that some records allow, a bit for each, the most of agreement and of the rest."""
    known = there[there >= 0]
    missing = 0 if (there < 0).any() else -HUGE_WEIGHT
    if not len(known):
        return [np.iinfo(np.int32).max, -1, 0, -HUGE_WEIGHT, missing]
    if column == 0:
        held, low, high, gain, rest = known, known.min(), known.max(), HUGE_WEIGHT, missing
    else:
        cells = columns.begins[column] + known
        low, high = columns.first[cells].min(), columns.last[cells].max()
        gain = int(np.ceil(columns.agree[cells]).max())
        rest = max(missing, int(np.ceil(columns.differ[cells]).max()))
        held = [label for code in known for label in np.flatnonzero(columns.allowed.reshape(3, 40)[code])]
    mask = 0
    for item in held:
        mask |= 1 << (int(item) & 31)
    mask = 0xFFFFFFFF if column == 1 else mask
    return [low, high, mask - (1 << 32) if mask >> 31 else mask, gain, rest]


def test_a_cut_puts_the_smaller_keys_first_and_keeps_the_order():
    held, members = np.array([5, 1, 3, 3, 0, 3, 9], dtype=np.int32), np.arange(10, 17, dtype=np.int32)
    sort_in_two(held, members, 4)
    assert members.tolist() == [11, 12, 13, 14, 10, 15, 16], "0, 1, and the first two of three 3s come first"


def test_the_entropy_of_a_few_values():
    assert entropy(np.array([1, 1, 1, 1])) == 0
    wanted = np.log(8) - (3 * np.log(3) + 2 * np.log(2)) / 8
    np.testing.assert_allclose(entropy(np.array([1, 1, 1, 2, 3, 3, 4, 5])), wanted)


def test_similar_records_stand_together():
    """In a column of two values, all records with the first stand before those with the second, in full nodes."""
    columns, rng = cell_columns(), np.random.default_rng(2)
    codes = np.column_stack([rng.permutation(64) % 2 * 49, np.zeros(64), np.zeros(64)]).astype(np.int32)
    order = similar_order(columns, codes)
    assert sorted(order) == list(range(64))
    assert codes[order, 0].tolist() == [0] * 32 + [49] * 32
