"""EM for the Fellegi-Sunter model: agreement probabilities of matches and non-matches, and the share of matches.

Two models share the likelihood of a pattern, Π m^agree (1-m)^differ for a match and Π u^agree (1-u)^differ for any
other pair; a missing value is in neither product. They differ in what may be a match:

    every pair by itself     P(pattern) = share · Π m... + (1-share) · Π u...
    at most one a record     P(patterns of a record's n pairs) = Π u... · ((1-share) + share · mean of Π m... / Π u...)

The second is for one table searched in another without blocking, where matches are one in n pairs: taken one by one,
pairs that agree by chance outnumber the matches, and EM would describe those instead.

The likelihood does not distinguish matches from non-matches, since swapping m with u and share with 1 - share leaves it
unchanged: the start values decide, with m above u on every column. A column may still end with m below u.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.patterns import Patterns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMALLEST = 1e-12
"""The smallest distance of probabilities from 0 and 1, where a weight would be infinite."""
TOLERANCE = 1e-8
"""EM has converged if no parameter changes by more in a step."""
MOST_STEPS = 10_000

Expected = tuple[Floats, float, float]
"""For each pattern the expected number of matches and of other pairs (two rows); the share; the log-likelihood."""
Expectation = Callable[[Floats, float], Expected]
"""Computed from the log-likelihoods of every pattern, as a match and as another pair, and the share of matches."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """m and u of each column, and the share of matches: among candidate pairs, or among records that have one."""

    m: Floats
    u: Floats
    share: float


@dataclass(frozen=True, eq=False)
class FittedParameters:
    """The result of EM, whether it converged, and the log-likelihood (natural) at the start and after every step.

    A step never lowers the log-likelihood, unless pairs were added.
    """

    parameters: Parameters
    converged: bool
    log_likelihood: Floats

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.log_likelihood) - 1


def every_pair(patterns: Patterns) -> Expectation:
    """The expectation where every pair may be a match by itself: g = P(match | pattern)."""
    counts = patterns.counts.astype(np.float64)
    pairs = float(counts.sum())

    def expect(logs: Floats, share: float) -> Expected:
        logs = logs + np.log([[share], [1 - share]])
        either = np.logaddexp(logs[0], logs[1])
        expected = counts * np.exp(logs - either)
        return expected, expected[0].sum() / pairs, float(counts @ either)

    return expect


def one_match(patterns: Patterns, record: Ints, candidates: int, others: Floats | None = None) -> Expectation:
    """The expectation where a record has at most one match among its `candidates`.

        g = share r / n / ((1-share) + share Σ r / n)        r = Π m... / Π u... of a pair, Σ over the record's pairs

    `record` is the record of each pattern. `others` are the log-likelihoods Π u... of the patterns, if u differs
    between records. The log-likelihood is that beyond the record's pairs all being others.
    """
    counts = patterns.counts.astype(np.float64)
    records = int(record.max(initial=-1)) + 1

    def expect(logs: Floats, share: float) -> Expected:
        ratio = logs[0] - (logs[1] if others is None else others)
        # Sums relative to the largest ratio of each record, since the ratio of a rare agreement may overflow.
        largest = np.zeros(records)
        np.maximum.at(largest, record, ratio)
        each = counts * np.exp(ratio - largest[record]) * (share / candidates)
        total = np.bincount(record, each, records) + (1 - share) * np.exp(-largest)
        found = each / total[record]
        likelihood = float((np.log(total) + largest).sum())
        return np.vstack([found, counts - found]), float(found.sum()) / records, likelihood

    return expect


def maximize(
    patterns: Patterns,
    start: Parameters,
    *,
    fixed_u: bool,
    expectation: Expectation | None = None,
    added: float = 0.0,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> FittedParameters:
    """Run EM on the pattern counts until no parameter changes by `tolerance` or more, or for `most_steps`.

    E: g by `expectation`, by default `every_pair`.  M: m = Σ g·agree / Σ g·known,  u the same with the other pairs;
    sums over pairs. `added` pairs that agree and as many that differ are counted in every column. A column that is
    missing in every match keeps its m, and likewise for u. At least one pair is required.
    """
    expectation = expectation or every_pair(patterns)
    width = patterns.agree.shape[1]
    cells = np.hstack([patterns.agree, patterns.known & ~patterns.agree]).astype(np.float64)
    # Row 0 is for matches, row 1 for non-matches: agreement probabilities, and shares.
    chances = _clipped(np.vstack([start.m, start.u]))
    share = float(_clipped(np.float64(start.share)))
    history: list[float] = []
    converged = False
    while True:
        logs = np.log(np.hstack([chances, 1 - chances])) @ cells.T
        expected, found_share, likelihood = expectation(logs, share)
        history.append(likelihood)
        if converged or len(history) > most_steps:
            return FittedParameters(Parameters(chances[0], chances[1], share), converged, np.array(history))
        sums = expected @ cells
        agree, known = sums[:, :width] + added, sums[:, :width] + sums[:, width:] + 2 * added
        moved = _clipped(np.divide(agree, known, out=chances.copy(), where=known > 0))
        if fixed_u:
            moved[1] = chances[1]
        new_share = float(_clipped(np.float64(found_share)))
        converged = max(float(np.abs(moved - chances).max()), abs(new_share - share)) < tolerance
        chances, share = moved, new_share


def _clipped(chance: Floats | np.float64) -> Floats:
    """Clip to [SMALLEST, 1 - SMALLEST]; the best value under that bound, so that the likelihood still never falls."""
    return np.minimum(np.maximum(chance, SMALLEST), 1 - SMALLEST)
