"""The smallest threshold that keeps false links rare, against a search through all thresholds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cvpl.evaluation.rates import has_wrong_candidates, smallest_threshold
from cvpl.operators.threshold import Calibrate


def by_search(wrong, alpha, maximum):
    """The smallest of -inf and the next floats above the scores at which few enough scores are left."""
    candidates = sorted([-math.inf, *(math.nextafter(value, math.inf) for value in wrong)])
    found = next(tau for tau in candidates if sum(value >= tau for value in wrong) <= math.floor(alpha * len(wrong)))
    return None if found > maximum else found


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.05, 0.5, 0.99])
@pytest.mark.parametrize("count", [1, 2, 37, 500])
def test_the_threshold_is_the_smallest_of_all(count, alpha):
    rng = np.random.default_rng([count, round(100 * alpha)])
    for wrong in (rng.random(count), rng.integers(0, 5, count) / 4, np.full(count, 0.5)):
        assert smallest_threshold(wrong, alpha, 1.0) == by_search(wrong.tolist(), alpha, 1.0)


def test_no_threshold_and_every_threshold():
    assert smallest_threshold(np.array([1.0, 0.2]), 0.0, 1.0) is None
    assert smallest_threshold(np.array([1.0, 0.2]), 0.5, 1.0) == math.nextafter(0.2, 1)
    assert smallest_threshold(np.array([1.0, 0.2]), 1.0, 1.0) == -math.inf
    assert smallest_threshold(np.array([-math.inf, 0.2]), 0.5, 1.0) == -math.inf
    assert smallest_threshold(np.zeros(0), 0.5, 1.0) == -math.inf
    below = math.nextafter(1.0, 0)
    assert smallest_threshold(np.array([below]), 0.0, 1.0) == 1.0


@pytest.mark.parametrize("calibrate", ["existential", "pairwise", "bonferroni"])
def test_wrong_candidates_are_known_by_all_matches_or_for_the_existential_form_by_a_control(calibrate):
    setting = Calibrate(calibrate=calibrate, alpha=0.05)
    assert has_wrong_candidates(setting, True, False) and has_wrong_candidates(setting, True, True)
    assert not has_wrong_candidates(setting, False, False)
    assert has_wrong_candidates(setting, False, True) == (calibrate == "existential")
