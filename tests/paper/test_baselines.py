"""Random candidates, distances to the closest record, and same source: worked by hand and by plain loops."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.evaluation.truth import evaluate_truth
from cvpl.operators.blocking import Blocking, Key
from cvpl.operators.vectorization import Vectorization
from cvpl.search.best import TIE
from cvpl.search.blocks import Partition
from cvpl.search.machine import Budget
from cvpl.tables.evaluation_only import TrueMatches
from cvpl_paper.baselines.block_pairs import listed_pairs
from cvpl_paper.baselines.distances import (
    NearestDistances,
    distance_to_closest_record,
    nearest_distances,
    nearest_neighbour_distance_ratio,
)
from cvpl_paper.baselines.random_within_block import (
    expected_linkage_rate,
    expected_top1_hit_rate,
    shares_above,
)
from cvpl_paper.baselines.same_source import same_source_share, training_share
from examples import examples
from worlds import BASE, make_pair, package_attacker, worlds

FALSE_ALARM = 1e-6
"""How often a test of a draw fails though the draw is right."""
LABEL = {"role": "attribute", "type": "category"}
NUMBER = {"role": "attribute", "type": "numeric"}
SCHEMES = [[("code", ("prefix", 1))], [("place", ("level", 1)), ("colour", "exact")]]
PLAIN = Attacker(
    blocking=Blocking(any_of=((Key(column="block", rule="exact"),),)),
    vectorization=Vectorization(scale="none", columns={"block": {"vectorize": False}}),
    projection="identity",
    similarity="euclidean",
)
"""Compares the numbers as they are, within blocks."""


def plain_attack(original, released, control=None):
    """Tables as lists of (block, x, y)."""
    tables = [
        None if rows is None else dict(zip(("block", "x", "y"), map(list, zip(*rows, strict=True)), strict=True))
        for rows in (original, released, control)
    ]
    return attack(make_pair({"block": LABEL, "x": NUMBER, "y": NUMBER}, *tables), PLAIN)


def truth_of(done, pairs, complete=True):
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return evaluate_truth(done, TrueMatches(rows[:, 0], rows[:, 1], complete=complete, scenario="controlled"))


def candidates_of(done, mine="original", theirs="protected"):
    """C(x) of every record, in plain loops."""
    parts = done.searched.partitions(mine, theirs)
    counts = [len(side) for side in (parts[0].queries, parts[0].candidates)]
    return [
        [j for j in range(counts[1]) if any(part.queries[i] == part.candidates[j] for part in parts)]
        for i in range(counts[0])
    ]


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_every_candidate_pair_is_listed_once_whatever_the_lots(most):
    """Two schemes that overlap, in lots of one, three, or all."""
    rng = np.random.default_rng(0)
    parts = [Partition(rng.integers(3, size=9), rng.integers(3, size=7)) for _ in range(2)]
    done = plain_attack([("a", 0.0, 0.0)] * 9, [("a", 0.0, 0.0)] * 7)
    listed = [
        (int(group.query_rows[q]), int(group.candidate_rows[c]))
        for group, query, candidate in listed_pairs(done.scorer, parts, Budget(), most)
        for q, c in zip(query, candidate, strict=True)
    ]
    expected = [
        (i, j) for i, j in product(range(9), range(7)) if any(part.queries[i] == part.candidates[j] for part in parts)
    ]
    assert sorted(listed) == expected


# A random candidate


def random_case():
    """Block a: originals 0, 1 and released 0, 1, 2; block b: original 2 and released 3; original 3 is alone."""
    original = [("a", 0.0, 0.0), ("a", 1.0, 0.0), ("b", 0.0, 0.0), ("c", 0.0, 0.0)]
    released = [("a", 0.0, 0.0), ("a", 1.0, 0.0), ("a", 9.0, 0.0), ("b", 3.0, 4.0)]
    return plain_attack(original, released)


def test_the_expected_figures_of_a_random_pick_by_hand():
    """Original 0 has one match of three candidates, 1 two, 2 its only one, 3 a match that no block holds."""
    done = random_case()
    truth = truth_of(done, [(0, 0), (1, 0), (1, 2), (2, 3), (3, 0)])
    assert expected_top1_hit_rate(done, truth) == pytest.approx((1 / 3 + 2 / 3 + 1 + 0) / 4)
    # Similarities 1/(1+d): of 0: 1, 1/2, 1/10; of 1: 1/2, 1, 1/9; of 2: 1/6.
    np.testing.assert_allclose(shares_above(done, 0.5), [2 / 3, 2 / 3, 0, 0])
    assert expected_linkage_rate(done, 0.5) == pytest.approx(1 / 3)
    assert expected_linkage_rate(done, 1 / 6) == pytest.approx((2 / 3 + 2 / 3 + 1 + 0) / 4)
    assert expected_top1_hit_rate(done, truth_of(done, [])) is None


@settings(max_examples=examples(15), deadline=None)
@given(worlds(rows=9))
def test_expected_figures_are_those_of_a_loop_over_candidates(world):
    """With missing values and two schemes, under the paper's attacker."""
    done = attack(world.pair, package_attacker(BASE | {"schemes": SCHEMES}))
    matches = set(zip(world.matches.original.tolist(), world.matches.protected.tolist(), strict=True))
    candidates = candidates_of(done)
    known = sorted({i for i, _ in matches})
    chance = [sum((i, j) in matches for j in candidates[i]) / max(1, len(candidates[i])) for i in known]
    found = expected_top1_hit_rate(done, evaluate_truth(done, world.matches))
    assert found == (pytest.approx(sum(chance) / len(known)) if known else None)
    for i, row in enumerate(candidates):
        scores = done.scorer.pairs(np.full(len(row), i), np.array(row, dtype=np.int64))
        expected = np.mean(scores >= 0.3) if row else 0.0
        assert shares_above(done, 0.3)[i] == pytest.approx(expected)


# Distances


def test_distances_by_hand():
    """Blocks change who is nearest; a lone candidate has no second, and a record without one no distance at all."""
    original = [("a", 0.0, 0.0), ("a", 3.0, 4.0), ("b", 0.0, 1.0)]
    released = [("a", 0.0, 0.0), ("a", 0.0, 2.0), ("b", 0.0, 0.0), ("c", 0.0, 0.5)]
    done = plain_attack(original, released)
    found = nearest_distances(done)
    np.testing.assert_allclose(found.first, [0, 2, 1, np.nan])
    np.testing.assert_allclose(found.second, [5, math.sqrt(13), np.nan, np.nan])
    closest = distance_to_closest_record(found)
    assert (closest.mean, closest.median, closest.count, closest.without) == pytest.approx((1, 1, 3, 1))
    assert closest.percentile_5 == pytest.approx(0.1)  # a tenth of the way from 0 to 1
    ratio = nearest_neighbour_distance_ratio(found)
    assert (ratio.mean, ratio.count, ratio.without) == pytest.approx((1 / math.sqrt(13), 2, 2))
    everywhere = nearest_distances(done, blocked=False)
    np.testing.assert_allclose(everywhere.first, [0, 1, 0, 0.5], atol=1e-12)
    np.testing.assert_allclose(everywhere.second, [1, 2, 1, 0.5], atol=1e-12)


def test_two_originals_at_the_place_of_a_record_have_the_ratio_one():
    """0/0 is 1, 0/5 is 0; nobody with two candidates leaves nothing to average."""
    ratio = nearest_neighbour_distance_ratio(NearestDistances(np.array([0.0, 0.0]), np.array([0.0, 5.0])))
    assert (ratio.mean, ratio.count) == (0.5, 2)
    none = nearest_neighbour_distance_ratio(NearestDistances(np.array([1.0]), np.array([np.nan])))
    assert (none.mean, none.median, none.percentile_5, none.count, none.without) == (None, None, None, 0, 1)


@pytest.mark.parametrize("blocked", [True, False])
@settings(max_examples=examples(15), deadline=None)
@given(world=worlds(rows=9))
def test_distances_are_those_of_a_loop_over_embeddings(blocked, world):
    """In the attacker's own projected space, whatever its similarity."""
    done = attack(world.pair, package_attacker(BASE | {"schemes": SCHEMES}))
    released, originals = (done.representation.embed(table) for table in (done.protected, done.original))
    found = nearest_distances(done, blocked=blocked)
    candidates = candidates_of(done, "protected", "original")
    for j, row in enumerate(candidates if blocked else [range(done.original.rows)] * done.protected.rows):
        distances = [*sorted(math.dist(released[j], originals[i]) for i in row), math.nan, math.nan]
        assert found.first[j] == pytest.approx(distances[0], abs=1e-9, nan_ok=True)
        assert found.second[j] == pytest.approx(distances[1], abs=1e-9, nan_ok=True)


# Same source


def test_same_source_by_hand():
    """Released 0 finds its source, 1 a copy of it too, 2 another; 3 has its source elsewhere, 4 has none."""
    original = [("a", 0.0, 0.0), ("a", 5.0, 0.0), ("a", 5.0, 0.0), ("b", 0.0, 0.0)]
    released = [("a", 1.0, 0.0), ("a", 5.0, 1.0), ("a", 0.0, 2.0), ("b", 0.0, 0.0), ("a", 0.0, 0.0), ("c", 0.0, 0.0)]
    done = plain_attack(original, released)
    found = same_source_share(done, truth_of(done, [(0, 0), (1, 1), (1, 2), (2, 3), (3, 5)]))
    assert found.share == pytest.approx((1 + 1 / 2 + 0 + 0 + 0) / 5)
    assert found.baseline == pytest.approx((1 / 3 + 1 / 3 + 1 / 3 + 1 + 0) / 5)
    assert found.records == 5
    nothing = same_source_share(done, truth_of(done, []))
    assert (nothing.share, nothing.baseline, nothing.records) == (None, None, 0)


def test_training_share_by_hand():
    """Nearest an original; two originals and one control at the same place; only controls; nobody at all."""
    original = [("a", 0.0, 0.0), ("a", 5.0, 0.0), ("a", 5.0, 0.0)]
    control = [("a", 5.0, 0.0), ("b", 1.0, 0.0), ("b", 2.0, 0.0), ("a", 9.0, 0.0), ("d", 0.0, 0.0)]
    released = [("a", 1.0, 0.0), ("a", 5.0, 0.0), ("b", 0.0, 0.0), ("c", 0.0, 0.0)]
    found = training_share(plain_attack(original, released, control))
    assert found.share == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert found.baseline == 3 / 8
    assert found.baseline_in_blocks == pytest.approx((3 / 5 + 3 / 5 + 0) / 3)
    assert found.records == 3
    alone = training_share(plain_attack(original, [("c", 0.0, 0.0)], control))
    assert (alone.share, alone.baseline, alone.baseline_in_blocks, alone.records) == (None, 3 / 8, None, 0)
    assert training_share(plain_attack(original, released)) is None


@settings(max_examples=examples(15), deadline=None)
@given(worlds(rows=9))
def test_both_shares_are_those_of_a_loop_over_candidates(world):
    """Under cosine in the projected space, with missing values and two schemes."""
    done = attack(world.pair, package_attacker(BASE | {"schemes": SCHEMES}))
    matches = set(zip(world.matches.original.tolist(), world.matches.protected.tolist(), strict=True))
    near = {}
    for name, table in (("original", done.original), ("control", done.control)):
        scorer = done.representation.scorer(done.protected, table)
        near[name] = [
            dict(zip(row, scorer.pairs(np.full(len(row), j), np.array(row, dtype=np.int64)), strict=True))
            for j, row in enumerate(candidates_of(done, "protected", name))
        ]
    hits, part = {}, []
    for j, (mine, others) in enumerate(zip(near["original"], near["control"], strict=True)):
        tied = [i for i, score in mine.items() if score >= max(mine.values()) - TIE]
        hits[j] = sum((i, j) in matches for i in tied) / max(1, len(tied))
        scores = [*mine.values(), *others.values()]
        if scores:
            count = [sum(score >= max(scores) - TIE for score in side.values()) for side in (mine, others)]
            part.append(count[0] / sum(count))
    known = sorted({j for _, j in matches})
    found = same_source_share(done, evaluate_truth(done, world.matches))
    assert found.share == (pytest.approx(sum(hits[j] for j in known) / len(known)) if known else None)
    shared = training_share(done)
    assert shared.share == (pytest.approx(sum(part) / len(part)) if part else None)
