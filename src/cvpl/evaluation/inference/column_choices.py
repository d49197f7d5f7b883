"""Columns that are chosen on some of the people and read on the others, so that the choice is inside the interval.

The people are split into four folds. Each fold ranks the columns for itself (`column_gains`), so there are four choices
of so many columns. A person is read by the three choices that other folds made: the hit is their mean. So nobody is
read by columns that were chosen to fit them, everybody counts, and a poor choice by one fold moves the figure by a
quarter only.

The figure is a mean over choices, so its error has a part from them. With the score θ_r of choice r over all people,

    choice² = 1 / (F (F - 1)) · Σ_r (θ_r - mean θ)²                        F folds; 0 if all choose the same columns

It is added in squares to the distances of the ends, with Student's quantile for the degrees of freedom of the sum by
Welch and Satterthwaite: F - 1 for the choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvpl.evaluation.intervals.shares import quantile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
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
    people: int, controls: int, units: tuple[Ints, Ints | None] | None, most: int, rng: np.random.Generator
) -> Folds | None:
    """Split originals and controls into folds by unit, a unit of both tables as one; None if a fold would be empty.

    A fold ranks by at most `most` of its originals and of its controls.
    """
    mine, base = units if units is not None else (None, None)
    if mine is None or base is None:
        mine, base = np.arange(people), people + np.arange(controls)
    fold_of: dict[int, int] = {}
    for rows in (np.unique(mine), np.setdiff1d(base, mine)):
        fold_of |= {int(unit): at % FOLDS for at, unit in enumerate(rng.permutation(rows))}
    found = [np.array([fold_of[int(unit)] for unit in rows], dtype=np.int64) for rows in (mine, base)]
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
