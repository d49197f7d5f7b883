"""Fellegi-Sunter with EM: agreement, patterns, estimates, links; and Splink's word on the same data."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.errors import LimitError
from cvpl.evaluation.truth import evaluate_truth
from cvpl.operators.blocking import Blocking, Key
from cvpl.operators.similarity.match_agreement import Parameters, Patterns, maximize
from cvpl.operators.vectorization import ColumnChoice, Vectorization
from cvpl.search.best import TIE
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Table, Times
from cvpl.tables.evaluation_only import TrueMatches
from cvpl_paper.baselines.agreement import Comparison, compare_tables
from cvpl_paper.baselines.agreement_patterns import count_patterns
from cvpl_paper.baselines.fellegi_sunter import Estimation, figures, fit_fellegi_sunter, link
from examples import examples
from worlds import BASE, make_pair, package_attacker, worlds

LABEL = {"role": "attribute", "type": "category"}
NUMBER = {"role": "attribute", "type": "numeric"}
BLOCKED = Blocking(any_of=((Key(column="block", rule="exact"),),))
SCHEMES = [[("code", ("prefix", 1))], [("place", ("level", 1)), ("colour", "exact")]]


# A second implementation: single pairs in plain loops, agreement from the cells, EM as in the textbook.


def agrees(spec, queries, candidates, i, j, tolerance=0.0):
    """True, False, or None where a value is missing."""
    one, other = queries.columns[spec.name], candidates.columns[spec.name]
    if not one.known()[i] or not other.known()[j]:
        return None
    if isinstance(one, Labels):
        paths = sorted((spec.path(one.labels[one.codes[i]]), spec.path(one.labels[other.codes[j]])), key=len)
        return paths[1][: len(paths[0])] == paths[0]
    if isinstance(one, Times):
        ends = [float(end.astype(np.int64)) / 1e6 for end in (one.first[i], one.last[i], other.first[j], other.last[j])]
    else:
        ends = [one.low[i], one.high[i], other.low[j], other.high[j]]
    return bool(max(ends[0] - ends[3], ends[2] - ends[1]) <= tolerance + 1e-9)


def pairs_of(done):
    """Every pair that shares a block in any scheme, in plain loops."""
    return [
        (i, j)
        for i, j in product(range(done.original.rows), range(done.protected.rows))
        if any(part.queries[i] == part.candidates[j] for part in done.partitions)
    ]


def textbook(vectors, start, fixed_u, steps):
    """EM on single pairs; a missing value is in no product and in no sum."""
    m, u, share = list(start.m), list(start.u), start.share
    columns = range(len(m))
    for _ in range(steps):
        chances = []
        for vector in vectors:
            match, other = share, 1 - share
            for c in columns:
                if vector[c] is not None:
                    match *= m[c] if vector[c] else 1 - m[c]
                    other *= u[c] if vector[c] else 1 - u[c]
            chances.append(match / (match + other))
        for c in columns:
            known = [(g, v[c]) for g, v in zip(chances, vectors, strict=True) if v[c] is not None]
            m[c] = sum(g for g, agree in known if agree) / sum(g for g, _ in known)
            if not fixed_u:
                u[c] = sum(1 - g for g, agree in known if agree) / sum(1 - g for g, _ in known)
        share = sum(chances) / len(chances)
    return Parameters(np.array(m), np.array(u), share)


def small_attack(seed=0, rows=60, blocks=6, missing=0.1):
    """Four columns of labels in blocks of about ten, a quarter of the cells redrawn in the release."""
    rng = np.random.default_rng(seed)
    sizes = {"a": 6, "b": 4, "c": 9, "d": 3}
    block = [f"b{code}" for code in rng.integers(blocks, size=rows)]
    original, released = {"block": block}, {"block": block}
    for name, size in sizes.items():
        values = rng.integers(size, size=rows)
        moved = np.where(rng.random(rows) < 0.25, rng.integers(size, size=rows), values)
        for table, cells in ((original, values), (released, moved)):
            lost = rng.random(rows) < missing
            table[name] = [None if gone else f"v{cell}" for cell, gone in zip(cells, lost, strict=True)]
    pair = make_pair({"block": LABEL} | dict.fromkeys(sizes, LABEL), original, released)
    return attack(pair, Attacker(blocking=BLOCKED)), original, released


def truth_of(done, pairs=None):
    rows = np.arange(done.original.rows)
    original, protected = (rows, rows) if pairs is None else (np.array(side) for side in zip(*pairs, strict=True))
    return evaluate_truth(done, TrueMatches(original, protected, complete=True, scenario="controlled"))


# Agreement


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("North/Urban", "North/Urban", True),
        ("North/Urban", "North/Rural", False),
        ("North/Urban", "North/*", True),
        ("North/*", "North/Rural", True),
        ("North", "North/*", True),
        ("North/*", "South/*", False),
        ("North/Urban", "North/Urban/Centre", True),
        ("North/Urban", "Northern/Urban", False),
        ("South/Urban", "North/*", False),
    ],
)
def test_labels_agree_where_one_path_begins_the_other(one, other, expected):
    """Whichever side the generalized label stands on, and whatever other labels there are."""
    more = ["North/Urban", "North/Rural", "North/*", "South/Urban", "Northern"]
    columns = {"place": LABEL | {"separator": "/"}}
    pair = make_pair(columns, {"place": [one, *more]}, {"place": [other, *more]})
    column = compare_tables(pair.original, pair.protected, Attacker(), Comparison())[0]
    assert column.agree(np.array([0]), np.array([0]))[0] == expected


@pytest.mark.parametrize(
    ("one", "other", "tolerance", "expected"),
    [
        ((30, 30), (30, 30), 0, True),
        ((30, 30), (31, 31), 0, False),
        ((39, 39), (30, 39), 0, True),
        ((40, 40), (30, 39), 0, False),
        ((40, 40), (30, 39), 1, True),
        ((30, 39), (39, 50), 0, True),
        ((0.7, 0.7), (0.8, 0.8), 0.1, True),
        ((0.8, 0.8), (0.7, 0.7), 0.1, True),
        ((1.0, 1.0), (1.1001, 1.1001), 0.1, False),
        ((np.nan, np.nan), (1, 1), 5, None),
        ((np.nan, np.nan), (np.nan, np.nan), 5, None),
    ],
)
def test_numbers_agree_where_their_ranges_come_within_the_tolerance(one, other, tolerance, expected):
    """Ranges are closed, and a tolerance of 0.1 reaches from 0.7 to 0.8; a missing value is neither."""
    tables = []
    for name, (low, high) in (("original", one), ("protected", other)):
        ends = [np.array([value, 5.0], dtype=float) for value in (low, high)]
        column = Numbers((ends[0] + ends[1]) / 2, *ends)
        tables.append(Table(name, 2, (ColumnSpec("age", "attribute", "numeric"),), {"age": column}))
    column = compare_tables(*tables, Attacker(), Comparison(tolerance={"age": tolerance}))[0]
    known = column.queries.known[0] and column.candidates.known[0]
    assert (bool(column.agree(np.array([0]), np.array([0]))[0]) if known else None) == expected


def test_times_agree_by_their_spans_or_by_the_attackers_features():
    """A minute apart: within 60 seconds, not within 59; the hour agrees, and is missing where a day has many."""
    moments = np.array(["2024-05-06T10:00", "2024-05-06T10:01"], dtype="datetime64[us]")
    day = np.array(["2024-05-06T00:00", "2024-05-06T23:59:59.999999"], dtype="datetime64[us]")
    spec = (ColumnSpec("when", "attribute", "datetime"),)
    original = Table("original", 1, spec, {"when": Times(moments[:1], moments[:1])})
    released = Table(
        "protected", 2, spec, {"when": Times(np.array([moments[1], day[0]]), np.array([moments[1], day[1]]))}
    )
    choice = ColumnChoice(features=("hour", "day_of_week"))
    attacker = Attacker(vectorization=Vectorization(columns={"when": choice}))
    both = np.array([0, 0]), np.array([0, 1])
    for seconds, expected in ((0, [False, True]), (59, [False, True]), (60, [True, True])):
        comparison = Comparison(tolerance={"when": seconds})
        assert compare_tables(original, released, attacker, comparison)[0].agree(*both).tolist() == expected
    hour, weekday = compare_tables(original, released, attacker, Comparison(times="features"))
    assert (hour.name, weekday.name) == ("when.hour", "when.day_of_week")
    assert hour.candidates.known.tolist() == [True, False]
    assert hour.agree(*both).tolist() == [True, False] and weekday.agree(*both).tolist() == [True, True]


def test_a_column_kept_out_of_vectorization_is_not_compared():
    columns = {"x": NUMBER, "y": NUMBER}
    pair = make_pair(columns, {"x": [1.0], "y": [2.0]}, {"x": [1.0], "y": [2.0]})
    attacker = Attacker(vectorization=Vectorization(columns={"x": ColumnChoice(vectorize=False)}))
    assert [c.name for c in compare_tables(pair.original, pair.protected, attacker, Comparison())] == ["y"]


@settings(max_examples=examples(15), deadline=None)
@given(worlds(rows=9))
def test_patterns_and_chance_are_those_of_a_loop_over_pairs(world):
    """Every pair counts once, though it shares a block in two schemes; chance agreement is over all pairs."""
    done = attack(world.pair, package_attacker(BASE | {"schemes": SCHEMES}))
    tolerance = {"age": 2.0, "amount": 0.25, "when": 3600.0}
    columns = compare_tables(done.original, done.protected, done.attacker, Comparison(tolerance=tolerance))
    found = count_patterns(columns, done.partitions)

    def vector(i, j):
        return tuple(
            agrees(s, done.original, done.protected, i, j, tolerance.get(s.name, 0)) for s in done.original.specs
        )

    expected = {}
    for pair in pairs_of(done):
        expected[vector(*pair)] = expected.get(vector(*pair), 0) + 1
    rows = zip(found.agree.tolist(), found.known.tolist(), found.counts.tolist(), strict=True)
    assert {
        tuple(a if k else None for a, k in zip(agree, known, strict=True)): n for agree, known, n in rows
    } == expected
    everyone = [vector(*pair) for pair in product(range(done.original.rows), range(done.protected.rows))]
    for place, column in enumerate(columns):
        values = [v[place] for v in everyone if v[place] is not None]
        assert column.chance() == (sum(values), len(values))


def test_many_columns_are_counted_the_slow_way_and_too_many_refused():
    """Twelve columns with missing values take more bits than a table of all patterns; the thirty-second is refused."""
    rng = np.random.default_rng(4)
    for width in (12, 31):
        names = [f"c{at}" for at in range(width)]
        tables = [{n: rng.choice([1.0, 2.0, None], size=8).tolist() for n in names} for _ in range(2)]
        done = attack(make_pair(dict.fromkeys(names, NUMBER), *tables), Attacker(projection="identity"))
        columns = compare_tables(done.original, done.protected, done.attacker, Comparison())
        found = count_patterns(columns, done.partitions)
        assert found.pairs == 64
        for place, spec in enumerate(done.original.specs):
            seen = [agrees(spec, done.original, done.protected, i, j) for i, j in pairs_of(done)]
            assert int(found.counts @ found.agree[:, place]) == sum(value is True for value in seen)
            assert int(found.counts @ found.known[:, place]) == sum(value is not None for value in seen)
    with pytest.raises(LimitError, match="32 columns"):
        count_patterns([*columns, columns[0]], done.partitions)


# Estimates


@pytest.mark.parametrize("u", ["chance_in_blocks", "chance", "estimated"])
def test_the_estimate_is_the_textbooks_on_single_pairs(u):
    """Counting patterns first changes nothing: 50 steps on 600 pairs, to 1e-9."""
    done, _, _ = small_attack()
    model = fit_fellegi_sunter(done, estimation=Estimation(u=u, tolerance=0, most_steps=50))
    specs = [spec for spec in done.original.specs if spec.name != "block"]
    vectors = [[agrees(spec, done.original, done.protected, i, j) for spec in specs] for i, j in pairs_of(done)]
    everyone = product(range(done.original.rows), range(done.protected.rows))
    scope = vectors
    if u == "chance":
        scope = [[agrees(spec, done.original, done.protected, i, j) for spec in specs] for i, j in everyone]
    known = [[v[c] for v in scope if v[c] is not None] for c in range(4)]
    chance = np.array([sum(values) / len(values) for values in known])
    start = Parameters(chance + 0.9 * (1 - chance), chance, 60 / len(vectors))
    expected = textbook(vectors, start, u != "estimated", 50)
    found = model.estimate.parameters
    assert model.columns == ("a", "b", "c", "d") and model.left_out == ("block",)
    assert model.estimate.steps == 50
    np.testing.assert_allclose(found.m, expected.m, atol=1e-9, rtol=0)
    np.testing.assert_allclose(found.u, expected.u, atol=1e-9, rtol=0)
    assert found.share == pytest.approx(expected.share, abs=1e-9)


@pytest.mark.parametrize("u", ["chance_in_blocks", "chance", "estimated"])
@pytest.mark.parametrize("seed", range(4))
def test_the_log_likelihood_never_falls(u, seed):
    """Not by more than rounding; and it does rise from the start."""
    done, _, _ = small_attack(seed)
    estimate = fit_fellegi_sunter(done, estimation=Estimation(u=u)).estimate
    steps = np.diff(estimate.log_likelihood)
    assert steps.min() >= -1e-9 * abs(estimate.log_likelihood[0])
    assert estimate.log_likelihood[-1] > estimate.log_likelihood[0] + 1
    assert estimate.converged


def test_em_finds_the_parameters_that_the_patterns_were_made_from():
    """Expected counts of a known model with ten million pairs: m, u and the share come back."""
    m, u, share = np.array([0.9, 0.8, 0.95, 0.7]), np.array([0.1, 0.3, 0.2, 0.05]), 0.02
    agree = np.array(list(product([True, False], repeat=4)))
    chance = [np.where(agree, p, 1 - p).prod(axis=1) for p in (m, u)]
    counts = np.round(1e7 * (share * chance[0] + (1 - share) * chance[1])).astype(np.int64)
    patterns = Patterns(agree, np.ones_like(agree), counts)
    start_u = counts @ agree / counts.sum()
    found = maximize(patterns, Parameters(start_u + 0.9 * (1 - start_u), start_u, 0.1), fixed_u=False).parameters
    np.testing.assert_allclose(found.m, m, atol=1e-3)
    np.testing.assert_allclose(found.u, u, atol=1e-3)
    assert found.share == pytest.approx(share, abs=1e-4)


def test_the_start_decides_which_class_is_called_match():
    """Started with m and u exchanged and the share turned round, EM ends at the mirror image, just as likely."""
    done, _, _ = small_attack()
    model = fit_fellegi_sunter(done, estimation=Estimation(u="estimated"))
    at = model.estimate.parameters
    mirrored = maximize(model.patterns, Parameters(at.u, at.m, 1 - at.share), fixed_u=False)
    np.testing.assert_allclose(mirrored.parameters.m, at.u, atol=1e-6)
    assert mirrored.log_likelihood[-1] == pytest.approx(model.estimate.log_likelihood[-1], rel=1e-9)


# Links and figures


def test_links_by_hand():
    """Two columns, one block; weights and posteriors of all four patterns from the model's own m, u and share."""
    cells = {"x": ["a", "b", "c", "d"], "y": ["p", "q", "r", "s"]}
    released = {"x": ["a", "b", "c", None], "y": ["p", "q", "p", "s"]}
    done = attack(make_pair({"x": LABEL, "y": LABEL}, cells, released), Attacker())
    model = fit_fellegi_sunter(done, estimation=Estimation(tolerance=0, most_steps=2))
    links = link(done, model)
    weight = {
        (name, agree): math.log2(model.m[name] / model.u[name] if agree else (1 - model.m[name]) / (1 - model.u[name]))
        for name in ("x", "y")
        for agree in (True, False)
    }
    both = weight["x", True] + weight["y", True]
    expected = [both, both, weight["x", True] + weight["y", False], weight["y", True]]
    np.testing.assert_allclose(links.found.best, expected, rtol=1e-12)
    assert links.found.row.tolist() == [0, 1, 2, 3]
    odds = [model.share / (1 - model.share) * 2**value for value in expected]
    np.testing.assert_allclose(model.posterior(links.found.best), [o / (1 + o) for o in odds], rtol=1e-12)
    assert links.by_posterior.tolist() == [o >= 1 for o in odds]
    assert links.by_weight.tolist() == [value >= 0 for value in expected]


@settings(max_examples=examples(15), deadline=None)
@given(worlds(rows=9))
def test_figures_are_those_of_a_loop_over_pairs(world):
    """Best weight, ties, rates, hits and precision, with missing values, ranges and two schemes."""
    done = attack(world.pair, package_attacker(BASE | {"schemes": SCHEMES}))
    model = fit_fellegi_sunter(done, Comparison(tolerance={"age": 1.0}), Estimation(u="estimated", most_steps=20))
    links = link(done, model)
    specs = {spec.name: spec for spec in done.original.specs}
    weights = [{} for _ in range(done.original.rows)]
    for i, j in pairs_of(done):
        total = 0.0
        for name in model.columns:
            agree = agrees(specs[name], done.original, done.protected, i, j, 1.0 if name == "age" else 0.0)
            if agree is not None:
                m, u = (model.m[name], model.u[name]) if agree else (1 - model.m[name], 1 - model.u[name])
                total += math.log2(m) - math.log2(u)
        weights[i][j] = total
    best = [max(row.values(), default=-math.inf) for row in weights]
    np.testing.assert_allclose(links.found.best, best, atol=1e-9)
    matches = set(zip(world.matches.original.tolist(), world.matches.protected.tolist(), strict=True))
    hits = []
    for i, row in enumerate(weights):
        tied = [j for j, weight in row.items() if weight >= best[i] - TIE]
        hits.append(sum((i, j) in matches for j in tied) / len(tied) if tied else 0.0)
    found = figures(done, links, evaluate_truth(done, world.matches))
    known = sorted({i for i, _ in matches})
    assert found.top1_hit_rate == (pytest.approx(sum(hits[i] for i in known) / len(known)) if known else None)
    for rate, precision, linked in (
        (found.linkage_rate, found.precision_at_1, links.by_posterior),
        (found.naive_linkage_rate, found.naive_precision_at_1, links.by_weight),
    ):
        assert rate == pytest.approx(linked.mean())
        chosen = [hit for hit, yes in zip(hits, linked, strict=True) if yes]
        assert precision == (pytest.approx(sum(chosen) / len(chosen)) if chosen else None)
    bare = figures(done, links)
    assert (bare.top1_hit_rate, bare.precision_at_1, bare.naive_precision_at_1) == (None, None, None)


def test_what_tells_nothing_is_left_out():
    """A blocking key agrees on every pair, another column on none, a third is never known."""
    cells = {"key": ["k"] * 4, "x": list("abab"), "never": list("pqrs"), "gone": [None] * 4}
    released = {"key": ["k"] * 4, "x": list("abba"), "never": list("tuvw"), "gone": list("aaaa")}
    done = attack(make_pair(dict.fromkeys(cells, LABEL), cells, released), Attacker())
    model = fit_fellegi_sunter(done)
    assert model.columns == ("x",) and model.left_out == ("key", "never", "gone")
    alone = attack(make_pair({"x": LABEL}, {"x": cells["x"]}, {"x": released["x"]}), Attacker())
    assert fit_fellegi_sunter(alone).m == model.m


def test_without_a_pair_or_a_column_every_weight_is_zero():
    """No pair shares a block: nobody is linked. One column that always agrees: all weights are 0, all tie."""
    apart = {"block": ["a", "b"], "x": ["p", "q"]}, {"block": ["c", "d"], "x": ["p", "q"]}
    done = attack(make_pair({"block": LABEL, "x": LABEL}, *apart), Attacker(blocking=BLOCKED))
    found = figures(done, link(done, fit_fellegi_sunter(done)), truth_of(done))
    assert (found.linkage_rate, found.naive_linkage_rate, found.top1_hit_rate) == (0, 0, 0)
    assert found.precision_at_1 is None and found.naive_precision_at_1 is None
    same = {"x": ["p"] * 4}
    done = attack(make_pair({"x": LABEL}, same, same), Attacker())
    found = figures(done, link(done, fit_fellegi_sunter(done)), truth_of(done))
    assert (found.linkage_rate, found.naive_linkage_rate, found.top1_hit_rate) == (0, 1, 0.25)
    lone = attack(make_pair({"x": LABEL}, {"x": ["p"]}, {"x": ["p"]}), Attacker())
    assert figures(lone, link(lone, fit_fellegi_sunter(lone))).linkage_rate == 1  # P(match) is 1/2, and that is enough


def test_incomplete_truth_has_no_precision():
    done, _, _ = small_attack()
    rows = np.arange(5)
    truth = evaluate_truth(done, TrueMatches(rows, rows, complete=False, scenario="partial"))
    found = figures(done, link(done, fit_fellegi_sunter(done)), truth)
    assert found.precision_at_1 is None and found.top1_hit_rate is not None


# Splink


def splink_model(original, released, *, estimate_u, start, steps):
    """The same number of EM steps by Splink on the same tables, and its match weight of every pair."""
    import splink.comparison_library as cl  # noqa: PLC0415 - slow to load
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on  # noqa: PLC0415

    m, u, share = start
    names = [name for name in original if name != "block"]
    rule = block_on("block")
    chances = {"m_probabilities": [m, 1 - m], "u_probabilities": [u, 1 - u]}
    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[cl.ExactMatch(name).configure(**chances) for name in names],
        blocking_rules_to_generate_predictions=[rule],
        probability_two_random_records_match=share,
        em_convergence=0.0,
        max_iterations=steps,
    )
    engine = DuckDBAPI()
    tables = [
        engine.register(pa.table(table | {"unique_id": list(range(len(table["block"])))}))
        for table in (original, released)
    ]
    linker = Linker(tables, settings)
    if not estimate_u:
        linker.training.estimate_u_using_random_sampling(max_pairs=1e9, min_count_per_level=None, num_chunks=1)
    linker.training.estimate_parameters_using_expectation_maximisation(
        rule,
        fix_u_probabilities=not estimate_u,
        estimate_without_term_frequencies=True,
        populate_probability_two_random_records_match_from_trained_values=True,
    )
    trained = linker.misc.save_model_to_json()
    agree = {c["output_column_name"]: c["comparison_levels"][1] for c in trained["comparisons"]}
    weights = {
        (row["unique_id_l"], row["unique_id_r"]): (row["match_weight"], row["match_probability"])
        for row in linker.inference.predict().as_record_list()
    }
    return (
        np.array([agree[name]["m_probability"] for name in names]),
        np.array([agree[name]["u_probability"] for name in names]),
        trained["probability_two_random_records_match"],
        weights,
    )


@pytest.mark.parametrize("u", ["chance", "estimated"])
def test_m_u_share_and_weights_are_splinks(u):
    """Twenty steps from the same start on 200 by 200 records in 10 blocks, a tenth of the cells missing; to 1e-9."""
    done, original, released = small_attack(seed=1, rows=200, blocks=10)
    start = (0.9, 0.2, 0.05)
    estimation = Estimation(u=u, start_m=0.9, start_u=0.2, start_share=0.05, tolerance=0, most_steps=20)
    model = fit_fellegi_sunter(done, estimation=estimation)
    m, chance, share, weights = splink_model(original, released, estimate_u=u == "estimated", start=start, steps=20)
    found = model.estimate.parameters
    np.testing.assert_allclose(found.m, m, rtol=1e-9)
    np.testing.assert_allclose(found.u, chance, rtol=1e-9)
    assert found.share == pytest.approx(share, rel=1e-9)
    assert sorted(weights) == sorted(pairs_of(done))
    query, row = (np.array(side) for side in zip(*weights, strict=True))
    mine = link(done, model).scorer.pairs(query, row)
    theirs = np.array(list(weights.values()))
    np.testing.assert_allclose(mine + model.prior, theirs[:, 0], atol=1e-8, rtol=0)
    np.testing.assert_allclose(model.posterior(mine), theirs[:, 1], atol=1e-9, rtol=0)
