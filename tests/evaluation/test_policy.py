"""Policies: their forms, presets, and what several of them decide."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.assessment.decision import figure_ends
from cvpl.cli.main import run
from cvpl.config.loading import read_policy
from cvpl.config.written import AuditConfig, PolicyConfig
from cvpl.evaluation.groups.subgroups import GroupRow, GroupTable, Maximum, Subgroups
from cvpl.evaluation.policy import PRESETS
from examples import TIMES

NUMBERS = tuple("uvwxyz")
COLUMNS = {"who": {"role": "id"}} | {
    name: {"role": "attribute", "type": "numeric", "recoded": False} for name in NUMBERS
}
SETTINGS = {"columns": COLUMNS, "attacker": "paper"}
EXACT = SETTINGS | {"report": {"suppress_below": 1}}
LINKED = {"figure": "linkage_rate", "bound": "estimate", "max": 1.0}


@pytest.fixture(scope="module")
def tables():
    """Two hundred people, released with such noise that some are found, and as many others."""
    rng = np.random.default_rng(2)
    people = [pd.DataFrame(rng.normal(size=(200, 6)), columns=list(NUMBERS)) for _ in range(2)]
    released = people[0] + rng.normal(0, 0.6, (200, 6))
    original, released, control = (
        item.assign(who=np.arange(200) + at)
        for item, at in zip((people[0], released, people[1]), (0, 0, 900), strict=True)
    )
    return original, released, control


def audited(tables, policy, settings=SETTINGS, **more):
    original, released, control = tables
    return cvpl.audit(original, released, settings | {"policy": policy}, control=control, **more)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_bounds_a_re_identification_probability_and_names_its_source(name):
    preset = PRESETS[name]
    assert preset.figure == "top1_hit_rate"
    assert preset.source and preset.bounds
    assert AuditConfig.model_validate(SETTINGS | {"policy": name}).policy == PolicyConfig(
        figure=preset.figure, bound="high", max=preset.max, preset=name
    )


def test_the_limits_of_the_presets_are_these():
    assert {name: round(preset.max, 4) for name, preset in PRESETS.items()} == {
        "ema-policy-0070": 0.09,
        "health-canada-prci": 0.09,
        "cell-size-3": 0.3333,
        "cell-size-5": 0.2,
        "cell-size-11": 0.0909,
        "cell-size-20": 0.05,
    }


@pytest.mark.parametrize(
    ("written", "figures"),
    [
        (None, None),
        ({"max": 0.1}, ["risk"]),
        ({"figure": "power_at_5", "max": 0.1}, ["power_at_5"]),
        ([LINKED, "cell-size-5"], ["linkage_rate", "top1_hit_rate"]),
        ({"preset": "cell-size-5", "bound": "estimate"}, ["top1_hit_rate"]),
    ],
)
def test_a_policy_is_a_mapping_a_list_or_the_name_of_a_preset(written, figures):
    policy = AuditConfig.model_validate(SETTINGS | {"policy": written}).policy
    found = None if policy is None else [item.figure for item in (policy if isinstance(policy, tuple) else [policy])]
    assert found == figures


def test_a_configuration_reads_back_what_it_writes():
    config = AuditConfig.model_validate(SETTINGS | {"policy": [LINKED, "cell-size-5"]})
    assert AuditConfig.model_validate(config.model_dump(mode="json", exclude_none=True)) == config


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("cell-size-4", "the presets are: ema-policy-0070"),
        ({"preset": "cell-size-5", "max": 0.5}, "a preset sets its own figure"),
        ({"figure": "luck", "max": 0.5}, "`policy.figure`"),
        ({"figure": "linkage_rate", "max": 2}, "`policy.max`"),
        ({"figure": "linkage_rate", "max": 0.1, "min": 1}, "the figure linkage_rate has a limit `max`"),
        ({"figure": "k", "max": 0.1}, "the figure k has a limit `min`, a whole number from 1 on"),
        ({"figure": "k", "min": 2.5}, "`policy.min`: write a whole number"),
        ({"figure": "k", "min": 0}, "`policy.min`"),
        ([], "the list of policies is empty"),
        ([LINKED, {"figure": "linkage_rate"}], "max"),
        ({"max": True}, "`policy.max`: write a number"),
        (0.05, "the name of a preset"),
    ],
)
def test_a_policy_that_means_nothing_is_refused(tables, written, text):
    with pytest.raises(cvpl.InputError) as error:
        audited(tables, written)
    assert text in str(error.value)
    assert len(error.value.problems) == 1


def test_each_figure_is_held_against_its_limit(tables):
    """The value that a policy looks at is the one that the result shows."""
    result = audited(tables, LINKED, EXACT)
    hit = result.truth.top1_hit_rate
    assert 0.2 < hit < 0.95 and 0.1 < result.attributable_rate.high < 0.95
    power = {round(100 * item.false_rate): item.power for item in result.power}
    most = result.at_risk.maximum
    shown = {
        ("risk", "estimate"): result.risk.estimate,
        ("risk", "high"): result.risk.high,
        ("linkage_rate", "estimate"): result.linkage_rate.estimate,
        ("linkage_rate", "high"): result.linkage_rate.high,
        ("attributable_rate", "high"): result.attributable_rate.high,
        ("top1_hit_rate", "estimate"): hit,
        ("top1_hit_rate", "high"): result.truth.top1_high,
        ("power_at_1", "estimate"): None if result.power[0].low is None else power[1],
        ("power_at_5", "estimate"): power[5],
        ("power_at_10", "estimate"): power[10],
        ("power_at_5", "high"): result.power[1].high,
        ("maximum_subgroup_rate", "high"): most.high,
        ("maximum_subgroup_rate", "estimate"): None if most.at_least else most.estimate,
    }
    limits = [{"figure": figure, "bound": bound, "max": 1} for figure, bound in shown]
    if TIMES > 1:
        policies = [audited(tables, limit, EXACT).policy for limit in limits]
    else:
        policies = audited(tables, limits, EXACT).policies
    assert len(policies) == len(shown)
    for policy in policies:
        value = shown.pop((policy.figure, policy.bound))
        assert policy.attacker == (None if value is None else result.attacker)
        assert policy.value == (None if value is None else pytest.approx(value))
        if value is None:
            assert not policy.met and "is not known" in policy.reasons[-1]


def test_a_lower_bound_of_the_largest_group_rate_is_not_an_estimate(tables):
    """The release is the original: everybody is linked, and every group says no more than "at least"."""
    original, _, control = tables
    policy = {"figure": "maximum_subgroup_rate", "bound": "estimate", "max": 0.6}
    result = audited((original, original, control), policy)
    assert result.at_risk.average == 1.0 and result.at_risk.maximum.at_least
    assert result.policy.value is None and not result.policy.met
    assert result.policy.reasons[-1] == (
        "the largest rate of a subgroup is not known: rates of small groups are hidden, and the largest may be among "
        "them"
    )
    high = audited((original, original, control), policy | {"bound": "high"}).policy
    assert high.value == 1.0 and not high.met


def test_a_largest_group_rate_that_is_known_is_held_against_its_limit():
    row = GroupRow("a", 1, 50, 0.4, None, None, 0.3, 0.5, None, None)
    tables = (GroupTable("g", (row,)),)
    people = Subgroups(tables, 0.3, Maximum(0.4, 0.3, 0.5, "g", "a", 2, 0), None)
    assert figure_ends(None, "maximum_subgroup_rate", people) == (0.4, 0.5)
    bound = Subgroups(tables, 0.3, Maximum(0.4, 0.3, 0.5, "g", "a", 2, 0, at_least=True), None)
    assert figure_ends(None, "maximum_subgroup_rate", bound) == (None, 0.5)


def test_a_re_identification_limit_without_true_matches_is_not_met(tables):
    original, released, control = tables
    columns = {name: item for name, item in COLUMNS.items() if name != "who"}
    settings = SETTINGS | {"columns": columns, "policy": "ema-policy-0070"}
    result = cvpl.audit(original, released, settings, control=control)
    assert not result.policy.met
    assert "the upper interval end of the top-1 hit rate is not known" in result.policy.reasons[-1]


def test_a_limit_on_the_command_line_replaces_one_policys_and_adds_to_several(tables):
    one = audited(tables, LINKED, fail_above=0.0).policy
    assert (one.figure, one.bound, one.max) == ("linkage_rate", "estimate", 0.0)
    several = audited(tables, [LINKED, LINKED], fail_above=0.0).policy
    assert (several.figure, several.bound, several.max) == ("risk", "high", 0.0)
    alone = audited(tables, None, fail_above=0.0).policy
    assert (alone.figure, alone.bound, alone.max) == ("risk", "high", 0.0)


@pytest.fixture
def files(tables, tmp_path):
    for name, table in zip(("original", "released", "holdout"), tables, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "audit.yaml").write_text(json.dumps(SETTINGS | {"policy": LINKED}))
    return tmp_path


def call(folder, *more):
    tables = [str(folder / "original.csv"), str(folder / "released.csv")]
    return run(["audit", *tables, "-c", str(folder / "audit.yaml"), "--control", str(folder / "holdout.csv"), *more])


@pytest.mark.parametrize(
    ("written", "code", "text"),
    [
        ("{figure: linkage_rate, bound: estimate, max: 1}", 0, "POLICY MET. The linkage rate at the threshold"),
        (
            "[{figure: linkage_rate, bound: estimate, max: 1}, cell-size-20]",
            10,
            "the top-1 hit rate must be at most 5.0%",
        ),
        ("ema-policy-0070", 10, "the top-1 hit rate must be at most 9.0%"),
    ],
)
def test_a_policy_file_takes_the_place_of_the_configurations(files, written, code, text, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    (files / "policy.yaml").write_text(written)
    assert call(files, "--policy", str(files / "policy.yaml")) == code
    shown = capsys.readouterr().out
    assert text in shown and "safe" not in shown.lower()


def test_a_preset_may_be_named_on_the_command_line(files, capsys):
    assert call(files, "--policy", "cell-size-20") == 10
    assert read_policy("cell-size-5").preset == "cell-size-5"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("", "the policy is empty"),
        ("figure: [", "the policy is not YAML"),
        ("{figure: linkage_rate, max: 5}", "`max`"),
        ("{max: 0.1, max: 0.2, figure: linkage_rate}", "occurs twice"),
        (None, "cannot be opened"),
    ],
)
def test_a_policy_file_that_cannot_be_used_is_bad_input(files, written, text, capsys):
    if written is not None:
        (files / "policy.yaml").write_text(written)
    assert call(files, "--policy", str(files / "policy.yaml")) == 3
    shown = capsys.readouterr().err
    assert text in shown and "policy.yaml" in shown


def test_without_a_control_the_right_persons_found_keep_the_gate_closed():
    """Pairs of equal records: without its own each finds the other, so nothing is attributable, and half are found.

    Forty people are released as others, and find nobody with or without their record.
    """
    rng = np.random.default_rng(4)
    pairs = np.repeat(rng.normal(size=(80, 6)), 2, axis=0)
    sides = [np.concatenate([pairs, rng.normal(size=(40, 6))]) for _ in range(2)]
    original, released = (pd.DataFrame(side, columns=list(NUMBERS)).assign(who=np.arange(200)) for side in sides)
    policy = {"figure": "attributable_rate", "bound": "estimate", "max": 0.2}
    result = cvpl.audit(original, released, SETTINGS | {"policy": policy, "threshold": 0.99})
    assert result.attributable_rate.basis == "own_match_left_out"
    assert result.attributable_rate.estimate <= 0.2 < result.truth.top1_hit_rate
    assert not result.policy.met
    assert any("there is no control" in reason for reason in result.policy.reasons)
