"""Fellegi-Sunter with EM over the pairs that share a block (paper, baseline B1 and section Relationship to F-S).

    weight(x, y) = Σ over agreeing columns of log2(m/u) + Σ over differing ones of log2((1-m)/(1-u))
    P(match | x, y) = 1 / (1 + 2^-(weight + log2(share / (1 - share))))

A column on which all candidate pairs agree, or all differ, or none is known, carries no information and is left out; so
are the blocking keys themselves. A missing value adds 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.attack.attacker import Attacker
from cvpl.evaluation.truth import Truth, share
from cvpl.operators.similarity.match_agreement import (
    MOST_STEPS,
    TOLERANCE,
    FittedParameters,
    Parameters,
    Patterns,
    maximize,
)
from cvpl.search.best import BestCandidates
from cvpl.tables.columns import Table
from cvpl_paper.baselines.agreement import Comparison, WeighedColumn, compare_tables
from cvpl_paper.baselines.agreement_patterns import PatternScorer, count_patterns
from cvpl_paper.baselines.hits import shared_hits

Floats = NDArray[np.float64]

START_M = 0.9
"""The start value of a column's m, as a fraction of the way from u to 1."""
MOST_START_SHARE = 0.5


@dataclass(frozen=True)
class Estimation:
    """The estimation of m, u and the share of matches.

    `u` is fixed at the probability that two records agree, counted over all pairs that share a block
    (`chance_in_blocks`) or over all pairs of the two tables (`chance`, as in Splink), or it is estimated with the rest
    (`estimated`). Under `chance`, pairs that share a block agree more often than random pairs, on the blocking keys and
    on correlated columns, and EM may mistake that for matching.

    EM starts at the values given here, and otherwise with u at the probability in blocks, m at u + 0.9 (1 - u), above u
    on every column, and the share at one match for each record of the smaller table, at most 1/2.
    """

    u: Literal["chance_in_blocks", "chance", "estimated"] = "chance_in_blocks"
    start_m: float | None = None
    start_u: float | None = None
    start_share: float | None = None
    tolerance: float = TOLERANCE
    most_steps: int = MOST_STEPS


@dataclass(frozen=True, eq=False)
class FellegiSunter:
    """A fitted model: the columns it uses, those it leaves out, and the EM estimate. Both may be empty."""

    attacker: Attacker
    comparison: Comparison
    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    estimate: FittedParameters
    patterns: Patterns

    @property
    def m(self) -> Mapping[str, float]:
        """For each column, the probability that a match agrees."""
        return dict(zip(self.columns, self.estimate.parameters.m.tolist(), strict=True))

    @property
    def u(self) -> Mapping[str, float]:
        """For each column, the probability that a non-match agrees."""
        return dict(zip(self.columns, self.estimate.parameters.u.tolist(), strict=True))

    @property
    def share(self) -> float:
        """The estimated share of matches among the candidate pairs."""
        return self.estimate.parameters.share

    @property
    def agree(self) -> Floats:
        """log2(m/u) of each column."""
        at = self.estimate.parameters
        return np.asarray(np.log2(at.m) - np.log2(at.u))

    @property
    def differ(self) -> Floats:
        """log2((1-m)/(1-u)) of each column."""
        at = self.estimate.parameters
        return np.asarray((np.log1p(-at.m) - np.log1p(-at.u)) / np.log(2))

    @property
    def prior(self) -> float:
        """log2(share / (1 - share)), which the posterior adds to every weight."""
        return float(np.log2(self.share) - np.log1p(-self.share) / np.log(2))

    def posterior(self, weight: Floats) -> Floats:
        """The probability that a pair of this weight is a match; 0 for the weight -inf of a missing candidate."""
        chance: Floats = np.exp2(-np.logaddexp2(0.0, -(weight + self.prior)))
        return chance

    def scorer(self, queries: Table, candidates: Table) -> PatternScorer:
        """The weights of the records of two tables, such as the control and the release."""
        compared = compare_tables(queries, candidates, self.attacker, self.comparison)
        kept = [column for column in compared if column.name in self.columns]
        return PatternScorer.of(kept, (queries.rows, candidates.rows), self.agree, self.differ)


@dataclass(frozen=True, eq=False)
class Links:
    """For each original, the candidate of the highest weight, and the posterior of that weight."""

    model: FellegiSunter
    found: BestCandidates
    scorer: PatternScorer

    @property
    def by_posterior(self) -> NDArray[np.bool_]:
        """The originals linked because P(match) of the best candidate is 1/2 or more."""
        return self.found.best + self.model.prior >= 0

    @property
    def by_weight(self) -> NDArray[np.bool_]:
        """The originals linked by the naive rule, which ignores how rare matches are: the best weight is 0 or more."""
        return self.found.best >= 0


@dataclass(frozen=True)
class LinkFigures:
    """The figures of the baseline; those that need the true matches are None without them, and 0/0 is None.

    `linkage_rate` is the share of all originals with a candidate whose P(match) is 1/2 or more, `naive_linkage_rate`
    that with a weight of 0 or more, and each `precision_at_1` the hits among linked originals over linked originals,
    None with incomplete truth. `top1_hit_rate` is over originals with a match, linked or not.
    """

    linkage_rate: float
    naive_linkage_rate: float
    top1_hit_rate: float | None
    precision_at_1: float | None
    naive_precision_at_1: float | None


def fit_fellegi_sunter(
    attack: Attack, comparison: Comparison | None = None, estimation: Estimation | None = None
) -> FellegiSunter:
    """Count the patterns of the attack's candidate pairs, and estimate the model from them.

    Without a pair, or without an informative column, every weight is 0 and the share keeps its start value.
    """
    comparison, estimation = comparison or Comparison(), estimation or Estimation()
    compared = compare_tables(attack.original, attack.protected, attack.attacker, comparison)
    patterns = count_patterns(compared, attack.partitions, attack.budget)
    agreed, known = (patterns.counts @ side for side in (patterns.agree, patterns.known))
    tells = (agreed > 0) & (agreed < known)
    columns = [column for column, kept in zip(compared, tells, strict=True) if kept]
    start = _start(attack, columns, (agreed[tells] / known[tells]), patterns.pairs, estimation)
    kept = patterns.only(tells)
    if columns:
        estimate = maximize(
            kept,
            start,
            fixed_u=estimation.u != "estimated",
            tolerance=estimation.tolerance,
            most_steps=estimation.most_steps,
        )
    else:
        estimate = FittedParameters(start, True, np.zeros(1))
    left_out = tuple(column.name for column, used in zip(compared, tells, strict=True) if not used)
    names = tuple(column.name for column in columns)
    return FellegiSunter(attack.attacker, comparison, names, left_out, estimate, kept)


def link(attack: Attack, model: FellegiSunter) -> Links:
    """Every original's best candidate by weight, from an exact search of the attack's blocks."""
    scorer = model.scorer(attack.original, attack.protected)
    return Links(model, attack.find(scorer, attack.partitions), scorer)


def figures(attack: Attack, links: Links, truth: Truth | None = None) -> LinkFigures:
    """The figures of the links, including how many are right if the truth is known."""
    found, posterior, weight = links.found, links.by_posterior, links.by_weight
    rates = float(np.mean(posterior)), float(np.mean(weight))
    if truth is None:
        return LinkFigures(*rates, None, None, None)
    hit = shared_hits(found, links.scorer, attack.partitions, truth.matches)
    precision = (
        share(float(hit[linked].sum()), int(linked.sum())) if truth.complete else None for linked in (posterior, weight)
    )
    return LinkFigures(*rates, share(float(hit[truth.has_match].sum()), int(truth.has_match.sum())), *precision)


def _start(
    attack: Attack, columns: list[WeighedColumn], in_blocks: Floats, pairs: int, estimation: Estimation
) -> Parameters:
    """The start values of EM; u keeps its start value if it is fixed."""
    u = in_blocks
    if estimation.u == "chance":
        counted = np.array([column.chance() for column in columns], dtype=np.float64).reshape(-1, 2)
        u = counted[:, 0] / counted[:, 1]
    elif estimation.start_u is not None and estimation.u == "estimated":
        u = np.full(len(columns), estimation.start_u)
    m = u + START_M * (1 - u) if estimation.start_m is None else np.full(len(columns), estimation.start_m)
    smaller = min(attack.original.rows, attack.protected.rows)
    usual = min(MOST_START_SHARE, smaller / max(1, pairs))
    return Parameters(m, u, usual if estimation.start_share is None else estimation.start_share)
