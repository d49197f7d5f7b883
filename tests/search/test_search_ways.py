"""Every way through a block finds what scoring every pair finds, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from cvpl.operators import compiled
from cvpl.operators.similarity import CosineScorer
from cvpl.search import exact
from cvpl.search.best import ScoredPairs
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.exact import find_best
from cvpl.search.machine import Budget
from cvpl.search.tree import kernel, tree_search
from examples import TIMES
from search_checks import FIGURES, SHAPES, assert_same, every_pair, units

SEARCHES = [
    (*size, shape, width)
    for size in ((1, 1, 1), (5, 40, 1), (130, 700, 3), (301, 277, 2), (64, 4_500, 1))
    for at, shape in enumerate(SHAPES)
    # Except in a full run, every shape has two of the widths in the largest table, and every width three shapes.
    for width in ((2, 5, 13, 21) if size[1] < 4_500 else ((2, 13), (5, 21))[at % 2] if TIMES == 1 else (2, 5, 13, 21))
]


@pytest.mark.parametrize(("queries", "candidates", "blocks", "shape", "width"), SEARCHES)
def test_a_tree_finds_what_every_pair_finds(always_trees, queries, candidates, blocks, shape, width):
    rng = np.random.default_rng([width, SHAPES.index(shape), queries])
    scorer = CosineScorer(units(rng, queries, width, "spread"), units(rng, candidates, width, shape))
    if shape in ("copies", "nearly tied"):
        scorer.a[: queries // 2] = scorer.b[rng.integers(candidates, size=queries // 2)]
    partition = Partition(rng.integers(blocks, size=queries), rng.integers(blocks, size=candidates))
    assert_same(find_best(scorer, [partition], budget=Budget(threads=1)), every_pair(scorer, partition))


def test_whoever_is_outside_the_only_common_block_finds_nobody(always_trees):
    """One block has records of both tables; others have some of one table alone."""
    rng = np.random.default_rng(4)
    scorer = CosineScorer(units(rng, 90, 5, "spread"), units(rng, 80, 5, "spread"))
    queries, candidates = np.where(np.arange(90) % 3, 1, 0), np.where(np.arange(80) % 3, 1, 2)
    partition = Partition(queries.astype(np.int64), candidates.astype(np.int64))
    assert_same(find_best(scorer, [partition]), every_pair(scorer, partition))


def test_copies_of_a_query_are_searched_once(always_trees, monkeypatch):
    rng = np.random.default_rng(11)
    a = units(rng, 1_500, 7, "spread")[rng.integers(40, size=1_500)]
    searched = []
    listed = tree_search.TreeSearch.score_shortlists
    monkeypatch.setattr(
        tree_search.TreeSearch, "score_shortlists", lambda self, at: searched.append(self.order[at]) or listed(self, at)
    )
    b = units(rng, 900, 7, "spread")
    b[:600] = b[0] + rng.normal(size=(600, 7)) * 1e-8
    b[:600] /= np.linalg.norm(b[:600], axis=1)[:, None]
    a[:50] = b[0]
    scorer = CosineScorer(a, b)
    partition = Partition(np.zeros(1_500, dtype=np.int64), np.zeros(900, dtype=np.int64))
    seen = []
    found = find_best(scorer, [partition], progress=seen.append)
    assert len(np.unique(np.concatenate(searched))) <= 41
    assert seen[-1] == 1.0
    assert found.ties[:50].min() >= 600, "their shortlists overflow"
    assert_same(found, every_pair(scorer, partition))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_tree_leaves_out_whom_it_is_reported_to(always_trees, shape):
    rng = np.random.default_rng(SHAPES.index(shape))
    table = units(rng, 400, 9, shape)
    rows = np.sort(rng.choice(400, 150, replace=False))
    partition = Partition(rng.integers(2, size=400)[rows] * 0, np.zeros(400, dtype=np.int64))
    scorer = CosineScorer(table[rows], table)
    own = LeftOut.itself(rows)
    assert_same(find_best(scorer, [partition], left_out=own), every_pair(scorer, partition, own))
    many = LeftOut(
        np.repeat(np.arange(150), 3), np.concatenate([rng.choice(400, 3, replace=False) for _ in range(150)])
    )
    assert_same(find_best(scorer, [partition], left_out=many), every_pair(scorer, partition, many))


def test_vectors_without_a_direction_score_zero_in_a_tree(always_trees):
    rng = np.random.default_rng(3)
    a, b = units(rng, 60, 6, "spread"), units(rng, 300, 6, "spread")
    a[::7], b[::5] = 0.0, 0.0
    partition = Partition(np.zeros(60, dtype=np.int64), np.zeros(300, dtype=np.int64))
    assert_same(find_best(CosineScorer(a, b), [partition]), every_pair(CosineScorer(a, b), partition))


def test_a_shortlist_that_overflows_is_searched_in_another_way(always_trees):
    rng = np.random.default_rng(4)
    centre = np.array([1.0, 0.5, 0.2, 0.1])
    b = units(rng, 2 * kernel.SHORTLIST + 300, 4, "spread")
    b[: 2 * kernel.SHORTLIST] = centre + rng.normal(size=(2 * kernel.SHORTLIST, 4)) * 1e-8
    b[: 2 * kernel.SHORTLIST] /= np.linalg.norm(b[: 2 * kernel.SHORTLIST], axis=1)[:, None]
    a = np.vstack([units(rng, 20, 4, "spread"), centre / np.linalg.norm(centre)])
    partition = Partition(np.zeros(21, dtype=np.int64), np.zeros(len(b), dtype=np.int64))
    found = find_best(CosineScorer(a, b), [partition])
    assert found.ties[20] >= 2 * kernel.SHORTLIST
    assert_same(found, every_pair(CosineScorer(a, b), partition))


@pytest.mark.parametrize("threads", [1, 2])
def test_trees_count_the_candidates_of_several_schemes(threads, request):
    rng = np.random.default_rng(12)
    a, b = units(rng, 90, 4, "spread"), units(rng, 3 * kernel.SHORTLIST, 4, "spread")
    b[: 2 * kernel.SHORTLIST] = b[0]  # the shortlists of some queries overflow
    a[:20] = b[0]
    partitions = [Partition(np.arange(90) % size, np.arange(len(b)) % size) for size in (1, 2, 3)]
    own = LeftOut(np.repeat(np.arange(90), 2), np.column_stack([np.arange(90), np.arange(90) + 7]).ravel())
    cases = [(some, left_out) for some in (partitions[1:], partitions[::-1]) for left_out in (None, own)]
    in_tiles = [find_best(CosineScorer(a, b), some, left_out=left_out) for some, left_out in cases]
    request.getfixturevalue("always_trees")
    for (some, left_out), wanted in zip(cases, in_tiles, strict=True):
        found = find_best(CosineScorer(a, b), some, left_out=left_out, budget=Budget(threads=threads))
        assert_same(found, {name: getattr(wanted, name) for name in FIGURES})
        shared = np.any([one.queries[:, None] == one.candidates for one in some], axis=0)
        if left_out is not None:
            shared[left_out.query, left_out.candidate] = False
        np.testing.assert_array_equal(found.candidates, shared.sum(axis=1))


@pytest.mark.parametrize("trees", [False, True])
def test_blocks_that_do_not_fit_are_searched_in_pieces(trees, monkeypatch, request):
    if trees:
        request.getfixturevalue("always_trees")
    rng = np.random.default_rng(5)
    scorer = CosineScorer(units(rng, 900, 8, "few values"), units(rng, 1_700, 8, "few values"))
    partition = Partition(rng.integers(3, size=900), rng.integers(3, size=1_700))
    small = Budget(memory=1 << 18, threads=2)
    own = LeftOut(np.arange(900), rng.integers(1_700, size=900))
    held = []
    joined = ScoredPairs.joined
    monkeypatch.setattr(ScoredPairs, "joined", lambda parts: held.append(len(parts)) or joined(parts))
    for left_out in (None, own):
        found = find_best(scorer, [partition], left_out=left_out, budget=small)
        assert_same(found, every_pair(scorer, partition, left_out))
    assert len(held) > 2, "what the pieces of some queries found is not held until the end"


def test_which_way_is_taken_is_decided_by_counting(monkeypatch):
    """A tree is refused where queries lie across the candidates' directions, as far from all of them."""
    taken = []
    monkeypatch.setattr(exact, "TREE_PAIRS", 0)
    searched = exact.TreeTask.__call__
    monkeypatch.setattr(exact.TreeTask, "__call__", lambda self: (taken.append(1), searched(self))[1])
    rng = np.random.default_rng(6)
    partition = Partition(np.zeros(2_100, dtype=np.int64), np.zeros(6_000, dtype=np.int64))
    across = rng.normal(size=(8_100, 4)) * [1, 1, 1, 0]
    across[:2_100] = across[:2_100] * 1e-3 + [0, 0, 0, 1]
    across /= np.linalg.norm(across, axis=1)[:, None]
    find_best(CosineScorer(across[:2_100], across[2_100:]), [partition])
    assert not taken
    near = units(rng, 8_100, 24, "clustered")
    find_best(CosineScorer(near[:2_100], near[2_100:]), [partition])
    assert taken


def test_compiled_loops_give_the_bits_of_the_plain_ones():
    rng = np.random.default_rng(7)
    table, codes = rng.normal(size=(6, 11)), rng.integers(-1, 5, size=500).astype(np.int32)
    numbers, loadings, rows = rng.normal(size=700), rng.normal(size=11), rng.integers(500, size=300)
    plain, fast = rng.normal(size=(2, 300, 11))[[0, 0]].copy()
    plain += table[codes[rows]]
    plain += (numbers[rows] - 0.3)[:, None] * loadings
    compiled.add_looked_up(fast, table, codes, rows)
    compiled.add_scaled(fast, numbers, 0.3, loadings, rows)
    np.testing.assert_array_equal(fast, plain)
    plain[5] = 0.0
    squares = np.zeros(300)
    for component in range(11):
        squares += plain[:, component] * plain[:, component]
    norms = np.sqrt(squares)
    inverse = np.divide(1.0, norms, out=np.zeros(300), where=norms > 1e-9)
    fast = plain.copy()
    compiled.make_unit(fast, 1e-9)
    np.testing.assert_array_equal(fast, plain * inverse[:, None])
