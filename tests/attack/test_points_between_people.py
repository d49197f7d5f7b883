"""Released records on the line between two people."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cvpl.attack import interpolation
from cvpl.attack.interpolation import EXACT, betweenness
from cvpl.evaluation.rates import power_at


def by_definition(people, released):
    """-log of the least sine between a record and another person, with the record between them; every line tried."""
    found = []
    for own, person in enumerate(people):
        least = 1.0
        for record in released:
            for other, partner in enumerate(people):
                to_record, to_other = record - person, partner - person
                near, far = math.dist(record, person), math.dist(partner, person)
                if other == own or not near or not far:
                    continue
                cosine = float(to_record @ to_other) / (near * far)
                if cosine > 0 and cosine * near < far * (1 - EXACT):
                    least = min(least, math.sqrt(max(0.0, 1 - cosine**2)))
        found.append(-math.log(max(least, EXACT)))
    return np.array(found)


def correlated(count, rng, features=5):
    """People whose features hang on two factors."""
    return rng.normal(size=(count, 2)) @ np.random.default_rng(0).normal(size=(2, features)) + rng.normal(
        size=(count, features)
    )


@pytest.mark.parametrize("features", [2, 3, 6])
def test_every_line_in_a_small_table_is_tried(features):
    """With few people the evidence is that of the definition."""
    rng = np.random.default_rng(features)
    people, released = correlated(25, rng, features), correlated(12, rng, features)
    assert betweenness(people, released) == pytest.approx(by_definition(people, released), rel=1e-5)


@pytest.mark.parametrize("most", [120_000_000, 1], ids=["every person", "nearest people"])
def test_a_point_between_two_people_gives_both_away(monkeypatch, most):
    """People whose record lies on the line to another stand out from all others, in small tables and in large ones."""
    monkeypatch.setattr(interpolation, "MOST_LINES", most)
    rng = np.random.default_rng(1)
    people = correlated(400, rng)
    partners = np.array([np.argsort(((people - person) ** 2).sum(axis=1))[1 + rng.integers(5)] for person in people])
    released = people[:40] + rng.random((40, 1)) * (people[partners[:40]] - people[:40])
    found = betweenness(people, released)
    involved = np.isin(np.arange(400), np.concatenate([np.arange(40), partners[:40]]))
    assert np.median(found[:40]) > np.quantile(found[~involved], 0.95)


@pytest.mark.parametrize("most", [120_000_000, 1], ids=["every person", "nearest people"])
def test_the_order_of_people_does_not_matter(monkeypatch, most):
    """Originals and controls are treated alike: the same number of lines is tried for every person."""
    monkeypatch.setattr(interpolation, "MOST_LINES", most)
    rng = np.random.default_rng(2)
    people, released = correlated(300, rng), correlated(100, rng)
    order = rng.permutation(300)
    assert betweenness(people[order], released) == pytest.approx(betweenness(people, released)[order], abs=1e-9)


def test_strangers_are_found_as_often_as_controls():
    """In releases of other people the mean risk is within four standard errors of 0.

    It was 0.1 when controls, of whom there are twice as many, were held against half as many records.
    """
    risks = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        found = betweenness(correlated(600, rng), correlated(200, rng))
        risks.append((power_at(found[:200], found[200:], 0.05) - 0.05) / 0.95)
    assert abs(np.mean(risks)) < 4 * np.std(risks, ddof=1) / math.sqrt(len(risks))
    assert np.mean(risks) < 0.05


@pytest.mark.parametrize(
    ("people", "released"),
    [(np.zeros((5, 1)), np.ones((3, 1))), (np.zeros((1, 3)), np.ones((3, 3))), (np.zeros((5, 3)), np.ones((0, 3)))],
    ids=["one feature", "one person", "no record"],
)
def test_without_a_line_there_is_no_evidence(people, released):
    """One feature, one person or no record: the evidence is 0."""
    assert betweenness(people, released).tolist() == [0.0] * len(people)


def test_equal_people_are_no_line():
    """A person is no line to a copy of itself, nor to a record that is equal."""
    people = np.repeat(np.array([[0.0, 0.0], [1.0, 2.0]]), 3, axis=0)
    assert betweenness(people, people).tolist() == [0.0] * 6
