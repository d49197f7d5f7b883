"""The people of a trial: how often they are linked over its rounds, and whom the mechanism exposes most.

Which people a mechanism exposes most: the evidence of few rounds, shrunk to what their rarity lets expect. The evidence
of person i in a round r in which they are in is the normal score of their place among the people who are out: x_ir =
-Φ⁻¹(p), p = (1 + people out with at least that evidence) / (2 + people out). It says more than whether the person was
linked. A few rounds are mostly luck, so the mean of a person's x_ir is drawn to the mean m_i of people who are about as
rare, and the more so the fewer rounds there are:

    expected_i = m_i + τ² / (τ² + σ² / n_i) (mean of x_ir - m_i)

σ² is the variance between rounds of a person, τ² that between people of like rarity beyond it, n_i the number of
rounds, and m_i the least-squares line of the means on the normal score of the rank of rarity. If rarity explains
nothing the line is flat, and if rounds tell nothing beyond it τ² is 0 and the order is that of rarity. τ² is estimated
with an error, and too large a one is worse than too small a one: it lets luck override rarity. So one standard error is
taken off. A person who was never in is expected at the line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cvpl.estimates import CONFIDENCE, Estimate
from cvpl.evaluation.rates import Roc
from cvpl.evaluation.trials.rounds import FEWEST_ROUNDS, Bools, Floats, Ints, numbered, two_way_error
from cvpl.randomness import stream

MOST_EXPOSED = 0.10
"""The share of the people who count as the most exposed."""
FEWEST_EXPOSED = 10
"""With fewer of them in or out in a round, a rate would tell of single people."""
RATE_BINS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Upper ends of the bins of link rates: never, up to a quarter, a half, three quarters, and more."""


@dataclass(frozen=True)
class LinkDistribution:
    """How often people are linked in one role (in or out).

    `times` has the share of the people who were linked 0, 1, 2, ... times, `rates` the share by link rate: exactly 0,
    then up to 1/4, 1/2, 3/4 and 1. `people` is the number of people who had the role in some round, `mean` the mean of
    their link rates.
    """

    people: int
    mean: float
    times: tuple[float, ...]
    rates: tuple[float, ...]


@dataclass(frozen=True)
class ExposedTenth:
    """The link rates of the most exposed tenth in the rounds that did not choose them; `people` is a tenth's size."""

    people: int
    when_in: Estimate
    when_out: Estimate


@dataclass(frozen=True)
class Exposure:
    """How often people are linked when in and when out, and the most exposed tenth (None where it cannot be read)."""

    when_in: LinkDistribution
    when_out: LinkDistribution
    most_exposed: ExposedTenth | None
    refused: str | None = None


def linked_at(scores: Floats, inside: Bools, false_rate: float) -> Bools:
    """Who is linked in each round, at the threshold at which a share α of the people who are out is linked.

    If people are tied there, so that no threshold links exactly this share, each of them is linked with the probability
    that makes up for it (`cvpl.evaluation.rates.Roc.counted`). So the share of links is α when out and the power when
    in, but for chance. The same coins fall every time. People without a score (NaN) are not linked.
    """
    linked = np.zeros(scores.shape, dtype=bool)
    coins = stream(0, "people tied at the threshold of a trial").random(scores.shape)
    for number, (score, is_in) in enumerate(zip(scores.T, inside.T, strict=True)):
        known = ~np.isnan(score)
        weights = Roc.of(score[known & is_in], score[known & ~is_in]).counted(false_rate)
        for side, weight in zip((known & is_in, known & ~is_in), weights, strict=True):
            linked[side, number] = coins[side, number] < weight
    return linked


def exposure(
    linked: Bools,
    inside: Bools,
    rng: np.random.Generator,
    *,
    scored: Bools | None = None,
    clusters: Ints | None = None,
    confidence: float = CONFIDENCE,
) -> Exposure:
    """How often people are linked, from `linked` and `inside`, people x rounds; `scored` marks who was scored (all).

    link rate of a person when in = rounds in which the person is in and linked / rounds in which the person is in

    and the same when out. The most exposed tenth is chosen by this rate (when in) on one half of the rounds and read on
    the other half, in both roles; then the halves change places, and the two readings are averaged. Chosen and read on
    the same rounds, the tenth would seem exposed by luck alone. For the choice, everybody gets one more round at the
    mean rate: three links in four rounds say more than one in one. `rng` draws the halves and breaks ties.

    The interval is that of `TwoWayError`, over people and draws, with the choice held fixed. The tenth is refused with
    fewer than 4 rounds, or if fewer than 10 of the chosen are in or out in a round.
    """
    known = np.ones(linked.shape, dtype=bool) if scored is None else scored
    when_in, when_out = (_distribution(linked, known & role) for role in (inside, ~inside))
    cluster = numbered(clusters, len(linked))
    try:
        tenth = _most_exposed(linked, inside, known, cluster, rng, confidence)
    except _TooFewError as reason:
        return Exposure(when_in, when_out, None, str(reason))
    return Exposure(when_in, when_out, tenth)


class _TooFewError(ValueError):
    """The most exposed tenth cannot be read."""


def _distribution(linked: Bools, role: Bools) -> LinkDistribution:
    rounds = role.sum(axis=1)
    people = rounds > 0
    count = int(people.sum())
    if not count:
        return LinkDistribution(0, math.nan, (), (0.0,) * len(RATE_BINS))
    times = (linked & role).sum(axis=1)[people]
    rates = times / rounds[people]
    shares = np.bincount(times, minlength=int(rounds.max()) + 1) / count
    binned = np.bincount(np.searchsorted(RATE_BINS, rates, side="left"), minlength=len(RATE_BINS)) / count
    return LinkDistribution(count, float(rates.mean()), tuple(map(float, shares)), tuple(map(float, binned)))


def _most_exposed(
    linked: Bools, inside: Bools, known: Bools, cluster: Ints, rng: np.random.Generator, confidence: float
) -> ExposedTenth:
    rounds = linked.shape[1]
    order = rng.permutation(rounds)
    halves = order[::2], order[1::2]
    if len(halves[1]) < FEWEST_ROUNDS:
        raise _TooFewError(f"{rounds} rounds; choosing on one half and reading on the other needs at least 4")
    chosen = np.zeros(linked.shape, dtype=bool)
    size = 0
    for reading, choosing in (halves, halves[::-1]):
        tenth = most_linked_tenth(linked[:, choosing], (known & inside)[:, choosing], rng)
        size = max(size, int(tenth.sum()))
        chosen[np.ix_(tenth, reading)] = True
    found = []
    for role in (inside, ~inside):
        cells = chosen & known & role
        counts = cells.sum(axis=0)
        if int(counts.min()) < FEWEST_EXPOSED:
            raise _TooFewError(
                f"fewer than {FEWEST_EXPOSED} of the most exposed are in or out in a round: too few to be read"
            )
        by_round = (linked & cells).sum(axis=0) / counts
        deviations = np.where(cells, linked - by_round, 0.0) / counts
        error = two_way_error(by_round, deviations, cluster, cells)
        mean = float(by_round.mean())
        found.append(Estimate(mean, *error.ends(mean, confidence), confidence))
    return ExposedTenth(size, *found)


def most_linked_tenth(linked: Bools, role: Bools, rng: np.random.Generator) -> Bools:
    """The tenth with the largest link rate when in, with one more round at the mean rate; ties in a random order."""
    rounds = role.sum(axis=1)
    mean = (linked & role).sum() / max(1, role.sum())
    rates = np.where(rounds > 0, ((linked & role).sum(axis=1) + mean) / (rounds + 1), -1.0)
    size = int(MOST_EXPOSED * int((rounds > 0).sum()))
    order = rng.permutation(len(rates))
    first = order[np.argsort(-rates[order], kind="stable")[:size]]
    tenth = np.zeros(len(rates), dtype=bool)
    tenth[first] = True
    return tenth


FEWEST_RANKED = 4
"""With fewer rounds people are not ranked: the estimates can be worse than rarity alone."""


def evidence_of_rounds(scores: Floats, inside: Bools) -> Floats:
    """The normal score of each person among those who are out, rows x rounds; NaN where out, or without a score."""
    from scipy.special import ndtri  # noqa: PLC0415 - loaded when people are ranked

    found = np.full(scores.shape, np.nan)
    for number, (score, is_in) in enumerate(zip(scores.T, inside.T, strict=True)):
        known = ~np.isnan(score)
        others = np.sort(score[known & ~is_in])
        mine = known & is_in
        least = len(others) - np.searchsorted(others, score[mine], side="left")
        found[mine, number] = -ndtri((1 + least) / (2 + len(others)))
    return found


def expected_evidence(evidence: Floats, rarity: Floats) -> Floats:
    """The evidence that is expected of each person in a new round, from a few rounds and the rarity of the person."""
    known = ~np.isnan(evidence)
    rounds = known.sum(axis=1)
    seen = rounds > 0
    sums = np.where(known, evidence, 0.0).sum(axis=1)
    means = sums / np.maximum(1, rounds)
    rank = _normal_rank(rarity)
    if not seen.any():
        return rank
    weight = rounds[seen].astype(np.float64)
    centre = float(np.average(rank[seen], weights=weight))
    level = float(np.average(means[seen], weights=weight))
    spread = float(np.average((rank[seen] - centre) ** 2, weights=weight))
    slope = 0.0
    if spread > 0:
        slope = float(np.average((rank[seen] - centre) * (means[seen] - level), weights=weight)) / spread
    line = level + slope * (rank - centre)
    among, between = _variances(evidence, known, rounds, means, line)
    share = between / np.maximum(between + among / np.maximum(1, rounds), 1e-300)
    return np.where(seen, line + share * (means - line), line)


def _normal_rank(rarity: Floats) -> Floats:
    """The normal score of each person's rank of rarity; ties have the middle of their ranks."""
    from scipy.special import ndtri  # noqa: PLC0415 - loaded when people are ranked

    ordered = np.sort(rarity)
    middle = np.searchsorted(ordered, rarity, side="left") + np.searchsorted(ordered, rarity, side="right")
    return np.asarray(ndtri(middle / (2 * len(rarity))))


def _variances(evidence: Floats, known: Bools, rounds: Ints, means: Floats, line: Floats) -> tuple[float, float]:
    """σ² within people and τ² between people beyond the line, by moments, less its standard error; at least 0."""
    within = np.where(known, (evidence - means[:, None]) ** 2, 0.0).sum()
    freedom = int(np.maximum(0, rounds - 1).sum())
    seen = rounds > 0
    squares = (means - line)[seen] ** 2
    beyond, error = float(squares.mean()), float(squares.std()) / math.sqrt(len(squares))
    if not freedom:
        return beyond, 0.0
    among = float(within) / freedom
    return among, max(0.0, beyond - error - among * float((1 / rounds[seen]).mean()))
