"""What an attacker believes of a person's secret, and how often the guess that follows is right.

Beliefs are a sparse matrix: a row for each person, the weight of every value of the secret in it. A row without
weights is a person of whom the attacker learned nothing; then it guesses what is best for anybody.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.inference.sensitive_attribute import SensitiveAttribute, SensitiveTruth

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Beliefs = Any
"""A `scipy.sparse.csr_matrix` of people by values."""

_TIED = 1e-9


def normalized(weights: Beliefs) -> Beliefs:
    """The same with rows that sum to 1; empty rows stay empty."""
    from scipy.sparse import diags  # noqa: PLC0415 - loaded when secrets are inferred

    total = np.asarray(weights.sum(axis=1)).reshape(-1)
    return (diags(np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)) @ weights).tocsr()


def drawn_hits(beliefs: Beliefs, secret: SensitiveAttribute, truth: SensitiveTruth) -> Floats:
    """The probability that each person is guessed right, if the guess is drawn with the beliefs as probabilities."""
    people = np.repeat(np.arange(beliefs.shape[0]), np.diff(beliefs.indptr))
    right = secret.right(beliefs.indices.astype(np.int64), truth.take(people))
    return np.asarray(np.bincount(people, right * beliefs.data, minlength=beliefs.shape[0]), dtype=np.float64)


def best_hits(beliefs: Beliefs, secret: SensitiveAttribute, truth: SensitiveTruth, *, by_rarity: bool) -> Floats:
    """Whether each person is guessed right by the value with the largest expected score, shared among tied values.

        expected score of a guess g = sum over values v of   belief(v) w(v)   if g is right for v

    w(v) is 1, or with `by_rarity` -log of the share of the value in the release. Without beliefs the shares of the
    release take their place. The belief in a group is shared among its members.
    """
    worth = secret.rarity if by_rarity else np.ones(secret.size)
    expected = _expected(secret.shared(beliefs), secret, worth)
    counts = np.diff(expected.indptr)
    found = np.zeros(expected.shape[0])
    some = np.flatnonzero(counts)
    if len(some):
        people = np.repeat(np.arange(expected.shape[0]), counts)
        best = np.zeros(expected.shape[0])
        best[some] = np.maximum.reduceat(expected.data, expected.indptr[some])
        tied = expected.data >= best[people] * (1 - _TIED)
        right = secret.right(expected.indices[tied].astype(np.int64), truth.take(people[tied]))
        hits = np.bincount(people[tied], right, minlength=len(found))
        found = hits / np.maximum(1, np.bincount(people[tied], minlength=len(found)))
    nothing = np.flatnonzero(counts == 0)
    if len(nothing):
        found[nothing] = commonest_hits(secret, truth.take(nothing), by_rarity=by_rarity)
    return found


def commonest_hits(secret: SensitiveAttribute, truth: SensitiveTruth, *, by_rarity: bool) -> Floats:
    """The same for everybody from the shares of the release: the commonest value, or the one with the largest score."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when secrets are inferred

    people = len(truth.known)
    if not secret.size:
        return np.zeros(people)
    worth = secret.rarity if by_rarity else np.ones(secret.size)
    expected = _expected(csr_matrix(secret.shares[None, :]), secret, worth)
    tied = expected.indices[expected.data >= expected.data.max(initial=0.0) * (1 - _TIED)]
    found = np.zeros(people)
    for value in tied:
        found += secret.right(np.full(people, int(value), dtype=np.int64), truth) / len(tied)
    return found


def _expected(beliefs: Beliefs, secret: SensitiveAttribute, worth: Floats) -> Beliefs:
    """The expected score of every guess."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - loaded when secrets are inferred

    weighted = csr_matrix((beliefs.data * worth[beliefs.indices], beliefs.indices, beliefs.indptr), shape=beliefs.shape)
    # With one value in the release its rarity is 0, and the guess is still that value.
    return weighted if secret.reach is None else (weighted @ secret.reach).tocsr()
