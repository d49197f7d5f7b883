"""The parts of a search, each on its own: blocks as ranges, groups that fit, listed and sampled pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from cvpl.errors import LimitError
from cvpl.operators.similarity import CosineScorer, fit_euclidean
from cvpl.search import exact, pairs
from cvpl.search.best import BestCandidates, ScoredPairs
from cvpl.search.blocks import Group, LeftOut, Partition, groups, sort_blocks
from cvpl.search.compatible import class_sets
from cvpl.search.copies import find_copies
from cvpl.search.exact import find_best
from cvpl.search.levers import Approximate, sub_divide
from cvpl.search.machine import Budget
from cvpl.search.pairs import candidate_similarities
from cvpl.search.tree.tree_search import WorkCount
from search_checks import assert_same, every_pair, units


class PairNumbers:
    """Scores that name their pair: 1,000 times the query plus the candidate."""

    agreement = cells = None
    record_bytes = 8

    def pairs(self, query, candidate):
        return query * 1_000.0 + candidate


def cosines(seed, queries, candidates, width=4):
    rng = np.random.default_rng(seed)
    return CosineScorer(units(rng, queries, width, "spread"), units(rng, candidates, width, "spread"))


def listed_by_hand(partitions, left_out):
    """Every candidate pair, by comparing block numbers one by one."""
    skipped = set(zip(left_out.query.tolist(), left_out.candidate.tolist(), strict=True))
    sides = range(len(partitions[0].queries)), range(len(partitions[0].candidates))
    return [
        pair
        for pair in itertools.product(*sides)
        if pair not in skipped and any(one.queries[pair[0]] == one.candidates[pair[1]] for one in partitions)
    ]


@pytest.fixture
def two_schemes():
    rng = np.random.default_rng(8)
    partitions = [Partition(rng.integers(size, size=40), rng.integers(size, size=30)) for size in (5, 3)]
    return partitions, LeftOut(np.repeat(np.arange(40), 2), rng.integers(30, size=80))


@pytest.mark.parametrize("at_once", [1, 20, 1 << 18])
def test_every_candidate_pair_is_scored_once_however_many_are_listed_at_a_time(two_schemes, at_once, monkeypatch):
    partitions, left_out = two_schemes
    monkeypatch.setattr(pairs, "LISTED", at_once)
    scorer = cosines(1, 40, 30)
    found = candidate_similarities(scorer, partitions, np.random.default_rng(0), left_out=left_out)
    wanted = np.array(listed_by_hand(partitions, left_out))
    np.testing.assert_array_equal(found.values, np.sort(scorer.pairs(*wanted.T)))
    assert (found.total, found.sampled) == (len(wanted), False)


def test_as_many_pairs_as_allowed_are_all_scored_and_one_more_is_sampled(two_schemes):
    partitions, scorer, rng = two_schemes[0][:1], cosines(1, 40, 30), np.random.default_rng(0)
    many = partitions[0].pairs
    assert not candidate_similarities(scorer, partitions, rng, most=many).sampled
    found = candidate_similarities(scorer, partitions, rng, most=many - 1)
    assert (found.total, found.sampled) == (many, True)


def test_sampled_pairs_are_candidates(two_schemes):
    partitions, left_out = two_schemes
    found = candidate_similarities(PairNumbers(), partitions, np.random.default_rng(0), left_out=left_out, most=0)
    wanted = {query * 1_000.0 + candidate for query, candidate in listed_by_hand(partitions, left_out)}
    assert set(found.values) <= wanted
    assert len(set(found.values)) > len(wanted) / 2, "the candidates of 40 records are drawn for each scheme"
    assert found.total == sum(one.pairs for one in partitions)


def test_sampled_pairs_are_uniform_over_all_pairs(monkeypatch):
    """Blocks of 4,000 x 2 and 1,000 x 6 pairs: a pair of either is as likely."""
    monkeypatch.setattr(pairs, "SAMPLED_PER_RECORD", 1)
    partition = Partition(np.repeat([0, 1], [4_000, 1_000]), np.array([0, 1, 1, 1, 0, 1, 1, 1]))
    found = candidate_similarities(PairNumbers(), [partition], np.random.default_rng(2), most=0).values
    assert len(found) == 5_000
    counts = np.bincount((found % 1_000).astype(int), minlength=8)
    expected = 5_000 * np.where(partition.candidates == 0, 4_000, 1_000) / 14_000
    assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected))
    queries = (found // 1_000).astype(int)
    assert len(np.unique(queries)) > 2_500
    assert abs(np.mean(queries[queries < 4_000]) - 2_000) < 5 * 4_000 / np.sqrt(12 * 2_857)


def test_as_many_records_are_sampled_as_the_setting_says(monkeypatch):
    monkeypatch.setattr(pairs, "SAMPLED_RECORDS", 7)
    partition = Partition(np.zeros(50, dtype=np.int64), np.zeros(20, dtype=np.int64))
    found = candidate_similarities(PairNumbers(), [partition], np.random.default_rng(2), most=0).values
    assert len(found) == 7 * pairs.SAMPLED_PER_RECORD
    assert len(np.unique(found // 1_000)) <= 7


def test_blocks_without_candidates_have_no_similarities():
    partition = Partition(np.zeros(3, dtype=np.int64), np.ones(2, dtype=np.int64))
    found = candidate_similarities(PairNumbers(), [partition], np.random.default_rng(0))
    assert (found.values.size, found.total, found.sampled) == (0, 0, False)


@pytest.mark.parametrize("spread", [1, 1_000_000])
def test_pairs_of_a_partition_are_counted_with_few_and_with_many_numbers(spread):
    rng = np.random.default_rng(3)
    queries, candidates = rng.integers(6, size=50) * spread, rng.integers(7, size=60) * spread
    partition = Partition(queries, candidates)
    assert partition.pairs == sort_blocks(partition).pairs == np.sum(queries[:, None] == candidates)


def test_a_group_counts_the_pairs_of_each_block():
    partition = Partition(np.array([0, 1, 1, 2, 2, 2]), np.array([2, 1, 1, 1, 2, 0, 0]))
    group = Group.of(sort_blocks(partition), cosines(0, 6, 7))
    assert group.pairs.tolist() == [2, 6, 6]
    assert group.part(group.rectangles[1:]).pairs.tolist() == [6, 6]


def test_groups_fit_and_cover_every_block_once():
    rng = np.random.default_rng(4)
    partition = Partition(rng.integers(9, size=700), rng.integers(9, size=500) // 4 * 4)
    blocks, scorer = sort_blocks(partition), cosines(0, 700, 500)
    found = []
    for group in groups(blocks, scorer, Budget(memory=1 << 18, threads=1)):
        assert len(group.query_rows) + len(group.candidate_rows) <= 256
        for first, last, left, right in group.rectangles:
            found += itertools.product(group.query_rows[first:last], group.candidate_rows[left:right])
    same = np.argwhere(partition.queries[:, None] == partition.candidates)
    assert sorted(found) == [tuple(pair) for pair in same.tolist()]


def test_queries_that_a_search_leaves_over_are_searched_in_tiles():
    scorer = cosines(5, 11, 30)
    partition = Partition(np.zeros(11, dtype=np.int64), np.zeros(30, dtype=np.int64))
    group, found = Group.of(sort_blocks(partition), scorer), BestCandidates.none(11)
    found.candidates[:] = 30
    tasks = exact.query_tasks(group, Budget(threads=2), np.arange(11), 4, lambda queries, *_: queries, found)
    assert len(tasks) == 3
    outcomes = list(exact.run_tasks(iter(tasks), 1))
    ScoredPairs.joined([one.near for one in outcomes if one.near is not None]).reduce_into(found)
    assert sum(one.pairs for one in outcomes) == 11 * 30
    assert_same(found, every_pair(scorer, partition))


def test_blocks_are_cut_only_if_there_is_a_further_key():
    blocks = {"original": np.array([0, 1, 2, 2]), "protected": np.array([0, 0, 0, 1, 2])}
    same = {name: np.zeros(len(codes), dtype=np.int64) for name, codes in blocks.items()}
    for name, codes in sub_divide(blocks, same, "protected", 0.5).items():
        np.testing.assert_array_equal(codes, blocks[name])


def test_the_work_of_a_tree_is_counted_in_products():
    """Sixteen boxes of 10 coordinates with two ends, sixteen candidates of 14 and of 20, for four queries."""
    assert WorkCount(np.array([1, 0, 0])).products(20) == 64 * 20
    assert WorkCount(np.array([0, 1, 0])).products(20) == 64 * 14
    assert WorkCount(np.array([3, 5, 7])).products(20) == 64 * (3 * 20 + 5 * 14 + 7 * 20)


def test_only_blocks_with_more_candidates_than_allowed_are_searched_approximately():
    pytest.importorskip("faiss")
    scorer, partition = cosines(6, 30, 300), Partition(np.arange(30) % 3, np.arange(300) % 3)
    assert find_best(scorer, [partition], ann=Approximate(above=100, nprobe=1)).examined == 10 * 100 * 3
    assert 0 < find_best(scorer, [partition], ann=Approximate(above=99, nprobe=1)).examined < 10 * 100 * 3


def test_copies_are_rows_with_the_same_bits():
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(9, 3))[rng.integers(9, size=60)]
    vectors[0], vectors[1] = 0.0, -0.0
    copies = find_copies(vectors)
    kinds = {}
    for row, vector in enumerate(vectors):
        kinds.setdefault(vector.tobytes(), []).append(row)
    found = [copies.rows[first:last].tolist() for first, last in itertools.pairwise(copies.starts)]
    assert sorted(found) == sorted(kinds.values())
    assert copies.first.tolist() == [rows[0] for rows in found]
    amounts, rows = copies.of(np.array([2, 0]))
    assert amounts.tolist() == [len(found[2]), len(found[0])]
    assert rows.tolist() == [*found[2], *found[0]]


def test_a_tree_searches_only_unit_vectors_of_one_scheme(monkeypatch):
    monkeypatch.setattr(exact, "TREE_RECORDS", 5)
    monkeypatch.setattr(exact, "TREE_PAIRS", 35)
    scorer, one = cosines(1, 12, 15), Partition(np.arange(12) % 2 * 3, np.repeat([0, 3, 3], 5))
    distances = fit_euclidean(scorer.a, scorer.b).scorer(scorer.a, scorer.b)
    large = [
        exact.tree_rectangles(Group.of(sort_blocks(one, earlier), source)).tolist()
        for earlier, source in (((), scorer), ([one], scorer), ((), distances))
    ]
    assert large == [[True, True], [False, False], [False, False]]
    monkeypatch.setattr(exact, "TREE_RECORDS", 6)
    assert exact.tree_rectangles(Group.of(sort_blocks(one), scorer)).tolist() == [False, True]
    monkeypatch.setattr(exact, "TREE_PAIRS", 61)
    assert not exact.tree_rectangles(Group.of(sort_blocks(one), scorer)).any()


def test_tiles_and_groups_take_their_share_of_the_memory():
    """A quarter of the memory is for groups, and a quarter for six tiles of each thread, within limits."""
    assert [Budget(24 << 20, threads).tile_bytes for threads in (1, 2)] == [1 << 20, 1 << 19]
    assert [Budget(memory, 1).tile_bytes for memory in (1, 1 << 40)] == [1 << 14, 4 << 20]
    assert [Budget(memory, 1).group_bytes for memory in (1, 24 << 20, 1 << 40)] == [1 << 16, 6 << 20, 1 << 30]


def test_as_many_memberships_as_allowed_are_gathered_and_one_more_is_refused(monkeypatch):
    pairs_of_kinds = [(np.array([0, 0, 1]), np.array([0, 2, 1])), (np.array([2]), np.array([1]))]
    monkeypatch.setattr(class_sets, "MOST_MEMBERSHIPS", 4)
    numbers, sets = class_sets.ClassSets.gathered(pairs_of_kinds, 4, 3)
    held = [sets.classes[sets.starts[number] : sets.starts[number + 1]].tolist() for number in numbers]
    assert held == [[0, 2], [1], [1], []]
    assert len(sets) == 3
    monkeypatch.setattr(class_sets, "MOST_MEMBERSHIPS", 3)
    with pytest.raises(LimitError):
        class_sets.ClassSets.gathered(pairs_of_kinds, 4, 3)


def test_only_large_blocks_are_cut_by_the_further_key():
    """The block 2 is larger than the others: its records are apart by their key, and those of 0 and 1 are not."""
    blocks = {"original": np.array([0, 1, 2, 2]), "protected": np.array([0, 1, 2, 2, 2])}
    keys = {"original": np.array([1, 0, 0, 1]), "protected": np.array([0, 1, 0, 1, 1])}
    found = sub_divide(blocks, keys, "protected", 0.5)
    assert all(codes.dtype.kind == "i" for codes in found.values())
    together = (found["original"][:, None] == found["protected"]).astype(int)
    assert together.tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 1]]


def test_an_approximate_search_counts_all_candidates_of_any_scheme(two_schemes):
    pytest.importorskip("faiss")
    partitions, left_out = two_schemes
    left_out = LeftOut(*np.unique(np.column_stack([left_out.query, left_out.candidate]), axis=0).T)
    for some in (partitions, partitions[:1]):
        exactly, roughly = (
            find_best(cosines(1, 40, 30), some, left_out=left_out, ann=ann)
            for ann in (None, Approximate(above=3, nprobe=1))
        )
        np.testing.assert_array_equal(roughly.candidates, exactly.candidates)
        assert exactly.candidates.sum() == len(listed_by_hand(some, left_out))


@pytest.mark.parametrize(("candidates", "lists"), [(30, 1), (400, 10), (25_600, 640), (40_000, 800)])
def test_an_approximate_search_has_lists_of_forty_and_at_most_four_times_the_root(candidates, lists, monkeypatch):
    faiss, made = pytest.importorskip("faiss"), []
    monkeypatch.setattr(faiss, "IndexIVFFlat", lambda *given: made.append(given[2]) or 1 / 0)
    scorer = CosineScorer(np.ones((1, 1)), np.ones((candidates, 1)))
    partition = Partition(np.zeros(1, dtype=np.int64), np.zeros(candidates, dtype=np.int64))
    with pytest.raises(ZeroDivisionError):
        find_best(scorer, [partition], ann=Approximate(above=1, nprobe=1))
    assert made == [lists]


def test_a_hundred_candidates_are_sampled_for_each_record():
    partition = Partition(np.zeros(3, dtype=np.int64), np.zeros(20, dtype=np.int64))
    assert len(candidate_similarities(PairNumbers(), [partition], np.random.default_rng(2), most=0).values) == 300
