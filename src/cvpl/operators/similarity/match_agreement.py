"""m, the probability that a match agrees on a column, estimated by EM from a release without known matches.

Some originals are compared with the whole release. An original has at most one match in it, so of all pairs at most one
in n is a match; the model that EM fits says so (`expectation_maximization.one_match`). u is known: the chance that two
records agree. Every column then gets the m that explains the pairs best, near 1 where the release left the values as
they were, and near u where it replaced them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.operators.similarity.agreement import ComparedColumn
from cvpl.operators.similarity.expectation_maximization import Parameters, maximize, one_match
from cvpl.operators.similarity.record_patterns import Each, record_patterns

Floats = NDArray[np.float64]

ASKED = 200
"""The most originals that are compared with the release, ..."""
PAIRS = 3_000_000
"""... and fewer if this would make more pairs, ..."""
FEWEST = 40
"""... but at least these."""
START = 0.9
"""EM starts with m at this value, or half-way from u to 1 if that is larger, and m stays there if EM has no answer."""
START_SHARE = 0.5
ADDED = 0.5
"""Pairs that agree, and as many that differ, that are added to every column, so that no m is 0 or 1."""
TOLERANCE = 1e-4
MOST_STEPS = 500
FEWEST_MATCHES = 10.0
"""With fewer expected matches among the originals that are compared, m is not estimated."""


def asked_originals(originals: int, released: int) -> int:
    """The number of originals that are compared with the release."""
    return min(originals, ASKED, max(FEWEST, PAIRS // max(1, released)))


@dataclass(frozen=True)
class MatchAgreement:
    """For each column the probability that a match agrees, and with a tolerance that one within it has equal values.

    Both are empty without an estimate.
    """

    agree: Mapping[str, float]
    equal: Mapping[str, float]


def estimate_m(
    columns: Sequence[ComparedColumn], u: Floats, within: Mapping[int, int] | None = None, *, each: Each = map
) -> Floats | None:
    """The m of every column; None if EM does not converge, or expects fewer than ten matches.

    `columns` compare some originals with the release. `u` has for each of these, and each column, the probability that
    a released record which is not their match agrees. m is at least the mean of u over the originals with a value:
    below it a column says nothing. `within` has pairs of columns: the first is compared only where the second agrees.
    `each` compares the originals with the release, see `record_patterns`.
    """
    originals, released = len(u), len(columns[0].candidates) if columns else 0
    if not originals or not released:
        return None
    patterns, record = record_patterns(columns, originals, each)
    for inner, outer in (within or {}).items():
        patterns.known[:, inner] &= patterns.agree[:, outer]
    differ = patterns.known & ~patterns.agree
    others = (patterns.agree * np.log(u)[record] + differ * np.log1p(-u)[record]).sum(axis=1)
    has = np.column_stack([column.queries >= 0 for column in columns])
    # A column without any value says nothing, whatever its m.
    mean = np.where(has.any(axis=0), (u * has).sum(axis=0) / np.maximum(has.sum(axis=0), 1), 0.5)
    estimate = maximize(
        patterns,
        Parameters(np.maximum(START, (1 + mean) / 2), mean, START_SHARE),
        fixed_u=True,
        expectation=one_match(patterns, record, released, others),
        added=ADDED,
        tolerance=TOLERANCE,
        most_steps=MOST_STEPS,
    )
    found = estimate.parameters
    if not estimate.converged or found.share * originals < FEWEST_MATCHES:
        return None
    return np.asarray(np.maximum(found.m, mean))
