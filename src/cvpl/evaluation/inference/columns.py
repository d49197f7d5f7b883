"""The columns by which an attribute is inferred: what each gains, and which are chosen without using the same people.

The people are split into four folds. Each fold ranks the columns for itself (`column_gains`), so there are four choices
of so many columns. A person is read by the three choices that other folds made: the hit is their mean. So nobody is
read by columns that were chosen to fit them, everybody counts, and a poor choice by one fold moves the figure by a
quarter only.

The figure is a mean over choices, so its error has a part from them. With the score θ_r of choice r over all people,

    choice² = 1 / (F (F - 1)) · Σ_r (θ_r - mean θ)²                        F folds; 0 if all choose the same columns

It is added in squares to the distances of the ends, with Student's quantile for the degrees of freedom of the sum by
Welch and Satterthwaite: F - 1 for the choice.

What a linkage attacker gains by each column: how much the vote loses without it.

    gain(columns) = share of originals guessed right - share of controls guessed right, by the vote

It is measured on the people of one fold, and the columns that they gain most by are read on the people of the other
folds (`column_choices`).

Nested sets of the columns that an attacker knows, so that more knowledge does not make it weaker. A column that the
release does not keep makes candidates worse, and one that tells nothing of the sensitive attribute makes classes
smaller. So attackers that choose records also ask with the three quarters, the half and the quarter of the columns that
they gain most by (`column_gains`). That is chosen on some of the people and read on the others (`column_choices`). The
compatible class asks with the half and the quarter that tell most of the sensitive attribute in the release; no person
is read for that choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.evaluation.inference.attackers import NEAREST, LinkGuesses, Profiles, highest, vote_scale
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute, SensitiveTruth, best_hits
from cvpl.evaluation.intervals.bounds import quantile
from cvpl.operators.similarity import AgreementScorer, Scorer
from cvpl.tables.columns import ColumnData, Table

Ints = NDArray[np.int64]


Floats = NDArray[np.float64]
Ends = tuple[float, float]

FOLDS = 4
"""The people are split into so many folds; each chooses columns, and is read by those that the others chose."""


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of each original and each control who is asked, and for each fold the rows by which it ranks columns."""

    original: Ints
    control: Ints
    ranking: tuple[tuple[Ints, Ints], ...]


def draw_folds(
    people: int, controls: int, clusters: tuple[Ints, Ints | None] | None, most: int, rng: np.random.Generator
) -> Folds | None:
    """Split originals and controls into folds by cluster, one of both tables as one; None if a fold would be empty.

    A fold ranks by at most `most` of its originals and of its controls.
    """
    mine, base = clusters if clusters is not None else (None, None)
    if mine is None or base is None:
        mine, base = np.arange(people), people + np.arange(controls)
    fold_of: dict[int, int] = {}
    for rows in (np.unique(mine), np.setdiff1d(base, mine)):
        fold_of |= {int(cluster): at % FOLDS for at, cluster in enumerate(rng.permutation(rows))}
    found = [np.array([fold_of[int(cluster)] for cluster in rows], dtype=np.int64) for rows in (mine, base)]
    ranking = []
    for fold in range(FOLDS):
        own = [np.flatnonzero(one == fold).astype(np.int64) for one in found]
        if not len(own[0]) or not len(own[1]):
            return None
        some = [np.sort(rng.permutation(one)[:most]) for one in own]
        ranking.append((some[0], some[1]))
    return Folds(found[0], found[1], tuple(ranking))


def read_apart(by_choice: Sequence[Floats], fold: Ints) -> Floats:
    """The hit of each person: the mean over the choices that other folds made. `by_choice` has a row for each fold."""
    hits = np.stack(by_choice)
    own = hits[fold, np.arange(len(fold))]
    return np.asarray((hits.sum(axis=0) - own) / (len(hits) - 1))


def choice_error(scores: Sequence[float]) -> float:
    """The standard error of a mean over choices, from the score of each; 0 with fewer than two."""
    if len(scores) < 2:
        return 0.0
    return float(np.std(scores, ddof=1)) / math.sqrt(len(scores))


def widen_for_choice(ends: Ends, estimate: float, error: float, people: float, confidence: float) -> Ends:
    """The ends of an interval over people, with the standard error of the choice added in squares."""
    if error <= 0:
        return ends
    plain = quantile(confidence, people - 1)
    among = ((ends[1] - ends[0]) / 2 / plain) ** 2
    freedom = (among + error**2) ** 2 / (error**4 / (FOLDS - 1) + among**2 / max(1.0, people - 1))
    whole = quantile(confidence, freedom)
    below, above = (
        math.hypot(distance * whole / plain, whole * error) for distance in (estimate - ends[0], ends[1] - estimate)
    )
    return estimate - below, estimate + above


Again = Callable[[str], Attack]
"""The attack without a column."""

MOST_RANKING_PEOPLE = 400
"""The largest number of originals, and of controls, by whom a fold ranks columns."""
FEWEST_RANKING_PEOPLE, MOST_RANKING_PAIRS = 50, 10_000_000
"""In more than 25,000 released records there are fewer of them, but at least 50."""


def most_ranking(released: int) -> int:
    """The most originals, and the most controls, by whom a fold ranks columns in a release of so many records."""
    return max(FEWEST_RANKING_PEOPLE, min(MOST_RANKING_PEOPLE, MOST_RANKING_PAIRS // max(1, released)))


def gains(
    links: LinkGuesses,
    attribute: SensitiveAttribute,
    rows: tuple[Ints, Ints],
    truths: Sequence[SensitiveTruth | None],
    again: Again | None,
) -> dict[str, float] | None:
    """What is gained by each column; None if it cannot be measured.

    `rows` are those of originals and controls, `truths` their sensitive attributes. An attacker that sums over columns
    needs no other search; any other is run `again` without each column, or not at all.
    """
    done = links.attack
    names = done.representation.attacker.vectorization.compared(done.protected)
    whole = _scorers(done, rows, links.profiles)
    known = [truth for truth in truths if truth is not None]
    sums = [scorer.agreement for scorer in whole]
    summed = [one for one in sums if one is not None]
    if not len(rows[0]) or len(names) < 2 or (again is None and len(summed) < len(sums)):
        return None
    best = _gain(done, whole, links.profiles, attribute, known)
    found = {}
    for name in names:
        if len(summed) == len(sums):
            parts: Sequence[Scorer | AgreementScorer] = [one.without(name) for one in summed]
            found[name] = best - _gain(done, parts, links.profiles, attribute, known)
        elif again is not None:
            other = again(name)
            left = other.representation.attacker.vectorization.compared(other.protected)
            profiles = Profiles.by(other.protected, left, attribute.released >= 0)
            found[name] = best - _gain(other, _scorers(other, rows, profiles), profiles, attribute, known)
    return found


def _scorers(done: Attack, rows: tuple[Ints, Ints], profiles: Profiles) -> list[Scorer]:
    found = []
    for table, some in zip((done.original, done.control), rows, strict=True):
        if table is not None:
            source = done.representation.scorer(table.take(some), done.protected)
            found.append(source.sorted(np.arange(len(some)), profiles.first))
    return found


def _gain(
    done: Attack,
    scorers: Sequence[Scorer | AgreementScorer],
    profiles: Profiles,
    attribute: SensitiveAttribute,
    truths: Sequence[SensitiveTruth],
) -> float:
    found = [highest(scorer, NEAREST, done.budget.workers) for scorer in scorers]
    values, scale, shares = profiles.values(attribute), vote_scale(done, found), []
    for near, truth in zip(found, truths, strict=True):
        hits = best_hits(near.beliefs(near.profile_weights(scale), values), attribute, truth, by_rarity=False)
        shares.append(float(hits[truth.known].mean()) if truth.known.any() else 0.0)
    return shares[0] - sum(shares[1:])


SAMPLE = 20_000
"""The records in which columns are ranked."""
_GROUPS = 12
"""Numbers are ranked in so many groups of equal size, labels by so many of the commonest ones and the others."""


def columns_by_information(
    released: Table, names: Sequence[str], attribute: SensitiveAttribute, rng: np.random.Generator
) -> tuple[str, ...]:
    """The columns in the order of their mutual information with the attribute in the release, the largest first."""
    rows = np.flatnonzero(attribute.released >= 0)
    if len(rows) > SAMPLE:
        rows = np.sort(rng.permutation(rows)[:SAMPLE])
    values = _grouped_codes(attribute.released[rows])
    told = {name: mutual_information(_group_codes(released.columns[name].take(rows)), values) for name in names}
    return tuple(sorted(names, key=lambda name: (-told[name], list(names).index(name))))


def nested_sets(names: Sequence[str], ranked: Sequence[str], shares: Sequence[float]) -> list[tuple[str, ...]]:
    """The first columns of a ranking, a share of them for each set, rounded up; each set in the order of `names`."""
    sizes = dict.fromkeys(math.ceil(share * len(names)) for share in shares)
    return [tuple(name for name in names if name in ranked[:size]) for size in sizes if size]


def mutual_information(one: Ints, other: Ints) -> float:
    """Sum over pairs of values of p(a, b) log(p(a, b) / (p(a) p(b))), in nats, from codes from 0 on; 0 without records.

    The expected value of unrelated columns, (A - 1)(B - 1) / (2 n), is taken off (Miller and Madow).
    """
    if not len(one):
        return 0.0
    wide = int(other.max()) + 1
    joint = np.bincount(one * wide + other, minlength=(int(one.max()) + 1) * wide).reshape(-1, wide) / len(one)
    a, b = joint.sum(axis=1), joint.sum(axis=0)
    there = joint > 0
    found = float((joint[there] * np.log(joint[there] / np.outer(a, b)[there])).sum())
    return found - (int((a > 0).sum()) - 1) * (int((b > 0).sum()) - 1) / (2 * len(one))


def _group_codes(column: ColumnData) -> Ints:
    if not column.ordered:
        return _grouped_codes(column.distinct(plain=True)[1].astype(np.int64))
    numbers = column.ordinal()
    known = np.isfinite(numbers)
    cuts = np.unique(np.quantile(numbers[known], np.arange(1, _GROUPS) / _GROUPS)) if known.any() else np.zeros(0)
    return np.where(known, np.searchsorted(cuts, np.where(known, numbers, 0.0), side="right") + 1, 0).astype(np.int64)


def _grouped_codes(codes: Ints) -> Ints:
    """The commonest codes, and one for all others; missing ones are 0."""
    counts = np.bincount(codes[codes >= 0])
    place = np.full(len(counts) + 1, _GROUPS + 1, dtype=np.int64)
    place[np.argsort(-counts, kind="stable")[:_GROUPS]] = np.arange(1, min(_GROUPS, len(counts)) + 1)
    place[-1] = 0
    return place[codes]
