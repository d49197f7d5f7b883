"""Which ordered columns of a release are turned around: larger values stand where smaller ones stood.

Three things tell the direction s of a column (1, or -1 if it is turned around), all of them by ranks:

    pairs     corr(c, d) in the release is s_c s_d times that of the originals
    curves    mean of (c^2 - 1) d is s_d times that of the originals, since c^2 has no direction
    labels    the mean of d among people with a label is s_d times that of the originals

The directions with the largest agreement win. Pairs say nothing about turning all columns of a connected group at once.
So groups, and columns whose flipping changes little, are tried both ways on records: the way that brings the people
closer to their nearest released records wins, if it does so clearly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXHAUSTIVE = 10
"""With at most this many columns all directions are tried, otherwise one or two columns are flipped at a time."""
UNSURE = 0.02
"""If flipping a column changes the agreement by less than this, its direction is tried on records too."""
FAR = 4.0
"""Directions found on records are used if people are closer by this many standard errors."""
MOST_ORIGINALS, RELEASED = 1_200, 3_000
"""The number of people and of released records that are compared."""
_UNTURNED = 1e-6
"""Unless something tells otherwise, a column is not turned around."""


def agreement_terms(
    own: Floats, released: Floats, own_labels: Mapping[str, Ints], released_labels: Mapping[str, Ints]
) -> tuple[Floats, Floats]:
    """The terms A and b of the agreement: sum over c < d of A[c, d] s_c s_d, plus the sum of b[d] s_d.

    `own` and `released` are rank scores, one column each, 0 where missing. The labels are codes that mean the same in
    both tables.
    """
    pairs = moments(own, own) * moments(released, released)
    np.fill_diagonal(pairs, 0.0)
    curves = moments(own**2 - 1, own) * moments(released**2 - 1, released)
    np.fill_diagonal(curves, 0.0)
    single = curves.sum(axis=0) + _UNTURNED
    for name, codes in own_labels.items():
        single = single + _means_by_label(own, codes, released, released_labels[name])
    return pairs, single


def moments(one: Floats, other: Floats) -> Floats:
    """The means of products, column by column."""
    return np.asarray(one.T @ other / max(1, len(one)))


def _means_by_label(own: Floats, codes: Ints, released: Floats, there: Ints) -> Floats:
    """The sum over labels of share times mean in one table times mean in the other."""
    count = int(max(codes.max(initial=-1), there.max(initial=-1))) + 1
    if not count:
        return np.zeros(own.shape[1])
    means, shares = [], []
    for scores, labels in ((own, codes), (released, there)):
        known = labels >= 0
        size = np.bincount(labels[known], minlength=count)
        total = np.column_stack([np.bincount(labels[known], scores[known, c], count) for c in range(scores.shape[1])])
        means.append(total / np.maximum(size, 1)[:, None])
        shares.append(size / max(1, size.sum()))
    return np.asarray((np.minimum(*shares)[:, None] * means[0] * means[1]).sum(axis=0))


def best_directions(pairs: Floats, single: Floats) -> Ints:
    """The directions with the largest agreement."""
    count = len(single)
    if count <= EXHAUSTIVE:
        tried = np.array(list(product((1, -1), repeat=count)), dtype=np.int64).reshape(-1, count)
        return np.asarray(tried[int(np.argmax([_agreement(pairs, single, one) for one in tried]))])
    return max((_climb(pairs, single, start) for start in _starts(pairs)), key=lambda at: _agreement(pairs, single, at))


def _starts(pairs: Floats) -> list[Ints]:
    """No column turned around, and the signs of the leading eigenvector either way."""
    leading = np.where(np.linalg.eigh(pairs)[1][:, -1] >= 0, 1, -1).astype(np.int64)
    return [np.ones(len(pairs), dtype=np.int64), leading, -leading]


def _climb(pairs: Floats, single: Floats, start: Ints) -> Ints:
    """Flip the column that gains most, or the best pair of columns, until none gains."""
    at = start.copy()
    while True:
        alone = gains(pairs, single, at)
        joint = alone[:, None] + alone[None, :] + 4 * pairs * np.outer(at, at)
        np.fill_diagonal(joint, alone)
        best = np.unravel_index(int(np.argmax(joint)), joint.shape)
        if joint[best] <= 0:
            return at
        at[list({int(place) for place in best})] *= -1


def gains(pairs: Floats, single: Floats, at: Ints) -> Floats:
    """How much the agreement grows if one column is flipped."""
    return np.asarray(-2 * at * (pairs @ at + single))


def _agreement(pairs: Floats, single: Floats, at: Ints) -> float:
    return float(at @ pairs @ at / 2 + single @ at)


def connected_groups(pairs: Floats) -> list[Ints]:
    """The groups of columns that are linked by clear associations, each as the places of its columns."""
    linked = np.abs(pairs) >= UNSURE
    groups, left = list[Ints](), set(range(len(pairs)))
    while left:
        group, new = set[int](), {left.pop()}
        while new:
            group |= new
            new = {int(c) for at in new for c in np.flatnonzero(linked[at])} - group
        left -= group
        groups.append(np.array(sorted(group)))
    return groups


def tried_on_records(people: Floats, released: Floats, at: Ints, flips: Sequence[Ints], weight: Floats) -> Ints:
    """The directions after trying each of `flips`, columns to be turned together, on records.

    `weight` is what the other columns add to the squared distance of each person to each record.
    """
    if not len(people) or not len(released):
        return at
    found = at.copy()
    reached = _nearness(people * found, released, weight)
    for columns in flips:
        other = found.copy()
        other[columns] *= -1
        near = _nearness(people * other, released, weight)
        gain = reached - near
        error = float(gain.std()) / np.sqrt(len(gain))
        if float(gain.mean()) > FAR * max(error, 1e-12):
            found, reached = other, near
    return found


def _nearness(people: Floats, released: Floats, weight: Floats) -> Floats:
    """The logarithm of each person's distance to the nearest record."""
    ones = np.ones(len(people))
    squares = np.column_stack([people, (people**2).sum(axis=1), ones]) @ np.vstack(
        [-2 * released.T, np.ones(len(released)), (released**2).sum(axis=1)]
    )
    squares += weight
    return np.asarray(np.log(np.maximum(squares.min(axis=1), 1e-6)) / 2)
