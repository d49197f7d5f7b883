"""Which people a mechanism exposes most: the evidence of few rounds, shrunk to what their rarity lets expect.

The evidence of person i in a round r in which they are in is the normal score of their place among the people who are
out: x_ir = -Φ⁻¹(p), p = (1 + people out with at least that evidence) / (2 + people out). It says more than whether the
person was linked. A few rounds are mostly luck, so the mean of a person's x_ir is drawn to the mean m_i of people who
are about as rare, and the more so the fewer rounds there are:

    expected_i = m_i + τ² / (τ² + σ² / n_i) (mean of x_ir - m_i)

σ² is the variance between rounds of a person, τ² that between people of like rarity beyond it, n_i the number of
rounds, and m_i the least-squares line of the means on the normal score of the rank of rarity. If rarity explains
nothing the line is flat, and if rounds tell nothing beyond it τ² is 0 and the order is that of rarity. τ² is estimated
with an error, and too large a one is worse than too small a one: it lets luck override rarity. So one standard error is
taken off. A person who was never in is expected at the line.
"""

from __future__ import annotations

import math

import numpy as np

from cvpl.evaluation.trials.rounds_error import Bools, Floats, Ints

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
