"""A lower bound on ε from guesses: the one-run audit of Steinke, Nasr and Jagielski (2023).

A mechanism gets m clusters, each in by its own fair coin. From its output alone an auditor guesses r of the m coins. If
the mechanism is ε-differentially private, then given the output and all other coins a coin is in with odds of at most
e^ε : 1. So each guess is right with probability at most q = e^ε / (1 + e^ε), whatever the guesses before it were worth,
and the number of right guesses is stochastically at most Binomial(r, q). Many right guesses reject small ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cvpl.estimates import CONFIDENCE
from cvpl.evaluation.trials.rounds import FEWEST_ROUNDS, Bools, Floats, Ints, numbered

_STEP = 0.1
"""The step in which ε is searched upwards before it is bisected."""
_BISECTIONS = 40
_CHOOSING = 4
"""One round in so many, and at least the first, only chooses."""
_UNLIKELY = 1e-6
"""Memberships that coins would give with a smaller probability were not drawn by coins."""


@dataclass(frozen=True)
class RoundGuesses:
    """The guesses of one round; rounds are counted from 1."""

    round: int
    attacker: str
    direction: Direction
    guessed_in: int
    guessed_out: int
    right: int


@dataclass(frozen=True)
class BudgetReading:
    """The lower bound on ε, and the guesses behind it.

    `examples` are the coins of the rounds that were read, from `first_read` (counted from 1) on. Earlier rounds only
    chose the attacker, the direction and the number of guesses.
    """

    epsilon: float
    delta: float
    confidence: float
    right: int
    guesses: int
    examples: int
    first_read: int
    rounds: tuple[RoundGuesses, ...]


def p_value(right: int, guesses: int, examples: int, epsilon: float, delta: float = 0.0) -> float:
    """The largest probability of so many right guesses under (ε, δ)-differential privacy.

        P[V >= v] <= β + 2 m δ α        (Steinke, Nasr and Jagielski 2023, appendix D)

        W ~ Binomial(r, e^ε / (1 + e^ε)),    β = P[W >= v],    α = max over i = 1 ... v of P[v > W >= v - i] / i

    m coins (`examples`), r `guesses`, v `right` ones. Where the probability δ of a failure is used up, up to i guesses
    can be right for free; this happens to 2 m δ guesses at most in expectation, and α is the most that each can add.
    """
    from scipy.special import bdtrc  # noqa: PLC0415 - loaded when a bound is made

    if right == 0:
        return 1.0
    q = 1 / (1 + math.exp(-epsilon))
    beyond = float(bdtrc(right - 1, guesses, q))
    if delta == 0:
        return beyond
    steps = np.arange(1, right + 1)
    lowest = right - steps - 1
    reached = np.where(lowest < 0, 1.0, bdtrc(np.maximum(lowest, 0), guesses, q))
    alpha = float(((reached - beyond) / steps).max())
    return min(1.0, beyond + 2 * examples * delta * alpha)


def epsilon_bound(
    right: int, guesses: int, examples: int, *, delta: float = 0.0, confidence: float = CONFIDENCE
) -> float:
    """The largest ε that is rejected: with the stated confidence the mechanism is not (ε, δ)-private below it.

    The smallest ε with p_value > 1 - confidence, found by bisection; 0 if ε = 0 is not rejected. Never infinite: with
    all of r guesses right, pure ε is at most log(q / (1 - q)) at q = (1 - confidence)^(1/r).

    `guesses` must be fixed before the output is seen, and each of the `examples` must be in by its own fair coin.
    """
    if not 0 <= right <= guesses <= examples:
        raise ValueError(f"right {right}, guesses {guesses}, examples {examples}: must not decrease, from 0")
    if not 0 <= delta <= 1:
        raise ValueError(f"delta is {delta}; allowed are 0 to 1")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; allowed are values between 0 and 1")
    target = 1 - confidence

    def rejected(epsilon: float) -> bool:
        return p_value(right, guesses, examples, epsilon, delta) <= target

    if not rejected(0.0):
        return 0.0
    # The first crossing is wanted, so ε rises in small steps; far up, p_value is 1.
    low = 0.0
    while rejected(low + _STEP):
        low += _STEP
    high = low + _STEP
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def audit_budget(
    scores: Mapping[str, Floats],
    inside: Bools,
    rng: np.random.Generator,
    *,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
    clusters: Ints | None = None,
) -> BudgetReading:
    """A lower bound on ε at a stated δ and confidence, from every attacker's scores of all people in all rounds.

    `scores` are people x rounds, made from each round's release with all people as the attacker's table, without
    knowing who was in. `inside` has an independent fair coin for every cluster and round. A cluster's score is the
    largest of its people; a cluster without any score (NaN) is never guessed.

    The first rounds (one in four, at least one) choose a plan: an attacker, a direction, and how many clusters with the
    highest scores are guessed in and with the lowest out (or the reverse). In every later round exactly these guesses
    are made and counted. Tied scores are ordered at random by `rng`.

    Why the bound holds. Given the rounds that choose, the plan is fixed, and the coins of the later rounds are still
    fair and independent. The later rounds together are one mechanism with a coin for each cluster and round. Changing
    one coin changes one round's input by one cluster, so this mechanism is (ε, δ)-private for each coin if a round is.
    Its output is the releases of all later rounds, and the guesses depend on nothing else. So `epsilon_bound` applies
    to the sums over these rounds, with all their coins as examples and all their guesses, a number fixed in advance. A
    plan that changed between later rounds would let the number of guesses, and the part of δ, depend on luck so far.

    Refused with a ValueError: fewer than 2 rounds, fewer than 20 scored clusters, people of one cluster who are not in
    together, and memberships that are balanced (each cluster in for half of the rounds, or half of the clusters in
    each).
    """
    cluster = numbered(clusters, len(inside))
    coins = _coins(inside, cluster)
    count, rounds = coins.shape
    table = {name: _largest(item, cluster, count) for name, item in scores.items()}
    scored = min((int((~np.isnan(item)).sum(axis=0).min()) for item in table.values()), default=0)
    if scored < 2 * FEWEST_GUESSES:
        raise ValueError(f"{scored} clusters are scored in every round; at least {2 * FEWEST_GUESSES} are needed")
    orders = [rng.permutation(count) for _ in range(rounds)]
    ranked = {
        name: [ranked_clusters(column, order) for column, order in zip(item.T, orders, strict=True)]
        for name, item in table.items()
    }
    choosing = max(1, rounds // _CHOOSING)
    plan = best_plan({name: item[:choosing] for name, item in ranked.items()}, coins[:, :choosing], scored)
    read = tuple(
        RoundGuesses(
            number + 1,
            plan.attacker,
            plan.direction,
            plan.guessed_in,
            plan.guessed_out,
            right_guesses(ranked[plan.attacker][number], coins[:, number], plan),
        )
        for number in range(choosing, rounds)
    )
    right, guesses, examples = sum(item.right for item in read), len(read) * plan.guesses, len(read) * count
    epsilon = epsilon_bound(right, guesses, examples, delta=delta, confidence=confidence)
    return BudgetReading(epsilon, delta, confidence, right, guesses, examples, choosing + 1, read)


def _coins(inside: Bools, cluster: Ints) -> Bools:
    """Whether each cluster is in, clusters x rounds; refused if its people differ, or if coins cannot give this."""
    count = int(cluster.max(initial=-1)) + 1
    rounds = inside.shape[1]
    if rounds < FEWEST_ROUNDS:
        raise ValueError(f"{rounds} round: one to choose and one to read are needed at least")
    coins = np.zeros((count, rounds), dtype=bool)
    coins[cluster] = inside
    if (coins[cluster] != inside).any():
        raise ValueError("people of one cluster are not in together: each cluster must have one coin in a round")
    by_cluster, by_round = coins.sum(axis=1), coins.sum(axis=0)
    balanced = [
        count * log_half(rounds) if (2 * by_cluster == rounds).all() else 0.0,
        rounds * log_half(count) if (2 * by_round == count).all() else 0.0,
    ]
    if min(balanced) < math.log(_UNLIKELY):
        raise ValueError("the memberships are balanced: the bound needs an independent fair coin per cluster and round")
    return coins


def log_half(coins: int) -> float:
    """The logarithm of the probability that exactly half of the fair coins fall on one side."""
    return math.lgamma(coins + 1) - 2 * math.lgamma(coins / 2 + 1) - coins * math.log(2)


def _largest(scores: Floats, cluster: Ints, count: int) -> Floats:
    """The largest score of each cluster's people in every round; NaN if nobody of the cluster has one."""
    best = np.full((count, scores.shape[1]), np.nan)
    for number, column in enumerate(scores.T):
        known = ~np.isnan(column)
        found = np.full(count, -np.inf)
        np.maximum.at(found, cluster[known], column[known])
        some = np.zeros(count, dtype=bool)
        some[cluster[known]] = True
        best[some, number] = found[some]
    return best


Direction = Literal["high", "low"]
"""Which scores are guessed in: the highest, or the lowest."""

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
"""The shares of the clusters that are guessed in, and out, from which a plan is chosen.

Not a half: the number of clusters that are in varies by chance, and guessing half would be wrong at the edge."""
FEWEST_GUESSES = 10
"""Fewer guesses in a round are not tried: some of many small sets would be right by luck."""
_LUCK = 0.001
"""Plans are compared by a bound at this error, since the best of hundreds of plans is chosen."""


@dataclass(frozen=True)
class Plan:
    """How to guess: the attacker, the direction, and how many clusters are guessed in and out."""

    attacker: str
    direction: Direction
    guessed_in: int
    guessed_out: int

    @property
    def guesses(self) -> int:
        """The number of guesses in a round."""
        return self.guessed_in + self.guessed_out


def ranked_clusters(scores: Floats, order: Ints) -> Ints:
    """The scored clusters from the highest score to the lowest; tied scores stand as in `order`."""
    known = order[~np.isnan(scores[order])]
    ranked: Ints = known[np.argsort(-scores[known], kind="stable")]
    return ranked


def right_guesses(ranked: Ints, inside: Bools, plan: Plan) -> int:
    """How many guesses of a plan are right in a round: `ranked` clusters, and whether each cluster is `inside`."""
    ends = inside[ranked if plan.direction == "high" else ranked[::-1]]
    return int(ends[: plan.guessed_in].sum()) + int((~ends[len(ends) - plan.guessed_out :]).sum())


def best_plan(ranked: Mapping[str, Sequence[Ints]], inside: Bools, scored: int) -> Plan:
    """The plan with the largest lower bound on the share of right guesses, in the rounds that choose.

    `ranked` has the ranked clusters of these rounds for every attacker, `inside` is clusters x rounds, and `scored` is
    the number of clusters that have a score in every round. The bound is Clopper-Pearson's; a tie goes to the first
    plan.
    """
    from scipy.special import betaincinv  # noqa: PLC0415 - loaded when a bound is made

    plans = [plan for name in ranked for plan in guess_plans(name, scored)]
    right = np.array(
        [
            sum(
                right_guesses(clusters, inside[:, number], plan)
                for number, clusters in enumerate(ranked[plan.attacker])
            )
            for plan in plans
        ]
    )
    guesses = inside.shape[1] * np.array([plan.guesses for plan in plans])
    lowest = np.where(right > 0, betaincinv(np.maximum(right, 1), guesses - right + 1, _LUCK), 0.0)
    return plans[int(np.argmax(lowest))]


def guess_plans(attacker: str, scored: int) -> Iterator[Plan]:
    """Every plan of an attacker that makes enough guesses."""
    directions: tuple[Direction, ...] = ("high", "low")
    for direction in directions:
        for first in SHARES:
            for last in SHARES:
                plan = Plan(attacker, direction, int(first * scored), int(last * scored))
                if plan.guesses >= FEWEST_GUESSES:
                    yield plan
