"""Parts of singling out and of trials, each on its own."""

from __future__ import annotations

import sys
from math import comb
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.evaluation.rates import power_at
from cvpl.evaluation.singling_out import compiled_tally, predicates
from cvpl.evaluation.singling_out.codes import SharedCodes, Tally
from cvpl.evaluation.singling_out.column_sets import SearchedSets, SizedSets
from cvpl.evaluation.singling_out.predicates import (
    QueryTable,
    SeenRelease,
    among_as_many,
    predicate_outcomes,
    write_predicates,
)
from cvpl.evaluation.trials import people as trials_exposure
from cvpl.evaluation.trials.budget import largest_gaussian_power
from cvpl.evaluation.trials.one_run import guess_plans, log_half, p_value
from cvpl.evaluation.trials.rounds import TwoWayError, power_over_draws


def test_an_ordered_value_is_asked_for_on_its_side_of_the_median():
    cells = SimpleNamespace(low=np.array([1.0, 5.0, 9.0, np.nan]), high=np.array([1.0, 6.0, 9.0, np.nan]))
    release = SeenRelease(SimpleNamespace(columns=[cells, cells]), (), (5.0, 5.0), (True, False))
    assert [release.condition(0, row).relation for row in range(4)] == ["<=", "<=", ">=", "missing"]
    assert [release.condition(1, row).relation for row in range(4)] == ["=", "=", "=", "missing"]
    assert release.condition(0, 2, equal=True).relation == "="


def test_values_of_one_record_are_asked_for_before_values_of_several():
    """Twenty values occur once and two hundred twice: all twenty are found, whichever are drawn."""
    values = np.sort(np.append(np.arange(20.0), np.repeat(np.arange(20.0, 220.0), 2)))
    column = SimpleNamespace(low=values, high=values)
    meeting = lambda predicate, _: np.flatnonzero(values == predicate[0].low)  # noqa: E731 - what a table answers
    release = SeenRelease(SimpleNamespace(columns=[column], rows=len(values), meeting=meeting), (), (0.0,), (False,))
    found = write_predicates(release, 1, 20, np.random.default_rng(0))
    assert sorted(predicate[0].low for predicate in found) == list(range(20))


def test_a_predicate_in_a_larger_control_is_met_by_as_many_as_would_be_kept():
    def meeting(count, most):
        return np.arange(count)[: None if most is None else most + 1]

    larger, smaller = (SimpleNamespace(rows=rows, meeting=meeting) for rows in (100, 50))
    wanted = [0.0, 0.5, 2 * 0.5 * 0.5, 5 * 0.5 * 0.5**4]
    np.testing.assert_allclose(among_as_many([0, 1, 2, 5], larger, 50), wanted)
    assert among_as_many([0, 1, 2, 5], smaller, 50).tolist() == [0, 1, 0, 0]


def test_plans_of_ten_guesses_are_tried():
    found = [(plan.guessed_in, plan.guessed_out) for plan in guess_plans("x", 100) if plan.direction == "low"]
    shares = (0, 1, 2, 5, 10, 20, 30, 40)
    assert found == [(one, other) for one in shares for other in shares if one + other >= 10]


def test_two_draws_of_twenty_people_have_a_spread_and_fewer_do_not():
    scores = np.random.default_rng(4).normal(size=(2, 20, 2))
    found = power_over_draws(*scores, 0.05)
    assert found.by_draw == tuple(power_at(*scores[:, :, draw], 0.05) for draw in range(2))
    with pytest.raises(ValueError, match="1 draw: the spread over draws needs at least 2"):
        power_over_draws(*scores[:, :, :1], 0.05)
    with pytest.raises(ValueError, match="a draw has scores for 19 controls; at least 20 are needed"):
        power_over_draws(scores[0], scores[1, 1:], 0.05)


def test_a_second_record_is_looked_for_after_the_first_was_found():
    """Records come in two parts, each with one that meets the condition."""
    parts = [np.array([0]), np.array([7])]
    column = SimpleNamespace(
        candidates=lambda _: [slice(0, 2)], rows=lambda _: parts, meets=lambda rows, _: np.ones(len(rows), dtype=bool)
    )
    table = SimpleNamespace(columns=[column], rows=1_000_000)
    assert QueryTable.meeting(table, (SimpleNamespace(column=0),), 1).tolist() == [0, 7]
    assert QueryTable.meeting(table, (SimpleNamespace(column=0),), 0).tolist() == [0]


@pytest.mark.parametrize(("missing", "wanted"), [(0, []), (1, ["missing"]), (2, [])])
def test_a_single_missing_value_singles_out(missing, wanted):
    values = np.append(np.repeat(np.arange(5.0), 2), [np.nan] * missing)
    meeting = lambda *_: np.arange(missing)  # noqa: E731 - what a table answers
    tested = SimpleNamespace(columns=[SimpleNamespace(low=values, high=values)], rows=len(values), meeting=meeting)
    found = write_predicates(SeenRelease(tested, (), (0.0,), (False,)), 1, 20, np.random.default_rng(0))
    assert [predicate[0].relation for predicate in found] == wanted


@pytest.mark.parametrize(("count", "has_interval"), [(19, False), (20, True)])
def test_a_rate_of_twenty_predicates_has_an_interval(count, has_interval):
    people = SimpleNamespace(rows=50, meeting=lambda number, _: np.array([number] if number % 2 else []))
    found = predicate_outcomes(1, list(range(count)), people, None, None, 0.95)
    assert found.rate == (count // 2) / count
    assert (found.interval is not None) == has_interval
    others = SimpleNamespace(rows=40, meeting=lambda number, _: np.array([number] if number % 4 == 1 else []))
    found = predicate_outcomes(1, list(range(count)), people, others, None, 0.95)
    assert found.attributable == pytest.approx((found.rate - 5 / count) / (1 - 5 / count))
    assert (found.attributable_interval is not None) == has_interval


@pytest.mark.parametrize(("coins", "ways"), [(2, 2), (4, 6), (10, 252)])
def test_half_of_the_coins_fall_on_one_side_with_the_binomial_probability(coins, ways):
    assert np.exp(log_half(coins)) == pytest.approx(ways / 2**coins)


@pytest.mark.parametrize("settings", [{"sampling": 0.0}, {"sampling": 1.01}, {"steps": 0}])
def test_a_gaussian_budget_is_refused_if_nobody_would_be_sampled(settings):
    with pytest.raises(ValueError, match="sampling above 0 and at most 1"):
        largest_gaussian_power(1.0, 0.05, **settings)


@pytest.mark.parametrize(("fewest", "refused"), [(10, False), (11, True)])
def test_ten_of_the_most_exposed_in_each_role_are_enough(fewest, refused, monkeypatch):
    """Of 200 people twenty are always linked when in, and ten of these are in each of eight rounds."""
    monkeypatch.setattr(trials_exposure, "FEWEST_EXPOSED", fewest)
    inside = np.zeros((200, 8), dtype=bool)
    inside[:20] = (np.arange(20)[:, None] + 5 * np.arange(8)) % 20 < 10
    inside[20:] = np.arange(180)[:, None] % 2 == np.arange(8) % 2
    linked = inside & (np.arange(200) < 20)[:, None]
    found = trials_exposure.exposure(linked, inside, np.random.default_rng(3))
    assert (found.refused is not None) == refused
    if not refused:
        assert (found.most_exposed.when_in.value, found.most_exposed.when_out.value) == (1, 0)


def test_who_was_never_in_is_not_among_the_most_exposed():
    linked = np.zeros((21, 4), dtype=bool)
    linked[[3, 7]] = True
    role = np.ones((21, 4), dtype=bool)
    role[20] = False
    assert np.flatnonzero(trials_exposure.most_linked_tenth(linked, role, np.random.default_rng(0))).tolist() == [3, 7]


def test_as_many_sets_of_columns_as_are_looked_at_are_not_drawn(monkeypatch):
    rng = np.random.default_rng(5)
    codes = tuple(rng.integers(6, size=(4, 30)).astype(np.int32))
    columns = [SimpleNamespace(low=side.astype(float), high=side.astype(float)) for side in codes]
    tested = SimpleNamespace(columns=columns, rows=30, meeting=lambda *_: np.arange(1))
    found = []
    for most in (6, 7, 5):
        monkeypatch.setattr(predicates, "SETS", most)
        release = SeenRelease(tested, codes, (0.0,) * 4, (False,) * 4)
        found.append(predicates.predicates_of_uniques(release, 2, 8, np.random.default_rng(0)))
    assert found[0] == found[1] != found[2]


def test_half_of_the_predicates_are_drawn():
    """Every record meets its own predicate alone, so all that are wanted are found."""
    codes = tuple(np.random.default_rng(side).permutation(40).astype(np.int32) for side in range(3))
    columns = [SimpleNamespace(low=side.astype(float), high=side.astype(float)) for side in codes]
    tested = SimpleNamespace(columns=columns, rows=40, meeting=lambda *_: np.arange(1))
    release = SeenRelease(tested, codes, (0.0,) * 3, (False,) * 3)
    assert len(write_predicates(release, 2, 12, np.random.default_rng(0))) == 12


@pytest.mark.parametrize("direct", [1, 1 << 25])
def test_compiled_counts_of_unique_records_are_those_of_numpy(direct, monkeypatch):
    """Combinations with a place of their own, and in a hash table."""
    monkeypatch.setattr(compiled_tally, "DIRECT", direct)
    rng = np.random.default_rng(6)
    codes = SharedCodes(("a", "b", "c"), *(rng.integers(-1, 4, size=(3, size)).astype(np.int32) for size in (45, 52)))
    for columns in ((0,), (0, 1), (0, 1, 2)):
        (flags, counts), (wanted, expected) = (tally(codes)(columns) for tally in (compiled_tally.CompiledTally, Tally))
        assert flags.tolist() == wanted.tolist()
        assert counts == expected
    assert counts.both > 0


@pytest.mark.parametrize("shared", [0, 1 << 14])
@pytest.mark.parametrize("values", [3, 40])
def test_sets_with_the_same_first_columns_are_counted_together_as_one_by_one(shared, values, monkeypatch):
    """Few values leave no record alone by the first columns, and many leave most of them so."""
    monkeypatch.setattr(compiled_tally, "SHARED", shared)
    rng = np.random.default_rng(8)
    sides = (rng.integers(-1, values, size=(5, size)).astype(np.int32) for size in (45, 52))
    codes = SharedCodes(tuple("abcde"), *sides)
    tally, plain = compiled_tally.CompiledTally(codes), Tally(codes)
    for first in ((), (0,), (1, 2), (0, 3)):
        last = tuple(range(first[-1] + 1 if first else 0, 5))
        flags, counts = tally.extended(first, last)
        for at, place in enumerate(last):
            wanted, expected = plain((*first, place))
            assert flags[at].tolist() == wanted.tolist()
            assert counts[at].tolist() == [expected.original, expected.released, expected.both]


def test_the_strongest_sets_are_unique_in_both_tables_then_in_the_originals():
    """Of equal ones the earlier columns come first."""
    columns = np.array([[0, 1], [0, 2], [1, 2]])
    sets = SearchedSets(
        (
            SizedSets(np.zeros((0, 1), dtype=int), np.zeros((0, 3), dtype=int)),
            SizedSets(columns, np.array([[5, 9, 1], [4, 9, 2], [5, 9, 1]])),
        )
    )
    assert len(sets) == 3
    assert [item.columns for item in sets.strongest(2, 2)] == [(0, 2), (0, 1)]
    assert sets.strongest(3, 2) == []


def test_combinations_that_meet_in_a_hash_table_have_places_of_their_own():
    """The number 0 stands first in a table of 8 places, and the next number that belongs there comes after it."""
    mixed = [number * 0x9E3779B97F4A7C15 % 2**64 for number in range(1, 99)]
    other = next(at for at, item in enumerate(mixed, start=1) if (item ^ item >> 29) % 8 == 0)
    keys, seen = np.array([0, other, 0, other]), np.full(8, -1, dtype=np.int64)
    compiled_tally.enter(seen, keys)
    assert (keys[0], keys[1]) == (keys[2], keys[3]) != (keys[1], keys[0])
    assert sorted(seen[seen >= 0]) == [0, other]


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_probability_of_right_guesses_by_hand(delta):
    """Three of four guesses about ten coins: W is binomial, and what delta adds is the most per free guess."""
    q = np.e**0.5 / (1 + np.e**0.5)
    chances = [comb(4, number) * q**number * (1 - q) ** (4 - number) for number in range(5)]
    beyond = sum(chances[3:])
    most = max(sum(chances[3 - free : 3]) / free for free in (1, 2, 3))
    assert p_value(3, 4, 10, 0.5, delta) == pytest.approx(beyond + 2 * 10 * delta * most)


def test_the_interval_over_rounds_is_the_wider_of_two_scales():
    error, t = (
        TwoWayError(people=0.05, draws=0.03, between_people=0.0, draw_logit=0.9, clusters=60, rounds=5),
        2.7764451,
    )
    variance, inner = 0.05**2 + 0.03**2, (0.3 * 60 + t * t / 2) / (60 + t * t)
    skewed = t * np.sqrt(variance / (inner * (1 - inner)) ** 2 + 0.9**4 / (2 * 4))
    logit = np.log(inner / (1 - inner))
    low, high = (1 / (1 + np.exp(-(logit + side * skewed))) for side in (-1, 1))
    wanted = min(low, 0.3 - t * np.sqrt(variance)), max(high, 0.3 + t * np.sqrt(variance))
    assert error.ends(0.3, 0.95) == pytest.approx(wanted, abs=1e-6)
    assert high > 0.3 + t * np.sqrt(variance)


@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_the_bound_of_gaussian_noise_follows_from_the_curve_of_its_accountant(mu, monkeypatch):
    """With the exact curve of one release the power is that of two normal distributions that are mu apart."""
    normal = NormalDist()

    def deltas(epsilons):
        return [normal.cdf(mu / 2 - e / mu) - np.exp(e) * normal.cdf(-mu / 2 - e / mu) for e in epsilons]

    loss = SimpleNamespace(get_delta_for_epsilon=deltas)
    accountant = SimpleNamespace(from_gaussian_mechanism=lambda *_, **__: loss)
    monkeypatch.setitem(sys.modules, "dp_accounting", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", SimpleNamespace(privacy_loss_distribution=accountant))
    for rate in (0.01, 0.05):
        exact = normal.cdf(normal.inv_cdf(rate) + mu)
        assert exact - 1e-9 <= largest_gaussian_power(1 / mu, rate) <= exact + 2e-4
