"""The paper's properties, as properties of every random world."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvpl.assessment.diagnostics.sensitivity import climb
from cvpl.attack.attack import attack
from cvpl.evaluation.rates import linkage_rate, risk_curve
from cvpl.evaluation.truth import blocking_recall, evaluate_truth, matching_recall, recall_counts, total_recall
from cvpl.operators.blocking import Bin, Blocking, BlockingLadder, Key, Level, Prefix, Truncate
from cvpl.operators.similarity import Agreement
from examples import TIMES, examples
from worlds import BASE, package_attacker, worlds

many = settings(max_examples=examples(30) if TIMES > 1 else 15, deadline=None, derandomize=True)

LADDERS = {
    "dropped keys": [["age", "code", "place"], ["age", "code"], ["age"], []],
    "coarser keys": [
        [Key(column="age", rule=Bin(bin=2)), Key(column="place", rule=Level(level=2))],
        [Key(column="age", rule=Bin(bin=4)), Key(column="place", rule=Level(level=1))],
        [Key(column="age", rule=Bin(bin=20)), Key(column="place", rule=Level(level=1))],
    ],
    "shorter prefixes and times": [
        [Key(column="code"), Key(column="when", rule=Truncate(truncate="hour"))],
        [Key(column="code", rule=Prefix(prefix=2)), Key(column="when", rule=Truncate(truncate="day"))],
        [Key(column="code", rule=Prefix(prefix=1)), Key(column="when", rule=Truncate(truncate="week"))],
        [Key(column="code", rule=Prefix(prefix=1))],
    ],
}


def blocking(keys):
    return Blocking(any_of=(tuple(Key(column=key) if isinstance(key, str) else key for key in keys),))


@many
@given(worlds(), st.floats(-1, 1), st.floats(-1, 1))
def test_a_stricter_threshold_never_links_more(world, one, other):
    best = attack(world.pair, package_attacker(BASE)).found.best
    assert linkage_rate(best, max(one, other)) <= linkage_rate(best, min(one, other))
    curve = risk_curve(best, np.linspace(-1, 1, 41))
    assert (np.diff(curve) <= 0).all()


@pytest.mark.parametrize("name", LADDERS)
def test_the_rate_never_falls_along_a_nested_ladder(name):
    """Theorem 1: candidates only grow from rung to rung, so no record's best similarity falls."""
    rungs = tuple(blocking(keys) for keys in LADDERS[name])
    BlockingLadder(rungs=rungs)

    @many
    @given(worlds(), st.sampled_from([0.5, 0.7, 0.9]))
    def never_falls(world, tau):
        found = [
            attack(world.pair, package_attacker(BASE).model_copy(update={"blocking": rung})).found for rung in rungs
        ]
        for tight, loose in itertools.pairwise(found):
            assert (tight.best <= loose.best).all()
            assert (tight.candidates <= loose.candidates).all()
            assert linkage_rate(tight.best, tau) <= linkage_rate(loose.best, tau)

    never_falls()


@many
@given(worlds(), st.sampled_from([0.0, 0.01, 0.2, 1.0]), st.sampled_from([0.5, 0.9]))
def test_stopping_early_leaves_a_lower_bound(world, stop_below, tau):
    """Algorithm 2 runs at least two rungs, stops at the first small gain, and never overstates the ladder's end."""
    rungs = tuple(blocking(keys) for keys in LADDERS["dropped keys"])
    attacker = package_attacker(BASE)
    whole = climb(
        attack(world.pair, attacker.model_copy(update={"ladder": BlockingLadder(rungs=rungs, stop_below=0)})), tau
    )
    ladder = BlockingLadder(rungs=rungs, stop_below=stop_below)
    early = climb(attack(world.pair, attacker.model_copy(update={"ladder": ladder})), tau)
    assert len(early.rungs) >= 2
    assert early.rungs == whole.rungs[: len(early.rungs)]
    assert early.rungs[-1].linkage_rate <= whole.rungs[-1].linkage_rate
    assert early.stopped_early == (len(early.rungs) < len(rungs))
    assert all(rung.gain >= stop_below for rung in early.rungs[1:-1])


@pytest.mark.parametrize(
    "rungs",
    [
        [["age"], ["age", "code"]],
        [[Key(column="age", rule=Bin(bin=4))], [Key(column="age", rule=Bin(bin=6))]],
        [[Key(column="place", rule=Level(level=1))], [Key(column="place", rule=Level(level=2))]],
        [[Key(column="when", rule=Truncate(truncate="week"))], [Key(column="when", rule=Truncate(truncate="month"))]],
        [[Key(column="code", rule=Prefix(prefix=1))], [Key(column="code")]],
        [["age"], ["code"]],
    ],
)
def test_a_ladder_that_is_not_nested_is_refused(rungs):
    with pytest.raises(ValueError, match="rung 2 does not relax rung 1"):
        BlockingLadder(rungs=tuple(blocking(keys) for keys in rungs))


@many
@given(worlds(), st.sampled_from([0.3, 0.7, 0.9]))
def test_total_recall_is_the_product_of_both_recalls(world, tau):
    """As counts the identity is exact: linked/with = (in block/with) · (linked/in block)."""
    truth = evaluate_truth(attack(world.pair, package_attacker(BASE)), world.matches)
    with_match, in_block, linked = recall_counts(truth, tau)
    assert linked <= in_block <= with_match
    if in_block:
        product = blocking_recall(truth) * matching_recall(truth, tau)
        assert total_recall(truth, tau) == pytest.approx(product)
    elif with_match:
        assert (blocking_recall(truth), matching_recall(truth, tau), total_recall(truth, tau)) == (0, None, 0)
    else:
        assert blocking_recall(truth) is None
        assert total_recall(truth, tau) is None


@many
@given(worlds(missing=False), st.floats(0.55, 0.99), st.floats(0.01, 0.45))
def test_the_fellegi_sunter_weight_is_the_weighted_score_of_one_hot_vectors(world, m, u):
    """Proposition 1: categories, no projection, independent columns; then the weighted inner product is the weight."""
    columns = ("code", "place", "colour")
    attacker = package_attacker(BASE | {"knows": columns, "schemes": [[]]})
    vectors = attack(world.pair, attacker.model_copy(update={"projection": "identity"})).representation
    a, b = (vectors.embed(table) for table in (vectors.original, vectors.protected))
    weight = np.log(m / u) - np.log((1 - m) / (1 - u))
    constant = len(columns) * np.log((1 - m) / (1 - u))
    score = constant + weight * (a @ b.T)

    similarity = Agreement(agreement={"m": m, "u": dict.fromkeys(columns, u)})
    found = attack(world.pair, attacker.model_copy(update={"similarity": similarity}))
    rows, others = np.indices(score.shape).reshape(2, -1)
    assert found.scorer.pairs(rows, others) == pytest.approx(score.ravel())
    assert found.found.best == pytest.approx(score.max(axis=1))
