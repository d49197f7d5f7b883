"""The rarity score by its formula, its tolerances, the evidence made of it, and its search through rare values."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.attack.shared_work import SharedWork
from cvpl.attack.tolerances import best_cut, find_tolerances
from cvpl.errors import UsageError
from cvpl.operators.blocking import Blocking, Key
from cvpl.operators.similarity import Agreement, AgreementScorer, Rarity, RaritySettings
from cvpl.operators.similarity.agreement import AgreementWeights
from cvpl.operators.similarity.weights import AgreementMeasure, AgreementSettings, ValueCounts
from cvpl.operators.vectorization import ColumnChoice, Vectorization
from cvpl.search import exact
from cvpl.search.blocks import LeftOut, Partition
from cvpl.search.exact import find_best
from cvpl.search.machine import Budget
from cvpl.search.rare_values import log_means, products
from cvpl.search.rare_values.index import RareValues
from cvpl.tables.columns import Numbers
from examples import TIMES, examples
from random_scorers import coded
from search_checks import assert_same, every_pair
from worlds import COLUMNS, make_pair, worlds

CHOICES = Vectorization(columns={"when": ColumnChoice(features=("hour",))})
EXACTLY = Rarity(rarity=RaritySettings(tolerance=0.0))
BY_CODE = Blocking(any_of=((Key(column="code"),),))


def by_loops(asked, there, counted, tolerance):
    """The sum of log(1/frequency) over the columns on which two records agree, from plain lists."""

    def agrees(name, one, other):
        if one is None or other is None:
            return False
        if isinstance(one, str) or not tolerance.get(name):
            return one == other
        return abs(one - other) <= tolerance[name]

    scores = []
    for i in range(len(asked["age"])):
        row = []
        for j in range(len(there["age"])):
            total = 0.0
            for name in asked:
                x, y = asked[name][i], there[name][j]
                if agrees(name, x, y):
                    known = [value for table in counted for value in table[name] if value is not None]
                    count = sum(agrees(name, x, value) for value in known)
                    total += math.log((len(known) + 1) / (count + 1))
            row.append(total)
        scores.append(row)
    return np.array(scores)


@given(worlds(), st.sampled_from([0.0, 0.5]))
@settings(max_examples=examples(50) if TIMES > 1 else 25, deadline=None)
def test_the_score_is_the_sum_of_the_logarithms_of_the_frequencies(world, width):
    pair = world.pair
    similarity = Rarity(rarity=RaritySettings(tolerance=width))
    done = attack(pair, Attacker(similarity=similarity, vectorization=CHOICES))
    observable = {name: world.original[name] for name, item in COLUMNS.items() if item["role"] != "sensitive"}
    tolerance = {}
    for name in ("age", "amount", "when"):
        known = [value for value in world.original[name] if value is not None]
        if name == "when":
            seconds = [value.timestamp() for value in known]
            spread = float(np.std(seconds)) if known else 0.0
            tolerance[name] = width * spread
        else:
            tolerance[name] = width * float(np.std(known)) if known else 0.0
    asked, there = (
        {
            name: [value.timestamp() if name == "when" and value is not None else value for value in table[name]]
            for name in observable
        }
        for table in (world.original, world.protected)
    )
    wanted = by_loops(asked, there, [there], tolerance)
    query, row = (side.ravel() for side in np.indices(wanted.shape))
    np.testing.assert_allclose(done.scorer.pairs(query, row).reshape(wanted.shape), wanted, atol=1e-6)
    np.testing.assert_allclose(done.found.best, wanted.max(axis=1), atol=1e-6)


def test_agreement_on_what_few_have_counts_more_by_hand():
    """Release: four reds, one blue. A red pair is worth log(6/5), a blue one log(6/2), and no green is there."""
    columns = {"colour": COLUMNS["colour"]}
    pair = make_pair(columns, {"colour": ["red", "blue", "green", None]}, {"colour": ["red"] * 4 + ["blue"]})
    done = attack(pair, Attacker(similarity=EXACTLY))
    np.testing.assert_allclose(done.found.best, [math.log(6 / 5), math.log(3), 0.0, 0.0])
    np.testing.assert_array_equal(done.found.ties, [4, 1, 5, 5])


def _noisy_people(noise, seed=3, people=800):
    """People with a number of their own, a group and a label; the release adds noise to the number."""
    rng = np.random.default_rng(seed)
    number = rng.normal(100, 10, people)
    label = [f"v{int(code)}" for code in rng.integers(40, size=people)]
    code = [f"c{int(code)}" for code in rng.integers(20, size=people)]
    columns = {"amount": COLUMNS["amount"], "colour": COLUMNS["colour"], "code": COLUMNS["code"]}
    original = {"amount": number.tolist(), "colour": label, "code": code}
    protected = {"amount": (number + noise * rng.normal(size=people)).tolist(), "colour": label, "code": code}
    return make_pair(columns, original, protected)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 0.0, 0.0), (0.2, 0.15, 0.6), (1.0, 0.9, 3.0)])
def test_the_tolerance_grows_with_the_noise_of_the_release(noise, low, high):
    """Standard deviation 10; the tolerance lies around one to three standard deviations of the noise."""
    done = attack(_noisy_people(noise), Attacker(similarity=Rarity()))
    assert low <= done.representation.measure.tolerance.get("amount", 0.0) <= high


def tables_of(pair, columns):
    """What a similarity that agrees exactly is fitted on."""
    return SimpleNamespace(original=pair.original, protected=pair.protected, reference=None, columns=columns, cells=())


def test_values_drawn_anew_get_no_tolerance():
    pair = _noisy_people(0.0)
    rng = np.random.default_rng(1)
    strangers = pair.protected.changed(
        pair.protected.rows, lambda item: item.take(rng.permutation(pair.protected.rows))
    )
    columns = ["amount", "colour", "code"]
    exact = EXACTLY.fit(tables_of(replace(pair, protected=strangers), columns))
    assert not find_tolerances(exact, pair.original, strangers, rng).within


def test_noise_on_every_column_does_not_hide_the_tolerances():
    """Four numbers, all with noise of a tenth of their spread: each gets a tolerance around that."""
    rng = np.random.default_rng(6)
    names = ("age", "amount")
    columns = {name: COLUMNS[name] for name in names} | {f"more{at}": COLUMNS["amount"] for at in range(2)}
    numbers = {name: rng.normal(0, 10, 1_000) for name in columns}
    noisy = {name: values + rng.normal(0, 1, 1_000) for name, values in numbers.items()}
    tables = [{name: values.tolist() for name, values in side.items()} for side in (numbers, noisy)]
    done = attack(make_pair(columns, *tables), Attacker(similarity=Rarity()))
    found = done.representation.measure.tolerance
    assert set(found) == set(columns)
    assert all(0.9 <= width <= 2.5 for width in found.values())


@given(worlds())
@settings(max_examples=examples(30) if TIMES > 1 else 15, deadline=None)
def test_evidence_is_the_best_minus_the_second_or_minus_the_best_reference(world):
    pair = world.pair
    for similarity in ("cosine", EXACTLY):
        lowest = -1.0 if similarity == "cosine" else 0.0
        margin = attack(pair, Attacker(similarity=similarity, evidence="margin", vectorization=CHOICES))
        wanted = margin.found.best - np.maximum(margin.found.second, lowest)
        np.testing.assert_allclose(margin.scores, wanted)
        if pair.control.rows < 2:
            continue
        text = attack(pair, Attacker(similarity=similarity, evidence="reference", vectorization=CHOICES))
        assert text.reference.rows == pair.control.rows // 2
        assert text.control.rows + text.reference.rows == pair.control.rows
        scorer = text.representation.scorer(text.original, text.reference)
        rows = text.reference.rows
        every = np.array([scorer.pairs(np.full(rows, query), np.arange(rows)) for query in range(scorer.queries)])
        np.testing.assert_allclose(text.scores, text.found.best - every.max(axis=1), atol=1e-12)


def test_evidence_against_reference_people_needs_a_control():
    done = attack(_noisy_people(0.0), Attacker(similarity=EXACTLY, evidence="reference"))
    with pytest.raises(UsageError, match="needs a control"):
        _ = done.scores


def test_a_record_without_candidates_has_no_evidence():
    columns = {"code": COLUMNS["code"], "colour": COLUMNS["colour"]}
    original = {"code": ["a", "b"], "colour": ["red", "red"]}
    pair = make_pair(columns, original, {"code": ["a", "a"], "colour": ["red", "blue"]})
    done = attack(pair, Attacker(similarity=EXACTLY, evidence="margin", blocking=BY_CODE))
    assert np.isneginf(done.scores[1]) and done.scores[0] > 0


@pytest.mark.parametrize("seed", range(24))
def test_the_index_on_rare_values_finds_what_scoring_every_pair_finds(seed, monkeypatch):
    monkeypatch.setattr(exact, "INDEX_PAIRS", 1)
    monkeypatch.setattr(exact, "INDEX_ALL_PAIRS", 1)
    rng = np.random.default_rng(seed)
    shape = {"differ": seed % 2 == 1, "missing": 0.1 * (seed % 3), "wide": seed % 4 > 1, "copies": seed % 5 == 0}
    candidates = int(rng.choice([1, 15, 16, 17, 700, 3000, 9000]))
    scorer = coded(rng, 60, candidates if not shape["copies"] else 3000, int(rng.integers(1, 9)), **shape)
    blocks = int(rng.choice([1, 3]))
    partition = Partition(rng.integers(blocks, size=scorer.queries), rng.integers(blocks, size=scorer.candidates))
    left_out = LeftOut(np.arange(0, 60, 2), rng.integers(scorer.candidates, size=30)) if seed % 3 == 0 else None
    found = find_best(scorer, [partition], left_out=left_out)
    assert_same(found, every_pair(scorer, partition, left_out))


@pytest.mark.parametrize("seed", range(6))
def test_a_column_on_two_levels_stands_in_the_index_once(seed, monkeypatch):
    monkeypatch.setattr(exact, "INDEX_PAIRS", 1)
    monkeypatch.setattr(exact, "INDEX_ALL_PAIRS", 1)
    rng = np.random.default_rng(seed)
    near = coded(rng, 60, 900, 4, differ=True, missing=0.1, wide=True, copies=False)
    worth, twins = near.worth, [1, 3]
    sizes = np.diff(worth.start)[twins]
    equal = np.concatenate([np.arange(size) for size in sizes]).astype(np.int32)
    both = AgreementWeights(
        np.concatenate([worth.start, worth.start[-1] + np.cumsum(sizes)]),
        np.concatenate([worth.first, equal]),
        np.concatenate([worth.last, equal]),
        np.concatenate([worth.agree, rng.exponential(2, len(equal))]),
        np.concatenate([worth.differ, [0.0, 0.0]]),
    )
    columns = [0, 1, 2, 3, *twins]
    names = ("a", "b", "c", "d", "b", "d")
    scorer = AgreementScorer(near.a[:, columns], near.b[:, columns], both, names=names)
    np.testing.assert_array_equal(scorer.distinct_codes, near.b)
    everywhere = Partition(np.zeros(60, dtype=np.int64), np.zeros(900, dtype=np.int64))
    assert_same(find_best(scorer, [everywhere]), every_pair(scorer, everywhere, None))


def test_a_table_keeps_the_codes_of_the_last_sets_of_columns_alone():
    values = {"code": ["a", "b"] * 4, "colour": ["red"] * 8, "amount": [float(at) for at in range(8)]}
    pair = make_pair({name: COLUMNS[name] for name in values}, values, values)
    for left_out in ("code", "colour", "amount"):
        choices = Vectorization(columns={left_out: ColumnChoice(vectorize=False)})
        attack(pair, Attacker(similarity=EXACTLY, vectorization=choices))
    (kept,) = pair.protected.derived.values()
    assert [[name for name, _ in columns] for columns in kept] == [["code", "amount"], ["code", "colour"]]


@pytest.mark.parametrize("differ", [False, True])
def test_scores_without_a_column_are_those_of_the_other_columns(differ, monkeypatch):
    monkeypatch.setattr(exact, "INDEX_PAIRS", 1)
    monkeypatch.setattr(exact, "INDEX_ALL_PAIRS", 1)
    scorer = coded(np.random.default_rng(4), 60, 700, 4, differ=differ, missing=0.1, wide=True, copies=False)
    everywhere = Partition(np.zeros(60, dtype=np.int64), np.zeros(700, dtype=np.int64))
    query, row = (side.ravel() for side in np.indices((60, 700)))
    built = []
    monkeypatch.setattr(RareValues, "of", lambda b, workers, of=RareValues.of: built.append(len(b)) or of(b, workers))
    scorer = replace(scorer, names=("a", "b", "c", "d"))
    for column, name in enumerate(scorer.names):
        others = scorer.without(name)
        parts = [scorer.part(at, query, row) for at in range(4) if at != column]
        np.testing.assert_array_equal(others.pairs(query, row), np.sum(parts, axis=0))
        assert_same(find_best(others, [everywhere]), every_pair(others, everywhere, None))
    assert built == [700]  # one index serves every score of the same candidates


def test_tiles_and_pairs_of_agreement_are_the_same_figures():
    rng = np.random.default_rng(8)
    scorer = coded(rng, 40, 90, 5, differ=True, missing=0.2, wide=True, copies=False)
    tile = scorer.tile(slice(0, 40), slice(0, 90))
    query, row = (side.ravel() for side in np.indices(tile.shape))
    np.testing.assert_allclose(scorer.pairs(query, row).reshape(tile.shape), tile, atol=scorer.tolerance)


@given(worlds())
@settings(max_examples=examples(30) if TIMES > 1 else 15, deadline=None)
def test_density_is_the_mean_over_the_release_against_that_over_the_reference_people(world):
    pair = world.pair
    if pair.control.rows < 2:
        return
    text = attack(pair, Attacker(similarity=EXACTLY, evidence="density", vectorization=CHOICES))
    means = []
    for table in (text.protected, text.reference):
        scorer = text.representation.scorer(text.original, table)
        every = [scorer.pairs(np.full(table.rows, query), np.arange(table.rows)) for query in range(scorer.queries)]
        means.append(np.log(np.exp(every).mean(axis=1)))
    np.testing.assert_allclose(text.scores, means[0] - means[1], atol=1e-12)


@pytest.mark.parametrize("differ", [False, True])
def test_densities_are_the_same_in_tiles_and_compiled_and_over_any_blocks(differ, monkeypatch):
    rng = np.random.default_rng(int(differ))
    scorer = coded(rng, 300, 3_000, 9, differ=differ, missing=0.1, wide=True, copies=False)
    partition = Partition(rng.integers(4, size=300), rng.integers(3, size=3_000))
    shares = partition.queries[:, None] == partition.candidates
    every = np.array([scorer.pairs(np.full(3_000, query), np.arange(3_000)) for query in range(300)])
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.log((np.exp(every) * shares).sum(axis=1) / shares.sum(axis=1))
    wanted[partition.queries == 3] = -np.inf
    tiles = log_means.log_means(scorer, partition, Budget(memory=1 << 20))
    monkeypatch.setattr(log_means, "COMPILED_PAIRS", 1)
    compiled = [log_means.log_means(scorer, partition, Budget(threads=threads)) for threads in (1, 2)]
    np.testing.assert_allclose(tiles, wanted, atol=1e-12)
    np.testing.assert_allclose(compiled[0], wanted, atol=1e-12)
    assert np.array_equal(*compiled)


@pytest.mark.parametrize("differ", [0.0, -0.7])
@pytest.mark.parametrize("many", [0, 1, 2])
def test_merged_candidates_have_the_same_density(differ, many):
    rng = np.random.default_rng(many)
    count, queries = 6_000, 60
    sizes = [4, 3, 30, 50] + [5_000] * many
    b = np.column_stack([rng.integers(-1, size, count) for size in sizes]).astype(np.int32)
    a = np.column_stack([rng.integers(-1, size, queries) for size in sizes]).astype(np.int32)
    if many:
        b[: count // 3, 4] = 7  # a common value among many: nobody is merged for those who have it
        a[:9, 4] = 7
    start = np.concatenate([[0], np.cumsum(sizes)])
    middle = np.concatenate([np.arange(size) for size in sizes])
    reach = rng.integers(-1, 2, len(middle))
    table = AgreementWeights(
        start,
        np.where(reach < 0, 1, middle - np.maximum(reach, 0)).astype(np.int32),
        np.where(reach < 0, 0, middle + np.maximum(reach, 0)).astype(np.int32),
        rng.uniform(0, 4, len(middle)),
        np.full(len(sizes), differ),
    )
    scorer = AgreementScorer(a, b, table)
    wanted = np.log(np.exp(scorer.tile(slice(0, queries), slice(0, count))).sum(axis=1))
    found = products.Products.of(b)
    assert found.merged is not None
    assert len(found.columns.others) == many
    np.testing.assert_allclose(found(scorer), wanted, rtol=1e-13)
    np.testing.assert_allclose(replace(found, merged=None)(scorer), wanted, rtol=1e-13)


def test_a_density_of_columns_with_levels_is_that_of_every_pair():
    """A column with few values and one with many, each there for near values and again for what equal ones add."""
    rng = np.random.default_rng(7)
    sizes = np.array([4, 60, 5_000, 60, 5_000])
    # In rows, as the package has them: the loops are compiled for each layout.
    b, a = (
        np.column_stack([rng.integers(-1, size, rows) for size in sizes[:3]])[:, [0, 1, 2, 1, 2]].astype(np.int32, "C")
        for rows in (6_000, 60)
    )
    middle = np.concatenate([np.arange(size) for size in sizes])
    reach = np.repeat([0, 2, 40, 0, 0], sizes)
    table = AgreementWeights(
        np.concatenate([[0], np.cumsum(sizes)]),
        (middle - reach).astype(np.int32),
        (middle + reach).astype(np.int32),
        rng.uniform(0, 4, len(middle)),
        np.array([-0.5, -1.0, -2.0, 0.0, 0.0]),
    )
    scorer = AgreementScorer(a, b, table, names=("a", "b", "c", "b", "c"))
    wanted = np.log(np.exp(scorer.tile(slice(0, 60), slice(0, 6_000))).sum(axis=1))
    found = products.Products.of(b, scorer.names)
    assert found.merged is not None
    assert len(found.columns.others) == 1
    np.testing.assert_allclose(found(scorer), wanted, rtol=1e-13)
    np.testing.assert_allclose(replace(found, merged=None)(scorer), wanted, rtol=1e-13)


def test_a_density_where_agreement_speaks_against_a_pair_is_summed_over_all():
    b = np.column_stack([np.arange(5_000) == 0, np.arange(5_000)]).astype(np.int32)
    middle = np.concatenate([np.arange(2), np.arange(5_000)]).astype(np.int32)
    agree = np.concatenate([np.full(2, 60.0), np.full(5_000, -60.0)])
    found = products.Products.of(b)
    assert found.merged is not None
    scorer = AgreementScorer(b[:1], b, AgreementWeights(np.array([0, 2, 5_002]), middle, middle, agree, np.zeros(2)))
    wanted = np.log(np.exp(scorer.tile(slice(0, 1), slice(0, 5_000))).sum(axis=1))
    np.testing.assert_allclose(found(scorer), wanted, rtol=1e-13)


def test_a_density_of_many_columns_neither_overflows_nor_vanishes(monkeypatch):
    monkeypatch.setattr(log_means, "COMPILED_PAIRS", 1)
    columns, worth = 100, 13.0
    codes = np.zeros((2, columns), dtype=np.int32)
    table = AgreementWeights(np.arange(columns + 1), codes[0], codes[0], np.full(columns, worth), np.zeros(columns))
    scorer = AgreementScorer(codes, np.array([[0] * columns, [1] * columns], dtype=np.int32), table)
    found = log_means.log_means(scorer, Partition(np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)))
    np.testing.assert_allclose(found, columns * worth - math.log(2))


@pytest.mark.parametrize("unfit", [{"similarity": "cosine"}, {"similarity": EXACTLY, "blocking": BY_CODE}])
def test_density_asks_for_agreement_over_the_whole_release(unfit):
    with pytest.raises(ValidationError, match="`blocking: none`"):
        Attacker(evidence="density", **unfit)


def test_values_that_are_often_copied_have_no_tolerance():
    """As in records that a tree draws: half of the ages are copied, others are near since columns go together."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        released = np.round(rng.gamma(6, 6.5, 20_000)).clip(17, 90)
        asked, kind = rng.choice(released, 230), rng.random(230)
        near = np.abs(asked - rng.choice(released, 230))
        near = np.where(kind < 0.6, np.abs(np.round(rng.normal(0, 3, 230))), near)
        near = np.where(kind < 0.45, 0.0, near)
        assert best_cut(asked, near, released, float(released.std())) == (0.0, 1.0)


def test_noise_is_seen_though_most_pairs_that_were_found_are_no_matches():
    """In a large release, only every second best candidate may be a match; a third of their ages are unchanged."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        released = np.round(rng.gamma(6, 6.5, 20_000)).clip(17, 90)
        asked = rng.choice(released, 270)
        near = np.abs(asked - rng.choice(released, 270))
        near = np.where(rng.random(270) < 0.5, np.abs(rng.integers(-1, 2, 270)), near)
        cut, equal = best_cut(asked, near, released, float(released.std()))
        assert 1.0 <= cut <= 4.0
        assert 0.05 <= equal <= 0.7  # one third


def test_equal_values_count_for_more_than_near_ones_by_hand():
    """Of five released numbers, within 2 of 10 are three, and 10 is there once: (3 + 1) / (5 + 1), and a half of these.

    If three quarters of the matches are equal, that adds log(0.75 / 0.5), and being near only log(0.25 / 0.5).
    """
    columns = {"amount": COLUMNS["amount"]}
    released = {"amount": [10.0, 11.0, 9.0, 20.0, 30.0]}
    pair = make_pair(columns, {"amount": [10.0, 10.0]}, released)
    measure = replace(EXACTLY.fit(tables_of(pair, ["amount"])), tolerance={"amount": 2.0}, equal={"amount": 0.75})
    scorer = measure.scorer(pair.original, pair.protected)
    near = max(math.log(6 / 4) + math.log(0.25 / 0.5), 0.0)
    same = math.log(6 / 4) + math.log(0.75 / 0.5)
    np.testing.assert_allclose(scorer.pairs(np.zeros(5, dtype=int), np.arange(5)), [same, near, near, 0.0, 0.0])
    once = replace(measure, equal={}).scorer(pair.original, pair.protected)
    np.testing.assert_allclose(once.pairs(np.zeros(5, dtype=int), np.arange(5)), [*[math.log(1.5)] * 3, 0.0, 0.0])


def test_noise_without_copies_has_a_tolerance():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        released = np.round(rng.gamma(6, 6.5, 20_000)).clip(17, 90)
        asked = rng.choice(released, 230)
        near = np.abs(np.round(rng.normal(0, 3, 230)))
        assert best_cut(asked, near, released, float(released.std()))[0] > 0


@pytest.mark.parametrize("evidence", ["best", "density"])
def test_estimates_from_the_release_do_not_depend_on_how_many_people_are_asked(evidence):
    """They come from the first people of the sample, so attackers that ask more people share them, or find the same."""
    pair = _noisy_people(1.0, people=1_500)
    pair = replace(pair, control=replace(pair.original, name="control"))
    similarity = Agreement(agreement=AgreementSettings(m="release", u="values", tolerance="release"))
    attackers = Attacker(similarity=similarity), Attacker(similarity=similarity, evidence=evidence)
    shared = SharedWork()
    many = attack(pair, attackers[0], most=None, shared=shared).representation.measure
    some = attack(pair, attackers[1], most=600, shared=shared).representation.measure
    alone = attack(pair, attackers[1], most=600).representation.measure
    assert many.tolerance == some.tolerance == alone.tolerance != {}
    assert many.m == some.m == alone.m
    assert set(many.m.values()) != {0.9}


def test_a_range_is_as_frequent_as_the_equal_ranges():
    low, high = np.array([1.0, 1.0, 2.0, np.nan]), np.array([3.0, 3.0, 2.0, np.nan])
    table = SimpleNamespace(columns={"age": Numbers((low + high) / 2, low, high)})
    counted = ValueCounts.of("age", [table])
    assert counted.shares(np.array([1 + 3j, 2 + 2j, 1 + 2j]), 0.0) == pytest.approx([3 / 4, 2 / 4, 1 / 4])


def test_a_frequency_stays_below_one_where_all_have_the_same_value():
    table = SimpleNamespace(columns={"age": Numbers(*[np.full(5, 7.0)] * 3)})
    counted = {"age": ValueCounts.of("age", [table])}
    measure = AgreementMeasure(("age",), {"age": 0.9}, {"age": 0.5}, {"age": 1.0}, counted, {}, {"age": 0.5})
    column, shares = measure.compared("age", table, table)
    assert shares.tolist() == [1 - 1e-6]
    assert measure.compared_equal(column, table, table)[1].tolist() == [1 - 1e-6]
    for other in ({"equal": {}}, {"counted": {}}, {"tolerance": {}}):
        assert replace(measure, **other).compared_equal(column, table, table) is None


def test_the_ends_of_the_weight_of_a_column_of_cells():
    """A cell that allows one person in ten weighs most if it allows the right one, and least if it does not."""
    measure = AgreementMeasure((), {"age": 0.9}, {}, cells={"age": SimpleNamespace(counted=9)})
    assert measure.most == pytest.approx(math.log(0.9 / 0.1))
    assert measure.least == pytest.approx(math.log(0.1 / 0.9))


def test_ranges_agree_without_a_tolerance():
    low, high = np.array([1.0, 2.0]), np.array([3.0, 2.0])
    plain, ranges = (SimpleNamespace(columns={"age": Numbers(high, *ends)}) for ends in ((high, high), (low, high)))
    measure = AgreementMeasure(("age",), {"age": 0.9}, {"age": 0.5}, {"age": 1.0})
    assert measure.column_tolerance("age", plain, plain) == 1
    assert measure.column_tolerance("age", plain, ranges) == measure.column_tolerance("age", ranges, plain) == 0
    assert replace(measure, tolerance={}).column_tolerance("age", plain, plain) == 0
