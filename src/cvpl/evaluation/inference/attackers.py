"""The attackers on an attribute: each gives beliefs of the originals' and the controls' values from what it knows.

    best_candidate     the value of the best candidate of a linkage attacker, one of them at random if several tie
    nearest_record     the value of the nearest released record by distance of whole rows, likewise
    vote               the values of its 20 nearest profiles, weighted by exp((score - best) / scale)
    compatible_class   the values of all released records whose cells allow what is known
    boosted_trees      a model trained on the release
    forest             another one
    model_and_link     λ vote + (1 - λ) mean of the models; λ is the share of the best profile in the vote's weights

None of them reads the sensitive attribute of the people; the linkage attacker does not compare the sensitive column.

The class that compatible cells leave: the released records whose cells allow everything that is known of a person. A
cell allows a value as in `operators/similarity/cells`: the same value, an interval or a time span that contains it, a
group or a set that names it. A missing cell allows everything, and a missing value of a person is allowed by every
cell. The sensitive attributes of the class are what an attacker learns without choosing a record (homogeneity).

The nearest released profiles of people, by the scores of a linkage attacker. A profile is a set of released records
that are equal in all columns that the attacker compares; they have the same score for everybody. The search keeps the k
profiles with the highest scores. So a thousand equal records count as one neighbour, and all of their sensitive
attributes are looked at. People who are equal in these columns are searched for once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.evaluation.criteria import combined_codes
from cvpl.evaluation.inference import models
from cvpl.evaluation.inference.sensitive_attribute import (
    Beliefs,
    SensitiveAttribute,
    SensitiveTruth,
    best_hits,
    drawn_hits,
    normalize_rows,
)
from cvpl.operators.alignment import Granularity, detect
from cvpl.operators.similarity import AgreementScorer, Scorer, generalized_columns
from cvpl.operators.similarity.containment import ColumnCells, cell_kinds
from cvpl.randomness import stream
from cvpl.search.best import TIE
from cvpl.search.machine import threads
from cvpl.tables.columns import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


BEST, NEAREST_RECORD, VOTE = "best_candidate", "nearest_record", "vote"
CLASS, JOINED = "compatible_class", "model_and_link"


@dataclass(frozen=True, eq=False)
class BothBeliefs:
    """The beliefs of the originals and of the controls who are queried; `drawn` if the guess is drawn from them."""

    original: Beliefs
    control: Beliefs | None
    drawn: bool = False

    def hits(
        self,
        attribute: SensitiveAttribute,
        original: SensitiveTruth,
        control: SensitiveTruth | None,
        *,
        by_rarity: bool,
    ) -> list[Floats]:
        """How right the guess of each original is, and of each control, if there are any."""
        found = []
        for beliefs, truth in ((self.original, original), (self.control, control)):
            if beliefs is not None and truth is not None:
                one = drawn_hits(beliefs, attribute, truth) if self.drawn else None
                found.append(best_hits(beliefs, attribute, truth, by_rarity=by_rarity) if one is None else one)
        return found


@dataclass(frozen=True, eq=False)
class LinkGuesses:
    """The nearest profiles of originals and controls by one linkage attacker, and the release that it searched."""

    attack: Attack
    profiles: Profiles
    original: Nearest
    control: Nearest | None

    @classmethod
    def of(cls, attack: Attack, kept: NDArray[np.bool_]) -> LinkGuesses:
        """Search among the released records in `kept`, those with a sensitive attribute."""
        names = attack.representation.attacker.vectorization.compared(attack.protected)
        profiles = Profiles.by(attack.protected, names, kept)
        control = None if attack.control is None else nearest_profiles(attack, attack.control, profiles)
        return cls(attack, profiles, nearest_profiles(attack, attack.original, profiles), control)

    @cached_property
    def scale(self) -> float:
        """The scale of the vote."""
        return vote_scale(self.attack, [item for item in (self.original, self.control) if item is not None])

    @property
    def _both(self) -> list[Nearest | None]:
        return [self.original, self.control]

    def best(self, attribute: SensitiveAttribute) -> BothBeliefs:
        """The values of the best candidates."""
        values = self.profiles.values(attribute)
        mine, base = (None if item is None else item.best(values) for item in self._both)
        return BothBeliefs(mine, base, drawn=True)

    def vote(self, attribute: SensitiveAttribute) -> BothBeliefs:
        """The values of the nearest profiles, weighted."""
        values = self.profiles.values(attribute)
        mine, base = (
            None if item is None else item.beliefs(item.profile_weights(self.scale), values) for item in self._both
        )
        return BothBeliefs(mine, base)

    def joined(self, attribute: SensitiveAttribute, predicted: Sequence[BothBeliefs]) -> BothBeliefs:
        """The vote and the mean of the models, weighted by how far the best profile is ahead."""
        vote = self.vote(attribute)
        found: list[Beliefs | None] = []
        for at, item in enumerate(self._both):
            if item is None:
                found.append(None)
                continue
            voted, *told = (_require_beliefs((both.original, both.control)[at]) for both in (vote, *predicted))
            weights = item.profile_weights(self.scale)
            ahead = np.divide(weights[:, 0], weights.sum(axis=1), out=np.zeros(len(weights)), where=weights[:, 0] > 0)
            found.append(_mix_beliefs(ahead, voted, reduce(add, told) / len(told)))
        return BothBeliefs(found[0], found[1])

    def together(
        self, attributes: Sequence[SensitiveAttribute], truths: Sequence[Sequence[SensitiveTruth | None]]
    ) -> list[Floats]:
        """The share of the best candidates of each person that have all of several sensitive attributes right.

        `truths` are those of the originals, and those of the controls.
        """
        found = []
        order = np.argsort(self.profiles.of, kind="stable")
        starts = np.searchsorted(self.profiles.of[order], np.arange(len(self.profiles.first) + 1))
        for item, own in zip(self._both, truths, strict=True):
            if item is None:
                continue
            tied = (item.score >= item.score[:, :1] - TIE) & (item.profile >= 0)
            person, place = np.nonzero(tied)
            profile = item.profile[person, place]
            counts = starts[profile + 1] - starts[profile]
            first = np.repeat(starts[profile] - (np.cumsum(counts) - counts), counts)
            records = order[np.arange(int(counts.sum())) + first]
            people = np.repeat(person, counts)
            right = np.ones(len(records))
            for attribute, truth in zip(attributes, own, strict=True):
                assert truth is not None  # noqa: S101 - who was searched for is known
                right *= attribute.right(attribute.released[records], truth.take(people))
            every = np.bincount(people, minlength=len(tied))
            found.append(np.bincount(people, right, minlength=len(tied)) / np.maximum(1, every))
        return found


def _require_beliefs(beliefs: Beliefs | None) -> Beliefs:
    assert beliefs is not None  # noqa: S101 - there are beliefs wherever there are candidates
    return beliefs


def _mix_beliefs(share: Floats, one: Beliefs, other: Beliefs) -> Beliefs:
    from scipy.sparse import diags  # noqa: PLC0415 - loaded when sensitive attributes are inferred

    return normalize_rows((diags(share) @ one + diags(1 - share) @ other).tocsr())


@dataclass(frozen=True, eq=False)
class AlignedPeople:
    """The people who are queried, at the granularity of the release, for attackers that need no search.

    In `cells` a column whose released cells allow several values stays as it is.
    """

    released: Table
    granularity: Granularity
    generalized: tuple[str, ...]
    held: Table
    held_control: Table | None

    @classmethod
    def of(cls, held: Table, released: Table, control: Table | None) -> AlignedPeople:
        """Detect the granularity of the release from the attacker's people."""
        generalized = tuple(generalized_columns(held, released))
        return cls(released, detect(held, released), generalized, held, control)

    def compatible_class(self, names: Sequence[str], attribute: SensitiveAttribute) -> BothBeliefs:
        """The values of the released records that are compatible in the columns."""
        grain = self.granularity.without(self.generalized)
        mine = grain.apply(self.held)
        classes = CompatibleClasses.of(mine, self.released, names)
        control = None if self.held_control is None else classes.beliefs(grain.apply(self.held_control), attribute)
        return BothBeliefs(classes.beliefs(mine, attribute), control)

    def model(
        self, name: models.ModelName, names: Sequence[str], attribute: SensitiveAttribute, *, seed: int, workers: int
    ) -> BothBeliefs | None:
        """The predictions of a model that is trained on at most 100,000 released records; None without a record."""
        features = models.Features.of(self.released, names)
        rows = np.flatnonzero(attribute.released >= 0)
        if len(rows) > models.MOST_ROWS:
            rows = np.sort(stream(seed, f"trained on {attribute.name}").permutation(rows)[: models.MOST_ROWS])
        trained = models.train(
            name,
            features(self.released.only(tuple(names)).take(rows)),
            attribute.released[rows],
            attribute,
            categorical=features.categorical,
            seed=int(stream(seed, f"{name} {attribute.name}").integers(1 << 31)),
            workers=workers,
        )
        if trained is None:
            return None
        mine, base = (
            None if table is None else trained.beliefs(features(self.granularity.apply(table)))
            for table in (self.held, self.held_control)
        )
        return BothBeliefs(mine, base)


_PAIRS_AT_ONCE = 1 << 24
"""Pairs of people and released profiles that are looked at together."""


@dataclass(frozen=True, eq=False)
class CompatibleClasses:
    """The released records in the columns `names`, and how people are compared with them."""

    cells: tuple[ColumnCells, ...]
    names: tuple[str, ...]
    profile: Ints
    codes: tuple[Codes, ...]
    """The cell of each profile, by column."""

    @classmethod
    def of(cls, original: Table, released: Table, names: Sequence[str]) -> CompatibleClasses:
        """The released profiles by the columns; `original` are the attacker's people."""
        cells = tuple(cell_kinds(name, original, released).cells(released.columns[name]) for name in names)
        profile = combined_codes([item.codes for item in cells], released.rows)
        first = np.unique(profile, return_index=True)[1]
        return cls(cells, tuple(names), profile, tuple(item.codes[first] for item in cells))

    @property
    def profiles(self) -> int:
        """The number of different released records."""
        return len(self.codes[0]) if self.codes else 1

    def beliefs(self, people: Table, attribute: SensitiveAttribute) -> Beliefs:
        """The share of each value in the class of each person; an empty row if nobody is compatible."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when sensitive attributes are inferred

        rows = np.flatnonzero(attribute.released >= 0)
        values = csr_matrix(
            (np.ones(len(rows)), (self.profile[rows], attribute.released[rows])), shape=(self.profiles, attribute.size)
        )
        query_codes = [
            item.query_codes(people.columns[name]) for item, name in zip(self.cells, self.names, strict=True)
        ]
        keys = combined_codes(query_codes, people.rows)
        first = np.unique(keys, return_index=True)[1]
        found = self._classes([codes[first] for codes in query_codes], len(first)) @ values
        return normalize_rows(found.tocsr())[keys]

    def _classes(self, query_codes: Sequence[Codes], people: int) -> Any:
        """A sparse matrix of people by profiles: 1 where every cell allows what is known."""
        from scipy.sparse import csr_matrix, vstack  # noqa: PLC0415 - loaded when sensitive attributes are inferred

        exact = [at for at in range(len(query_codes)) if self.is_exact(at, query_codes[at])]
        others = [at for at in range(len(query_codes)) if at not in exact]
        groups, order, starts = self._grouped(exact, [query_codes[at] for at in exact], people)
        parts, chunk = [], max(1, _PAIRS_AT_ONCE // max(1, self.profiles))
        for left in range(0, people, chunk):
            some = slice(left, min(left + chunk, people))
            counts = starts[groups[some] + 1] - starts[groups[some]]
            who = np.repeat(np.arange(some.stop - some.start), counts)
            ends = np.cumsum(counts)
            place = np.arange(len(who)) - np.repeat(ends - counts, counts) + np.repeat(starts[groups[some]], counts)
            profile = order[place]
            for at in others:
                if not len(who):
                    break
                allowed = self._allows(at, query_codes[at][some][who], self.codes[at][profile])
                who, profile = who[allowed], profile[allowed]
            shape = some.stop - some.start, self.profiles
            parts.append(csr_matrix((np.ones(len(who)), (who, profile)), shape=shape))
        return vstack(parts).tocsr() if parts else csr_matrix((0, self.profiles))

    def is_exact(self, at: int, query_codes: Codes) -> bool:
        """Whether each code is allowed by one cell at most, and nothing is missing: then profiles can be looked up."""
        if (query_codes < 0).any() or (self.codes[at] < 0).any():
            return False
        different = np.unique(query_codes)
        step = max(1, _PAIRS_AT_ONCE // max(1, int(self.codes[at].max(initial=0)) + 1))
        return all(
            int(self.cells[at].allows(different[left : left + step]).sum(axis=1).max(initial=0)) <= 1
            for left in range(0, len(different), step)
        )

    def _grouped(self, exact: Sequence[int], query_codes: Sequence[Codes], people: int) -> tuple[Ints, Ints, Ints]:
        """The group of each person, the profiles in the order of groups, and where groups start in it.

        Profiles of a group have the cells that the person's exact columns ask for; group 0 is empty.
        """
        columns = []
        for at, codes in zip(exact, query_codes, strict=True):
            different, inverse = np.unique(codes, return_inverse=True)
            cell = np.full(len(different), -1, dtype=np.int32)
            step = max(1, _PAIRS_AT_ONCE // max(1, int(self.codes[at].max(initial=0)) + 1))
            for left in range(0, len(different), step):
                allowed = self.cells[at].allows(different[left : left + step])
                some = np.flatnonzero(allowed.any(axis=1))
                cell[left + some] = allowed[some].argmax(axis=1)
            columns.append(cell[inverse.reshape(-1)])
        none = np.zeros(people, dtype=bool)
        for wanted in columns:
            none |= wanted < 0
        both = [np.concatenate([wanted, self.codes[at]]) for wanted, at in zip(columns, exact, strict=True)]
        keys = combined_codes(both, people + self.profiles) + 1
        groups = np.where(none, 0, keys[:people])
        order = np.argsort(keys[people:], kind="stable").astype(np.int64)
        starts = np.searchsorted(keys[people:][order], np.arange(int(keys.max(initial=0)) + 2))
        return groups.astype(np.int64), order, starts.astype(np.int64)

    def _allows(self, at: int, query_codes: Codes, cell: Codes) -> NDArray[np.bool_]:
        """Whether each cell allows each code, pair by pair."""
        different, inverse = np.unique(query_codes, return_inverse=True)
        found = (query_codes < 0) | (cell < 0)
        step = max(1, _PAIRS_AT_ONCE // max(1, int(self.codes[at].max(initial=0)) + 1))
        inverse = inverse.reshape(-1)
        for left in range(0, len(different), step):
            allowed = self.cells[at].allows(different[left : left + step])
            mine = np.flatnonzero((inverse >= left) & (inverse < left + step) & (cell >= 0))
            found[mine] |= allowed[inverse[mine] - left, cell[mine]]
        return found


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

    def values(self, attribute: SensitiveAttribute) -> Any:
        """A sparse matrix: how many records of each profile (rows) have each value of the sensitive attribute."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when sensitive attributes are inferred

        rows = np.flatnonzero((self.of >= 0) & (attribute.released >= 0))
        counts = np.ones(len(rows))
        return csr_matrix((counts, (self.of[rows], attribute.released[rows])), shape=(len(self.first), attribute.size))


@dataclass(frozen=True, eq=False)
class Nearest:
    """For each person the nearest profiles and their scores, the highest first; -1 and -inf where there are fewer."""

    profile: Ints
    score: Floats

    def beliefs(self, weights: Floats, values: Any) -> Beliefs:
        """The sensitive attributes of the nearest profiles, weighted."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when sensitive attributes are inferred

        people, columns = np.nonzero(weights > 0)
        chosen = csr_matrix(
            (weights[people, columns], (people, self.profile[people, columns])),
            shape=(len(weights), values.shape[0]),
        )
        return normalize_rows((chosen @ values).tocsr())

    def best(self, values: Any) -> Beliefs:
        """The attributes of the best candidates: all records that tie for the best score, with equal weight."""
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
    over the second-best profile, of all people who are queried.
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
    query_codes = np.unique(keys, return_index=True)[1].astype(np.int64)
    scorer = attack.representation.scorer(table, attack.protected).sorted(query_codes, profiles.first)
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
        search = partial(_search_compiled, agreement, by_column, gaps, k, at_once)
    with threads(workers) as pool:
        parts = list(pool.map(search, range(0, scorer.queries, at_once)))
    if not parts:
        return Nearest(np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1)))
    return Nearest(*(np.concatenate([part[at] for part in parts]) for at in (0, 1)))


def _search_compiled(
    scorer: AgreementScorer, by_column: Codes, gaps: NDArray[np.bool_], k: int, at_once: int, start: int
) -> tuple[Ints, Floats]:
    """The k best candidates of some queries by agreement."""
    from cvpl.evaluation.inference import compiled_nearest as compiled  # noqa: PLC0415 - loads Numba

    codes = scorer.a[start : start + at_once]
    query_codes = [scorer.query_codes(column, codes[:, column]) for column in range(scorer.columns)]
    first, last, agree = (np.column_stack([one[at] for one in query_codes]) for at in (0, 1, 2))
    differ = np.column_stack([np.where(one[3], scorer.worth.differ[at], 0.0) for at, one in enumerate(query_codes)])
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
    query_codes = slice(start, min(start + _QUERIES, queries))
    rows = query_codes.stop - query_codes.start
    place = np.full((rows, kept), -1, dtype=np.int64)
    rough = np.full((rows, kept), -np.inf)
    width = max(1, _TILE // rows)
    for left in range(0, candidates, width):
        columns = slice(left, min(left + width, candidates))
        tile = np.asarray(scorer.tile(query_codes, columns), dtype=np.float64)
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
    exact[known] = scorer.pairs(who[known] + query_codes.start, flat[known])
    score = exact.reshape(rows, kept)
    order = np.lexsort((place, -score), axis=1)[:, :k]
    return np.take_along_axis(place, order, axis=1), np.take_along_axis(score, order, axis=1)
