"""The ranking of people over the rounds of a trial: by hand, and never worse than by rarity alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from cvpl.evaluation.trials.people import evidence_of_rounds, expected_evidence


def test_evidence_is_the_place_among_those_who_are_out():
    """Three are out, with 1, 2 and 3. Who has 2.5 is beaten by one of them, who has 9 by none."""
    scores = np.array([[1.0], [2.0], [3.0], [2.5], [9.0], [np.nan]])
    inside = np.array([[False], [False], [False], [True], [True], [True]])
    found = evidence_of_rounds(scores, inside)[:, 0]
    assert np.isnan(found[[0, 1, 2, 5]]).all()
    assert found[3:5] == pytest.approx([-norm.ppf(2 / 5), -norm.ppf(1 / 5)])


def test_rounds_that_tell_nothing_leave_the_order_of_rarity():
    rng = np.random.default_rng(1)
    rarity = rng.permutation(400).astype(float)
    evidence = np.where(rng.random((400, 8)) < 0.5, rarity[:, None] / 100 + rng.normal(size=(400, 8)), np.nan)
    evidence[3] = np.nan
    found = expected_evidence(evidence, rarity)
    assert np.corrcoef(np.argsort(np.argsort(found)), rarity)[0, 1] > 0.95
    assert found[3] == pytest.approx(np.interp(rarity[3], rarity[np.argsort(rarity)], np.sort(found)), abs=0.5)


def test_many_rounds_that_tell_apart_override_rarity():
    rng = np.random.default_rng(2)
    risk = rng.normal(size=300)
    found = expected_evidence(risk[:, None] + rng.normal(size=(300, 400)) * 0.5, rng.permutation(300).astype(float))
    assert np.corrcoef(found, risk)[0, 1] > 0.99


@pytest.mark.parametrize("rounds", [4, 8, 32])
@pytest.mark.parametrize("told", [0.0, 0.5, 0.9])
def test_the_ranking_finds_as_many_of_the_most_exposed_as_rarity_alone(rounds, told):
    """Rarity explains a share `told` of the risk; the mean over 40 worlds is not below that of rarity beyond error."""
    rng, people, tenth = np.random.default_rng(3), 300, 30
    better = []
    for _ in range(40):
        rarity = rng.normal(size=people)
        risk = np.sqrt(told) * rarity + np.sqrt(1 - told) * rng.normal(size=people)
        inside = rng.random((people, rounds)) < 0.5
        evidence = np.where(inside, risk[:, None] + 2 * rng.normal(size=(people, rounds)), np.nan)
        true = set(np.argsort(-risk)[:tenth].tolist())
        shares = [
            len(true & set(np.argsort(-one)[:tenth].tolist())) / tenth
            for one in (expected_evidence(evidence, rarity), rarity)
        ]
        better.append(shares[0] - shares[1])
    assert np.mean(better) > -0.02
    if rounds == 32 and told < 0.9:
        assert np.mean(better) > 0.1
