"""Several releases side by side: paired differences, places with ties, the frontier, and what is refused."""

from __future__ import annotations

import gzip
import html
import io
import json
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import html5lib
import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console

import cvpl
from cvpl import charts
from cvpl.answers.releases import recommendation, reservations
from cvpl.cli.main import run
from cvpl.evaluation.intervals import intervals
from cvpl.evaluation.intervals.bounds import Sample
from cvpl.evaluation.intervals.intervals import LowestCoverage, Uncertainty
from cvpl.evaluation.intervals.paired import (
    SearchedRows,
    attributable_by_power,
    attributable_estimate,
    confidence_of_picked,
    correlation,
    difference,
    difference_bounds,
    power_estimate,
)
from cvpl.evaluation.ordering import RankRange, beaten_by, places, places_by_value
from cvpl.evaluation.rates import power_at
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.page import report_page
from cvpl.reports.terminal import show
from cvpl.result import Contributions, Finding, Places, Risk, comparison_schema
from cvpl.result.publishing import Disclosure
from cvpl.wording import printable
from cvpl.workflows.compare.ranking import ReleaseFigures, rank
from cvpl.workflows.made_tables import CONFIG as DEMO
from examples import TIMES
from shared_data import SHARED

ADULT = SHARED / "adult_study_2021"
PAPER = yaml.safe_load(DEMO) | {"attacker": "paper"}
PAPER["report"] = {**PAPER.get("report", {}), "suppress_below": 1}
PEOPLE = 400


# Order


@pytest.mark.parametrize(
    ("above", "expected"),
    [
        ([], [(1, 3), (1, 3), (1, 3)]),
        ([(0, 1), (0, 2), (1, 2)], [(1, 1), (2, 2), (3, 3)]),
        ([(0, 1), (0, 2)], [(1, 1), (2, 3), (2, 3)]),
        ([(0, 2), (1, 2)], [(1, 2), (1, 2), (3, 3)]),
        ([(0, 2)], [(1, 2), (1, 3), (2, 3)]),
    ],
    ids=["all tied", "none tied", "the last two", "the first two", "each with its neighbour"],
)
def test_places_by_hand(above, expected):
    found = np.zeros((3, 3), dtype=bool)
    for pair in above:
        found[pair] = True
    assert places(found) == [RankRange(*item) for item in expected]


def test_equal_values_share_their_places():
    assert places_by_value([0.5, 0.9, 0.5, 0.1]) == [RankRange(2, 3), RankRange(1, 1), RankRange(2, 3), RankRange(4, 4)]


@pytest.mark.parametrize(
    ("risks", "utilities", "expected"),
    [
        ([0.8, 0.3, 0.1], [0.9, 0.8, 0.5], [[], [], []]),
        ([0.8, 0.3, 0.4], [0.9, 0.8, 0.5], [[], [], [1]]),
        ([0.8, 0.3], [0.5, 0.9], [[1], []]),
        ([0.3, 0.3], [0.5, 0.9], [[1], []]),
        ([0.3, 0.3], [0.5, 0.5], [[], []]),
        ([0.2], [0.5], [[]]),
    ],
    ids=["a trade-off", "one is off it", "worse in both", "equal in risk", "equal in both", "alone"],
)
def test_the_frontier_by_hand(risks, utilities, expected):
    assert beaten_by(risks, utilities) == expected


# Paired differences


def world(rng, shared, originals=600, controls=500):
    """Scores of two attacks on the same people; `shared` is how much of a person's score both have."""
    here = rng.normal(size=originals), rng.normal(size=controls)
    found = []
    for risk in (1.2, 0.7):
        mine, base = (shared * item + np.sqrt(1 - shared**2) * rng.normal(size=len(item)) for item in here)
        found.append((mine + risk, base))
    return found


def describe(scores, asked=None, clusters=None, figure="power"):
    mine, base = scores
    rows = asked or SearchedRows(np.arange(len(mine)), np.arange(len(base)), (len(mine), len(base)))
    kind = "people" if clusters is None else "groups"
    own, theirs = (None, None) if clusters is None else clusters
    spread = Uncertainty(Sample(mine, own, kind), Sample(base, theirs, kind), "control")
    return power_estimate(spread, rows, 0.05) if figure == "power" else attributable_estimate(spread, rows, 1.0)


def slow_correlation(first, second, cluster_of):
    """Σ_u A_u B_u / sqrt(V_A V_B) in plain loops; `cluster_of` tells the cluster of ("original" or "control", row)."""
    sums = []
    for item in (first, second):
        clusters = {}
        for table, values in (("original", item.originals), ("control", item.controls)):
            for row, value in enumerate(values):
                name = cluster_of(table, row)
                clusters[name] = clusters.get(name, 0.0) + float(value)
        sums.append(clusters)
    shared = sum(value * sums[1][name] for name, value in sums[0].items())
    return shared / (first.variance * second.variance) ** 0.5


@pytest.mark.parametrize(
    ("first", "second", "together", "expected"),
    [
        ((0.5, (0.4, 0.6)), (0.3, (0.2, 0.4)), 0.0, (0.2 - 0.02**0.5, 0.2 + 0.02**0.5)),
        ((0.5, (0.4, 0.6)), (0.3, (0.2, 0.4)), 0.5, (0.1, 0.3)),
        ((0.5, (0.4, 0.6)), (0.5, (0.4, 0.6)), 1.0, (0.0, 0.0)),
        ((0.5, (0.4, 0.6)), (0.3, (0.2, 0.4)), -1.0, (0.0, 0.4)),
        ((0.5, (0.2, 0.6)), (0.1, (0.0, 0.5)), 0.0, (0.4 - 0.5, 0.4 + 0.02**0.5)),
    ],
    ids=["apart", "half together", "together", "against each other", "lopsided"],
)
def test_the_ends_of_a_difference_by_hand(first, second, together, expected):
    assert difference_bounds(first, second, together) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("figure", ["power", "attributable"])
def test_the_correlation_is_that_of_plain_loops(figure):
    """Also where one attack asked some of the people only: the others add to one figure and not to both."""
    rng = np.random.default_rng(0)
    (mine, base), other = world(rng, 0.8)
    rows, strangers = np.arange(0, 600, 2), np.arange(100, 400)
    first = describe((mine[rows], base[strangers]), SearchedRows(rows, strangers, (600, 500)), figure=figure)
    second = describe(other, figure=figure)
    expected = slow_correlation(first, second, lambda table, row: (table, row))
    assert expected > 0.1
    assert correlation(first, second) == pytest.approx(expected, rel=1e-12)


def test_the_correlation_over_groups_is_that_of_plain_loops():
    rng = np.random.default_rng(1)
    clusters = rng.integers(80, size=600), rng.integers(80, 150, size=500)
    first, second = (describe(item, clusters=clusters) for item in world(rng, 0.8))
    expected = slow_correlation(first, second, lambda table, row: int(clusters[table == "control"][row]))
    assert correlation(first, second, clusters) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_the_interval_of_a_difference_is_about_as_wide_as_a_paired_bootstrap_s(shared):
    """People drawn anew, the same in both; the formula allows for the release's rows too, hence is a little wider."""
    rng = np.random.default_rng(2)
    first, second = world(rng, shared, 1500, 1500)
    found = difference(describe(first), describe(second))
    values = []
    for _ in range(400):
        i, j = rng.integers(1500, size=1500), rng.integers(1500, size=1500)
        values.append(power_at(first[0][i], first[1][j], 0.05) - power_at(second[0][i], second[1][j], 0.05))
    width = 2 * 1.96 * float(np.std(values))
    assert found.estimate.value == pytest.approx(power_at(*first, 0.05) - power_at(*second, 0.05))
    assert 0.95 * width < found.estimate.high - found.estimate.low < 1.45 * width


def test_what_people_share_makes_the_difference_surer():
    rng = np.random.default_rng(3)
    first, second = (describe(item) for item in world(rng, 0.95))
    paired = difference(first, second)
    alone = difference(first, replace(second, originals=np.zeros(600), controls=np.zeros(500)))
    assert paired.correlation > 0.4
    assert paired.estimate.high - paired.estimate.low < 0.8 * (alone.estimate.high - alone.estimate.low)


def test_a_difference_turned_round_has_its_ends_turned_round():
    rng = np.random.default_rng(4)
    first, second = (describe(item) for item in world(rng, 0.5))
    one, other = difference(first, second), difference(second, first)
    assert (one.estimate.value, one.estimate.low, one.estimate.high) == pytest.approx(
        (-other.estimate.value, -other.estimate.high, -other.estimate.low)
    )


def test_the_same_scores_are_tied():
    scores = world(np.random.default_rng(5), 0.5)[0]
    found = difference(describe(scores), describe(scores))
    assert found.estimate.value == 0
    assert found.tied


def test_what_is_attributable_by_power_follows_the_power():
    """(a - α) / (1 - α) - (b - α) / (1 - α) = (a - b) / (1 - α), and so do the ends."""
    first, second = (describe(item) for item in world(np.random.default_rng(6), 0.5))
    power = difference(first, second)
    found = difference(attributable_by_power(first, 0.05), attributable_by_power(second, 0.05))
    expected = [item / 0.95 for item in (power.estimate.value, power.estimate.low, power.estimate.high)]
    assert [found.estimate.value, found.estimate.low, found.estimate.high] == pytest.approx(expected)


def test_a_difference_is_refused_where_either_interval_is():
    rng = np.random.default_rng(7)
    few = describe(world(rng, 0.5, 600, 60)[0])
    found = difference(describe(world(rng, 0.5)[0]), replace(few, controls=np.zeros(500)))
    assert found.estimate.refused.startswith("3 controls above the threshold")
    assert found.tied


def test_a_difference_between_two_kinds_of_base_is_refused():
    first, second = (describe(item) for item in world(np.random.default_rng(8), 0.5))
    found = difference(first, replace(second, basis="own_match_left_out"))
    assert found.estimate.low is None
    assert found.tied


def test_a_difference_that_was_measured_not_to_hold_is_refused(monkeypatch):
    first, second = (describe(item) for item in world(np.random.default_rng(9), 0.5))
    assert difference(first, second).estimate.low is not None
    monkeypatch.setitem(intervals.DIFFERENCES, ("power", "people"), LowestCoverage(0.929, 0.99))
    found = difference(first, second)
    assert found.estimate.refused == "it held the truth in 0.929 of the runs of a world, and 0.93 is asked for"


@pytest.mark.parametrize(
    ("first", "second", "by_this_figure", "missed"),
    [(1, 1, True, 0.05), (1, 1, False, 0.05), (4, 4, True, 0.05 / 4), (7, 3, True, 0.01), (4, 5, False, 0.05 / 20)],
)
def test_the_confidence_allows_for_having_been_picked(first, second, by_this_figure, missed):
    assert 1 - confidence_of_picked(first, second, by_this_figure=by_this_figure) == pytest.approx(missed)


# The whole


def frame(table):
    return pd.DataFrame(table.to_columns())


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(31)
    original, control = (Touchpoints(records=PEOPLE).draw(rng) for _ in range(2))
    releases = {
        level: frame(Perturbation(level).protect(original, np.random.default_rng(at)))
        for at, level in enumerate(("low", "high"))
    }
    return frame(original), frame(control), releases


@pytest.fixture(scope="module")
def compared(people):
    original, control, releases = people
    return cvpl.compare(original, releases, PAPER, control=control)


def test_the_weaker_release_comes_first_and_the_order_holds(compared):
    low, high = compared.releases
    assert (low.name, high.name) == ("low", "high")
    assert low.power.power > high.power.power
    assert [(release.risk_places.first, release.risk_places.last) for release in compared.releases] == [(1, 1), (2, 2)]
    assert compared.frontier == ["high", "low"]
    (risk,) = (item for item in compared.differences if item.figure == "risk")
    assert risk.estimate == pytest.approx(low.risk.estimate - high.risk.estimate)
    assert risk.estimate == pytest.approx((low.power.power - high.power.power) / 0.95)
    assert 0 < risk.low < risk.estimate < risk.high
    assert (risk.originals, risk.controls, risk.tied) == (PEOPLE, PEOPLE, False)


def test_a_release_s_figures_are_those_of_its_audit(people, compared):
    original, control, releases = people
    for release in compared.releases:
        audited = cvpl.audit(original, releases[release.name], PAPER, control=control)
        assert release.linkage_rate == audited.linkage_rate
        assert release.attributable_rate == audited.attributable_rate
        assert release.power == next(power for power in audited.power if power.false_rate == 0.05)
        assert release.top1_hit_rate == audited.truth.top1_hit_rate
        assert release.feature_contribution == audited.feature_contribution
        assert (release.risk, release.verdict, release.best_candidate) == (
            audited.risk,
            audited.verdict,
            audited.best_candidate,
        )
        assert release.preflight == audited.preflight


def test_two_equal_releases_are_tied_and_neither_beats_the_other(people):
    original, control, releases = people
    same = releases["high"]
    turned = same.sample(frac=1, random_state=1).reset_index(drop=True)
    found = cvpl.compare(original, {"one": same, "other": turned}, PAPER, control=control)
    assert [(release.risk_places.first, release.risk_places.last) for release in found.releases] == [(1, 2), (1, 2)]
    assert all(item.estimate == 0 and item.tied for item in found.differences)
    assert all(release.on_frontier for release in found.releases)


def test_the_result_validates_and_comes_back_from_its_json(compared, tmp_path):
    content = json.loads(compared.to_json())
    jsonschema.validate(content, comparison_schema())
    path = compared.write(tmp_path)
    assert path.name == "comparison.json"
    assert cvpl.ComparisonResult.from_json(path.read_bytes()) == compared


def test_the_published_schema_is_that_of_the_code():
    text = Path(cvpl.__file__).parent / "schemas" / "comparison.json"
    assert json.loads(text.read_text(encoding="utf-8")) == comparison_schema()


def test_the_same_comparison_gives_the_same_bytes(people, compared):
    original, control, releases = people
    assert cvpl.compare(original, releases, PAPER, control=control).to_json() == compared.to_json()


def test_headlines_with_half_of_the_control_are_paired_over_those_whom_both_asked(people):
    """The rarity attacker holds half of the control as reference, by the same draw in both releases."""
    original, control, releases = people
    left_out = {"canaries": False, "sensitivity": False, "singling_out": False, "inference": False}
    settings = yaml.safe_load(DEMO) | left_out
    found = cvpl.compare(original, releases, settings, control=control, attackers=["rarity_reference"])
    risk = found.differences[0]
    assert risk.figure == "risk"
    assert (risk.originals, risk.controls) == (PEOPLE, PEOPLE // 2)
    assert risk.confidence == pytest.approx(0.95)


def test_a_release_that_withholds_a_column_has_risk_and_no_comparable_utility(people):
    original, control, releases = people
    withheld = releases["high"].assign(ad_channel=None)
    found = cvpl.compare(original, {"low": releases["low"], "withheld": withheld}, PAPER, control=control)
    whole, some = found.releases
    assert some.name == "withheld"
    assert some.power is not None
    assert some.utility.score is None
    assert some.utility_places is None
    assert "'ad_channel'" in some.utility.reason
    assert (whole.on_frontier, some.on_frontier) == (True, None)


def test_a_release_of_which_nothing_can_be_said_comes_last_and_is_not_on_the_frontier(people):
    """Every released record is the same: the lowest risk there is, if it were read as one."""
    original, control, releases = people
    dead = pd.concat([releases["low"].iloc[:1]] * PEOPLE, ignore_index=True)
    found = cvpl.compare(original, {"dead": dead, "low": releases["low"]}, PAPER, control=control)
    assert [release.name for release in found.releases] == ["low", "dead"]
    last = found.releases[-1]
    assert not last.assessable
    assert last.reasons
    assert (last.risk_places, last.on_frontier) == (None, None)
    assert found.frontier == ["low"]
    assert found.differences == []


def test_without_control_and_truth_nothing_is_put_in_order(people):
    original, _, releases = people
    blind = {key: value for key, value in PAPER.items() if key != "truth"}
    blind["columns"] = {name: item for name, item in PAPER["columns"].items() if name != "person_id"}
    found = cvpl.compare(original, releases, blind)
    assert all(release.risk_places is None and release.power is None for release in found.releases)
    assert [release.name for release in found.releases] == ["low", "high"]
    assert found.frontier == []
    assert shown(found).lstrip().startswith("The releases cannot be ranked")


def shown(result, width=100):
    page = io.StringIO()
    show(result, Console(width=width, highlight=False, file=page), details=True)
    return page.getvalue()


@pytest.mark.parametrize("width", [60, 100, 160])
def test_the_summary_tells_the_order_with_its_figures(compared, width):
    text = shown(compared, width)
    high = compared.releases[-1]
    words = f"Lowest risk: 'high' ({high.risk.estimate:.1%}), but a check closes the gate and the best "
    words += f"candidate is right for {high.best_candidate.estimate:.1%}."
    assert " ".join(text.split()).startswith(words)
    assert text.index("\nhigh ") < text.index("\nlow ")
    assert f"{compared.releases[0].risk.estimate:.1%}" in text
    assert "differ" in text
    assert " ".join(text.split()).count("beyond chance (5% of the control)") == 1


@pytest.mark.parametrize("width", [60, 100, 160])
def test_each_release_s_own_verdict_is_printed_and_stands_on_the_page(compared, width):
    text, page = " ".join(shown(compared, width).split()), html.unescape(report_page(compared))
    for release in compared.releases:
        assert f"'{release.name}': {release.verdict.sentence}" in text
        assert f"<strong>'{release.name}':</strong> {release.verdict.sentence}" in page
    assert page.count("beyond chance (5% of the control)") == 1


def test_what_closes_a_gate_is_reported_the_release_it_is_found_in(compared):
    first, second = compared.releases
    closing = Finding(check="x", closes_gate=True, message="column 'a' holds \x1b[31mnames")
    harmless = Finding(check="y", closes_gate=False, message="something harmless")
    found = compared.model_copy(
        update={
            "releases": [
                first.model_copy(update={"preflight": [harmless]}),
                second.model_copy(update={"preflight": [closing, harmless]}),
            ]
        }
    )
    line = "Column 'a' holds \\x1b[31mnames. This closes the gate."
    text, page = " ".join(shown(found).split()), html.unescape(report_page(found))
    assert text.count("This closes the gate") == page.count("This closes the gate") == 1
    assert f"! 'high': {line}" in text
    assert f"<strong>'high':</strong> {line}" in page
    assert "something harmless" not in text + page


def test_a_comparison_without_verdicts_is_shown_with_the_risk_that_its_powers_tell(compared):
    """Results of earlier versions hold the power at 5% and no risk."""
    earlier = {"verdict": None, "risk": None, "best_candidate": None, "preflight": [], "unranked": None}
    releases = [release.model_copy(update=earlier) for release in compared.releases]
    found = compared.model_copy(update={"releases": releases})
    for one, other in zip(releases, compared.releases, strict=True):
        assert one.shown == pytest.approx(other.shown)
    text = " ".join(shown(found).split())
    assert f"{compared.releases[0].risk.estimate:.1%}" in text
    assert "beyond chance (5% of the control)" in text
    assert "Each release on its own" not in report_page(found)


# Risks that are read in different ways


def stood(release, name, risk):
    """A release as the ranking takes it, with no more than a risk; no differences are paired."""
    section = release.model_copy(update={"name": name, "risk": risk, "risk_places": None})
    return ReleaseFigures(section, None, None, SearchedRows(np.arange(5), np.arange(5), (5, 5)), 1, None, Disclosure(1))


def risk_at(estimate, false_rate, basis="control"):
    ends = {"low": estimate - 0.01, "high": estimate + 0.01}
    return Risk(estimate=estimate, power=None, false_rate=false_rate, basis=basis, attacker="main", **ends)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (
            risk_at(0.9, 0.10),
            "its risk is read where 10% of the control is linked, that of the others where 5% of the control is linked",
        ),
        (
            risk_at(0.9, None, "true_matches"),
            "its risk is read by the true matches, that of the others where 5% of the control is linked",
        ),
    ],
)
def test_a_risk_that_is_read_otherwise_than_the_others_has_no_place_and_says_why(compared, odd, words):
    one = compared.releases[0]
    found = rank([stood(one, "odd", odd), stood(one, "a", risk_at(0.2, 0.05)), stood(one, "b", risk_at(0.4, 0.05))])
    assert [release.name for release in found.releases] == ["b", "a", "odd"]
    places = [release.risk_places for release in found.releases]
    assert [place and (place.first, place.last) for place in places] == [
        (1, 1), (2, 2), None,
    ]  # fmt: skip
    assert [release.unranked for release in found.releases] == [None, None, words]
    assert found.releases[-1].on_frontier is None and "odd" not in found.frontier
    text = " ".join(shown(compared.model_copy(update={"releases": found.releases, "differences": []})).split())
    assert f"'odd': No place: {words}." in text


def test_a_release_that_hides_something_from_the_attackers_has_no_place(compared):
    """A low figure then means nothing, so it recommends nothing."""
    one = compared.releases[0].model_copy(update={"preflight": []})
    unseen = Finding(check="unread_columns", closes_gate=True, message="no attacker can read column 'x'")
    blind = stood(one.model_copy(update={"preflight": [unseen]}), "blind", risk_at(0.0, 0.05))
    found = rank([blind, stood(one, "a", risk_at(0.2, 0.05)), stood(one, "b", risk_at(0.4, 0.05))])
    assert [release.name for release in found.releases] == ["b", "a", "blind"]
    assert found.releases[-1].unranked == "its risk is not known: no attacker can read column 'x'"
    assert found.releases[-1].risk_places is None and "blind" not in found.frontier
    whole = compared.model_copy(update={"releases": found.releases, "differences": found.differences})
    assert recommendation(whole).startswith("Lowest risk: 'a' (20.0%)")


def test_of_two_risks_at_different_rates_the_one_at_the_smaller_rate_is_ranked(compared):
    one = compared.releases[0]
    found = rank([stood(one, "at 10%", risk_at(0.9, 0.10)), stood(one, "at 5%", risk_at(0.2, 0.05))])
    assert [(release.name, release.risk_places is None) for release in found.releases] == [
        ("at 5%", False),
        ("at 10%", True),
    ]


def test_without_a_control_releases_are_ranked_by_the_true_matches_and_that_is_said(people):
    original, _, releases = people
    found = cvpl.compare(original, dict(reversed(releases.items())), PAPER)
    low, high = found.releases
    assert (low.name, high.name) == ("low", "high")
    assert low.top1_hit_rate > high.top1_hit_rate
    for item in (low, high):
        assert (item.risk.basis, item.risk.false_rate, item.risk.power) == ("true_matches", None, None)
        guess = 1 / PEOPLE
        assert item.risk.estimate == pytest.approx((item.best_candidate.estimate - guess) / (1 - guess))
    assert [(release.risk_places.first, release.risk_places.last) for release in found.releases] == [(1, 1), (2, 2)]
    text = " ".join(shown(found).split())
    assert text.startswith(f"Lowest risk by the true matches: 'high' ({high.best_candidate.estimate:.1%})")
    assert "There is no control, so the order follows how often the best candidate is the right person." in text
    assert "Top-1: the share of people whose best candidate is the right person." in text
    assert "the order follows how often the best candidate" in report_page(found)


def test_a_release_of_too_few_rows_is_not_ranked_whatever_its_figures_are(people):
    original, control, releases = people
    few = releases["low"].iloc[:3]
    found = cvpl.compare(original, {"few": few, "high": releases["high"]}, PAPER, control=control)
    assert [release.name for release in found.releases] == ["high", "few"]
    last = found.releases[-1]
    assert last.verdict.kind == "not_assessable"
    assert (last.assessable, last.risk, last.risk_places) == (False, None, None)
    assert last.reasons and last.unranked.startswith("not assessable: ")


def test_the_headline_names_those_who_are_tied_as_one_or_the_other(compared):
    """Of three, the first stands above the last, and the second is tied with both."""
    low, high = compared.releases
    spans = {"a": (1, 2), "b": (1, 3), "c": (2, 3)}
    releases = [
        low.model_copy(update={"name": name, "risk_places": Places(first=first, last=last)})
        for name, (first, last) in spans.items()
    ]
    found = recommendation(compared.model_copy(update={"releases": releases}))
    assert found.startswith("'c' (87.9%) and 'b' (87.9%) cannot be told apart: each may have the lowest risk.")
    equal = [release.model_copy(update={"risk_places": Places(first=1, last=3)}) for release in releases]
    found = recommendation(
        compared.model_copy(update={"releases": [*equal, high.model_copy(update={"risk_places": None})]})
    )
    assert found.startswith("'c' (87.9%) and 'b' (87.9%) and 'a' (87.9%) cannot be told apart")
    tied = compared.model_copy(update={"releases": [*equal, high.model_copy(update={"risk_places": None})]})
    assert "1 release cannot be ranked." in reservations(tied)
    assert any(line.startswith("'c': a check closes the gate") for line in reservations(tied))


def test_no_cell_stands_in_the_result_or_the_summary(people):
    original, control, releases = people
    cell = "zzcellzz"
    marked = {
        name: release.assign(brand_product=[cell, *release.brand_product[1:]]) for name, release in releases.items()
    }
    found = cvpl.compare(original.assign(brand_product=cell), marked, PAPER, control=control)
    assert cell not in found.to_json()
    assert cell not in shown(found)


@pytest.mark.skipif(
    not ADULT.is_dir(), reason="the shared data folder with the Adult study is not beside the repository"
)
def test_adult_with_a_tenth_flipped_is_riskier_than_with_nine_tenths_flipped(tmp_path):
    def some(name, rows):
        with gzip.open(ADULT / f"{name}.csv.gz", "rt") as file:
            (tmp_path / f"{name}.csv").write_text("".join(islice(file, rows + 1)))
        return tmp_path / f"{name}.csv"

    numeric = ("age", "capital-gain", "capital-loss", "hours-per-week")
    names = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
    columns = {name: {"role": "quasi_identifier", "type": "numeric"} for name in numeric}
    columns |= {name: {"role": "quasi_identifier", "type": "category"} for name in names}
    attacker = {"similarity": "rarity", "evidence": "reference", "blocking": "none"}
    settings = {"columns": columns, "attacker": attacker}
    rows = 8000 if TIMES > 1 else 4000
    releases = [some("flip90", rows), some("flip10", rows)]
    found = cvpl.compare(some("trn", 800), releases, settings, control=some("val", 1600))
    assert [release.name for release in found.releases] == ["flip10.csv", "flip90.csv"]
    assert [(release.risk_places.first, release.risk_places.last) for release in found.releases] == [(1, 1), (2, 2)]


# Charts and the page


@pytest.fixture(scope="module")
def crowded(compared):
    """Eight releases whose utilities are all but equal, and one that cannot be compared."""
    one = compared.releases[0]
    releases = []
    for at in range(9):
        kept = one.utility.model_copy(update={"score": 0.9 + at / 10_000})
        update = {"name": f"release {at}", "utility": kept, "on_frontier": None if at == 8 else at % 2 == 0}
        releases.append(one.model_copy(update=update))
    return compared.model_copy(update={"releases": releases, "frontier": [f"release {at}" for at in (6, 4, 2, 0)]})


@pytest.mark.parametrize("name", ["compared_rulers", "frontier"])
def test_every_chart_carries_its_numbers_and_an_alternative_text(compared, name):
    chart = getattr(charts, name)(compared)
    found = charts.numbers(chart)
    assert found.title and len(found.description) > 30 and found.description.endswith(".")
    assert found.rows and all(len(row) == len(found.columns) for row in found.rows)
    picture = charts.svg(chart)
    assert picture.startswith("<svg") and 'role="img"' in picture and "aria-label=" in picture
    assert charts.png(chart).startswith(b"\x89PNG")


def test_without_risk_or_columns_there_is_no_chart(compared):
    bare = compared.releases[0].model_copy(
        update={
            "on_frontier": None,
            "risk": None,
            "power": None,
            "feature_contribution": Contributions(columns=[], removal_asked=None),
        }
    )
    empty = compared.model_copy(update={"releases": [bare], "frontier": []})
    assert charts.frontier(empty) is None
    assert charts.compared_contributions(empty) is None
    assert "<svg" not in report_page(empty)


def elements(page):
    return [item.tag for item in html5lib.parse(page, namespaceHTMLElements=False).iter()]


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "<img src=x onerror=y>", "{{ 7 * 7 }}", "`code`", "=1+1", "a&b\"'>", "\x1b[31m"],
)
def test_a_hostile_name_adds_no_element_to_the_page(compared, name):
    def renamed(other):
        releases = [
            release.model_copy(update={"name": other if release.name == "low" else release.name, "beaten_by": [other]})
            for release in compared.releases
        ]
        differences = [item.model_copy(update={"first": other}) for item in compared.differences]
        update = {"releases": releases, "differences": differences, "frontier": ["high", other]}
        return report_page(compared.model_copy(update=update))

    found = renamed(name)
    assert elements(found) == elements(renamed("x" * len(printable(name))))
    assert "<script" not in found


def test_the_page_asks_nobody_for_anything(compared, tmp_path):
    page = cvpl.write_report(compared, tmp_path / "comparison.html").read_text(encoding="utf-8")
    without_names = page.replace('xmlns="http://www.w3.org/2000/svg"', "").replace("http://www.w3.org/1999/xlink", "")
    assert "http" not in without_names.replace("http-equiv", "")
    assert len(page) < 1_000_000
    assert "Lowest risk: &#39;high&#39;" in page


def test_a_comparison_is_written_as_markdown_in_its_order(compared, tmp_path):
    text = cvpl.write_report(compared, tmp_path / "comparison.md").read_text(encoding="utf-8")
    assert text == compared.to_markdown()
    assert recommendation(compared).replace("'", "") in text.replace("'", "").replace("\\", "")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`" in line]
    names = [release.name for release in reversed(compared.releases)]
    assert [re.search("`(.*?)`", row)[1] for row in rows] == [*names, *names]  # the order, and the attackers


# The command line, and wrong inputs


@pytest.fixture(scope="module")
def files(people, tmp_path_factory):
    original, control, releases = people
    place = tmp_path_factory.mktemp("files")
    tables = {"original": original, "control": control, **releases}
    for name, table in tables.items():
        table.to_csv(place / f"{name}.csv", index=False)
    (place / "twin.csv").write_bytes((place / "low.csv").read_bytes())
    releases["high"].drop(columns=["ad_channel"]).to_csv(place / "fewer.csv", index=False)
    releases["high"].drop(columns=["region", "gender"]).to_csv(place / "fewest.csv", index=False)
    releases["high"][["person_id"]].to_csv(place / "nothing.csv", index=False)
    releases["high"].assign(age="old").to_csv(place / "text.csv", index=False)
    (place / "folder").mkdir()
    releases["high"].to_csv(place / "folder" / "low.csv", index=False)
    (place / "audit.yaml").write_text(yaml.safe_dump(PAPER))
    return place


def call(files, *arguments):
    names = [str(files / argument) if argument.endswith(".csv") else argument for argument in arguments]
    return run(["compare", *names, "--config", str(files / "audit.yaml"), "--control", str(files / "control.csv")])


def test_the_command_prints_the_order_and_writes_the_result(files, tmp_path, capsys):
    assert call(files, "original.csv", "high.csv", "low.csv", "--out", str(tmp_path / "out")) == 0
    text = capsys.readouterr().out
    assert text.lstrip().startswith("Lowest risk: 'high.csv' (")
    written = cvpl.ComparisonResult.from_json((tmp_path / "out" / "comparison.json").read_bytes())
    assert [release.name for release in written.releases] == ["low.csv", "high.csv"]
    assert written.inputs.keys() == {"original", "control"}
    assert (tmp_path / "out" / "comparison.html").is_file()
    assert written.releases[0].input.sha256 is not None


def test_the_command_prints_json_of_the_attackers_asked_for(files, capsys):
    assert call(files, "original.csv", "low.csv", "--json", "--attackers", "main", "--memory", "2GB") == 0
    found = cvpl.ComparisonResult.from_json(capsys.readouterr().out)
    assert [release.name for release in found.releases] == ["low.csv"]
    assert (found.releases[0].risk_places.first, found.releases[0].on_frontier) == (1, True)
    assert found.differences == []


def test_releases_with_one_name_are_distinguished_by_their_folders(files):
    tables = [files / "low.csv", files / "folder" / "low.csv"]
    found = cvpl.compare(files / "original.csv", tables, PAPER, control=files / "control.csv")
    assert {release.name for release in found.releases} == {f"{files.name}/low.csv", "folder/low.csv"}


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["original.csv"], 2, ["RELEASE"]),
        (["original.csv", "low.csv", "--attackers", "nobody"], 2, ["there is no attacker 'nobody'"]),
        (["original.csv", "low.csv", "--memory", "much"], 2, ["--memory much"]),
        (["original.csv", "low.csv", "low.csv"], 3, ["low.csv: this is the same release as low.csv"]),
        (["original.csv", "low.csv", "twin.csv"], 3, ["twin.csv: this is the same release as low.csv"]),
        (
            ["original.csv", "gone.csv", "low.csv", "lost.csv"],
            3,
            ["2 problems found", "gone.csv: there is no such file", "lost.csv: there is no such file"],
        ),
        (["gone.csv", "high.csv", "low.csv"], 3, ["1 problem found", "gone.csv: there is no such file"]),
        (
            ["original.csv", "fewer.csv", "low.csv", "fewest.csv"],
            3,
            [
                "2 problems found",
                "fewer.csv: the release lacks a column that other releases have: 'ad_channel'",
                "fewest.csv: the release lacks columns that other releases have: 'gender', 'region'",
            ],
        ),
        (
            ["original.csv", "low.csv", "nothing.csv", "text.csv", "gone.csv"],
            3,
            ["applied to nothing.csv: no observable column", "text.csv, row 1, column 'age'", "gone.csv"],
        ),
    ],
    ids=["no release", "attacker", "memory", "twice", "same bytes", "missing", "original", "columns", "all at once"],
)
def test_wrong_inputs_are_reported_all_at_once_with_their_files(files, capsys, arguments, code, expected):
    assert call(files, *arguments) == code
    words = capsys.readouterr().err
    for text in expected:
        assert text in words


def test_in_python_no_release_and_a_single_path_are_refused():
    with pytest.raises(cvpl.UsageError, match="no release"):
        cvpl.compare("original.csv", [], "audit.yaml")
    with pytest.raises(cvpl.UsageError, match="one path"):
        cvpl.compare("original.csv", "released.csv", "audit.yaml")


def test_problems_of_the_configuration_and_of_all_files_are_reported_together(files):
    with pytest.raises(cvpl.InputError) as caught:
        cvpl.compare(files / "gone.csv", [files / "lost.csv"], {"columns": {}, "attacker": "papre"})
    text = str(caught.value)
    assert "gone.csv" in text
    assert "lost.csv" in text
    assert "papre" in text or "configuration" in text
