"""The rates of an attack at a threshold, worked by hand; and whom the originals are compared with."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.evaluation.rates import AttackRates, attack_rates, base_scores, searched_base

SCORES = np.array([0.9, 0.8, 0.7, 0.1])
BASE = np.array([0.95, 0.7, 0.6, 0.5, 0.4])


def test_rates_at_a_threshold_by_hand():
    """Three of four originals and two of five controls reach 0.7."""
    found = attack_rates(SCORES, BASE, 0.7)
    assert (found.rate, found.base_rate) == pytest.approx((0.75, 0.4))
    assert found.attributable == pytest.approx((0.75 - 0.4) / 0.6)
    # No original is above the one control of 0.95, so a quarter of the way to the point (0.2, 0) there is nobody.
    assert found.power == 0.0


def test_without_a_base_only_the_rate_is_known():
    assert attack_rates(SCORES, None, 0.8) == AttackRates(0.5, None, None, None)
    assert attack_rates(SCORES, None, None) == AttackRates(None, None, None, None)
    assert attack_rates(SCORES, None, None, on_scale=False) == AttackRates(None, None, None, None)


def test_everybody_linked_in_the_base_leaves_nothing_to_attribute():
    found = attack_rates(SCORES, BASE, 0.05)
    assert (found.rate, found.base_rate, found.attributable) == (1.0, 1.0, None)


def test_without_a_threshold_a_score_off_the_scale_is_read_at_five_percent():
    base = np.linspace(0, 1, 20, endpoint=False)[::-1]  # one of twenty is 5%: the score 0.95
    scores = np.array([0.97, 0.96, 0.5, 0.1])
    assert attack_rates(scores, base, None) == AttackRates(None, None, None, 0.5)
    found = attack_rates(scores, base, None, on_scale=False)
    assert (found.rate, found.base_rate, found.power) == (0.5, 0.05, 0.5)
    assert found.attributable == pytest.approx((0.5 - 0.05) / 0.95)


def attacked(control=None):
    """A stand-in for an attack whose evidence of the control is at hand."""
    return SimpleNamespace(
        evidence=lambda role, found: (role, found),
        attacker=SimpleNamespace(evidence="best"),
        search_control=lambda: control,
    )


def known(has_match=(True, False), *, complete=True):
    return SimpleNamespace(has_match=np.array(has_match), complete=complete, best_wrong=np.array([0.3, 0.2]))


def test_originals_are_compared_with_the_control_or_with_themselves_without_their_match():
    assert base_scores(attacked(), "controls", known()) == ("control", ("control", "controls"))
    basis, base = base_scores(attacked(), None, known())
    assert basis == "own_match_left_out" and base.tolist() == [0.3, 0.2]
    for truth in (None, known(complete=False), known((False, False))):
        assert base_scores(attacked(), None, truth) == (None, None)


def test_a_control_is_searched_before_the_matches_are_asked():
    matches = SimpleNamespace(complete=True, original=np.arange(3))
    assert searched_base(attacked("controls"), matches) == ("control", "controls")
    assert searched_base(attacked(), None) is None
    assert searched_base(attacked(), SimpleNamespace(complete=False, original=np.arange(3))) is None
    assert searched_base(attacked(), SimpleNamespace(complete=True, original=np.arange(0))) is None
