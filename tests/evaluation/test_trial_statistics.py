"""The statistics of a trial against plain loops, against mechanisms with a known epsilon, and over simulated trials."""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from cvpl.errors import UsageError
from cvpl.evaluation.rates import power_at
from cvpl.evaluation.trials.budget import allowed_powers, largest_gaussian_power, largest_power
from cvpl.evaluation.trials.one_run import SHARES, audit_budget, epsilon_bound, p_value
from cvpl.evaluation.trials.people import exposure, linked_at
from cvpl.evaluation.trials.rounds import TwoWayError, power_over_rounds, two_way_error
from cvpl.randomness import stream
from examples import examples
from own_trial_errors import own_errors, own_wilson

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
T_95 = {1: 12.706205, 3: 3.182446, 7: 2.364624}
"""Student's two-sided 95% quantiles, from a printed table."""
LEAST_COVERED = 183 / 200


@pytest.fixture
def benchmark_module(monkeypatch):
    """A script of benchmarks/, by its name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module
    for name in ("coverage_bench", "coverage_trials", "budget_trials"):
        sys.modules.pop(name, None)


def trial(seed, people=60, rounds=4, lift=1.0, missing=0.0, household=1):
    """Scores and balanced memberships of a small trial."""
    rng = np.random.default_rng(seed)
    clusters = people // household
    halves = [rng.permutation(clusters) < clusters // 2 for _ in range(rounds // 2)]
    inside = np.repeat(np.stack([side for half in halves for side in (half, ~half)], axis=1), household, axis=0)
    scores = np.round(rng.normal(size=inside.shape) + rng.normal(size=(people, 1)) + lift * inside, 1)
    scores[rng.random(scores.shape) < missing] = np.nan
    return scores, inside, np.repeat(np.arange(clusters), household)


# Power over rounds


def own_skewed_ends(by_round, counts, between, clusters, half, t):
    """The interval on the logit scale, with the error of the spread."""
    rounds = len(by_round)
    inner = [(n * f + 0.5) / (n + 1) for n, f in zip(counts, by_round, strict=True)]
    middle = sum(inner) / rounds
    logits = [math.log(x / (1 - x)) for x in inner]
    mean = sum(logits) / rounds
    over = sum((x - mean) ** 2 for x in logits) / (rounds - 1) - between / (middle * (1 - middle)) ** 2
    share = (sum(by_round) / rounds * clusters + t * t / 2) / (clusters + t * t)
    error = math.sqrt((half / t / (share * (1 - share))) ** 2 + max(0.0, over) ** 2 / (2 * (rounds - 1)))
    odds = [share / (1 - share) * math.exp(sign * t * error) for sign in (-1, 1)]
    return tuple(x / (1 + x) for x in odds)


@pytest.mark.parametrize(
    ("seed", "rounds", "missing", "household", "rate", "lift", "few"),
    [
        (0, 4, 0.0, 1, 0.1, 1.0, False),
        (1, 8, 0.1, 1, 0.05, 1.0, False),
        (2, 4, 0.0, 2, 0.2, 1.0, False),
        (3, 2, 0.05, 1, 0.1, 1.0, False),
        (4, 8, 0.0, 1, 0.1, -1.0, True),
        (5, 4, 0.0, 2, 0.1, 4.5, True),
    ],
)
def test_power_and_its_interval_are_those_of_plain_loops(seed, rounds, missing, household, rate, lift, few):
    scores, inside, clusters = trial(seed, people=120, rounds=rounds, missing=missing, household=household, lift=lift)
    found = power_over_rounds(scores, inside, rate, clusters=clusters + 5)
    by_round, people, draws, between = own_errors(scores, inside, list(clusters), rate)
    mean = sum(by_round) / rounds
    assert found.by_round == pytest.approx(by_round)
    assert found.figures.people_error == pytest.approx(math.sqrt(people))
    assert found.figures.draws_error == pytest.approx(math.sqrt(draws))
    assert found.figures.degrees == rounds - 1
    ever = {cluster for cluster, row, own in zip(clusters, scores, inside, strict=True) if not np.isnan(row[own]).all()}
    t, half = T_95[rounds - 1], T_95[rounds - 1] * math.sqrt(max(people + draws - between / rounds, people, draws))
    counts = [
        sum(1 for i in range(len(scores)) if inside[i, r] and scores[i, r] == scores[i, r]) for r in range(rounds)
    ]
    ends = [(mean - half, mean + half), own_skewed_ends(by_round, counts, between, len(ever), half, t)]
    assert few == (min(mean, 1 - mean) * len(ever) < 10)
    if few:
        ends.append(own_wilson(mean, len(ever) / 1.1, t))
    low, high = max(0.0, min(pair[0] for pair in ends)), min(1.0, max(pair[1] for pair in ends))
    assert found.figures.power == pytest.approx(mean)
    assert (found.figures.low, found.figures.high) == pytest.approx((low, high), abs=1e-6)
    assert found.risk("a").low == pytest.approx((found.figures.low - rate) / (1 - rate))
    assert found.risk("a").high == pytest.approx((found.figures.high - rate) / (1 - rate))
    spread = found.spread
    assert spread.deviation == pytest.approx(math.sqrt(max(0.0, draws * rounds - between)))
    assert spread.people == pytest.approx(math.sqrt(between))
    assert (spread.smallest, spread.largest) == (min(found.by_round), max(found.by_round))


@pytest.mark.parametrize(("lift", "end"), [(-50.0, 0.0), (50.0, 1.0)])
def test_a_power_of_0_or_1_in_all_rounds_has_an_interval_with_a_width(lift, end):
    scores, inside, _ = trial(4, people=200, rounds=8, lift=lift)
    found = power_over_rounds(scores, inside, 0.05)
    assert set(found.by_round) == {end}
    assert found.figures.people_error == found.figures.draws_error == 0
    t2 = T_95[7] ** 2
    assert found.figures.high - found.figures.low == pytest.approx(t2 / (200 / 1.1 + t2))
    assert end in (found.figures.low, found.figures.high)


@pytest.mark.parametrize(
    ("people", "draws", "between", "variance"),
    [(0.1, 0.0, 1.0, 0.01), (0.0, 0.1, 1.0, 0.01), (0.1, 0.1, 0.1, 0.01 + 0.01 - 0.0025)],
)
def test_the_variance_is_never_below_one_of_its_parts(people, draws, between, variance):
    error = TwoWayError(people, draws, between, draw_logit=0.0, clusters=100, rounds=4)
    assert error.variance == pytest.approx(variance)


def test_people_explain_the_spread_of_a_mechanism_without_randomness():
    """If scores depend on the person alone, rounds differ by who is in; with an effect of draws, by that too."""
    rng = np.random.default_rng(5)
    found = []
    for shift in (0.0, 1.0):
        spreads = []
        for _ in range(examples(30)):
            halves = [rng.permutation(400) < 200 for _ in range(4)]
            inside = np.stack([side for half in halves for side in (half, ~half)], axis=1)
            own, other = rng.normal(size=(2, 400, 1))
            scores = np.where(inside, own + 1.5 + shift * rng.normal(size=8), other)
            power = power_over_rounds(scores, inside, 0.1)
            between = power.error.draws**2 * 8
            spreads.append((between, power.error.between_people**2, power.spread.deviation))
        found.append(np.mean(spreads, axis=0))
    (still, explained, _), (_, _, moved) = found
    assert explained == pytest.approx(still, rel=0.35)
    assert 0.2 < moved < 0.4


def test_a_trial_of_one_round_or_of_few_people_is_refused():
    scores, inside, _ = trial(0)
    with pytest.raises(ValueError, match="at least 2 rounds"):
        power_over_rounds(scores[:, :1], inside[:, :1], 0.1)
    with pytest.raises(ValueError, match=r"round 1: .* at least 20 are needed"):
        power_over_rounds(scores[:30], inside[:30], 0.1)
    with pytest.raises(ValueError, match="people x rounds"):
        power_over_rounds(scores, inside[:, :2], 0.1)


@pytest.mark.parametrize("effects", ["cells", "people", "draws", "both"])
@pytest.mark.parametrize("power", [0.002, 0.3, 0.998])
def test_the_interval_covers_in_simulated_trials(benchmark_module, effects, power):
    """A sample of `benchmarks/coverage_bench.py trials`."""
    module = benchmark_module("coverage_trials")
    module.FRESH = 400
    world = module.World(effects, power, 200, 4)
    rows = benchmark_module("coverage_bench").measure(module.STUDY, world.name, examples(60))
    (found,) = (row for row in rows if row["method"] == "trial")
    assert float(found["coverage"]) >= LEAST_COVERED


# Exposure


def own_exposure(linked, inside, seed):
    """Distributions and the most exposed tenth, person by person."""
    people, rounds = linked.shape
    figures = []
    for role in (True, False):
        times = [sum(1 for r in range(rounds) if inside[i, r] == role and linked[i, r]) for i in range(people)]
        had = [sum(1 for r in range(rounds) if inside[i, r] == role) for i in range(people)]
        rates = [times[i] / had[i] for i in range(people) if had[i]]
        edges = [(-1, 0), (0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)]
        figures.append(
            (
                [sum(1 for i in range(people) if had[i] and times[i] == k) / len(rates) for k in range(max(had) + 1)],
                [sum(1 for rate in rates if low < rate <= high) / len(rates) for low, high in edges],
            )
        )
    rng = np.random.default_rng(seed)
    order = list(rng.permutation(rounds))
    halves = order[::2], order[1::2]
    readings = {}
    for reading, choosing in (halves, halves[::-1]):
        rate = {}
        cells = [(i, r) for i in range(people) for r in choosing if inside[i, r]]
        mean = sum(1 for i, r in cells if linked[i, r]) / len(cells)
        for i in range(people):
            had = [r for r in choosing if inside[i, r]]
            rate[i] = (sum(1 for r in had if linked[i, r]) + mean) / (len(had) + 1) if had else -1
        shuffled = list(rng.permutation(people))
        tenth = sorted(shuffled, key=lambda i: -rate[i])[: sum(1 for i in rate if rate[i] >= 0) // 10]
        for r in reading:
            for role in (True, False):
                known = [i for i in tenth if inside[i, r] == role]
                readings[r, role] = sum(1 for i in known if linked[i, r]) / len(known)
    means = [sum(readings[r, role] for r in range(rounds)) / rounds for role in (True, False)]
    return figures, means


@pytest.mark.parametrize("coins", [False, True])
def test_exposure_is_that_of_plain_loops(coins):
    scores, inside, _ = trial(6, people=600, rounds=8, lift=1.0)
    if coins:
        inside = np.random.default_rng(0).random(inside.shape) < 0.5
    linked = linked_at(scores, inside, 0.1)
    found = exposure(linked, inside, np.random.default_rng(9))
    ((times_in, rates_in), (times_out, rates_out)), (tenth_in, tenth_out) = own_exposure(linked, inside, 9)
    assert found.when_in.times == pytest.approx(times_in)
    assert found.when_out.times == pytest.approx(times_out)
    assert found.when_in.rates == pytest.approx(rates_in)
    assert found.when_out.rates == pytest.approx(rates_out)
    assert found.most_exposed.when_in.value == pytest.approx(tenth_in)
    assert found.most_exposed.when_out.value == pytest.approx(tenth_out)
    assert found.most_exposed.when_in.low < tenth_in < found.most_exposed.when_in.high


def test_links_are_those_above_the_threshold_of_the_round():
    """Whoever is above the tied score is linked, whoever is below is not, and of the tied as many as are missing."""
    scores, inside, _ = trial(7, people=2000, rounds=4, missing=0.1)
    linked = linked_at(np.round(scores), inside, 0.1)
    for r in range(4):
        score = np.round(scores[:, r])
        known = ~np.isnan(score)
        out = score[known & ~inside[:, r]]
        tied = max(step for step in set(out) if (out >= step).mean() > 0.1)
        assert linked[score > tied, r].all()
        assert not linked[(score < tied) | ~known, r].any()
        assert linked[known & ~inside[:, r], r].mean() == pytest.approx(0.1, abs=0.03)
        power = power_at(score[known & inside[:, r]], out, 0.1)
        assert linked[known & inside[:, r], r].mean() == pytest.approx(power, abs=0.03)
    assert (linked == linked_at(np.round(scores), inside, 0.1)).all()


def test_the_most_exposed_tenth_is_not_exposed_by_luck():
    """Without any difference between people, the chosen tenth is linked as often as everybody; with one, more often."""
    rng = np.random.default_rng(8)
    inside = rng.random((2000, 8)) < 0.5
    lucky = rng.random(inside.shape) < np.where(inside, 0.3, 0.05)
    found = exposure(lucky, inside, rng).most_exposed
    assert found.when_in.low < 0.3 < found.when_in.high < 0.45
    assert found.when_out.low < 0.05 < found.when_out.high
    always = lucky | (inside & (np.arange(2000) < 200)[:, None])
    assert exposure(always, inside, rng).most_exposed.when_in.low > 0.6


def test_an_exposure_that_cannot_be_read_says_why():
    scores, inside, _ = trial(0, people=60, rounds=4)
    few = exposure(linked_at(scores, inside, 0.1), inside, np.random.default_rng(0))
    assert few.most_exposed is None and "fewer than 10" in few.refused
    short = exposure(linked_at(scores, inside, 0.1)[:, :2], inside[:, :2], np.random.default_rng(0))
    assert short.most_exposed is None and "at least 4" in short.refused
    assert sum(short.when_in.times) == pytest.approx(1)


def test_people_who_were_never_in_are_not_counted_as_never_linked():
    inside = np.zeros((4, 2), dtype=bool)
    inside[0] = True
    found = exposure(inside.copy(), inside, np.random.default_rng(0))
    assert found.when_in.people == 1 and found.when_in.times == (0, 0, 1)
    assert found.when_out.people == 3 and found.when_out.times == (1, 0, 0)


# Budgets


def own_largest_power(epsilon, rate, delta):
    """The largest 1 - b in the region of (a, b) that the two inequalities leave, by scanning b."""
    best = rate
    for step in range(100_001):
        b = step / 100_000
        if 1 - b <= math.exp(epsilon) * rate + delta and 1 - rate <= math.exp(epsilon) * b + delta:
            best = max(best, 1 - b)
            break
    return best


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
def test_the_largest_power_is_the_edge_of_the_region(epsilon, delta):
    for rate in (0.0, 0.01, 0.05, 0.1, 0.5, 1.0):
        assert largest_power(epsilon, rate, delta) == pytest.approx(own_largest_power(epsilon, rate, delta), abs=2e-5)


def test_the_largest_power_of_pure_budgets_is_as_published():
    assert round(100 * largest_power(1, 0.05), 1) == 13.6
    assert round(100 * largest_power(2, 0.05), 1) == 36.9
    assert largest_power(math.inf, 0.05) == 1
    assert largest_power(math.inf, 0.0, 0.01) == pytest.approx(0.01)
    for wrong in ({"epsilon": -1}, {"epsilon": math.nan}, {"delta": 2}, {"false_rate": 1.5}):
        with pytest.raises(ValueError, match="allowed"):
            largest_power(**({"epsilon": 1, "false_rate": 0.05} | wrong))


def test_an_alarm_compares_lower_ends_that_hold_together():
    scores, inside, _ = trial(10, people=1000, rounds=8, lift=2.0)
    powers = [power_over_rounds(scores, inside, rate) for rate in (0.01, 0.05, 0.1)]
    found = allowed_powers(powers, lambda rate: largest_power(1.0, rate, 1e-5))
    for item, power in zip(found, powers, strict=True):
        assert item.allowed == largest_power(1.0, item.false_rate, 1e-5)
        assert item.low == power.low_at(1 - 0.05 / 3) < power.figures.low
        assert item.exceeded == (item.low > item.allowed)
    assert [item.exceeded for item in found] == [True] * 3
    assert not any(item.exceeded for item in allowed_powers(powers, lambda rate: largest_power(5.0, rate)))
    assert allowed_powers([], lambda rate: 1.0) == []


def test_a_mechanism_at_its_budget_raises_no_alarm():
    """The roster reaches the largest power, read at false-positive rates that its coin can reach."""
    rng = np.random.default_rng(11)
    alarms, reached = 0, []
    for _ in range(examples(40)):
        inside = rng.random((500, 4)) < 0.5
        chance = 1 / (1 + math.exp(-1.0))
        published = rng.random(inside.shape) < np.where(inside, chance, 1 - chance)
        powers = [power_over_rounds(published.astype(float), inside, rate) for rate in (0.05, 1 - chance)]
        reached.append(powers[1].figures.power)
        alarms += any(item.exceeded for item in allowed_powers(powers, lambda rate: largest_power(1.0, rate)))
    assert alarms <= 0.05 * examples(40)
    assert np.mean(reached) == pytest.approx(largest_power(1.0, 1 - chance), abs=0.03)


def test_gaussian_noise_allows_the_power_of_its_accountant():
    pytest.importorskip("dp_accounting", reason="the extra cvpl[budget] is not installed")
    normal = NormalDist()
    for mu, rate in itertools.product((0.5, 1.0, 3.0), (0.01, 0.05, 0.1)):
        exact = normal.cdf(normal.inv_cdf(rate) + mu)
        assert exact - 1e-9 <= largest_gaussian_power(1 / mu, rate) <= exact + 2e-4
    four = normal.cdf(normal.inv_cdf(0.05) + 2)
    assert four - 1e-9 <= largest_gaussian_power(1.0, 0.05, steps=4) <= four + 2e-4
    assert largest_gaussian_power(1.0, 0.05, steps=4, sampling=0.1) < four


def test_gaussian_noise_without_its_extra_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(UsageError, match=r"install cvpl\[budget\]"):
        largest_gaussian_power(1.0, 0.05)
    with pytest.raises(ValueError, match="allowed"):
        largest_gaussian_power(0.0, 0.05)


# The bound on epsilon


def tail(guesses, q, least):
    """P[Binomial >= least], exactly."""
    return sum(math.comb(guesses, k) * q**k * (1 - q) ** (guesses - k) for k in range(max(0, least), guesses + 1))


@cache
def own_p_value(right, guesses, examples_, epsilon, delta):
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    beta = tail(guesses, q, right)
    alpha = max([(tail(guesses, q, right - i) - beta) / i for i in range(1, examples_ + 1)])
    return min(1.0, beta + 2 * examples_ * delta * alpha)


@pytest.mark.parametrize("delta", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize(("right", "guesses", "coins"), [(0, 10, 20), (9, 10, 10), (30, 40, 100), (40, 40, 60)])
def test_the_bound_is_the_largest_epsilon_that_the_formula_rejects(right, guesses, coins, delta):
    for epsilon in (0.0, 0.5, 2.0):
        own = own_p_value(right, guesses, coins, epsilon, delta)
        assert p_value(right, guesses, coins, epsilon, delta) == pytest.approx(own, rel=1e-9, abs=1e-12)
    for confidence in (0.9, 0.95):
        own, step = 0.0, 0
        while own_p_value(right, guesses, coins, (step + 1) / 100, delta) <= 1 - confidence:
            step += 1
            own = step / 100
        assert own - 1e-9 <= epsilon_bound(right, guesses, coins, delta=delta, confidence=confidence) <= own + 0.0101


def test_a_pure_bound_is_clopper_and_pearson_s():
    """All of 7,000 right: q = 0.05^(1/7000)."""
    q = 0.05 ** (1 / 7000)
    assert epsilon_bound(7000, 7000, 7000) == pytest.approx(math.log(q / (1 - q)), abs=1e-6)
    assert epsilon_bound(3500, 7000, 7000) == 0


def test_p_values_grow_with_epsilon():
    """So that the first epsilon that is not rejected is the only one."""
    for right, guesses, coins, delta in itertools.product((60, 90, 100), (100,), (100, 8000), (0.0, 1e-6, 1e-3, 1e-2)):
        values = [p_value(right, guesses, coins, step / 50, delta) for step in range(300)]
        low = [value for value in values if value <= 0.3]
        assert low == sorted(low)


def tails_of(mechanism, coins, guess):
    """P[at least v guesses right] for every v, by adding up all coins and outputs exactly.

    `mechanism` maps coins to a distribution of outputs; `guess` maps an output to guesses 1, 0 or None.
    """
    found = {}
    for bits in itertools.product((0, 1), repeat=coins):
        for output, chance in mechanism(bits).items():
            right = sum(1 for bit, said in zip(bits, guess(output), strict=True) if said is not None and said == bit)
            found[right] = found.get(right, 0) + chance / 2**coins
    return [sum(chance for right, chance in found.items() if right >= v) for v in range(coins + 1)]


def flipped(bits, q):
    """Every coin is answered rightly with probability q, each on its own."""
    found = {(): Fraction(1)}
    for bit in bits:
        found = {
            (*output, said): chance * (q if said == bit else 1 - q)
            for output, chance in found.items()
            for said in (0, 1)
        }
    return found


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 50)])
def test_no_private_mechanism_guesses_better_than_the_p_value(delta):
    """Exact enumeration: pure mechanisms reach it, and those that fail with probability delta stay below it."""
    coins, q = 5, Fraction(3, 4)
    epsilon = math.log(3)

    def all_at_once(bits):
        """Reveals everything with probability delta."""
        found = {("safe", output): chance * (1 - delta) for output, chance in flipped(bits, q).items()}
        return found | {("all", bits): delta}

    def one_by_one(bits):
        """Reveals each coin with probability delta."""
        return flipped(bits, delta + (1 - delta) * q)

    def parity(bits):
        """One answer for all: how many are in, with a random sign."""
        return {(sum(bits) % 2,): q, (1 - sum(bits) % 2,): 1 - q}

    for mechanism, guess in (
        (all_at_once, lambda output: output[1]),
        (one_by_one, lambda output: output),
        (parity, lambda output: [output[0]] * coins),
    ):
        reached = tails_of(mechanism, coins, guess)
        assert reached[0] == 1
        allowed = [p_value(v, coins, coins, epsilon, float(delta)) for v in range(coins + 1)]
        assert all(float(own) <= most + 1e-12 for own, most in zip(reached, allowed, strict=True))
        if not delta and mechanism is not parity:
            assert [float(own) for own in reached] == pytest.approx(allowed)


def test_a_bound_that_makes_no_sense_is_refused():
    for wrong in ((5, 4, 10), (1, 11, 10), (-1, 4, 10)):
        with pytest.raises(ValueError, match="must not decrease"):
            epsilon_bound(*wrong)
    with pytest.raises(ValueError, match="delta"):
        epsilon_bound(1, 4, 10, delta=2)
    with pytest.raises(ValueError, match="confidence"):
        epsilon_bound(1, 4, 10, confidence=1.0)


# The audit of a budget


def own_right(scores, coins, order, item):
    """The right guesses of one round: people stand in a line by score, ties as drawn."""
    place = {cluster: rank for rank, cluster in enumerate(order)}
    sign = -1 if item.direction == "high" else 1
    # The reverse of the line from the highest: ties are reversed too.
    back = 1 if item.direction == "high" else -1
    known = [cluster for cluster in range(len(scores)) if not math.isnan(scores[cluster])]
    line = sorted(known, key=lambda cluster: (sign * scores[cluster], back * place[cluster]))
    first, last = line[: item.guessed_in], line[len(line) - item.guessed_out :] if item.guessed_out else []
    return sum(1 for cluster in first if coins[cluster]) + sum(1 for cluster in last if not coins[cluster])


@pytest.mark.parametrize("direction", ["high", "low"])
def test_guesses_are_counted_as_by_hand(direction):
    rng = np.random.default_rng(12)
    inside = rng.random((200, 8)) < 0.5
    sign = 1 if direction == "high" else -1
    strong = np.round(rng.normal(size=inside.shape) + 2 * sign * inside)
    strong[rng.random(inside.shape) < 0.05] = np.nan
    weak = rng.normal(size=inside.shape)
    found = audit_budget({"weak": weak, "strong": strong}, inside, np.random.default_rng(3), delta=1e-6)
    orders = np.random.default_rng(3)
    drawn = [orders.permutation(200) for _ in range(8)]
    assert found.first_read == 3
    assert [item.round for item in found.rounds] == [3, 4, 5, 6, 7, 8]
    for item in found.rounds:
        r = item.round - 1
        assert (item.attacker, item.direction) == ("strong", direction)
        assert item.right == own_right(strong[:, r], inside[:, r], drawn[r], item)
    assert len({(item.guessed_in, item.guessed_out) for item in found.rounds}) == 1
    assert found.guesses == sum(item.guessed_in + item.guessed_out for item in found.rounds)
    assert found.right == sum(item.right for item in found.rounds)
    assert found.examples == 6 * 200
    assert found.epsilon == epsilon_bound(found.right, found.guesses, found.examples, delta=1e-6)
    assert found.epsilon > 1


def test_the_plan_does_not_depend_on_the_rounds_that_are_read():
    """Whoever is in later, the guesses are the same."""
    rng = np.random.default_rng(13)
    inside = rng.random((300, 8)) < 0.5
    scores = {"one": rng.normal(size=inside.shape) + inside, "two": rng.normal(size=inside.shape)}
    other = inside.copy()
    other[:, 2:] = rng.random((300, 6)) < 0.5
    plans = [
        [(item.attacker, item.direction, item.guessed_in, item.guessed_out) for item in found.rounds]
        for found in (audit_budget(scores, coins, np.random.default_rng(0)) for coins in (inside, other))
    ]
    assert plans[0] == plans[1]


def test_a_unit_is_guessed_by_the_largest_score_of_its_people():
    rng = np.random.default_rng(14)
    coins = rng.random((100, 4)) < 0.5
    by_cluster = rng.normal(size=coins.shape) + 2 * coins
    clusters = np.repeat(np.arange(100), 3)
    scores = by_cluster[clusters] - np.tile([0.0, 5.0, np.nan], 100)[:, None]
    alone = audit_budget({"a": by_cluster}, coins, np.random.default_rng(1))
    together = audit_budget({"a": scores}, coins[clusters], np.random.default_rng(1), clusters=clusters)
    assert together == alone and together.examples == 300


def test_memberships_that_are_no_coins_are_refused():
    scores, inside, _ = trial(0, people=60, rounds=4)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="balanced"):
        audit_budget({"a": scores}, inside, rng)
    coins = rng.random((400, 4)) < 0.5
    halves = np.stack([rng.permutation(400) < 200 for _ in range(8)], axis=1)
    with pytest.raises(ValueError, match="balanced"):
        audit_budget({"a": rng.normal(size=halves.shape)}, halves, rng)
    with pytest.raises(ValueError, match="not in together"):
        audit_budget({"a": rng.normal(size=coins.shape)}, coins, rng, clusters=np.arange(400) // 2)
    with pytest.raises(ValueError, match="at least 20 are needed"):
        audit_budget({"a": np.full(coins.shape, np.nan)}, coins, rng)
    with pytest.raises(ValueError, match="one to choose and one to read"):
        audit_budget({"a": rng.normal(size=(400, 1))}, coins[:, :1], rng)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_the_bound_of_a_roster_is_below_its_epsilon_and_close_to_it(benchmark_module, epsilon):
    """20 trials of benchmarks/budget_trials.py. A 95% bound exceeds ε in 5 of 20 with probability 0.3%."""
    module = benchmark_module("budget_trials")
    rng = stream(1, f"roster {epsilon}")
    found = [module.trial(lambda inside, rng: module.roster(epsilon, inside, rng), rng).epsilon for _ in range(20)]
    assert sum(1 for bound in found if bound > epsilon) <= 4
    if epsilon >= 2:
        assert np.median(found) >= 0.8 * epsilon


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_bound_of_randomized_response_is_below_its_epsilon(benchmark_module, epsilon):
    module = benchmark_module("budget_trials")
    rng = stream(1, f"response {epsilon}")
    found = [module.trial(lambda inside, rng: module.in_place(epsilon, inside, rng), rng).epsilon for _ in range(20)]
    assert sum(1 for bound in found if bound > epsilon) <= 4
    mechanism = module.response(epsilon)
    assert module.trial(lambda inside, rng: module.by_records(mechanism, inside, rng), rng).epsilon <= epsilon


def test_a_copy_reads_above_3_and_public_shares_read_0(benchmark_module):
    module = benchmark_module("budget_trials")
    rng = stream(1, "copy and marginals")
    assert module.trial(lambda inside, rng: module.by_records(module.copy, inside, rng), rng).epsilon > 3
    free = [
        module.trial(lambda inside, rng: module.by_records(module.marginals, inside, rng), rng).epsilon
        for _ in range(5)
    ]
    assert np.median(free) == 0


def test_half_is_not_guessed():
    """Where all is known, guesses of a half would be wrong as often as fewer than half are in."""
    assert max(SHARES) < 0.5
    rng = np.random.default_rng(15)
    inside = rng.random((1000, 8)) < 0.5
    found = audit_budget({"truth": inside.astype(float)}, inside, rng)
    assert found.right == found.guesses == 6 * 800


def test_the_error_of_two_rounds_is_worked_by_hand():
    """Three people, of whom two are one cluster: D = (0.1, 0.1) and (-0.1, 0), U / (U - 1) = 2."""
    deviations = np.array([[0.05, 0.1], [0.05, 0.0], [-0.1, 0.0]])
    error = two_way_error(np.array([0.2, 0.3]), deviations, np.array([0, 0, 1]), np.ones((3, 2), dtype=bool))
    assert error.people == pytest.approx(math.sqrt(2 * (0.1**2 + 0.05**2)))
    assert error.draws == pytest.approx(math.sqrt(0.005 / 2))
    # C = 2 ((0.02, 0.01), (0.01, 0.01)): 0.03 - 0.02.
    assert error.between_people == pytest.approx(0.1)
    assert error.clusters == pytest.approx(9 / 5)


def test_the_power_of_a_round_is_that_of_an_audit():
    scores, inside, _ = trial(16, people=100, rounds=4)
    found = power_over_rounds(scores, inside, 0.05)
    for r, power in enumerate(found.by_round):
        assert power == power_at(scores[inside[:, r], r], scores[~inside[:, r], r], 0.05)
