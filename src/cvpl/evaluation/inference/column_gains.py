"""What a linkage attacker gains by each column: how much the vote loses without it.

    gain(columns) = share of originals guessed right - share of controls guessed right, by the vote

It is measured on the people of one fold, and the columns that they gain most by are read on the people of the other
folds (`column_choices`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.evaluation.inference.attackers import LinkGuesses
from cvpl.evaluation.inference.beliefs import best_hits
from cvpl.evaluation.inference.nearest import NEAREST, Profiles, highest, vote_scale
from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute, SensitiveTruth
from cvpl.operators.similarity import AgreementScorer, Scorer

Ints = NDArray[np.int64]
Again = Callable[[str], Attack]
"""The attack without a column."""

MOST = 400
"""The most originals, and the most controls, by whom a fold ranks columns."""
FEWEST, PAIRS = 50, 10_000_000
"""In more than 25,000 released records there are fewer of them, but at least 50."""


def most_ranking(released: int) -> int:
    """The most originals, and the most controls, by whom a fold ranks columns in a release of so many records."""
    return max(FEWEST, min(MOST, PAIRS // max(1, released)))


def gains(
    links: LinkGuesses,
    secret: SensitiveAttribute,
    rows: tuple[Ints, Ints],
    truths: Sequence[SensitiveTruth | None],
    again: Again | None,
) -> dict[str, float] | None:
    """What is gained by each column; None if it cannot be measured.

    `rows` are those of originals and controls, `truths` their secrets. An attacker that sums over columns needs no
    other search; any other is run `again` without each column, or not at all.
    """
    done = links.attack
    names = done.representation.attacker.vectorization.compared(done.protected)
    whole = _scorers(done, rows, links.profiles)
    known = [truth for truth in truths if truth is not None]
    sums = [scorer.agreement for scorer in whole]
    summed = [one for one in sums if one is not None]
    if not len(rows[0]) or len(names) < 2 or (again is None and len(summed) < len(sums)):
        return None
    best = _gain(done, whole, links.profiles, secret, known)
    found = {}
    for name in names:
        if len(summed) == len(sums):
            parts: Sequence[Scorer | AgreementScorer] = [one.without(name) for one in summed]
            found[name] = best - _gain(done, parts, links.profiles, secret, known)
        elif again is not None:
            other = again(name)
            left = other.representation.attacker.vectorization.compared(other.protected)
            profiles = Profiles.by(other.protected, left, secret.released >= 0)
            found[name] = best - _gain(other, _scorers(other, rows, profiles), profiles, secret, known)
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
    secret: SensitiveAttribute,
    truths: Sequence[SensitiveTruth],
) -> float:
    found = [highest(scorer, NEAREST, done.budget.workers) for scorer in scorers]
    values, scale, shares = profiles.values(secret), vote_scale(done, found), []
    for near, truth in zip(found, truths, strict=True):
        hits = best_hits(near.beliefs(near.profile_weights(scale), values), secret, truth, by_rarity=False)
        shares.append(float(hits[truth.known].mean()) if truth.known.any() else 0.0)
    return shares[0] - sum(shares[1:])
