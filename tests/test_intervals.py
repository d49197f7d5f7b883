"""Intervals against second opinions, and what they do where there is little to resample."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from cvpl.evaluation.control import attributable_rate, power_at
from cvpl.evaluation.intervals import MOST_UNITS, Replicates, attributable_interval, rate_intervals, wilson

AT = np.array([0.9])


@pytest.mark.parametrize(("linked", "total"), [(0, 10), (1, 10), (50, 100), (999, 1000), (10, 10)])
def test_wilson_is_that_of_statsmodels(linked, total):
    mine = wilson(linked, total)
    assert (mine.low, mine.high) == pytest.approx(proportion_confint(linked, total, method="wilson"), abs=1e-12)


def scores(linked, total):
    return np.where(np.arange(total) < linked, 1.0, 0.0)


def test_the_record_bootstrap_agrees_with_the_binomial():
    """10,000 independent records at rate 0.3: the ends lie where 1.96 standard errors put them."""
    best = scores(3000, 10_000)
    replicates = Replicates.draw(np.zeros(10_000, dtype=np.int64), 2000, np.random.default_rng(0), "block_bootstrap")
    assert replicates.method == "record_bootstrap"
    found = rate_intervals(best, AT, replicates)[0]
    error = np.sqrt(0.3 * 0.7 / 10_000)
    assert found.low == pytest.approx(0.3 - 1.96 * error, abs=0.25 * error)
    assert found.high == pytest.approx(0.3 + 1.96 * error, abs=0.25 * error)


@pytest.mark.parametrize("blocks", [50, 2 * MOST_UNITS])
def test_blocks_that_link_as_one_have_the_error_of_their_number(blocks):
    """If a block is linked whole or not at all, only the number of blocks counts, however many records it has."""
    size = 10
    codes = np.repeat(np.arange(blocks), size)
    best = np.where(codes < 0.4 * blocks, 1.0, 0.0)
    replicates = Replicates.draw(codes, 2000, np.random.default_rng(1), "block_bootstrap")
    found = rate_intervals(best, AT, replicates)[0]
    error = np.sqrt(0.4 * 0.6 / blocks)
    assert found.method == "block_bootstrap"
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.15)


@pytest.mark.parametrize("linked", [0, 9, 991, 1000])
def test_near_the_ends_the_wilson_interval_takes_over(linked):
    """Nobody linked does not mean an interval of width zero."""
    replicates = Replicates.draw(np.repeat(np.arange(100), 10), 500, np.random.default_rng(2), "block_bootstrap")
    found = rate_intervals(scores(linked, 1000), AT, replicates)[0]
    assert found == wilson(linked, 1000)
    assert found.low < found.high


def test_intervals_of_a_whole_curve_match_those_of_single_thresholds():
    rng = np.random.default_rng(3)
    best, codes = rng.random(500), rng.integers(40, size=500)
    replicates = Replicates.draw(codes, 300, np.random.default_rng(4), "block_bootstrap")
    grid = np.array([0.2, 0.5, 0.8])
    whole = rate_intervals(best, grid, replicates)
    assert whole == [rate_intervals(best, np.array([tau]), replicates)[0] for tau in grid]


def test_attributable_rate_by_hand():
    """(0.9 - 0.6) / 0.4 = 0.75; a control that is always linked leaves nothing to attribute."""
    assert attributable_rate(0.9, 0.6) == pytest.approx(0.75)
    assert attributable_rate(0.2, 0.6) == pytest.approx(-1)
    assert attributable_rate(1.0, 1.0) is None


def test_the_attributable_interval_holds_the_estimate_and_shrinks_with_pairing():
    """The own match left out is a figure of the same records: its error moves along, so the interval is narrower."""
    rng = np.random.default_rng(5)
    base = rng.random(2000)
    best = np.maximum(base, np.where(rng.random(2000) < 0.3, 0.95, 0.0))
    codes = np.zeros(2000, dtype=np.int64)
    paired = Replicates.draw(codes, 1000, np.random.default_rng(6), "record_bootstrap")
    apart = Replicates.draw(np.zeros(4000, dtype=np.int64), 1000, np.random.default_rng(6), "record_bootstrap")
    estimate = attributable_rate(float(np.mean(best >= 0.9)), float(np.mean(base >= 0.9)))
    ends = [
        attributable_interval(best, base, 0.9, paired, paired=True),
        attributable_interval(best, base, 0.9, apart, paired=False),
    ]
    for end in ends:
        assert end.low < estimate < end.high
    assert ends[0].high - ends[0].low < ends[1].high - ends[1].low


def test_few_links_make_a_wide_attributable_interval_not_a_narrow_one():
    found = attributable_interval(scores(0, 100), scores(0, 100), 0.9, None, paired=False)
    assert found.low < -0.03 and found.high > 0.03
    assert attributable_interval(scores(5, 10), scores(10, 10), 0.9, None, paired=False) is None


def test_a_release_of_doubles_does_not_make_an_interval_of_width_zero():
    """Every original has a wrong candidate just like its own: 0 of the 40 without one are linked by their own match."""
    base = scores(60, 100)
    replicates = Replicates.draw(np.repeat(np.arange(25), 4), 500, np.random.default_rng(7), "block_bootstrap")
    found = attributable_interval(base, base, 0.9, replicates, paired=True)
    assert found == wilson(0, 40)
    assert found.high > 0.05
    assert attributable_interval(scores(100, 100), scores(100, 100), 0.9, replicates, paired=True) is None


@pytest.mark.parametrize(
    ("alpha", "power"),
    [(0.0, 0.5), (0.125, 0.625), (0.25, 0.75), (0.5, 1.0), (1.0, 1.0)],
)
def test_power_is_read_off_the_roc_by_hand(alpha, power):
    """Originals 4, 4, 2, 1 and controls 2, 1, 0, 0: points (0, 0), (0, 1/2), (1/4, 3/4), (1/2, 1), (1, 1)."""
    originals, controls = np.array([4.0, 4.0, 2.0, 1.0]), np.array([2.0, 1.0, 0.0, 0.0])
    assert power_at(originals, controls, alpha) == pytest.approx(power)


def test_an_attacker_without_candidates_has_no_power_beyond_chance():
    nothing = np.full(10, -np.inf)
    assert power_at(nothing, nothing, 0.05) == pytest.approx(0.05)
