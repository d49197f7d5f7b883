"""Intervals against simulation: worlds with known truth are drawn many times, and the ends must hold what is expected.

Each draw brings new people, a new release and a new control, and everyone is searched by nearest neighbour in plain
loops. The truth is the mean of a figure over the draws. Two settings run in `make test`, all of them in full.
"""

from __future__ import annotations

import math
import random
from functools import cache

import numpy as np
import pytest

from cvpl.evaluation.intervals import bounds
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import power_intervals, top1_interval
from examples import examples, examples_apart
from oracle.figures import height, roc
from oracle.intervals import power_ends, top1_ends

DRAWS = examples(150)
NOMINAL = 0.95
SETTINGS = [
    # originals, controls, share of the originals in the release, noise, false-positive rate
    (60, 60, 0.5, 0.10, 0.10),
    (40, 120, 1.0, 0.25, 0.05),
    (100, 60, 0.3, 0.05, 0.20),
    (60, 120, 0.0, 0.10, 0.05),
    (120, 120, 0.8, 0.15, 0.10),
    (30, 60, 0.6, 0.10, 0.30),
]


def drawn(rng, originals, controls, share, noise):
    """Scores of originals and controls, and whether each released original's best candidate is its own record."""
    people, others = (
        [tuple(rng.gauss(0, 1) for _ in range(3)) for _ in range(count)] for count in (originals, controls)
    )
    # Whether somebody is in the release is drawn like everything else about a person.
    planted = sum(1 for _ in range(originals) if rng.random() < share)
    release = [tuple(x + rng.gauss(0, noise) for x in person) for person in people[:planted]]
    release += [tuple(rng.gauss(0, 1) for _ in range(3)) for _ in range(originals - planted)]

    def best(person):
        distances = [math.dist(person, record) for record in release]
        return -min(distances), distances.index(min(distances))

    found = [best(person) for person in people]
    hits = [1.0 if found[i][1] == i else 0.0 for i in range(planted)]
    return [score for score, _ in found], [best(person)[0] for person in others], hits


@cache
def redraws(setting):
    """All draws of a setting."""
    rng = random.Random(SETTINGS.index(setting))  # noqa: S311 - people, not secrets
    return [drawn(rng, *setting[:4]) for _ in range(DRAWS)]


def covered(ends, truth):
    return sum(1 for low, high in ends if low <= truth <= high) / len(ends)


def fewest_covered(nominal):
    """The nominal rate, less three standard errors of the simulation."""
    return nominal - 3 * math.sqrt(nominal * (1 - nominal) / DRAWS)


def spread(values):
    """The width of the middle 95% of the draws."""
    ordered = sorted(values)
    cut = round(0.025 * len(ordered))
    return ordered[-1 - cut] - ordered[cut]


def package_power_ends(setting, confidence=NOMINAL):
    rate = setting[4]
    ends = []
    for mine, base, _ in redraws(setting):
        (one,) = power_intervals(Sample(np.array(mine)), Sample(np.array(base)), [rate], confidence)
        ends.append((one.low, one.high))
    return ends


@pytest.mark.parametrize("setting", SETTINGS[:: examples_apart(3)])
def test_the_power_is_in_its_interval_as_often_as_claimed(setting):
    """Over the draws, and the interval is about as wide as the spread of the draws."""
    rate = setting[4]
    powers = [height(roc(mine, base), rate) for mine, base, _ in redraws(setting)]
    ends = package_power_ends(setting)
    truth = sum(powers) / len(powers)
    assert covered(ends, truth) >= fewest_covered(NOMINAL)
    widths = [high - low for low, high in ends]
    assert spread(powers) * 0.8 <= sum(widths) / len(widths) <= spread(powers) * 1.6
    own = [power_ends(mine, base, rate, NOMINAL) for mine, base, _ in redraws(setting)]
    assert np.array(ends) == pytest.approx(np.array(own), abs=1e-9)


@pytest.mark.parametrize("setting", [setting for setting in SETTINGS[:: examples_apart(3)] if setting[2] > 0])
def test_the_top1_hit_rate_is_in_its_interval_as_often_as_claimed(setting):
    """Over the draws, as for the power."""
    rates, ends, own = [], [], []
    for mine, _, hits in redraws(setting):
        if not hits:
            continue
        matched = np.zeros(len(mine), dtype=bool)
        matched[: len(hits)] = True
        all_hits = np.zeros(len(mine))
        all_hits[: len(hits)] = hits
        one = top1_interval(Sample(np.array(mine)), all_hits, matched)
        rates.append(sum(hits) / len(hits))
        own.append(top1_ends(rates[-1], len(hits), NOMINAL) or (None, None))
        ends.append((one.low, one.high))
    assert [pair == (None, None) for pair in ends] == [pair == (None, None) for pair in own]
    given, same = ([pair for pair in pairs if pair != (None, None)] for pairs in (ends, own))
    assert np.array(given) == pytest.approx(np.array(same), abs=1e-9)
    assert covered(given, sum(rates) / len(rates)) >= fewest_covered(NOMINAL)


def test_an_interval_that_is_too_narrow_is_noticed(monkeypatch):
    """With a tenth of the variance, the same draws miss the truth too often."""
    setting = SETTINGS[0]
    monkeypatch.setattr(bounds, "LEAST_EFFECT", 0.1)
    powers = [height(roc(mine, base), setting[4]) for mine, base, _ in redraws(setting)]
    assert covered(package_power_ends(setting), sum(powers) / len(powers)) < fewest_covered(NOMINAL)
