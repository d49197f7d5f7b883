"""One test body that every search engine has to pass: what it finds is what plain loops over all pairs find."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.errors import UsageError
from cvpl.operators.similarity import AgreementScorer, CosineMeasure, JaccardScorer, fit_euclidean
from cvpl.operators.similarity.agreement import AgreementWeights
from cvpl.search import engine
from cvpl.search.best import BestCandidates
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.engine import engine_for
from cvpl.search.machine import Budget
from worlds import make_pair

FIGURES = ("best", "row", "second", "second_row", "candidates", "ties")
SIMILARITIES = ("cosine", "euclidean", "jaccard", "agreement")


def cosine(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return 1.0 if total > 1 - 1e-12 else max(total, -1.0)


def euclidean(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (x - y) * (x - y)
    return 1 / (1 + math.sqrt(total))


def jaccard(a, b):
    shared = sum(x and y for x, y in zip(a, b, strict=True))
    either = sum(x or y for x, y in zip(a, b, strict=True))
    return shared / either if either else 0.0


def agreement(a, b):
    """A value is worth 1 plus its code in tenths; where values differ, -0.5; where either is missing, nothing."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        if x >= 0 and y >= 0:
            total += 1 + x / 10 if x == y else -0.5
    return total


def compared(similarity, queries, candidates, seed=0):
    """A scorer of random records, among them many that are equal or nearly so, and the formula of one pair."""
    rng = np.random.default_rng([seed, SIMILARITIES.index(similarity)])
    if similarity == "agreement":
        sides = [rng.integers(-1, 4, size=(size, 3)).astype(np.int32) for size in (queries, candidates)]
        codes = np.tile(np.arange(4, dtype=np.int32), 3)
        weights = AgreementWeights(np.array([0, 4, 8, 12]), codes, codes, 1 + codes / 10, np.full(3, -0.5))
        return AgreementScorer(*sides, weights), lambda x, y: agreement(sides[0][x].tolist(), sides[1][y].tolist())
    if similarity == "jaccard":
        sides = [(rng.random((size, 6)) < 0.4).astype(np.float64) for size in (queries, candidates)]
        return JaccardScorer(*sides), lambda x, y: jaccard(sides[0][x].tolist(), sides[1][y].tolist())
    a, b = (np.round(rng.normal(size=(size, 4)), 1) for size in (queries, candidates))
    b[1::3] = b[0::3][: len(b[1::3])] + rng.normal(size=(len(b[1::3]), 4)) * 1e-8
    a[: queries // 3] = b[rng.integers(candidates, size=queries // 3)]
    if similarity == "cosine":
        scorer = CosineMeasure(1e-9).scorer(a, b)
        return scorer, lambda x, y: cosine(scorer.a[x].tolist(), scorer.b[y].tolist())
    scorer = fit_euclidean(a, b).scorer(a, b)
    a, b = (side - scorer.centre for side in (a, b))
    return scorer, lambda x, y: euclidean(a[x].tolist(), b[y].tolist())


def brute_force(score, partitions, left_out=None):
    """Every query with every candidate, in plain loops."""
    skipped = set() if left_out is None else set(zip(left_out.query.tolist(), left_out.candidate.tolist(), strict=True))
    out = {name: [] for name in FIGURES}
    for query in range(len(partitions[0].queries)):
        scores = [
            (-score(query, row), row)
            for row in range(len(partitions[0].candidates))
            if any(part.queries[query] == part.candidates[row] for part in partitions) and (query, row) not in skipped
        ]
        ranked = sorted(scores)
        for place, (name, at) in enumerate((("best", "row"), ("second", "second_row"))):
            out[name].append(-ranked[place][0] if len(ranked) > place else -np.inf)
            out[at].append(ranked[place][1] if len(ranked) > place else -1)
        out["candidates"].append(len(ranked))
        out["ties"].append(sum(-value >= -ranked[0][0] - 1e-6 for value, _ in ranked))
    return out


class EveryPair:
    """The simplest engine there can be, to show what the seam asks for: it scores all pairs at once."""

    def __init__(self, budget):
        self.budget = budget

    def find_best(self, scorer, partitions, *, left_out=None, ann=None, progress=None):
        queries, candidates = np.indices((scorer.queries, scorer.candidates)).reshape(2, -1)
        shape = scorer.queries, scorer.candidates
        shared = np.any([part.shares(queries, candidates) for part in partitions], axis=0).reshape(shape)
        if left_out is not None:
            shared[left_out.query, left_out.candidate] = False
        scores = np.where(shared, scorer.pairs(queries, candidates).reshape(shape), -np.inf)
        scores = np.hstack([scores, np.full((scorer.queries, 2), -np.inf)])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :2]
        best, second = np.take_along_axis(scores, order, axis=1).T
        rows, others = (
            np.where(np.isneginf(found), -1, at) for found, at in ((best, order[:, 0]), (second, order[:, 1]))
        )
        ties = (shared & (scores[:, :-2] >= best[:, None] - 1e-6)).sum(axis=1)
        if progress is not None:
            progress(1.0)
        return BestCandidates(best, rows, second, others, shared.sum(axis=1), ties)


@pytest.fixture(params=sorted({*engine.ENGINES, "every_pair"}))
def name(request, monkeypatch):
    """The name of an engine."""
    monkeypatch.setitem(engine.ENGINES, "every_pair", EveryPair)
    return request.param


def found_by(name, scorer, partitions, budget=None, **more):
    return engine_for(budget or Budget(threads=1, engine=name)).find_best(scorer, partitions, **more)


def assert_same(found, wanted):
    for figure in FIGURES:
        np.testing.assert_array_equal(getattr(found, figure), wanted[figure], err_msg=figure)


def blocks(queries, candidates, count, seed=1):
    rng = np.random.default_rng(seed)
    return Partition(rng.integers(count, size=queries), rng.integers(count, size=candidates))


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("count", [1, 4, 40])
def test_it_finds_what_plain_loops_find(name, similarity, count):
    scorer, score = compared(similarity, 60, 70)
    partition = blocks(60, 70, count)
    assert_same(found_by(name, scorer, [partition]), brute_force(score, [partition]))


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_candidate_of_several_schemes_counts_once(name, similarity):
    scorer, score = compared(similarity, 50, 60)
    partitions = [blocks(50, 60, 5, seed=2), blocks(50, 60, 3, seed=3)]
    assert_same(found_by(name, scorer, partitions), brute_force(score, partitions))


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_rows_that_a_query_must_not_see_are_left_out(name, similarity):
    scorer, score = compared(similarity, 40, 50)
    rng = np.random.default_rng(4)
    for left_out in (
        LeftOut.itself(np.arange(40)),
        LeftOut(np.repeat(np.arange(40), 3), np.concatenate([rng.choice(50, 3, replace=False) for _ in range(40)])),
    ):
        for partitions in ([blocks(40, 50, 2)], [blocks(40, 50, 4), blocks(40, 50, 3, seed=5)]):
            found = found_by(name, scorer, partitions, left_out=left_out)
            assert_same(found, brute_force(score, partitions, left_out))


def test_ties_are_counted_within_a_millionth(name):
    """Candidates at cosines 1, 1 - 5e-7 and 1 - 5e-6 of the query: two tie for the best, the third does not."""
    angles = np.arccos(1 - np.array([0.0, 5e-7, 5e-6]))
    candidates = np.column_stack([np.cos(angles), np.sin(angles)])
    scorer = CosineMeasure(1e-9).scorer(np.array([[1.0, 0.0]]), candidates)
    found = found_by(name, scorer, [blocks(1, 3, 1)])
    assert (found.row.tolist(), found.second_row.tolist(), found.ties.tolist()) == ([0], [1], [2])
    assert found.second[0] == pytest.approx(1 - 5e-7, abs=1e-12)


def test_a_record_without_candidates_finds_nobody(name):
    """The first has no candidate, the second a single one, the third's only one is left out."""
    scorer = CosineMeasure(1e-9).scorer(np.eye(3), np.eye(3))
    partition = Partition(np.array([0, 1, 2]), np.array([5, 1, 2]))
    found = found_by(name, scorer, [partition], left_out=LeftOut(np.array([2]), np.array([2])))
    assert found.candidates.tolist() == [0, 1, 0]
    assert found.row.tolist() == [-1, 1, -1]
    assert found.second_row.tolist() == [-1, -1, -1]
    assert np.isneginf(found.best).tolist() == [True, False, True]
    assert np.isneginf(found.second).all()
    assert found.ties.tolist() == [0, 1, 0]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_memory_and_threads_change_no_bit(name, similarity):
    scorer, _ = compared(similarity, 300, 400)
    partitions = [blocks(300, 400, 3), blocks(300, 400, 2, seed=6)]
    for parts in (partitions[:1], partitions):
        plain = found_by(name, scorer, parts)
        for memory, threads in ((1 << 12, 1), (1 << 12, 2), (1 << 30, 2)):
            found = found_by(name, scorer, parts, Budget(memory, threads, name))
            assert_same(found, {figure: getattr(plain, figure) for figure in FIGURES})


def test_progress_ends_with_all_of_the_work(name):
    scorer, _ = compared("cosine", 30, 30)
    seen = []
    found_by(name, scorer, [blocks(30, 30, 2)], progress=seen.append)
    assert seen[-1] == 1.0
    assert seen == sorted(seen)


def test_an_attack_searches_with_the_engine_that_its_budget_names(name):
    columns = {"age": {"role": "attribute", "type": "numeric"}, "job": {"role": "attribute", "type": "category"}}
    rng = np.random.default_rng(8)
    tables = [
        {"age": rng.integers(20, 60, size=40).tolist(), "job": rng.choice(list("abc"), 40).tolist()} for _ in "ab"
    ]
    pair = make_pair(columns, *tables)
    for similarity in ("cosine", "euclidean", {"rarity": {}}):
        done = attack(pair, Attacker(similarity=similarity), budget=Budget(threads=1, engine=name))
        usual = attack(pair, Attacker(similarity=similarity))
        assert type(done.engine) is type(engine_for(Budget(engine=name)))
        assert_same(done.found, {figure: getattr(usual.found, figure) for figure in FIGURES})


def test_an_engine_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="no search engine 'abacus'; choose among in_process"):
        engine_for(Budget(engine="abacus"))
