"""Laws that every operator variant passes. A new variant is checked by adding a line to VARIANTS."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from pydantic import ValidationError

from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.operators.blocking import Bin, Blocking, Key, Level, Lsh, Prefix, Truncate
from cvpl.operators.projection import Pca, RandomProjection, RobustPca
from cvpl.operators.similarity import Agreement, Rarity
from cvpl.operators.similarity.measure import DistanceScorer
from cvpl.operators.vectorization import ColumnChoice, Vectorization
from cvpl.search.machine import Budget
from examples import TIMES
from worlds import make_pair

PEOPLE = 300 if TIMES > 1 else 160
CHOICES = {"purchase_time": ColumnChoice(features=("hour", "day_of_week", "month", "elapsed_days"))}
AGE = Key(column="age", rule=Bin(bin=10))


def one(*keys, **rest):
    return {"blocking": Blocking(any_of=(keys,)), **rest}


VARIANTS: dict[str, dict] = {
    "no blocking": {},
    "exact": one(Key(column="gender")),
    "bin": one(AGE),
    "level": one(Key(column="region", rule=Level(level=1))),
    "prefix": one(Key(column="brand_product", rule=Prefix(prefix=9))),
    "truncate": one(Key(column="purchase_time", rule=Truncate(truncate="week"))),
    "lsh": {"blocking": Blocking(any_of=(Lsh(),))},
    "ensemble": {"blocking": Blocking(any_of=((AGE,), (Key(column="gender"),), Lsh()))},
    "robust scale": one(AGE, vectorization=Vectorization(scale="robust", columns=CHOICES)),
    "no scale": one(AGE, vectorization=Vectorization(scale="none", columns=CHOICES)),
    "frequency": one(AGE, vectorization=Vectorization(encode="frequency", columns=CHOICES)),
    "hierarchical": one(AGE, vectorization=Vectorization(encode="hierarchical", columns=CHOICES)),
    "indicator": one(AGE, vectorization=Vectorization(missing="indicator", columns=CHOICES)),
    "identity": one(AGE, projection="identity"),
    "pca of the original": one(AGE, projection=Pca(pca={"fit": "original"})),
    "pca of the protected": one(AGE, projection=Pca(pca={"fit": "protected"})),
    "robust pca": one(AGE, projection=RobustPca()),
    "random": one(AGE, projection=RandomProjection()),
    "euclidean": one(AGE, similarity="euclidean"),
    "mahalanobis": one(AGE, similarity="mahalanobis"),
    "jaccard": one(AGE, similarity="jaccard"),
    "agreement": one(AGE, similarity=Agreement()),
    "rarity": one(AGE, similarity=Rarity()),
    "margin": one(AGE, evidence="margin"),
    "reference": one(AGE, evidence="reference"),
    "knows little": one(AGE, knows=("age", "gender", "ad_channel")),
    "knows few people": one(AGE, knows_people=0.3),
}


def attacker(name: str) -> Attacker:
    return Attacker(**({"vectorization": Vectorization(columns=CHOICES)} | VARIANTS[name]))


@pytest.fixture(scope="module")
def people():
    """Simulated people with some gaps, and their perturbed release."""
    rng = np.random.default_rng(5)
    table = Touchpoints(records=PEOPLE, missing_rate=0.03).draw(rng)
    release = Perturbation("low").protect(table, rng)
    columns = {
        "age": {"role": "quasi_identifier", "type": "numeric"},
        "gender": {"role": "quasi_identifier", "type": "category"},
        "region": {"role": "quasi_identifier", "type": "category", "separator": "/"},
        "brand_product": {"role": "attribute", "type": "category"},
        "purchase_time": {"role": "attribute", "type": "datetime"},
        "days_after_ad": {"role": "attribute", "type": "numeric"},
        "ad_channel": {"role": "attribute", "type": "category"},
    }
    sides = []
    for one_table in (table, release):
        values = one_table.to_columns()
        sides.append({name: [_python(value) for value in values[name]] for name in columns})
    return columns, sides


def _python(value):
    if value is None or value != value or (isinstance(value, np.datetime64) and np.isnat(value)):  # noqa: PLR0124
        return None
    return value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else value


@pytest.fixture(scope="module")
def pair(people):
    return make_pair(people[0], *people[1])


@pytest.fixture(scope="module")
def attacked(pair):
    """The attack of a variant, run once for all laws that look at it."""
    return cache(lambda name: attack(pair, attacker(name), seed=3))


@pytest.mark.parametrize("name", VARIANTS)
def test_the_answer_does_not_depend_on_threads_or_memory(name, pair):
    """One thread, two threads and a budget of a few kilobytes give the same bits."""
    results = [
        attack(pair, attacker(name), seed=3, budget=budget).found
        for budget in (Budget(threads=1), Budget(threads=2), Budget(memory=1 << 12, threads=2))
    ]
    for other in results[1:]:
        for part in ("best", "row", "second", "second_row", "candidates", "ties"):
            assert np.array_equal(getattr(results[0], part), getattr(other, part)), part


@pytest.mark.parametrize("name", VARIANTS)
def test_the_search_equals_scoring_every_pair(name, attacked):
    """Best, second best and ties are those of the formula applied to all pairs that share a block."""
    found = attacked(name)
    n, m = found.scorer.queries, found.scorer.candidates
    rows, others = np.indices((n, m)).reshape(2, -1)
    scores = found.scorer.pairs(rows, others).reshape(n, m)
    shared = np.zeros((n, m), dtype=bool)
    for partition in found.partitions:
        shared |= partition.queries[:, None] == partition.candidates
    scores = np.where(shared, scores, -np.inf)
    ranked = -np.sort(-scores, axis=1)
    assert np.array_equal(found.found.best, ranked[:, 0])
    assert np.array_equal(found.found.second, ranked[:, 1])
    assert np.array_equal(found.found.candidates, shared.sum(axis=1))
    assert np.array_equal(found.found.ties, ((scores >= ranked[:, :1] - 1e-6) & shared).sum(axis=1))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_tile_keeps_every_pair_that_may_matter(name, attacked):
    """The two best by the formula, and all ties with the best, are at or above the bar."""
    source = attacked(name).scorer
    scorer = source.sorted(np.arange(40), np.arange(50))
    rows, others = np.indices((40, 50)).reshape(2, -1)
    tile = scorer.tile(slice(0, 40), slice(0, 50)).astype(np.float64)
    ranked, exact = -np.sort(-tile, axis=1), scorer.pairs(rows, others).reshape(40, 50)
    bar = scorer.lowest_near_best(slice(0, 40), ranked[:, 0], ranked[:, 1], 1e-6)
    second = -np.sort(-exact, axis=1)[:, 1:2]
    matters = (exact >= second) | (exact >= exact.max(axis=1, keepdims=True) - 1e-6)
    assert (tile >= bar[:, None])[matters].all()
    assert (bar <= ranked[:, 1]).all()


@pytest.mark.parametrize("width", [1, 3, 20])
def test_the_bar_of_distances_is_the_largest_distance_that_ties(width):
    """Worked out from the formula: up to rounding, the bar is (|a|^2 - d^2) / 2 where 1 / (1 + d) is the best - tie."""
    rng = np.random.default_rng(width)
    a, b, centre, tie = rng.normal(size=(30, width)), rng.normal(size=(40, width)), rng.normal(size=width), 0.02
    b[20:] = b[:20] + rng.normal(size=(20, width)) * 0.01
    for candidates in (40, 1):
        scorer = DistanceScorer(a, b[:candidates], centre=centre)
        rows, others = np.indices((30, candidates)).reshape(2, -1)
        exact = scorer.pairs(rows, others).reshape(30, candidates)
        tile = scorer.tile(slice(0, 30), slice(0, candidates)).astype(np.float64)
        ranked = -np.sort(-np.column_stack([tile, np.full(30, -np.inf)]), axis=1)
        bar = scorer.lowest_near_best(slice(0, 30), ranked[:, 0], ranked[:, 1], tie)
        matters = exact >= exact.max(axis=1, keepdims=True) - tie
        assert matters.sum() > 30 or candidates == 1
        assert (tile >= bar[:, None])[matters].all()
        farthest = 1 / (exact.max(axis=1) - tie) - 1
        wanted = (((a - centre) ** 2).sum(axis=1) - farthest**2) / 2
        second = ranked[:, 1]
        assert bar == pytest.approx(np.where(np.isinf(second), wanted, np.minimum(wanted, second)), abs=1e-3)
        alone = scorer.lowest_near_best(slice(0, 30), ranked[:, 0], np.full(30, -np.inf), 0.0)
        assert (alone < ranked[:, 0]).all()  # a rounding error below the best


@pytest.mark.parametrize("name", VARIANTS)
def test_a_score_on_the_scale_lies_on_it_and_a_record_is_most_like_itself(name, attacked):
    done = attacked(name)
    scorer = done.representation.scorer(done.original, done.original)
    n = done.original.rows
    rows, others = np.indices((n, n)).reshape(2, -1)
    scores = scorer.pairs(rows, others).reshape(n, n)
    assert np.isfinite(scores).all()
    if done.attacker.on_scale:
        assert (scores >= -1).all() and (scores <= 1).all()
        assert np.diag(scores) == pytest.approx(1)
    if not isinstance(done.attacker.similarity, Rarity):  # it is worth what the query's value is
        assert np.allclose(scores, scores.T)
    assert (np.diag(scores) >= scores.max(axis=1) - 1e-9).all()


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "knows few people"])
def test_row_order_does_not_matter(name, people, attacked):
    """Shuffled tables give every record the same similarities; only a draw of people depends on their order."""
    columns, (original, protected) = people
    rng = np.random.default_rng(8)
    orders = [rng.permutation(len(side["age"])) for side in (original, protected)]
    shuffled = [
        {column: [values[at] for at in order] for column, values in side.items()}
        for side, order in zip((original, protected), orders, strict=True)
    ]
    plain = attacked(name).found
    mixed = attack(make_pair(columns, *shuffled), attacker(name), seed=3).found
    assert mixed.best == pytest.approx(plain.best[orders[0]], abs=1e-9)
    assert np.array_equal(mixed.candidates, plain.candidates[orders[0]])
    assert np.array_equal(mixed.ties, plain.ties[orders[0]])


@pytest.mark.parametrize("name", VARIANTS)
def test_settings_are_frozen_and_come_back_from_what_they_print(name):
    value = attacker(name)
    assert Attacker.model_validate(value.model_dump(mode="json")) == value
    with pytest.raises(ValidationError, match="frozen"):
        value.similarity = "cosine"
    with pytest.raises(ValidationError, match="Extra inputs"):
        Attacker.model_validate(value.model_dump() | {"lambda": 1})


@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_seed_gives_the_same_attack(name, people, attacked):
    one_run, other = attacked(name).found, attack(make_pair(people[0], *people[1]), attacker(name), seed=3).found
    assert np.array_equal(one_run.best, other.best) and np.array_equal(one_run.row, other.row)
