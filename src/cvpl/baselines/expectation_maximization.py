"""EM for the Fellegi-Sunter model: the chances of agreement of matches and non-matches, and the share of matches.

    P(pattern) = share · Π m^agree (1-m)^differ + (1-share) · Π u^agree (1-u)^differ

The products are over columns; a missing value stands in none, and so is left out of the likelihood. Nothing in the
likelihood tells matches from non-matches, since exchanging m with u and share with 1 - share leaves it the same: the
start values decide, which have m above u on every column. A column may still end with m below u, and is reported so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.baselines.agreement_patterns import Patterns

Floats = NDArray[np.float64]

SMALLEST = 1e-12
"""Chances stay so far from 0 and 1, where a weight would be infinite."""
TOLERANCE = 1e-8
"""EM has converged when no parameter moves by more in a step."""
MOST_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class Parameters:
    """m and u of each column, and the share of matches among candidate pairs."""

    m: Floats
    u: Floats
    share: float

    def distance(self, other: Parameters) -> float:
        """The largest change of any parameter."""
        changes = [np.abs(self.m - other.m), np.abs(self.u - other.u), np.array([abs(self.share - other.share)])]
        return float(np.concatenate(changes).max())


@dataclass(frozen=True, eq=False)
class Estimate:
    """Where EM ended, whether it converged, and the log-likelihood (natural) at the start and after every step.

    Each step raises the log-likelihood or leaves it as it is.
    """

    parameters: Parameters
    converged: bool
    log_likelihood: Floats

    @property
    def steps(self) -> int:
        """How many steps it took."""
        return len(self.log_likelihood) - 1


def maximize(
    patterns: Patterns,
    start: Parameters,
    *,
    fixed_u: bool,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> Estimate:
    """Run EM on the counts of patterns until no parameter moves by `tolerance` or more, or for `most_steps`.

    E: g = P(match | pattern).  M: m = Σ g·agree / Σ g·known,  u the same with 1 - g,  share = Σ g / pairs; sums over
    pairs. A column that no match knows keeps its m, and likewise for u. There must be a pair.
    """
    agree, known = patterns.agree.astype(np.float64), patterns.known.astype(np.float64)
    differ = known - agree
    counts = patterns.counts.astype(np.float64)
    now = Parameters(_inside(start.m), _inside(start.u), float(_inside(np.float64(start.share))))
    history: list[float] = []
    converged = False
    while True:
        if_match, if_not = (
            agree @ np.log(chance) + differ @ np.log1p(-chance) + np.log(weight)
            for chance, weight in ((now.m, now.share), (now.u, 1 - now.share))
        )
        either = np.logaddexp(if_match, if_not)
        history.append(float(counts @ either))
        if converged or len(history) > most_steps:
            return Estimate(now, converged, np.array(history))
        matches = counts * np.exp(if_match - either)
        others = counts * np.exp(if_not - either)
        u = now.u if fixed_u else _ratio(others @ agree, others @ known, now.u)
        share = float(_inside(matches.sum() / counts.sum()))
        moved = Parameters(_ratio(matches @ agree, matches @ known, now.m), u, share)
        converged = moved.distance(now) < tolerance
        now = moved


def _ratio(part: Floats, whole: Floats, otherwise: Floats) -> Floats:
    return _inside(np.divide(part, whole, out=otherwise.copy(), where=whole > 0))


def _inside(chance: Floats | np.float64) -> Floats:
    """Within [SMALLEST, 1 - SMALLEST]; the best value under that bound, so that the likelihood still never falls."""
    return np.clip(chance, SMALLEST, 1 - SMALLEST)
