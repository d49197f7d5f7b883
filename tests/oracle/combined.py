"""The attacker `combined` (docs/concepts/attackers.md, "Combined evidence"): all members' evidence in one score.

Records are put in an order by their content before anything is drawn, and that order is handed over. The folds
themselves are drawn here, from the seed.

Choices where the page is silent:
- Of members of equal power, the first in the family's order gives the candidates.
- A standard deviation of at most 1e-12 is none: the member's z is 0.
"""

import math
import zlib

import numpy as np

from . import figures
from .family import Member
from .verdict import largest, settle

NAME = "combined"
FOLDS, RIDGE, FARTHEST, NO_SPREAD = 5, 1.0, 6.0, 1e-12
FEWEST_MEMBERS, FEWEST_PEOPLE = 3, 200


def combine(members, faults, asked, seed, fewest=FEWEST_PEOPLE):
    """The member `combined`, the one whose candidates it takes, and the names of all that it joins.

    None if it does not run. `asked` has for each member the rows of the originals and of the control that it asked, in
    the order of their content. `fewest` is the smallest number of originals, and of controls.
    """
    able = [m for m in members if not faults.get(m.name) and m.controls is not None and not m.projects]
    unblocked = [m for m in able if m.compares_everybody]
    if len(able) < FEWEST_MEMBERS or not unblocked:
        return None
    if min(len(rows) for rows in everybody(able, asked)) < fewest:
        return None
    powers = {m.name: (figures.power_of_scores(*settle([m.scores, m.controls]), 0.05),) for m in unblocked}
    first = next(m for m in able if m.name == largest(powers))
    scores = joined(able, asked, seed, NAME)
    found = Member(NAME, *scores, first.found, True, first.compares_values, first.compared)
    return found, first.name, [m.name for m in able]


def joined(members, asked, seed, purpose):
    """The scores of the originals and of the controls whom all members asked, in the order of their content."""
    rows, controls = everybody(members, asked)
    evidence = [[m.scores[row] for m in members] for row in rows]
    places = [{row: at for at, row in enumerate(sorted(asked[m.name][1]))} for m in members]
    against = [[m.controls[place[row]] for m, place in zip(members, places, strict=True)] for row in controls]
    return cross_fitted(evidence, against, *drawn_folds([len(rows), len(controls)], seed, purpose))


def everybody(members, asked):
    """The originals and the controls whom all members asked."""
    return [common([asked[m.name][table] for m in members]) for table in (0, 1)]


def common(lists):
    """The rows that are in every list, in the order of the shortest one."""
    return [row for row in min(lists, key=len) if all(row in other for other in lists)]


def generator(seed, purpose):
    """The random numbers of one purpose: numpy's default generator, spawned from the seed by the purpose's CRC-32."""
    key = zlib.crc32(purpose.encode())
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))


def drawn_folds(sizes, seed, purpose):
    """Fold of each person of each table: a random permutation of 0, 1, ... for each table, modulo five."""
    draw = generator(seed, purpose)
    return [[int(place) % FOLDS for place in draw.permutation(size)] for size in sizes]


def folds_of_units(tables, draw):
    """The same with units: their codes in ascending order get a permutation modulo five, and people their unit's."""
    units = sorted({unit for table in tables for unit in table})
    fold = {unit: int(place) % FOLDS for unit, place in zip(units, draw.permutation(len(units)), strict=True)}
    return [[fold[unit] for unit in table] for table in tables]


def cross_fitted(originals, controls, folds, control_folds):
    """The scores of originals and controls; each row has one evidence for each member, None without a candidate."""
    people = [(row, 1, at) for row, at in zip(originals, folds, strict=True)]
    people += [(row, 0, at) for row, at in zip(controls, control_folds, strict=True)]
    scores = [0.0] * len(people)
    for fold in range(FOLDS):
        others = [(row, label) for row, label, at in people if at != fold]
        labels = [label for _, label in others]
        if 0 not in labels or 1 not in labels:
            continue
        scales = [scale([row[k] for row, _ in others]) for k in range(len(people[0][0]))]
        weights = regression([standardized(row, scales) for row, _ in others], labels)
        for i, (row, _, at) in enumerate(people):
            if at == fold:
                z = standardized(row, scales)
                scores[i] = weights[0] + sum(b * value for b, value in zip(weights[1:], z, strict=True))
    return scores[: len(originals)], scores[len(originals) :]


def scale(values):
    """The lowest evidence, the mean and the standard deviation of one member over the people of four folds."""
    known = [value for value in values if value is not None]
    lowest = min(known) if known else 0.0
    filled = [lowest if value is None else value for value in values]
    mean = math.fsum(filled) / len(filled)
    return lowest, mean, math.sqrt(math.fsum((value - mean) ** 2 for value in filled) / len(filled))


def standardized(row, scales):
    """The z of each member: missing and lower evidence is the lowest, and nothing is farther out than 6."""
    z = []
    for value, (lowest, mean, deviation) in zip(row, scales, strict=True):
        filled = lowest if value is None or value < lowest else value
        far = (filled - mean) / deviation if deviation > NO_SPREAD else 0.0
        z.append(min(FARTHEST, max(-FARTHEST, far)))
    return z


def regression(features, labels):
    """The intercept and weights b of the largest log-likelihood minus b·b / 2, by Newton's method; b0 is free."""
    x = np.array([[1.0, *row] for row in features])
    y = np.array(labels, dtype=float)
    ridge = np.array([0.0] + [RIDGE] * (x.shape[1] - 1))

    def objective(b):
        t = x @ b
        return float(np.sum(y * t - np.logaddexp(0.0, t)) - np.sum(ridge * b * b) / 2)

    b = np.zeros(x.shape[1])
    for _ in range(200):
        p = 1 / (1 + np.exp(-(x @ b)))
        slope = x.T @ (y - p) - ridge * b
        step = np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]) + np.diag(ridge), slope)
        size = 1.0
        # Near the top the objective changes by rounding alone, which is no reason for a shorter step.
        while objective(b + size * step) < objective(b) * (1 + 1e-12) and size > 1e-9:
            size /= 2
        b = b + size * step
        if np.abs(step).max() < 1e-12:
            return [float(value) for value in b]
    raise ArithmeticError("Newton's method did not converge")
