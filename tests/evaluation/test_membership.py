"""Membership: the area under the curve and the best attacker at each rate, by hand, by plain loops and in an audit."""

from __future__ import annotations

import io
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console
from scipy.special import ndtr

import cvpl
from cvpl.assessment.diagnostics.release_questions import membership
from cvpl.estimates import Estimate
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import refused_interval
from cvpl.evaluation.measurement import area_interval, area_under_curve, placements, read_at
from cvpl.reports.markdown import sections_markdown
from cvpl.reports.page import report_page
from cvpl.reports.sections.audit import audit_sections
from cvpl.reports.terminal import show
from cvpl.result.figures import power_at
from population_tables import drawn

INF = float("inf")


def by_loops(originals, controls):
    """P(X > Y) + P(X = Y) / 2 over all pairs."""
    return sum(1.0 if x > y else 0.5 if x == y else 0.0 for x in originals for y in controls) / (
        len(originals) * len(controls)
    )


@pytest.mark.parametrize(
    ("originals", "controls", "expected"),
    [
        ([3, 4], [1, 2], 1.0),
        ([1, 2], [3, 4], 0.0),
        ([1, 1], [1, 1], 0.5),
        ([1, 3], [2, 2], 0.5),
        ([2, 3, -INF], [1, 2, -INF], (2.5 + 3 + 0.5) / 9),  # nobody without a candidate is above another
        ([0.1 + 0.2], [0.3], 0.5),  # the last bit of a sum does not count
    ],
)
def test_the_area_under_the_curve_by_hand(originals, controls, expected):
    assert area_under_curve(np.array(originals, float), np.array(controls, float)) == pytest.approx(expected)


def test_the_area_equals_plain_loops_and_the_trapezoids_of_the_curve():
    rng = np.random.default_rng(4)
    for _ in range(20):
        originals = rng.integers(0, 8, rng.integers(1, 30)).astype(float)
        controls = rng.integers(0, 6, rng.integers(1, 30)).astype(float)
        found = area_under_curve(originals, controls)
        assert found == pytest.approx(by_loops(originals, controls))
        steps = [INF, *sorted({*originals, *controls}, reverse=True)]
        points = [(np.mean(controls >= step), np.mean(originals >= step)) for step in steps]
        area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
        assert found == pytest.approx(area)


def test_a_placement_is_the_share_below_and_half_of_the_equal():
    assert placements(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0])).tolist() == [0.0, 0.25, 0.75, 1.0]


def test_the_variance_of_the_interval_is_that_of_delong():
    """With people as units and without ties the effect is 1.1, and the interval Wilson's for A (1 - A) / V records."""
    rng = np.random.default_rng(8)
    originals, controls = rng.normal(0.8, 1, 60), rng.normal(0, 1, 80)
    mine = [np.mean([float(x > y) for y in controls]) for x in originals]
    theirs = [np.mean([float(x > y) for x in originals]) for y in controls]
    variance = 1.1 * (np.var(mine) / 60 + np.var(theirs) / 80)
    area = np.mean(mine)
    count = area * (1 - area) / variance
    z = 2.0009953780882688  # Student's quantile with 59 degrees of freedom
    centre = (area + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * np.sqrt(area * (1 - area) / count + z * z / (4 * count**2))
    found = area_interval(Sample(originals), Sample(controls))
    assert (found.low, found.high) == (pytest.approx(centre - half), pytest.approx(centre + half))


def test_tables_told_apart_without_error_have_an_interval_of_some_width():
    found = area_interval(Sample(np.arange(100, 140.0)), Sample(np.arange(40.0)))
    assert 0.85 < found.low < 0.96
    assert found.high == 1.0


def test_an_interval_needs_twenty_people():
    assert area_interval(Sample(np.arange(19.0)), Sample(np.arange(40.0))).refused is not None


@pytest.mark.parametrize(("shift", "size"), [(0.0, 40), (0.0, 200), (1.0, 100), (2.0, 100)])
def test_the_interval_covers_the_area_of_normal_scores(shift, size):
    """Over 400 draws at least 93% of the intervals have the true area; a right one fails with probability 0.02."""
    truth, rng = ndtr(shift / np.sqrt(2)), np.random.default_rng(17)
    held = 0
    for _ in range(400):
        found = area_interval(Sample(rng.normal(shift, 1, size)), Sample(rng.normal(0, 1, size)))
        held += found.low <= truth <= found.high
    assert held / 400 >= 0.93


def test_groups_of_equal_people_widen_the_interval():
    rng = np.random.default_rng(2)
    originals, controls = np.repeat(rng.normal(0.5, 1, 30), 4), np.repeat(rng.normal(0, 1, 30), 4)
    unit = np.repeat(np.arange(60), 4)
    alone = area_interval(Sample(originals), Sample(controls))
    together = area_interval(Sample(originals, unit[:120], "groups"), Sample(controls, unit[120:], "groups"))
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_a_rate_of_a_thousandth_needs_ten_thousand_controls():
    assert not read_at(0.001, 9_999)
    assert read_at(0.001, 10_000)
    assert read_at(0.01, 3)


def _outcome(power, refused=(), controls=500, has_control=True, faults=()):
    """An attacker with the given powers, whose intervals are refused at some rates."""
    scores = np.array([power[0.05], 1.0])

    def interval(rate, confidence):
        value = power[rate]
        if rate in refused:
            return refused_interval("few", value, confidence)
        return Estimate(value, 0.0, confidence, confidence, "people")

    sample = Sample(np.arange(30.0))
    measured = SimpleNamespace(
        power_at=power.__getitem__,
        power_interval=interval,
        controls=controls,
        has_control=has_control,
        attack=SimpleNamespace(scores=scores),
        base_scores=np.array([0.0, 0.5]),
        spread=SimpleNamespace(originals=sample, base=sample),
    )
    return SimpleNamespace(measured=measured, faults=faults)


def _ensemble(screened=(), **outcomes):
    qualified = {name: item for name, item in outcomes.items() if not item.faults}
    return SimpleNamespace(outcomes=outcomes, qualified=qualified, screened=screened, headline="b")


def test_each_rate_has_its_own_best_attacker_and_its_interval_is_corrected_for_the_choice():
    a, b = _outcome({0.01: 0.3, 0.05: 0.4, 0.10: 0.5}), _outcome({0.01: 0.1, 0.05: 0.6, 0.10: 0.5})
    found = membership(_ensemble(a=a, b=b, screened=("c",)))
    assert {rate.false_rate: rate.attacker for rate in found.rates} == {0.01: "a", 0.05: "b", 0.10: "b"}
    assert found.rates[0].confidence == pytest.approx(1 - 0.05 / 3)
    assert found.rates[0].high == pytest.approx(1 - 0.05 / 3)
    assert found.auc.among == 3


def test_an_attacker_with_an_interval_goes_before_one_without():
    a, b = _outcome({0.01: 0.9, 0.05: 0.4, 0.10: 0.5}, refused=(0.01,)), _outcome({0.01: 0.1, 0.05: 0.6, 0.10: 0.5})
    assert membership(_ensemble(a=a, b=b)).rates[0].attacker == "b"
    alone = membership(_ensemble(a=a)).rates[0]
    assert (alone.attacker, alone.refused) == ("a", "few")


def test_attackers_with_a_fault_or_without_a_control_do_not_count():
    powers = {0.001: 0.5, 0.01: 0.9, 0.05: 0.9, 0.10: 0.9}
    weak = {rate: value / 2 for rate, value in powers.items()}
    strong = _outcome(powers, faults=("broken",), controls=20_000)
    able = _outcome(weak, controls=20_000)
    found = membership(_ensemble(a=strong, b=able, c=_outcome(powers, has_control=False)))
    assert {rate.attacker for rate in found.rates} == {"b"}
    assert [rate.false_rate for rate in found.rates] == [0.001, 0.01, 0.05, 0.10]
    assert found.auc.among == 1
    assert membership(_ensemble(c=_outcome(powers, has_control=False))) is None


COLUMNS = {
    "city": {"role": "quasi_identifier", "type": "category"},
    "age": {"role": "quasi_identifier", "type": "numeric"},
    "pay": {"role": "attribute", "type": "numeric"},
}
SETTINGS = {
    "columns": COLUMNS,
    "attackers": {
        "rare": {"blocking": "none", "similarity": "rarity"},
        "near": {"blocking": "none", "similarity": "euclidean", "threshold": "false_rate"},
    },
    "sensitivity": False,
}


@pytest.fixture(scope="module")
def tables():
    original = drawn(1, 300)
    rng = np.random.default_rng(5)
    released = original.assign(pay=original.pay + rng.normal(0, 3, 300).round()).sample(frac=1.0, random_state=3)
    return original, released, drawn(2, 300)


@pytest.fixture(scope="module")
def audited(tables):
    original, released, control = tables
    return cvpl.audit(
        original, released, SETTINGS | {"report": {"suppress_below": 1}}, control=control, population=100_000
    )


def test_an_audit_tells_the_largest_power_over_its_attackers(audited):
    found = audited.membership
    assert [rate.false_rate for rate in found.rates] == [0.01, 0.05, 0.10]
    for rate in found.rates[1:]:
        at = {row.name: power_at(row.power, rate.false_rate).power for row in audited.attackers}
        assert (rate.attacker, rate.power) == max(at.items(), key=lambda item: item[1])
        assert rate.among == 2
        assert rate.confidence == pytest.approx(0.975)
        assert rate.low < rate.power < rate.high
    assert found.auc.estimate > 0.8
    assert found.auc.low < found.auc.estimate < found.auc.high


def test_the_precision_is_that_of_the_population(audited):
    for rate in audited.membership.rates:
        right, wrong = 300 * rate.power, (100_000 - 300) * rate.false_rate
        assert rate.precision == pytest.approx(right / (right + wrong))
    assert audited.membership.prior == pytest.approx(0.003)


def test_every_output_has_the_section_and_says_what_too_few_controls_mean(audited):
    screen = io.StringIO()
    show(audited, Console(width=110, file=screen), details=True)
    page, text = report_page(audited), sections_markdown(audit_sections(audited))
    for output in (screen.getvalue(), page, text):
        assert "Membership" in output
        assert "too few people" in output
        assert "0.1% needs 10,000 controls" in output


def test_figures_are_rounded_and_nothing_is_told_without_a_control(tables):
    original, released, control = tables
    found = cvpl.audit(original, released, SETTINGS, control=control).membership
    assert found.prior is None
    assert all(rate.precision is None for rate in found.rates)
    for value in (found.auc.estimate, *(rate.power for rate in found.rates)):
        assert value * 20 == pytest.approx(round(value * 20))  # 10 of 300 people: steps of 5%
    alone = cvpl.audit(original, released, SETTINGS)
    assert alone.membership is None
    assert "Membership" not in sections_markdown(audit_sections(alone))
