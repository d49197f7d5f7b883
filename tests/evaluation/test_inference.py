"""Attribute inference: secrets, beliefs, guesses and scores, by hand and against loops written from the definitions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cvpl.attack.attack import attack
from cvpl.attack.attacker import Attacker
from cvpl.evaluation.inference import attackers, compiled_nearest, models
from cvpl.evaluation.inference.attackers import AlignedPeople, LinkGuesses
from cvpl.evaluation.inference.columns import (
    FOLDS,
    choice_error,
    columns_by_information,
    draw_folds,
    gains,
    mutual_information,
    nested_sets,
    read_apart,
    widen_for_choice,
)
from cvpl.evaluation.inference.figures import (
    Hits,
    Queries,
    ScoredAttack,
    attributable,
    attributable_ends,
    baseline_rows,
    control_model,
    inference_rows,
    score_beliefs,
    score_ends,
    scored_by_choice,
)
from cvpl.evaluation.inference.sensitive_attribute import (
    SensitiveAttribute,
    Tolerance,
    best_hits,
    commonest_hits,
    drawn_hits,
)
from cvpl.operators.similarity import Rarity
from cvpl.tables.columns import ColumnSpec, Labels, Numbers, Pair, Table
from examples import examples_apart


def labels(text, known="abcdefgh"):
    """A column of one-letter labels; a blank is a missing value."""
    names = tuple(known)
    return Labels(np.array([names.index(sign) if sign != " " else -1 for sign in text], dtype=np.int32), names)


def numbers(values):
    found = np.array(values, dtype=float)
    return Numbers(found, found, found)


def beliefs(rows):
    return csr_matrix(np.array(rows, dtype=float))


def test_a_guess_of_a_label_is_right_if_it_is_the_label():
    secret = SensitiveAttribute.of("s", labels("ab c"), labels("aab"), labels("bb"))
    assert secret.size == 2 and secret.shares == pytest.approx([2 / 3, 1 / 3])
    guess = np.array([0, 0, 0, 1])
    assert secret.right(guess, secret.original).tolist() == [1, 0, 0, 0]
    assert secret.original.known.tolist() == [True, True, False, True]


def test_rarity_weights_by_hand():
    """Six people with a secret: a three times, b twice, c once; the share is that among originals and controls."""
    secret = SensitiveAttribute.of("s", labels("aab c"), labels("ab"), labels("ba"))
    mine, base = secret.weights()
    assert mine == pytest.approx([math.log(2), math.log(2), math.log(3), 0, math.log(6)])
    assert base == pytest.approx([math.log(3), math.log(2)])


def test_a_number_is_right_within_its_tolerance():
    secret = SensitiveAttribute.of("s", numbers([100, 104.9, 106, 0]), numbers([100, 0, 250]), None)
    guess = np.searchsorted(secret.values, [100, 100, 100, 0])
    assert secret.right(guess, secret.original).tolist() == [1, 1, 0, 1]
    stated = SensitiveAttribute.of("s", numbers([100, 103, 103.5]), numbers([100]), None, 3.0)
    assert stated.right(np.zeros(3, dtype=np.int64), stated.original).tolist() == [1, 1, 0]


@pytest.mark.parametrize("tolerance", [None, 0.0, 2.0, 50.0])
def test_everybody_in_a_cell_is_right_for_its_number(tolerance):
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(0, 200, 500), rng.lognormal(5, 2, 500), np.zeros(5)])
    secret = SensitiveAttribute.of("s", numbers(values), numbers(values), None, tolerance)
    assert secret.right(secret.released, secret.original).all()


def test_many_labels_that_are_numbers_are_numbers():
    names = tuple(sorted(str(item) for item in range(40)))
    column = Labels(np.arange(40, dtype=np.int32), names)
    assert SensitiveAttribute.of("s", column, column, None).kind == "number"
    few = Labels(np.arange(20, dtype=np.int32), names[:20])
    assert SensitiveAttribute.of("s", few, few, None).kind == "category"


def test_guesses_by_hand():
    """Beliefs 0.6 and 0.4: a draw is right with 0.6 for a; the best guess is a; by rarity b, which one in ten has."""
    secret = SensitiveAttribute.of("s", labels("ab"), labels("aaaaaaaaab"), None)
    known = beliefs([[0.6, 0.4], [0.6, 0.4]])
    assert drawn_hits(known, secret, secret.original) == pytest.approx([0.6, 0.4])
    assert best_hits(known, secret, secret.original, by_rarity=False).tolist() == [1, 0]
    # 0.6 · -log 0.9 = 0.06 is less than 0.4 · -log 0.1 = 0.92.
    assert best_hits(known, secret, secret.original, by_rarity=True).tolist() == [0, 1]


def test_tied_guesses_share_the_hit_and_nothing_known_means_the_commonest_value():
    secret = SensitiveAttribute.of("s", labels("aba"), labels("aab"), None)
    known = beliefs([[0.5, 0.5], [0.5, 0.5], [0, 0]])
    assert best_hits(known, secret, secret.original, by_rarity=False).tolist() == [0.5, 0.5, 1]
    assert commonest_hits(secret, secret.original, by_rarity=False).tolist() == [1, 0, 1]


def test_a_guess_of_a_number_gathers_the_neighbours_within_its_tolerance():
    """99, 100 and 101 have 0.2 each and are near each other; 300 has 0.4 and is alone."""
    secret = SensitiveAttribute.of("s", numbers([100, 300]), numbers([96, 100, 104, 300]), None, 5.0)
    known = beliefs([[0.2, 0.2, 0.2, 0.4]] * 2)
    assert secret.values.tolist() == [96, 100, 104, 300]
    assert best_hits(known, secret, secret.original, by_rarity=False).tolist() == [1, 0]


def test_scores_and_attributable_by_hand():
    """Originals right with weights 1 and 3 of 5, controls with 1 of 4: (0.8 - 0.25) / 0.75."""
    mine = Hits(np.array([1.0, 1.0, 0.0]), np.array([1.0, 3.0, 1.0]))
    base = Hits(np.array([1.0, 0.0]), np.array([1.0, 3.0]))
    assert mine.score == pytest.approx(0.8) and base.score == pytest.approx(0.25)
    assert attributable(mine, base) == pytest.approx(0.55 / 0.75)
    assert attributable(mine, None) is None
    assert mine.size == pytest.approx(25 / 11) and mine.heaviest == 1


def test_nothing_is_attributed_where_controls_are_right_for_more_than_98_in_100():
    ones, few = np.ones(100), np.r_[np.ones(98), np.zeros(2)]
    weight = np.ones(100)
    assert attributable(Hits(ones, weight), Hits(np.r_[np.ones(99), 0.0], weight)) is None
    assert attributable_ends(Hits(ones, weight), Hits(np.r_[np.ones(99), 0.0], weight), 0.95) is None
    assert attributable(Hits(ones, weight), Hits(few, weight)) == pytest.approx(1.0)


def test_intervals_need_twenty_people():
    weight = np.ones(19)
    assert score_ends(Hits(np.ones(19), weight), 0.95) is None
    assert score_ends(Hits(np.ones(20), np.ones(20)), 0.95) is not None


def test_units_that_are_right_together_widen_the_interval():
    rng = np.random.default_rng(5)
    hit = np.repeat((rng.random(100) < 0.5).astype(float), 4)
    alone, base = Hits(hit, np.ones(400)), Hits(np.repeat([0.0, 1.0], 200), np.ones(400), np.arange(400) + 100)
    unit = np.repeat(np.arange(100), 4)
    wide = attributable_ends(Hits(hit, np.ones(400), unit), base, 0.95, alike=True)
    narrow = attributable_ends(alone, Hits(base.hit, base.weight), 0.95)
    assert wide[1] - wide[0] > 1.3 * (narrow[1] - narrow[0])


def test_attributable_intervals_cover():
    """In 400 worlds with weights, the 95% interval holds the true figure in at least 92% of them."""
    rng = np.random.default_rng(8)
    values, inside = np.array([0.7, 0.2, 0.1]), 0
    right, wrong = np.array([0.9, 0.5, 0.3]), np.array([0.5, 0.3, 0.1])
    weights = -np.log(values)
    worth = values * weights
    mine, base = (float(worth @ chance / worth.sum()) for chance in (right, wrong))
    truth = (mine - base) / (1 - base)
    for _ in range(400):
        parts = []
        for chance in (right, wrong):
            who = rng.choice(3, 300, p=values)
            parts.append(Hits((rng.random(300) < chance[who]).astype(float), weights[who]))
        low, high = attributable_ends(*parts, 0.95)
        inside += low <= truth <= high
    assert inside >= 0.92 * 400


# --- Attackers against loops --------------------------------------------------------------------------------------

SPECS = (
    ColumnSpec("age", "quasi_identifier", "numeric"),
    ColumnSpec("town", "quasi_identifier", "category"),
    ColumnSpec("job", "attribute", "category"),
)


def tables(rng, rows, *, noise=0):
    """Age, town and job, with some missing towns."""
    town = np.where(rng.random(rows) < 0.1, -1, rng.integers(0, 4, rows)).astype(np.int32)
    age = rng.integers(20, 40, rows) + noise
    return {
        "age": numbers(age),
        "town": Labels(town, tuple("nsew")),
        "job": Labels(rng.integers(0, 5, rows).astype(np.int32), tuple("abcde")),
    }


def world(seed, rows=60):
    rng = np.random.default_rng(seed)
    original, control = tables(rng, rows), tables(rng, rows - 7)
    kept = rng.permutation(np.r_[np.arange(rows), rng.integers(0, rows, 20)])
    released = {name: column.take(kept) for name, column in original.items()}
    released["age"] = numbers(released["age"].values + rng.integers(0, 2, len(kept)))
    text = rng.choice(list("aabbc "), rows)
    secret = labels("".join(text))
    other = labels("".join(rng.choice(list("aabbcd"), rows - 7)))
    pair = Pair(
        Table("original", rows, SPECS, original),
        Table("protected", len(kept), SPECS, released),
        Table("control", rows - 7, SPECS, control),
    )
    return pair, SensitiveAttribute.of("s", secret, secret.take(kept), other)


LINKERS = {
    "rarity": Attacker(alignment="release", similarity=Rarity()),
    "cosine": Attacker(),
    "euclidean": Attacker(similarity="euclidean", projection="identity", threshold="false_rate"),
}


def profile_of(table, row):
    def cell(column):
        if isinstance(column, Labels):
            return int(column.codes[row])
        return None if np.isnan(column.values[row]) else float(column.values[row])

    return tuple(cell(column) for column in table.columns.values())


def neighbours(done, people, secret, k):
    """For each person, the k best released profiles: their score, and the secrets of their records."""
    released = done.protected
    records = {}
    for row in range(released.rows):
        if secret.released[row] >= 0:
            records.setdefault(profile_of(released, row), []).append(row)
    scorer = done.representation.scorer(people, released)
    found = []
    for person in range(people.rows):
        scores = []
        for rows in records.values():
            score = float(scorer.pairs(np.array([person]), np.array([rows[0]]))[0])
            scores.append((score, [int(secret.released[row]) for row in rows]))
        scores.sort(key=lambda item: -item[0])
        found.append((scores[:k], scores))
    return found


def oracle_best(found):
    """The shares of secrets among all records that tie for the best score."""
    shares = []
    for _, scores in found:
        tied = [value for score, values in scores if score >= scores[0][0] - 1e-6 for value in values]
        shares.append({value: tied.count(value) / len(tied) for value in set(tied)})
    return shares


def oracle_vote(found, scale):
    shares = []
    for nearest_ones, _ in found:
        weights = {}
        for score, values in nearest_ones:
            for value in values:
                weights[value] = weights.get(value, 0) + math.exp((score - nearest_ones[0][0]) / scale)
        total = sum(weights.values())
        shares.append({value: weight / total for value, weight in weights.items()})
    return shares


def dense(shares, size):
    return np.array([[row.get(value, 0.0) for value in range(size)] for row in shares])


@pytest.mark.parametrize("linker", LINKERS)
@pytest.mark.parametrize("seed", [1, 2][:: examples_apart(2)])
def test_best_candidate_and_vote_are_those_of_loops(linker, seed):
    pair, secret = world(seed)
    done = attack(pair, LINKERS[linker])
    links = LinkGuesses.of(done, secret.released >= 0)
    loops = {"original": neighbours(done, done.original, secret, attackers.NEAREST)}
    loops["control"] = neighbours(done, done.control, secret, attackers.NEAREST)
    gaps = [item[0][0][0] - item[0][1][0] for both in loops.values() for item in both]
    scale = 1.0 if linker == "rarity" else float(np.median([gap for gap in gaps if gap > 0]))
    assert links.scale == pytest.approx(scale)
    best, vote = links.best(secret), links.vote(secret)
    for table, found in loops.items():
        assert getattr(best, table).toarray() == pytest.approx(dense(oracle_best(found), secret.size))
        # A tie at the last of the nearest profiles may be cut either way.
        cut = [len(scores) > len(near) and scores[len(near)][0] > near[-1][0] - 1e-9 for near, scores in found]
        rows = np.flatnonzero(~np.array(cut))
        expected = dense(oracle_vote(found, scale), secret.size)
        assert getattr(vote, table).toarray()[rows] == pytest.approx(expected[rows])
        assert len(rows) >= 3


@pytest.mark.parametrize("most_bits", [14, 0], ids=["patterns", "sums"])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_compiled_search_finds_the_same(gaps, most_bits, monkeypatch):
    pair, secret = world(4, 200)
    columns = pair.protected.columns
    if gaps:
        empty = np.random.default_rng(1).random(pair.protected.rows) < 0.2
        columns = {**columns, "town": Labels(np.where(empty, -1, columns["town"].codes), columns["town"].labels)}
    else:
        columns = {name: column.take(np.flatnonzero(column.known())[:100]) for name, column in columns.items()}
        secret = replace(secret, released=secret.released[:100])
    pair = replace(pair, protected=replace(pair.protected, rows=len(secret.released), columns=columns))
    done = attack(pair, LINKERS["rarity"])
    plain = LinkGuesses.of(done, secret.released >= 0)
    monkeypatch.setattr(attackers, "COMPILED", 0)
    monkeypatch.setattr(compiled_nearest, "MOST_BITS", most_bits)
    compiled = LinkGuesses.of(done, secret.released >= 0)
    for one, other in ((plain.original, compiled.original), (plain.control, compiled.control)):
        assert np.array_equal(one.score, other.score)
        assert np.array_equal(one.profile, other.profile)


def compatible(value, cell):
    """Whether a released cell allows a value: None is missing, a pair is an interval."""
    if value is None or cell is None:
        return True
    return cell[0] <= value <= cell[1] if isinstance(cell, tuple) else value == cell


@pytest.mark.parametrize("seed", range(4))
def test_the_compatible_class_is_that_of_loops(seed):
    rng = np.random.default_rng(seed)
    pair, secret = world(seed + 10)
    released = dict(pair.protected.columns)
    middle = released["age"].values
    low = np.where(rng.random(len(middle)) < 0.7, middle // 5 * 5, np.nan)
    released["age"] = Numbers(low + 2.5, low, low + 5) if seed % 2 else released["age"]
    protected = Table("protected", pair.protected.rows, SPECS, released)
    people = AlignedPeople.of(pair.original, protected, pair.control)
    names = ("age", "town", "job") if seed < 2 else ("age", "town")
    found = people.compatible_class(names, secret)

    def cells(table, row, name):
        column = table.columns[name]
        if isinstance(column, Labels):
            return None if column.codes[row] < 0 else int(column.codes[row])
        if np.isnan(column.values[row]):
            return None
        ends = float(column.low[row]), float(column.high[row])
        return ends[0] if ends[0] == ends[1] else ends

    for table, got in ((pair.original, found.original), (pair.control, found.control)):
        expected = np.zeros((table.rows, secret.size))
        for person in range(table.rows):
            for row in range(protected.rows):
                allowed = all(compatible(cells(table, person, name), cells(protected, row, name)) for name in names)
                if allowed and secret.released[row] >= 0:
                    expected[person, secret.released[row]] += 1
            expected[person] /= max(1, expected[person].sum())
        assert got.toarray() == pytest.approx(expected)


@pytest.mark.parametrize("score", ["accuracy", "rarity_weighted"])
def test_rows_are_those_of_loops(score):
    """Scores of the vote on some of the people, by sums over people."""
    pair, secret = world(7)
    done = attack(pair, LINKERS["rarity"])
    vote = LinkGuesses.of(done, secret.released >= 0).vote(secret)
    asked = Queries(np.arange(pair.original.rows), np.arange(pair.control.rows))
    (row,) = [
        row
        for row in inference_rows(score_beliefs("vote", ("age",), vote, secret, asked), 0.95, alike=False)
        if row.score == score
    ]
    rare = [1.0] * secret.size if score == "accuracy" else [-math.log(share) for share in secret.shares]
    everybody = [code for truth in (secret.original, secret.control) for code in truth.codes if code >= 0]
    shares = {}
    for table, truth, told in (("original", secret.original, vote.original), ("control", secret.control, vote.control)):
        total = hits = 0.0
        for person, weights in enumerate(told.toarray()):
            if truth.codes[person] < 0:
                continue
            worth = [weight * rare[value] for value, weight in enumerate(weights)]
            tied = [value for value in range(secret.size) if worth[value] >= max(worth) * (1 - 1e-9)]
            own = 1.0 if score == "accuracy" else -math.log(everybody.count(truth.codes[person]) / len(everybody))
            total += own
            hits += own * (truth.codes[person] in tied) / len(tied)
        shares[table] = hits / total
    assert row.originals == pytest.approx(shares["original"])
    assert row.controls == pytest.approx(shares["control"])
    assert row.attributable == pytest.approx((shares["original"] - shares["control"]) / (1 - shares["control"]))
    assert row.attributable_low < row.attributable < row.attributable_high


def test_the_models_join_the_vote_by_how_far_the_best_profile_is_ahead():
    pair, secret = world(3)
    done = attack(pair, LINKERS["rarity"])
    links = LinkGuesses.of(done, secret.released >= 0)
    people = AlignedPeople.of(done.held, done.protected, done.held_control)
    names = ("age", "town", "job")
    told = [people.model(name, names, secret, seed=1, workers=1) for name in models.MODELS]
    joined, vote = links.joined(secret, told), links.vote(secret)
    for table in ("original", "control"):
        scores = getattr(links, table).score
        parts = [getattr(item, table).toarray() for item in (vote, *told)]
        for person in range(len(scores)):
            weights = [math.exp(score - scores[person][0]) for score in scores[person] if score > -math.inf]
            ahead = 1 / sum(weights)
            expected = ahead * parts[0][person] + (1 - ahead) * (parts[1][person] + parts[2][person]) / 2
            assert getattr(joined, table).toarray()[person] == pytest.approx(expected)


def test_all_secrets_of_the_best_candidate_are_those_of_loops():
    pair, secret = world(5)
    rng = np.random.default_rng(9)
    second = labels("".join(rng.choice(list("gh"), pair.original.rows)))
    release = labels("".join(rng.choice(list("gh"), pair.protected.rows)))
    other = SensitiveAttribute.of("t", second, release, labels("".join(rng.choice(list("gh"), pair.control.rows))))
    done = attack(pair, LINKERS["rarity"].model_copy(update={"knows": ("town", "job")}))
    kept = secret.released >= 0
    links = LinkGuesses.of(done, kept)
    found = links.together([secret, other], [[secret.original, other.original], [secret.control, other.control]])
    for at, table in enumerate((done.original, done.control)):
        scorer = done.representation.scorer(table, done.protected)
        truths = (secret.original, other.original) if at == 0 else (secret.control, other.control)
        for person in range(table.rows):
            rows = np.flatnonzero(kept)
            scores = scorer.pairs(np.full(len(rows), person), rows)
            tied = rows[scores >= scores.max() - 1e-6]
            right = [
                secret.released[row] == truths[0].codes[person] and other.released[row] == truths[1].codes[person]
                for row in tied
            ]
            assert found[at][person] == pytest.approx(np.mean(right))


# --- Models, baselines and known columns ---------------------------------------------------------------------------


def test_a_model_learns_from_the_release():
    """The secret is the town: every model finds it, for people who are not in the release too."""
    pair, _ = world(11, 400)
    town = pair.original.columns["town"], pair.protected.columns["town"], pair.control.columns["town"]
    secret = SensitiveAttribute.of("town", *town)
    people = AlignedPeople.of(pair.original, pair.protected, pair.control)
    for name in models.MODELS:
        found = people.model(name, ("age", "town", "job"), secret, seed=1, workers=2)
        mine, base = found.hits(secret, secret.original, secret.control, by_rarity=False)
        assert mine[secret.original.known].mean() > 0.99 and base[secret.control.known].mean() > 0.99


def test_numbers_of_many_values_are_regressed():
    pair, _ = world(12, 400)
    values = [
        numbers(table.columns["age"].values ** 2 * 10 + np.arange(table.rows) % 7 * 50)
        for table in (pair.original, pair.protected, pair.control)
    ]
    secret = SensitiveAttribute.of("pay", *values, 100.0)
    assert secret.size > models.CLASSES
    people = AlignedPeople.of(pair.original, pair.protected, pair.control)
    found = people.model("boosted_trees", ("age", "town"), secret, seed=1, workers=1)
    mine, _ = found.hits(secret, secret.original, secret.control, by_rarity=False)
    assert mine.mean() > 0.3


def test_the_model_of_controls_is_cross_fitted():
    """Secrets are random, and a key tells controls apart: a model tested on its own people would be right."""
    rng = np.random.default_rng(2)
    rows = 300
    key = ColumnSpec("key", "attribute", "numeric")
    made = {name: Table(name, rows, (key,), {"key": numbers(rng.random(rows))}) for name in ("original", "control")}
    drawn = [labels("".join(rng.choice(list("ab"), rows))) for _ in range(3)]
    secret = SensitiveAttribute.of("s", *drawn)
    asked = np.arange(rows)
    found = control_model(secret, ("key",), made["original"], made["control"], asked, None, seed=1, workers=1)
    own = found.hits(secret, secret.original, secret.control, by_rarity=False)
    assert all(abs(hits.mean() - 0.5) < 0.1 for hits in own)
    codes = models.truth_codes(secret, secret.control)
    features = models.Features.of(made["control"], ("key",))
    seen = models.train("forest", features(made["control"]), codes, secret, categorical=[False], seed=1)
    assert best_hits(seen.beliefs(features(made["control"])), secret, secret.control, by_rarity=False).mean() > 0.8


def test_the_commonest_value_is_the_baseline_of_both_scores():
    secret = SensitiveAttribute.of("s", labels("aaab"), labels("aaaaab"), labels("ab"))
    rows = {row.score: row for row in baseline_rows(secret, Queries(np.arange(4), np.arange(2)), None)}
    assert rows["accuracy"].originals == 0.75 and rows["accuracy"].controls == 0.5
    # By rarity b is guessed: 1/6 · log 6 is more than 5/6 · log 1.2.
    weight = {"a": math.log(6 / 4), "b": math.log(6 / 2)}
    expected = weight["b"] / (3 * weight["a"] + weight["b"])
    assert rows["rarity_weighted"].originals == pytest.approx(expected)


def test_mutual_information_by_hand():
    """Equal columns tell log 2 of each other, minus what chance would; unrelated ones nothing."""
    one = np.array([0, 0, 1, 1] * 25)
    assert mutual_information(one, one) == pytest.approx(math.log(2) - 1 / 200)
    assert mutual_information(one, np.array([0, 1, 0, 1] * 25)) == pytest.approx(-1 / 200)


def test_known_columns_are_asked_in_nested_sets():
    """Of the town only the town tells; sets hold the first of a ranking, in the order of the table."""
    pair, _ = world(13, 300)
    town = pair.original.columns["town"], pair.protected.columns["town"], None
    secret = SensitiveAttribute.of("s", *town)
    ranked = columns_by_information(pair.protected, ("age", "town", "job"), secret, np.random.default_rng(1))
    assert ranked[0] == "town"
    sets = nested_sets(("a", "b", "c", "d", "e"), ("d", "a", "e", "c", "b"), (1, 3 / 4, 1 / 2, 1 / 4))
    assert sets == [("a", "b", "c", "d", "e"), ("a", "c", "d", "e"), ("a", "d", "e"), ("a", "d")]


@pytest.mark.parametrize("linker", ["rarity", "cosine"])
def test_gains_are_those_of_searches_without_each_column(linker):
    pair, secret = world(14, 200)
    done = attack(pair, LINKERS[linker])
    links = LinkGuesses.of(done, secret.released >= 0)
    rows = np.arange(0, 200, 4), np.arange(0, 190, 4)
    truths = secret.original.take(rows[0]), secret.control.take(rows[1])
    names = ("age", "town", "job")

    def again(column):
        return attack(pair, LINKERS[linker].model_copy(update={"knows": tuple(set(names) - {column})}))

    found = gains(links, secret, rows, truths, again)

    def gain(one):
        hits = one.vote(secret).hits(secret, secret.original, secret.control, by_rarity=False)
        shares = [hit[some][truth.known].mean() for hit, some, truth in zip(hits, rows, truths, strict=True)]
        return shares[0] - shares[1]

    def gain_by_sums(left_out):
        """The vote of the nearest profiles by the other columns' part of the scores."""
        shares = []
        for table, some, truth in zip((done.original, done.control), rows, truths, strict=True):
            scorer, hits = done.representation.scorer(table, done.protected).agreement, []
            first = links.profiles.first
            for person, code in zip(some[truth.known], truth.codes[truth.known], strict=True):
                who = np.full(len(first), person)
                scores = scorer.pairs(who, first)
                if left_out is not None:
                    scores = scores - scorer.added_by(left_out, who, first)
                order = sorted(range(len(first)), key=lambda at: (-round(scores[at], 9), at))[: attackers.NEAREST]
                votes = np.zeros(secret.size)
                for at in order:
                    for row in np.flatnonzero((links.profiles.of == at) & (secret.released >= 0)):
                        votes[secret.released[row]] += math.exp(scores[at] - scores[order[0]])
                tied = np.flatnonzero(votes >= votes.max() * (1 - 1e-9))
                hits.append((code in tied) / len(tied))
            shares.append(np.mean(hits))
        return shares[0] - shares[1]

    for column in names:
        if linker == "cosine":
            expected = gain(links) - gain(LinkGuesses.of(again(column), secret.released >= 0))
            # The scale is the median over the people who are searched for, here some of them.
            assert found[column] == pytest.approx(expected, abs=0.06)
        else:
            assert found[column] == pytest.approx(gain_by_sums(None) - gain_by_sums(column))
    assert (gains(links, secret, rows, truths, None) is None) == (linker == "cosine")
    assert set(found) == set(names)


def test_a_unit_is_in_one_fold_also_if_it_is_in_both_tables():
    """Households 20 to 24 have originals and controls."""
    units = np.repeat(np.arange(25), 4), np.arange(20, 120)
    folds = draw_folds(100, 100, units, 10, np.random.default_rng(1))
    of_unit = {}
    for unit, fold in zip(np.concatenate(units), np.concatenate([folds.original, folds.control]), strict=True):
        assert of_unit.setdefault(int(unit), fold) == fold
    assert np.bincount(folds.original, minlength=FOLDS).min() >= 24
    for fold, (mine, base) in enumerate(folds.ranking):
        assert len(mine) == len(base) == 10
        assert (folds.original[mine] == fold).all() and (folds.control[base] == fold).all()
    assert draw_folds(100, 2, None, 10, np.random.default_rng(1)) is None


def test_a_person_is_read_by_the_choices_of_other_folds():
    """Each choice is right for the people who made it only: nobody profits from a choice of their own."""
    fold = np.array([0, 1, 2, 3, 0])
    own = [(fold == at).astype(float) for at in range(FOLDS)]
    assert read_apart(own, fold).tolist() == [0] * 5
    assert read_apart([1 - one for one in own], fold).tolist() == [1] * 5
    assert read_apart([np.array([0.0, 0.0]), *[np.array([1.0, 0.0])] * 3], np.array([1, 0])).tolist() == [2 / 3, 0]


def test_choices_of_the_same_columns_are_one_attack_and_add_nothing_to_the_interval():
    pair, secret = world(7)
    vote = LinkGuesses.of(attack(pair, LINKERS["rarity"]), secret.released >= 0).vote(secret)
    rows = np.arange(pair.original.rows), np.arange(pair.control.rows)
    folds = draw_folds(*map(len, rows), None, 400, np.random.default_rng(1))
    same = scored_by_choice("vote", [("age",)] * FOLDS, lambda _: vote, secret, Queries(*rows, None, folds))
    alone = score_beliefs("vote", ("age",), vote, secret, Queries(*rows))
    assert inference_rows(same, 0.95, alike=False) == inference_rows(alone, 0.95, alike=False)
    apart = scored_by_choice(
        "vote", [("age",), ("town",), ("age",), ("age",)], lambda _: vote, secret, Queries(*rows, None, folds)
    )
    # The columns differ, but what they tell does not.
    assert inference_rows(apart, 0.95, alike=False) == inference_rows(alone, 0.95, alike=False)


def test_the_error_of_a_choice_by_hand():
    assert choice_error([0.5, 0.7]) == pytest.approx(0.1)
    assert choice_error([0.4]) == choice_error([0.4] * 4) == 0
    assert widen_for_choice((0.4, 0.7), 0.5, 0.0, 100, 0.95) == (0.4, 0.7)
    low, high = widen_for_choice((0.4, 0.6), 0.5, 0.05, 1e6, 0.95)
    # The error among people is 0.1 / 1.96, so there are 12 degrees of freedom: 2.179 instead of 1.960.
    assert high - 0.5 == pytest.approx(0.5 - low) == pytest.approx(2.179 * math.hypot(0.1 / 1.960, 0.05), abs=5e-4)


def test_intervals_hold_the_expected_figure_over_people_and_choices():
    """Each choice of columns is right for 30%, 50% or 70% of the originals; the truth is the mean, 50%."""
    rng, held, below, above = np.random.default_rng(5), 0, 0, 0
    people, draws = 200, 400
    fold = np.arange(people) % FOLDS
    for _ in range(draws):
        luck, base = rng.random(people), (rng.random(people) < 0.2).astype(float)
        by_choice = [(luck < share).astype(float) for share in rng.choice([0.3, 0.5, 0.7], FOLDS)]
        controls = Hits(base, np.ones(people))
        choices = tuple((Hits(one, np.ones(people)), controls) for one in by_choice)
        sets = tuple((f"column {at}",) for at in range(FOLDS))
        one = ScoredAttack(
            "vote", sets, "accuracy", Hits(read_apart(by_choice, fold), np.ones(people)), controls, choices
        )
        (row,) = inference_rows([one], 0.95, alike=False)
        low, high = row.attributable_low, row.attributable_high
        truth = (0.5 - 0.2) / (1 - 0.2)
        held, below, above = held + (low <= truth <= high), below + (high < truth), above + (low > truth)
    assert held >= 0.93 * draws and 0 < below < 0.06 * draws and 0 < above < 0.06 * draws


def test_tolerances_are_stated_or_a_share():
    assert Tolerance(share=0.05).around(np.array([-100.0, 0.0])) == pytest.approx([5, 0])
    assert Tolerance(absolute=2.0).around(np.array([-100.0, 0.0])) == pytest.approx([2, 2])


def test_the_features_of_a_model_are_ranks_of_labels_and_numbers_as_they_are():
    """The release has b three times and a once; c and a missing value have no feature."""
    specs = (ColumnSpec("s", "attribute", "category"), ColumnSpec("n", "attribute", "numeric"))
    release, asked = (
        Table(name, len(text), specs, {"s": labels(text), "n": numbers(values)})
        for name, text, values in (("protected", "abbb", [1, 2, 3, 4]), ("original", "bac ", [7, 8, 9, np.nan]))
    )
    features = models.Features.of(release, ["s", "n"])
    assert features.categorical == (True, False)
    expected = [[0, 7], [1, 8], [np.nan, 9], [np.nan, np.nan]]
    np.testing.assert_array_equal(features(asked), expected)


def test_the_code_of_a_person_is_the_value_of_the_release_or_the_nearest_number():
    by_label = SensitiveAttribute.of("s", labels("ab c"), labels("aab"), None)
    assert models.truth_codes(by_label, by_label.original).tolist() == [0, 1, -1, -1]
    by_number = SensitiveAttribute.of("s", numbers([1, 6, 5, np.nan]), numbers([0, 10]), None)
    values = by_number.values[models.truth_codes(by_number, by_number.original)[:3]]
    assert values.tolist() == [0, 10, 0]
    assert models.truth_codes(by_number, by_number.original)[3] == -1
