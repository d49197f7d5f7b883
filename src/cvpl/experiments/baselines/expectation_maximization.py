"""EM for the Fellegi-Sunter model: agreement probabilities of matches and non-matches, and the share of matches.

    P(pattern) = share · Π m^agree (1-m)^differ + (1-share) · Π u^agree (1-u)^differ

The products are over columns; a missing value is in none of them, and so is left out of the likelihood. The likelihood
does not distinguish matches from non-matches, since swapping m with u and share with 1 - share leaves it unchanged: the
start values decide, with m above u on every column. A column may still end with m below u, and is reported as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.experiments.baselines.agreement_patterns import Patterns

Floats = NDArray[np.float64]

SMALLEST = 1e-12
"""The smallest distance of probabilities from 0 and 1, where a weight would be infinite."""
TOLERANCE = 1e-8
"""EM has converged if no parameter changes by more in a step."""
MOST_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class Parameters:
    """m and u of each column, and the share of matches among candidate pairs."""

    m: Floats
    u: Floats
    share: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """The result of EM, whether it converged, and the log-likelihood (natural) at the start and after every step.

    A step never lowers the log-likelihood.
    """

    parameters: Parameters
    converged: bool
    log_likelihood: Floats

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.log_likelihood) - 1


def maximize(
    patterns: Patterns,
    start: Parameters,
    *,
    fixed_u: bool,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> Estimate:
    """Run EM on the pattern counts until no parameter changes by `tolerance` or more, or for `most_steps`.

    E: g = P(match | pattern).  M: m = Σ g·agree / Σ g·known,  u the same with 1 - g,  share = Σ g / pairs; sums over
    pairs. A column that is missing in every match keeps its m, and likewise for u. At least one pair is required.
    """
    width = patterns.agree.shape[1]
    cells = np.hstack([patterns.agree, patterns.known & ~patterns.agree]).astype(np.float64)
    counts = patterns.counts.astype(np.float64)
    pairs = float(counts.sum())
    # Row 0 is for matches, row 1 for non-matches: agreement probabilities, and shares.
    chances = _inside(np.vstack([start.m, start.u]))
    share = float(_inside(np.float64(start.share)))
    history: list[float] = []
    converged = False
    while True:
        logs = np.log(np.hstack([chances, 1 - chances])) @ cells.T + np.log([[share], [1 - share]])
        either = np.logaddexp(logs[0], logs[1])
        history.append(float(counts @ either))
        if converged or len(history) > most_steps:
            return Estimate(Parameters(chances[0], chances[1], share), converged, np.array(history))
        expected = counts * np.exp(logs - either)
        sums = expected @ cells
        agree, known = sums[:, :width], sums[:, :width] + sums[:, width:]
        moved = _inside(np.divide(agree, known, out=chances.copy(), where=known > 0))
        if fixed_u:
            moved[1] = chances[1]
        new_share = float(_inside(expected[0].sum() / pairs))
        converged = max(float(np.abs(moved - chances).max()), abs(new_share - share)) < tolerance
        chances, share = moved, new_share


def _inside(chance: Floats | np.float64) -> Floats:
    """Clip to [SMALLEST, 1 - SMALLEST]; the best value under that bound, so that the likelihood still never falls."""
    return np.minimum(np.maximum(chance, SMALLEST), 1 - SMALLEST)
