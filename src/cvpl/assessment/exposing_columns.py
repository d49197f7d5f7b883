"""The columns by which single records are exposed: those that add most to the score of their best candidate.

For a score that is a sum over columns (rarity, agreement) they are the largest of its parts. Any other score is not
taken apart record by record: then the parts are those of the rarity attacker for the same pair, log(1 / frequency) of
each value on which the record and its best candidate agree. Columns that add nothing are not named.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cvpl.attack.attack import Attack
from cvpl.attack.prepared_attack import prepare
from cvpl.attack.shared_work import SharedWork
from cvpl.operators.blocking import Blocking
from cvpl.operators.similarity import AgreementScorer, Rarity
from cvpl.tables.columns import Pair

Floats = NDArray[np.float64]

MOST_COLUMNS = 3
"""So many columns are named for each record."""


def exposing_columns(done: Attack, pair: Pair) -> list[tuple[str, ...]]:
    """For each original that was searched for at most three columns, the one that adds most first."""
    rows = np.arange(done.original.rows)
    found = rows[done.found.row >= 0]
    names, parts = _parts(done, pair, found)
    named: list[tuple[str, ...]] = [()] * len(rows)
    # Of columns that add as much, the first counts: differences in the last bits decide nothing.
    order = np.argsort(-np.round(parts, 9), axis=1, kind="stable")[:, :MOST_COLUMNS]
    for at, row in enumerate(found.tolist()):
        named[row] = tuple(names[column] for column in order[at] if parts[at, column] > 0)
    return named


def _parts(done: Attack, pair: Pair, rows: NDArray[np.int64]) -> tuple[list[str], Floats]:
    """What each column adds to the score of each of these originals and its best candidate, originals x columns."""
    scorer = done.scorer.agreement or _by_rarity(done, pair)
    names = list(done.attacker.vectorization.compared(done.original))
    there = done.found.row[rows]
    parts = np.zeros((len(rows), len(names)))
    for at, name in enumerate(names):
        parts[:, at] = scorer.added_by(name, rows, there)
    return names, parts


def _by_rarity(done: Attack, pair: Pair) -> AgreementScorer:
    """The scores of the rarity attacker with the same knowledge, for the same originals."""
    plain = {"similarity": Rarity(), "evidence": "best", "alignment": "release", "projection": "identity"}
    attacker = done.attacker.model_copy(update={**plain, "blocking": Blocking(), "threshold": "false_rate"})
    most = None if done.holds_all else len(done.people)
    ready = prepare(pair, attacker, seed=done.seed, budget=done.budget, most=most, shared=SharedWork())
    assert np.array_equal(ready.tables.people, done.people)  # noqa: S101 - the same seed draws the same people
    scorer = ready.representation.scorer(ready.tables.original, ready.tables.protected).agreement
    assert scorer is not None  # noqa: S101 - rarity is a sum over columns
    return scorer
