"""The recommendation of a comparison: what is compared, what is said first, and what stands beside it."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console

import cvpl
from cvpl.answers.releases import (
    best_first,
    compared_drops,
    compared_figures,
    costs,
    limit_shown,
    policy_sentence,
    recommendation,
    reservations,
)
from cvpl.evaluation.intervals.paired import SearchedRows
from cvpl.laboratory.mechanisms import Perturbation
from cvpl.laboratory.simulation import Touchpoints
from cvpl.reports.sections.comparison import comparison_sections, efficient_in_words
from cvpl.reports.terminal import show
from cvpl.result import BestCandidate, Places, PolicyOutcome, Risk, Warning_
from cvpl.result.publishing import Disclosure
from cvpl.workflows.compare.ranking import ReleaseFigures, rank
from cvpl.workflows.made_tables import CONFIG as DEMO

PEOPLE = 250
PAPER = yaml.safe_load(DEMO) | {"attacker": "paper", "policy": {"figure": "risk", "max": 0.3}}
PAPER["report"] = {"suppress_below": 1}


@pytest.fixture(scope="module")
def tables():
    people = Touchpoints(records=PEOPLE).draw(np.random.default_rng(5))
    control = Touchpoints(records=PEOPLE).draw(np.random.default_rng(6))
    noisy = {level: Perturbation(level).protect(people, np.random.default_rng(7)) for level in ("low", "high")}
    frames = {name: pd.DataFrame(table.to_columns()) for name, table in noisy.items()}
    return pd.DataFrame(people.to_columns()), pd.DataFrame(control.to_columns()), frames


@pytest.fixture(scope="module")
def compared(tables):
    original, control, releases = tables
    return cvpl.compare(original, releases, PAPER, control=control)


def made(compared, *releases):
    """A comparison of releases that differ from its first one as told, the highest risk first."""
    like = compared.releases[0]
    found = []
    for at, (name, risk, changes) in enumerate(releases, start=1):
        usual = {
            "name": name,
            "risk": risk,
            "preflight": [],
            "best_candidate": None,
            "policies": [],
            "verdict": None,
            "warnings": [],
            "risk_places": Places(first=at, last=at),
        }
        found.append(like.model_copy(update=usual | changes))
    return compared.model_copy(update={"releases": found, "differences": []})


def risk(estimate, low=None, high=None, basis="control"):
    ends = {"low": estimate - 0.01 if low is None else low, "high": estimate + 0.01 if high is None else high}
    rate = 0.05 if basis == "control" else None
    return Risk(estimate=estimate, power=None, false_rate=rate, basis=basis, attacker="main", **ends)


def kept(compared, **figures):
    return {"utility": compared.releases[0].utility.model_copy(update=figures)}


def outcome(met, limit=0.05, figure="risk"):
    reasons = [] if met else ["above"]
    return PolicyOutcome(figure=figure, bound="high", max=limit, value=None, met=met, reasons=reasons)


def test_the_first_sentence_names_the_lowest_risk_its_cost_and_the_policy(compared):
    lost = kept(compared, correlation_preservation=0.2) | {"policies": [outcome(False)]}
    found = made(compared, ("noise", risk(0.8), {"policies": [outcome(False)]}), ("synthetic_0", risk(0.126), lost))
    assert recommendation(found) == (
        "Lowest risk: 'synthetic_0' (12.6%), but correlations are lost. None meets the policy (risk at most 5%)."
    )


def test_releases_that_are_tied_are_said_to_be_so(compared):
    tie = {"risk_places": Places(first=2, last=3)}
    found = made(compared, ("weak", risk(0.8), {}), ("x", risk(0.13), tie), ("y", risk(0.12), tie))
    assert recommendation(found) == "'y' (12.0%) and 'x' (13.0%) cannot be told apart: each may have the lowest risk."
    many = [(f"r{at}", risk(0.1 + at / 100), {"risk_places": Places(first=1, last=5)}) for at in (4, 3, 2, 1, 0)]
    assert recommendation(made(compared, *many)).startswith("5 releases cannot be told apart: each may have the lowest")


def test_a_risk_that_cannot_be_told_from_0_is_given_by_its_upper_end(compared):
    found = made(compared, ("a", risk(0.8), {}), ("b", risk(-0.004, low=-0.02, high=0.031), {}))
    assert recommendation(found) == "Lowest risk: 'b' (at most 3.1%)."


@pytest.mark.parametrize(
    ("met", "expected"),
    [
        ((True, False), "Only 'b' meets the policy (risk at most 5%)."),
        ((False, False), "None meets the policy (risk at most 5%)."),
        ((True, True), "All 2 meet the policy (risk at most 5%); of these, 'a' has the highest utility (0.90 of 1)."),
    ],
)
def test_the_policy_is_answered_for_all_releases(compared, met, expected):
    found = made(
        compared,
        ("a", risk(0.04), {"policies": [outcome(met[1])]} | kept(compared, score=0.9)),
        ("b", risk(0.02), {"policies": [outcome(met[0])]} | kept(compared, score=0.6)),
    )
    assert policy_sentence(found) == expected and recommendation(found).endswith(expected)
    assert limit_shown(found) == 0.05


def test_a_limit_on_another_figure_is_not_drawn_on_the_axis(compared):
    found = made(compared, ("a", risk(0.04), {"policies": [outcome(True, figure="top1_hit_rate")]}))
    assert limit_shown(found) is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"best_candidate": BestCandidate(estimate=0.3, low=0.25, high=0.35, attacker="m")}, "right for 30.0%"),
        ({"lower_bound": True}, "lower bound"),
    ],
)
def test_a_low_risk_that_another_figure_contradicts_is_not_named_alone(compared, changes, expected):
    found = made(compared, ("a", risk(0.8), {}), ("b", risk(0.04), changes))
    assert expected in recommendation(found).split(", but ")[1]
    assert costs(found.releases[0]) == []


def test_efficient_never_stands_beside_a_high_figure_without_a_word(compared):
    found = made(
        compared,
        ("all", risk(1.0, low=0.97, high=1.0), {"on_frontier": True}),
        ("most", risk(0.6, low=0.55, high=0.65), {"on_frontier": True}),
        ("few", risk(0.1), {"on_frontier": True}),
        ("beaten", risk(0.05), {"on_frontier": False}),
    )
    words = [efficient_in_words(release, 1) for release in found.releases]
    assert words == ["yes, high", "yes, high", "yes", "no"]
    table = next(section for section in comparison_sections(found) if section.anchor == "order").tables[0]
    assert [row[-2] for row in table.rows] == ["no", "yes", "yes, high", "yes, high"]
    worst = made(compared, ("a", risk(1.0, low=0.97, high=1.0), {}), ("b", risk(0.9, low=0.88, high=0.92), {}))
    assert "Even there, more than 50% of the people can be linked." in recommendation(worst)


def test_without_a_control_the_order_follows_top_1_whatever_the_blind_power_says(compared):
    """The power against the own match left out is larger in the stronger release, and decides nothing."""
    like = compared.releases[0]
    asked = SearchedRows(np.arange(5), np.arange(5), (5, 5))
    stood = []
    for name, hits, power in (("k20", 0.008, 0.4), ("k2", 0.074, 0.05)):
        update = {
            "name": name,
            "risk": risk(hits, hits - 0.004, hits + 0.004, "true_matches"),
            "best_candidate": BestCandidate(estimate=hits, low=hits - 0.004, high=hits + 0.004, attacker="m"),
            "power": like.power.model_copy(update={"power": power}),
        }
        section = like.model_copy(update=update)
        stood.append(ReleaseFigures(section, None, None, asked, 1, None, Disclosure(1)))
    order = rank(stood)
    found = compared.model_copy(update={"releases": order.releases, "differences": [], "inputs": {}})
    assert [release.name for release in best_first(found)] == ["k20", "k2"]
    assert [(item.kind, item.estimate) for item in compared_figures(found)] == [
        ("best_candidate", 0.008),
        ("best_candidate", 0.074),
    ]
    assert recommendation(found).startswith("Lowest risk by the true matches: 'k20' (0.8%)")
    assert "There is no control, so the order follows" in " ".join(reservations(found))


def test_policies_are_those_of_an_audit_of_each_release(tables, compared):
    original, control, releases = tables
    for release in compared.releases:
        audited = cvpl.audit(original, releases[release.name], PAPER, control=control)
        assert release.policies == audited.policies and release.policies


def test_without_a_control_a_column_is_judged_by_the_hits_that_are_lost_without_it():
    """Names are kept and unique, a number is drawn anew: the drop is the difference of two comparisons."""
    rng = np.random.default_rng(3)
    count = 200
    original = pd.DataFrame(
        {"who": range(count), "name": [f"n{at}" for at in range(count)], "noise": rng.integers(9, size=count)}
    )
    released = original.assign(noise=rng.integers(9, size=count))
    columns = {
        "who": {"role": "id"},
        "name": {"role": "quasi_identifier", "type": "category"},
        "noise": {"role": "attribute", "type": "numeric"},
    }
    rare = {"similarity": {"rarity": {"tolerance": 0}}, "blocking": "none"}
    config = {"columns": columns, "attackers": {"rare": rare}, "sensitivity": True, "report": {"suppress_below": 1}}
    found = cvpl.compare(original, {"one": released}, config)
    drops = compared_drops(found)
    assert drops.figure == "the top-1 hit rate" and drops.columns == ["name", "noise"]
    without = {
        name: cvpl.compare(
            original, {"one": released}, config | {"columns": columns | {name: columns[name] | {"vectorize": False}}}
        )
        .releases[0]
        .top1_hit_rate
        for name in ("name", "noise")
    }
    for name, drop in drops.by_release[0].items():
        assert drop.drop == pytest.approx(found.releases[0].top1_hit_rate - without[name], abs=1e-9)
        assert drop.low <= drop.drop <= drop.high
    assert found.releases[0].feature_contribution.top1_asked == count


def test_with_a_control_a_column_is_judged_by_power(compared):
    assert all(column.top1_drop is None for column in compared.releases[0].feature_contribution.columns)


def screen(result, width=80, **options):
    page = Console(width=width, file=io.StringIO(), highlight=False)
    show(result, page, **options)
    return page.file.getvalue()


def test_the_summary_is_at_most_40_lines_and_counts_what_it_leaves_out(compared):
    warned = [Warning_(rule="x", message=f"warning {at} {'word ' * 30}", docs=None) for at in range(12)]
    many = [(f"a_release_with_a_name_{at}", risk(0.9 - at / 50), {"warnings": warned}) for at in range(30)]
    found = made(compared, *many)
    text = screen(found)
    assert text.count("\n") <= 40
    assert "more below: `--details`." in text and "`--details`" in text.split("Warnings")[1]
    assert "a_release_with_a_name_29" in text and "a_release_with_a_name_0 " not in text
    whole = screen(found, details=True)
    assert whole.count("\n") > 100 and whole.count("Warning 11") == 1 and "The strongest attacker per release" in whole
    shown = int(re.search(r"(\d+) more below", text)[1])
    assert shown + len(re.findall(r"^a_release", text, re.MULTILINE)) == 30
