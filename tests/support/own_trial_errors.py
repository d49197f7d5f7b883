"""The errors of the power over the rounds of a trial, as plain loops."""

from __future__ import annotations

import itertools
import math

import pytest
from scipy.special import stdtrit

from oracle.figures import height, roc


def own_wilson(share, count, t):
    """Both x at which (share - x)² = t² x (1 - x) / count."""
    a, b, c = 1 + t * t / count, -(2 * share + t * t / count), share * share
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    return max(0.0, (-b - root) / (2 * a)), min(1.0, (-b + root) / (2 * a))


def own_round(mine, base, rate):
    """The power of a round, and how much each person who is in, or out, moves it."""
    points = roc(mine, base)
    power = height(points, rate)
    low, high = own_wilson(rate, len(base) / 1.1, float(stdtrit(len(base) - 1, 0.975)))
    low = 0.0 if rate * len(base) < 5.5 else low
    high = 1.0 if (1 - rate) * len(base) < 5.5 else high
    slope = (height(points, high) - height(points, low)) / (high - low)
    # The threshold that links at most the rate, and the next one below it.
    steps = sorted({*mine, *base}, reverse=True)
    above = [step for step in steps if sum(1 for x in base if x >= step) <= rate * len(base)]
    below = [step for step in steps if step not in above]
    reached = [sum(1 for x in base if x >= step) / len(base) for step in (above[-1:] + below[:1])]
    weight = (rate - reached[0]) / (reached[1] - reached[0]) if above else rate / reached[0]

    def counted(x):
        return 1.0 if above and x >= above[-1] else weight if below and x >= below[0] else 0.0

    assert sum(counted(x) for x in base) / len(base) == pytest.approx(rate)
    assert sum(counted(x) for x in mine) / len(mine) == pytest.approx(power)
    moved_in = [(counted(x) - power) / len(mine) for x in mine]
    return power, moved_in, [-slope * (counted(x) - rate) / len(base) for x in base]


def own_errors(scores, inside, units, rate):
    """The power of each round; the squared errors over people, over draws, and what people explain between rounds."""
    rounds = scores.shape[1]
    by_round, moved = [], {(unit, r): 0.0 for unit in set(units) for r in range(rounds)}
    for r in range(rounds):
        known = [i for i in range(len(scores)) if not math.isnan(scores[i, r])]
        sides = [[i for i in known if inside[i, r] == side] for side in (True, False)]
        power, *parts = own_round(*([float(scores[i, r]) for i in side] for side in sides), rate)
        by_round.append(power)
        for side, part in zip(sides, parts, strict=True):
            for i, value in zip(side, part, strict=True):
                moved[units[i], r] += value
    known = sorted(set(units))
    factor = len(known) / (len(known) - 1)
    people = factor * sum((sum(moved[unit, r] for r in range(rounds)) / rounds) ** 2 for unit in known)
    mean = sum(by_round) / rounds
    draws = sum((value - mean) ** 2 for value in by_round) / (rounds - 1) / rounds
    # Half the mean squared difference of two rounds.
    pairs = list(itertools.combinations(range(rounds), 2))
    between = sum(factor * (moved[unit, r] - moved[unit, s]) ** 2 for unit in known for r, s in pairs) / len(pairs) / 2
    return by_round, people, draws, between
