"""The nearest released profiles of people, by the scores of a linkage attacker.

A profile is a set of released records that are equal in all columns that the attacker compares; they have the same
score for everybody. The search keeps the k profiles with the highest scores. So a thousand equal records count as one
neighbour, and all of their secrets are looked at. People who are equal in these columns are searched for once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.evaluation.criteria.classes import combined_codes
from cvpl.evaluation.inference.beliefs import Beliefs, normalized
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute
from cvpl.operators.similarity import AgreementScorer, Scorer
from cvpl.search.best import TIE
from cvpl.search.machine import threads
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

NEAREST = 20
"""The profiles that are kept for each person."""
_SPARE = 4
"""More are kept while searching, since the scores of tiles are approximate."""
COMPILED = 2_000_000
"""From so many pairs on, a compiled loop saves more time than it takes to load."""
_TILE = 1 << 20
_QUERIES = 128


@dataclass(frozen=True, eq=False)
class Profiles:
    """The profile of each released record, numbered from 0; -1 for records that are left out."""

    of: Ints
    first: Ints
    """One record of each profile."""

    @classmethod
    def by(cls, table: Table, columns: Sequence[str], kept: NDArray[np.bool_]) -> Profiles:
        """The profiles of the records in `kept`, by the columns."""
        rows = np.flatnonzero(kept)
        codes = [table.columns[name] for name in columns]
        keys = combined_codes([one.distinct(plain=one.plain)[1][rows] for one in codes], len(rows))
        of = np.full(len(kept), -1, dtype=np.int64)
        of[rows] = keys
        first = np.unique(keys, return_index=True)[1]
        return cls(of, rows[first].astype(np.int64))

    def values(self, secret: SensitiveAttribute) -> Any:
        """A sparse matrix: how many records of each profile (rows) have each value of the secret."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when secrets are inferred

        rows = np.flatnonzero((self.of >= 0) & (secret.released >= 0))
        counts = np.ones(len(rows))
        return csr_matrix((counts, (self.of[rows], secret.released[rows])), shape=(len(self.first), secret.size))


@dataclass(frozen=True, eq=False)
class Nearest:
    """For each person the nearest profiles and their scores, the highest first; -1 and -inf where there are fewer."""

    profile: Ints
    score: Floats

    def beliefs(self, weights: Floats, values: Any) -> Beliefs:
        """The secrets of the nearest profiles, weighted."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when secrets are inferred

        people, columns = np.nonzero(weights > 0)
        chosen = csr_matrix(
            (weights[people, columns], (people, self.profile[people, columns])),
            shape=(len(weights), values.shape[0]),
        )
        return normalized((chosen @ values).tocsr())

    def best(self, values: Any) -> Beliefs:
        """The secrets of the best candidates: all records that tie for the best score, with equal weight."""
        tied = (self.score >= self.score[:, :1] - TIE) & (self.profile >= 0)
        return self.beliefs(tied.astype(np.float64), values)

    def profile_weights(self, scale: float) -> Floats:
        """The weight of each profile: exp((score - best score) / scale)."""
        known = self.profile >= 0
        best = np.where(known[:, :1], self.score[:, :1], 0.0)
        weights: Floats = np.where(known, np.exp((np.where(known, self.score, 0.0) - best) / scale), 0.0)
        return weights


def vote_scale(attack: Attack, found: Sequence[Nearest]) -> float:
    """The difference of scores over which a vote loses a factor e.

    Scores of values are sums of log-likelihood ratios, so the scale is 1. Other scores have the median lead of the best
    over the second-best profile, of all people asked.
    """
    if attack.attacker.compares_values:
        return 1.0
    gaps = [item.score[:, 0] - item.score[:, 1] for item in found if item.score.shape[1] > 1]
    known = np.concatenate([*gaps, np.zeros(0)])
    known = known[np.isfinite(known) & (known > 0)]
    return float(np.median(known)) if len(known) else 1.0


def nearest_profiles(attack: Attack, table: Table, profiles: Profiles, k: int = NEAREST) -> Nearest:
    """The k nearest profiles of every record of `table`, which are originals or controls as the attacker has them.

    Scores are those of the formula; profiles of equal score are in the order of their numbers.
    """
    codes = [table.columns[name] for name in attack.representation.attacker.vectorization.compared(table)]
    keys = combined_codes([one.distinct(plain=one.plain)[1] for one in codes], table.rows)
    asked = np.unique(keys, return_index=True)[1].astype(np.int64)
    scorer = attack.representation.scorer(table, attack.protected).sorted(asked, profiles.first)
    found = highest(scorer, k, attack.budget.workers)
    return Nearest(found.profile[keys], found.score[keys])


def highest(scorer: Scorer | AgreementScorer, k: int, workers: int) -> Nearest:
    """The k candidates of a scorer with the highest scores for each of its queries."""
    k, agreement = min(k, scorer.candidates), scorer.agreement
    at_once = _QUERIES  # the scores of tiles depend on it, so it does not depend on the number of threads
    search: Callable[[int], tuple[Ints, Floats]] = partial(_top, scorer, k)
    if agreement is not None and scorer.queries * scorer.candidates >= COMPILED:
        at_once = max(1, min(_QUERIES, -(-scorer.queries // workers)))
        by_column = np.ascontiguousarray(agreement.b.T)
        gaps = np.asarray((by_column < 0).any(axis=1))
        search = partial(_compiled, agreement, by_column, gaps, k, at_once)
    with threads(workers) as pool:
        parts = list(pool.map(search, range(0, scorer.queries, at_once)))
    if not parts:
        return Nearest(np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1)))
    return Nearest(*(np.concatenate([part[at] for part in parts]) for at in (0, 1)))


def _compiled(
    scorer: AgreementScorer, by_column: Codes, gaps: NDArray[np.bool_], k: int, at_once: int, start: int
) -> tuple[Ints, Floats]:
    """The k best candidates of some queries by agreement."""
    from cvpl.evaluation.inference import compiled_nearest as compiled  # noqa: PLC0415 - loads Numba

    codes = scorer.a[start : start + at_once]
    asked = [scorer.asked(column, codes[:, column]) for column in range(scorer.columns)]
    first, last, agree = (np.column_stack([one[at] for one in asked]) for at in (0, 1, 2))
    differ = np.column_stack([np.where(one[3], scorer.worth.differ[at], 0.0) for at, one in enumerate(asked)])
    place, score = np.full((len(codes), k), -1, dtype=np.int64), np.full((len(codes), k), -np.inf)
    if len(by_column) + int(gaps.sum()) <= compiled.MOST_BITS:
        compiled.nearest_by_pattern(first, last, agree, differ, by_column, gaps, place, score)
    else:
        compiled.nearest_by_sum(first, last, agree, differ, by_column, place, score)
    return place, score


def _top(scorer: Scorer | AgreementScorer, k: int, start: int) -> tuple[Ints, Floats]:
    """The k best candidates of some queries: by tiles, then by the formula."""
    queries, candidates = scorer.queries, scorer.candidates
    kept = min(k + _SPARE, candidates)
    asked = slice(start, min(start + _QUERIES, queries))
    rows = asked.stop - asked.start
    place = np.full((rows, kept), -1, dtype=np.int64)
    rough = np.full((rows, kept), -np.inf)
    width = max(1, _TILE // rows)
    for left in range(0, candidates, width):
        columns = slice(left, min(left + width, candidates))
        tile = np.asarray(scorer.tile(asked, columns), dtype=np.float64)
        above = tile > rough[:, -1:]
        for row in np.flatnonzero(above.any(axis=1)):
            new = np.flatnonzero(above[row])
            if len(new) > kept:
                least = np.partition(tile[row, new], len(new) - kept)[len(new) - kept]
                new = new[tile[row, new] >= least]
            scores = np.concatenate([rough[row], tile[row, new]])
            places = np.concatenate([place[row], new + left])
            order = np.lexsort((places, -scores))[:kept]
            rough[row], place[row] = scores[order], places[order]
    who = np.repeat(np.arange(rows), kept)
    flat = place.reshape(-1)
    known = flat >= 0
    exact = np.full(rows * kept, -np.inf)
    exact[known] = scorer.pairs(who[known] + asked.start, flat[known])
    score = exact.reshape(rows, kept)
    order = np.lexsort((place, -score), axis=1)[:, :k]
    return np.take_along_axis(place, order, axis=1), np.take_along_axis(score, order, axis=1)
