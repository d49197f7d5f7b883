"""Intervals against formulas, slow loops and second opinions, and where they are refused."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from cvpl.estimates import Estimate
from cvpl.evaluation.groups.clusters import FEWEST_BLOCKS, choose_clusters
from cvpl.evaluation.intervals import intervals
from cvpl.evaluation.intervals.bounds import (
    LEAST_EFFECT,
    LEAST_EFFECT_OF_A_RATE,
    Component,
    Sample,
    SamplingDesign,
    attributable_bounds,
    power_bounds,
    quantile,
    rate_bounds,
    ratio_bounds,
    sampling_design,
    wilson_bounds,
)
from cvpl.evaluation.intervals.intervals import (
    ENOUGH,
    FEWEST_RECORDS,
    LowestCoverage,
    attributable_from_power,
    attributable_intervals,
    left_out_intervals,
    power_intervals,
    rate_intervals,
    refused_interval,
    top1_interval,
)
from cvpl.evaluation.rates import Roc, attributable_rate, power_at


def scores(linked, total):
    """So many scores of 1, the others 0."""
    return np.where(np.arange(total) < linked, 1.0, 0.0)


def ends(interval):
    return interval.low, interval.high


@pytest.mark.parametrize("confidence", [0.95, 1 - 0.05 / 10, 0.999])
@pytest.mark.parametrize(("linked", "total"), [(0, 10), (1, 10), (50, 100), (999, 1000), (10, 10)])
def test_wilson_is_that_of_statsmodels(linked, total, confidence):
    found = proportion_confint(linked, total, alpha=1 - confidence, method="wilson")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    assert wilson_bounds(linked / total, total, z) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 7.9, 19, 300, 301, 5000])
@pytest.mark.parametrize("confidence", [0.95, 0.995, 0.999])
def test_the_quantile_is_students(freedom, confidence):
    """With the freedom rounded down."""
    assert quantile(confidence, freedom) == pytest.approx(student.ppf((1 + confidence) / 2, int(freedom)), rel=1e-12)


# The design effect


def slow_effect(parts):
    """U / (U - 1) Σ_u (Σ d)² / Σ d², in plain loops."""
    clusters, apart = {}, 0.0
    for success, cluster, weight in parts:
        mean = sum(success) / len(success)
        for value, name in zip(success, cluster, strict=True):
            deviation = weight * (value - mean) / len(success)
            clusters[name] = clusters.get(name, 0.0) + deviation
            apart += deviation**2
    return len(clusters) / (len(clusters) - 1) * sum(value**2 for value in clusters.values()) / apart


def test_the_design_effect_is_that_of_plain_loops():
    rng = np.random.default_rng(0)
    mine, base = rng.random(300), rng.random(200)
    clusters = rng.integers(30, size=300), rng.integers(30, size=200)
    found = sampling_design([Component(mine, clusters[0]), Component(base, clusters[1], -0.7)], least=0.0)
    parts = [(list(mine), list(clusters[0]), 1.0), (list(base), list(clusters[1]), -0.7)]
    assert found.effect == pytest.approx(slow_effect(parts), rel=1e-12)


def test_units_that_link_as_one_have_the_error_of_their_number():
    """50 clusters of 10 records, 20 of them linked whole: each record is worth a tenth, but for U / (U - 1)."""
    cluster = np.repeat(np.arange(50), 10)
    found = sampling_design([Component((cluster < 20).astype(float), cluster)], least=1.0)
    assert found.effect == pytest.approx(10 * 50 / 49)
    assert found.clusters == pytest.approx(50)


def test_records_by_themselves_have_the_least_effect():
    assert sampling_design([Component(scores(3, 10))], least=1.25) == SamplingDesign(10, 1.25)


def test_few_alike_units_on_one_side_are_worth_no_more_than_their_number():
    """Two linked rows, in two of 40 groups of 5: by chance nothing shows that groups go together."""
    cluster = np.repeat(np.arange(40), 5)
    linked = np.isin(np.arange(200), [0, 5]).astype(float)
    assert sampling_design([Component(linked, cluster)], least=1.0).effect < 1.1
    assert sampling_design([Component(linked, cluster)], least=1.0, alike=True).effect == pytest.approx(5)
    assert sampling_design([Component(np.zeros(200), cluster)], least=1.0, alike=True).effect == pytest.approx(5)


def test_the_ends_of_a_ratio_solve_their_equation():
    """(U - θV)² = d_U² + θ² d_V² at both ends, each with the distances that pull its way."""
    top, bottom = (0.3, 0.25, 0.37), (0.6, 0.5, 0.68)
    low, high = ratio_bounds(top, bottom)
    assert low < 0.5 < high
    assert (0.3 - 0.6 * low) ** 2 == pytest.approx(0.05**2 + (0.08 * low) ** 2)
    assert (0.3 - 0.6 * high) ** 2 == pytest.approx(0.07**2 + (0.1 * high) ** 2)


def test_the_ends_of_a_ratio_of_nothing_begin_at_nothing():
    low, high = ratio_bounds((0.0, 0.0, 0.1), (0.5, 0.4, 0.6))
    assert low == 0
    assert high > 0.1 / 0.5


def test_where_few_records_are_left_on_a_side_the_end_is_that_side():
    """4 of 100 may as well be none; 5 may not."""
    drawn = SamplingDesign(100, 1.0)
    assert drawn.cautious_ends(0.04, 100, 0.95)[0] == 0
    assert drawn.cautious_ends(0.05, 100, 0.95)[0] > 0
    assert drawn.cautious_ends(0.96, 100, 0.95)[1] == 1
    assert drawn.cautious_ends(0.95, 100, 0.95)[1] < 1


# Figures


def test_the_linkage_rate_by_hand():
    """300 of 1,000, nobody sharing a row: Wilson's interval for 1,000 / 1.4 records."""
    found = rate_intervals(Sample(scores(300, 1000)), [0.9])[0]
    assert ends(found) == pytest.approx(wilson_bounds(0.3, 1000 / LEAST_EFFECT_OF_A_RATE, quantile(0.95, 999)))
    assert found.method == "people"


def test_links_that_hang_on_one_row_widen_the_rate():
    """100 links on 10 rows, no second-best: 10 rows with 9 links beyond the first, 10 · 81 / (1000 · 0.1 · 0.9) = 9."""
    best, row = scores(100, 1000), np.arange(1000) % 10
    hanging = Sample(best, row=row, second=np.zeros(1000))
    assert hanging.row_variance_sum(0.9) == 810
    assert rate_bounds(hanging, 0.9, 0.95) == pytest.approx(wilson_bounds(0.1, 1000 / (1 + 9), quantile(0.95, 999)))
    assert Sample(best, row=row, second=best).row_variance_sum(0.9) == 0


def test_nobody_linked_does_not_make_an_interval_of_width_zero():
    low, high = rate_bounds(Sample(scores(0, 1000)), 0.9, 0.95)
    assert low == 0
    assert 0.003 < high < 0.01


def test_the_interval_over_blocks_agrees_with_a_bootstrap_in_plain_loops():
    """40 blocks with rates of their own: as wide as the rates over drawn blocks vary, times Student's quantile."""
    rng = np.random.default_rng(1)
    block = np.repeat(np.arange(40), 25)
    best = (rng.random(1000) < rng.beta(3, 4, size=40)[block]).astype(float)
    rates = []
    for _ in range(2000):
        drawn = rng.integers(40, size=40)
        rates.append(np.mean([best[block == cluster].mean() for cluster in drawn]))
    low, high = rate_bounds(Sample(best, block, "blocks"), 0.9, 0.95)
    assert high - low == pytest.approx(2 * student.ppf(0.975, 39) * np.std(rates), rel=0.08)


def test_the_attributable_rate_agrees_with_a_bootstrap_in_plain_loops():
    """A drawn block brings its originals and its controls; with the least effect the interval is 5% wider."""
    rng = np.random.default_rng(2)
    block, control_block = np.repeat(np.arange(50), 40), np.repeat(np.arange(50), 20)
    level = rng.beta(3, 4, size=50)
    best = (rng.random(2000) < level[block] + 0.2).astype(float)
    base = (rng.random(1000) < level[control_block]).astype(float)
    values = []
    for _ in range(1000):
        drawn = rng.integers(50, size=50)
        mine = np.mean([best[block == cluster].mean() for cluster in drawn])
        theirs = np.mean([base[control_block == cluster].mean() for cluster in drawn])
        values.append((mine - theirs) / (1 - theirs))
    samples = Sample(best, block, "blocks"), Sample(base, control_block, "blocks")
    low, high = attributable_bounds(*samples, 0.9, 0.95)
    assert high - low == pytest.approx(2 * student.ppf(0.975, 49) * np.std(values), rel=0.12)
    assert low < attributable_rate(best.mean(), base.mean()) < high


def test_the_power_is_as_uncertain_as_fresh_draws_say():
    """Originals one standard deviation above the controls: as wide as the power over 300 fresh draws varies."""
    rng = np.random.default_rng(3)
    powers, widths = [], []
    for _ in range(300):
        originals, controls = rng.normal(1, 1, size=2000), rng.normal(0, 1, size=500)
        low, high = power_bounds(Sample(originals), Sample(controls), 0.05, 0.95)
        powers.append(power_at(originals, controls, 0.05))
        widths.append(high - low)
        assert low < powers[-1] < high
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.sqrt(LEAST_EFFECT) * np.std(powers), rel=0.1)


def test_a_figure_of_the_same_records_is_a_share_of_those_without_a_wrong_link():
    """Of 600 without a wrong link 150 are linked by their own match: 0.25 of 600 / 1.1 records."""
    wrong = scores(400, 1000)
    best = scores(550, 1000)
    found = left_out_intervals(Sample(best), wrong, [0.9])[0]
    assert ends(found) == pytest.approx(wilson_bounds(0.25, 600 / LEAST_EFFECT, quantile(0.95, 599)))


def test_a_release_of_doubles_does_not_make_an_interval_of_width_zero():
    """Every original has a wrong candidate just like its own: 0 of the 40 without one are linked by their own match."""
    base = scores(60, 100)
    found = left_out_intervals(Sample(base), base, [0.9])[0]
    assert found.low == 0
    assert found.high > 0.05


def test_the_hits_of_the_matched_count_alone():
    """80 hits among 200 originals with a match; the others say nothing."""
    hit, has_match = scores(80, 500), scores(200, 500) > 0
    found = top1_interval(Sample(np.ones(500)), hit, has_match)
    assert ends(found) == pytest.approx(wilson_bounds(0.4, 200 / LEAST_EFFECT, quantile(0.95, 199)))


def test_what_is_attributed_at_a_false_rate_follows_from_the_power():
    found = attributable_from_power(Estimate(0.24, 0.05, 0.43, coverage=0.94), 0.05)
    assert ends(found) == pytest.approx((0.0, 0.4)) and found.value == pytest.approx(0.2)
    assert found.coverage == 0.94
    assert attributable_from_power(refused_interval("few"), 0.05) == refused_interval("few")


def random_samples(seed, kind="people"):
    rng = np.random.default_rng(seed)
    cluster = (None, None) if kind == "people" else (rng.integers(40, size=500), rng.integers(40, size=300))
    best = np.round(rng.normal(1, 1, size=500), 1)
    mine = Sample(best, cluster[0], kind, rng.integers(200, size=500), best - rng.random(500))
    return mine, Sample(np.round(rng.normal(0, 1, size=300), 1), cluster[1], kind)


def all_intervals(mine, base, confidence=0.95):
    grid = [-0.5, 0.5, 1.5]
    return [
        *rate_intervals(mine, grid, confidence),
        *attributable_intervals(mine, base, grid, confidence),
        *left_out_intervals(mine, mine.best - 1, grid, confidence),
        *power_intervals(mine, base, [0.05, 0.1], confidence),
        top1_interval(mine, np.clip(mine.best, 0, 1), mine.best > 0, confidence),
    ]


@pytest.mark.parametrize("kind", ["people", "blocks", "groups"])
def test_the_order_of_records_and_the_names_of_units_do_not_matter(kind):
    mine, base = random_samples(4, kind)
    rng = np.random.default_rng(5)
    names = rng.permutation(40)

    def shuffled(sample):
        order = rng.permutation(len(sample.best))
        cluster = None if sample.cluster is None else names[sample.cluster][order]
        rest = [None if part is None else part[order] for part in (sample.row, sample.second)]
        return Sample(sample.best[order], cluster, kind, *rest)

    for one, other in zip(all_intervals(mine, base), all_intervals(shuffled(mine), shuffled(base)), strict=True):
        assert ends(one) == pytest.approx(ends(other), abs=1e-12)


@pytest.mark.parametrize("kind", ["people", "blocks", "groups"])
def test_more_confidence_makes_every_interval_wider(kind):
    samples = random_samples(6, kind)
    for usual, strict in zip(all_intervals(*samples), all_intervals(*samples, confidence=0.999), strict=True):
        assert strict.low <= usual.low <= usual.high <= strict.high
        assert strict.high - strict.low > usual.high - usual.low


def test_intervals_of_a_whole_curve_match_those_of_single_thresholds():
    mine, base = random_samples(7)
    grid = np.array([-0.5, 0.5, 1.5])
    for many in (lambda at: rate_intervals(mine, at), lambda at: attributable_intervals(mine, base, at)):
        assert many(grid) == [many([tau])[0] for tau in grid]


# Power


@pytest.mark.parametrize(
    ("alpha", "power"),
    [(0.0, 0.5), (0.125, 0.625), (0.25, 0.75), (0.5, 1.0), (1.0, 1.0)],
)
def test_power_is_read_off_the_roc_by_hand(alpha, power):
    """Originals 4, 4, 2, 1 and controls 2, 1, 0, 0: points (0, 0), (0, 1/2), (1/4, 3/4), (1/2, 1), (1, 1)."""
    originals, controls = np.array([4.0, 4.0, 2.0, 1.0]), np.array([2.0, 1.0, 0.0, 0.0])
    assert power_at(originals, controls, alpha) == pytest.approx(power)
    mine, base = Roc.of(originals, controls).counted(alpha)
    assert (mine.mean(), base.mean()) == pytest.approx((power, alpha))


def test_scores_that_differ_in_the_last_bits_are_linked_together():
    originals, controls = np.array([0.1 + 0.2, 0.9]), np.array([0.3, 0.1])
    roc = Roc.of(originals, controls)
    assert roc.thresholds.tolist() == [np.inf, 0.9, 0.3, 0.1]
    assert roc.false.tolist() == [0.0, 0.0, 0.5, 1.0]
    assert roc.true.tolist() == [0.0, 0.5, 1.0, 1.0]
    assert roc.power(0.25) == power_at(originals, controls, 0.25) == 0.75


def test_an_attacker_without_candidates_has_no_power_beyond_chance():
    nothing = np.full(10, -np.inf)
    assert power_at(nothing, nothing, 0.05) == pytest.approx(0.05)


def test_attributable_rate_by_hand():
    """(0.9 - 0.6) / 0.4 = 0.75; a control that is always linked leaves nothing to attribute."""
    assert attributable_rate(0.9, 0.6) == pytest.approx(0.75)
    assert attributable_rate(0.2, 0.6) == pytest.approx(-1)
    assert attributable_rate(1.0, 1.0) is None


# Clusters and refusals


def test_groups_go_before_blocks_and_blocks_need_twenty():
    blocks, groups = np.arange(40) % FEWEST_BLOCKS, np.arange(40) // 2
    assert choose_clusters([blocks], [groups]).kind == "groups"
    assert choose_clusters([blocks], None).kind == "blocks"
    assert choose_clusters([blocks % 19], None).kind == "people"
    assert choose_clusters(None, None).original is None


def test_originals_and_controls_share_the_numbers_of_their_units():
    found = choose_clusters([np.arange(100, 130), np.array([129, 100, 500])], None)
    assert found.original[[29, 0]].tolist() == found.control[:2].tolist()
    assert found.control[2] not in found.original


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (lambda: rate_intervals(Sample(scores(5, FEWEST_RECORDS - 1)), [0.9])[0], "19 records"),
        (lambda: attributable_intervals(Sample(scores(5, 50)), Sample(scores(1, 3)), [0.9])[0], "3 records"),
        (lambda: rate_intervals(Sample(scores(5, 90), np.arange(90) % 9, "groups"), [0.9])[0], "9 equal groups"),
        (lambda: power_intervals(Sample(scores(5, 90)), Sample(scores(9, 400)), [0.01])[0], "4 controls"),
        (lambda: attributable_intervals(Sample(scores(9, 90)), Sample(scores(90, 90)), [0.9])[0], "nothing is left"),
        (lambda: top1_interval(Sample(scores(9, 90)), scores(9, 90), scores(0, 90) > 0), "0 records"),
    ],
)
def test_an_interval_that_was_not_measured_is_refused_with_its_reason(found, why):
    refused = found()
    assert ends(refused) == (None, None)
    assert refused.method == "none"
    assert why in refused.refused


def test_an_interval_that_did_not_cover_is_refused(monkeypatch):
    sample = Sample(scores(30, 90))
    monkeypatch.setitem(intervals.MEASURED, ("linkage_rate", "people"), LowestCoverage(ENOUGH, 0.99))
    found = rate_intervals(sample, [0.9])[0]
    assert (found.value, found.coverage, found.coverage_at_999) == (1 / 3, 0.93, 0.99)
    monkeypatch.setitem(intervals.MEASURED, ("linkage_rate", "people"), LowestCoverage(0.929, 0.99))
    assert "0.929" in rate_intervals(sample, [0.9])[0].refused


def test_the_power_with_the_own_match_left_out_is_refused_where_rows_belong_together():
    mine, base = random_samples(8, "groups")
    assert power_intervals(mine, base, [0.1])[0].low is not None
    refused = power_intervals(mine, base, [0.1], left_out=True)[0]
    assert refused.low is None
    assert refused.refused.startswith("it held the truth in 0.8")


def test_every_figure_was_measured_in_every_kind_of_unit():
    assert len(intervals.MEASURED) == 6 * 3
    assert all(lowest.at_95 <= lowest.at_999 <= 1 for lowest in intervals.MEASURED.values())


# A small measurement of coverage


def nearest(queries, release):
    """Best and second-best cosine, and the best one's row."""
    queries, release = (item / np.linalg.norm(item, axis=1, keepdims=True) for item in (queries, release))
    score = queries @ release.T
    order = np.argsort(-score, axis=1)[:, :2]
    at = np.arange(len(queries))
    return score[at, order[:, 0]], order[:, 0], score[at, order[:, 1]]


def drawn_people(rng, rows, household):
    centre = np.repeat(rng.normal(size=(rows // household, 3)), household, axis=0)
    return centre + (0.1 * rng.normal(size=centre.shape) if household > 1 else 0.0)


@pytest.mark.parametrize("household", [1, 4])
def test_intervals_hold_the_truth_in_a_small_world(household):
    """120 rows, a noisy copy of two thirds of them, 120 controls, nearest neighbours; 200 draws.

    Of 200 intervals that cover 95%, fewer than 90% hold the truth about once in a thousand draws of this test.
    """
    group = np.arange(120) // household
    kind, clusters = ("people", (None, None)) if household == 1 else ("groups", (group, group + 1000))
    runs = []
    for run in range(200):
        rng = np.random.default_rng([11, household, run])
        people, strangers = drawn_people(rng, 120, household), drawn_people(rng, 120, household)
        release = np.where(rng.random((120, 1)) < 0.67, people, drawn_people(rng, 120, household))
        release = release + 0.1 * rng.normal(size=people.shape)
        best, row, second = nearest(people, release)
        hit = row == np.arange(120)
        wrong = np.where(hit, second, best)
        mine = Sample(best, clusters[0], kind, row, second)
        base = Sample(nearest(strangers, release)[0], clusters[1], kind)
        rate, control, left = (float(np.mean(item >= 0.995)) for item in (best, base.best, wrong))
        runs.append(
            [
                (rate, rate_intervals(mine, [0.995])[0]),
                (attributable_rate(rate, control), attributable_intervals(mine, base, [0.995])[0]),
                (attributable_rate(rate, left), left_out_intervals(mine, wrong, [0.995])[0]),
                (power_at(best, base.best, 0.1), power_intervals(mine, base, [0.1])[0]),
                (np.mean(hit), top1_interval(mine, hit.astype(float), np.full(120, True))),
            ]
        )
    for figure in range(5):
        truth = np.mean([run[figure][0] for run in runs])
        held = np.mean([run[figure][1].low <= truth <= run[figure][1].high for run in runs])
        assert held >= 0.90
        assert np.mean([run[figure][1].high - run[figure][1].low for run in runs]) < 0.9


def exact_power(originals, controls, rate):
    """The power by its definition, in fractions: every score is a threshold, linear between the two points around."""
    points = [(Fraction(0), Fraction(0))]
    for score in sorted({*originals, *controls}, reverse=True):
        points.append(tuple(Fraction(sum(x >= score for x in side), len(side)) for side in (controls, originals)))
    before = max((point for point in points if point[0] <= rate), key=lambda point: (point[0], point[1]))
    after = min((point for point in points if point[0] > rate), default=None)
    if after is None or before[0] == rate:
        return before[1]
    return before[1] + (rate - before[0]) / (after[0] - before[0]) * (after[1] - before[1])


@pytest.mark.parametrize("seed", range(20))
def test_scores_that_are_equal_but_for_their_last_bits_are_one_threshold(seed):
    """Sums of the same weights in another order differ in their last bits; in fractions they are equal."""
    rng = np.random.default_rng(seed)
    weights = [Fraction(int(number), 7) for number in rng.integers(-9, 30, 6)]
    sides = []
    for people in rng.integers(15, 60, 2):
        agree = [[weight for weight in weights if rng.random() < 0.5] for _ in range(people)]
        sums = [sum(map(float, rng.permutation(np.array(one, dtype=object)))) for one in agree]
        sides.append(([sum(one, Fraction(0)) for one in agree], np.array(sums, dtype=float)))
    (mine, found), (base, others) = sides
    bits = len({*found, *others}) - len({*mine, *base})
    for rate in (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(3, 10)):
        wanted = pytest.approx(float(exact_power(mine, base, rate)), abs=1e-12)
        assert power_at(found, others, float(rate)) == wanted, bits
        assert Roc.of(found, others).power(float(rate)) == wanted, bits
