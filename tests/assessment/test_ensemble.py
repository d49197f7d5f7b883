"""Who speaks for the release: the strongest without a fault, with intervals that allow for the picking."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import cvpl
from cvpl.assessment.combined import COMBINED
from cvpl.assessment.ensemble import AttackerOutcome, EnsembleOutcome, run_attackers
from cvpl.config.attackers import FAMILY
from cvpl.estimates import Estimate
from cvpl.laboratory.mechanisms.perturbation import Perturbation
from cvpl.laboratory.simulation.touchpoints import Touchpoints
from cvpl.workflows.planned_audit import read_plan

EXACT = [
    name
    for name, item in FAMILY.items()
    if item.get("alignment") not in ("cells", "differences", "ratios") and item.get("evidence") != "words"
]
"""The members that run on a release of single values, without two columns of one unit or three numbers above 0."""
COLUMNS = {
    "person_id": {"role": "id"},
    "age": {"role": "quasi_identifier", "type": "numeric", "block": {"bin": 10}},
    "gender": {"role": "quasi_identifier", "type": "category", "block": "exact"},
    "region": {"role": "quasi_identifier", "type": "category", "separator": "/"},
    "purchase_time": {"role": "attribute", "type": "datetime", "features": ["hour", "day_of_week"]},
    "days_after_ad": {"role": "attribute", "type": "numeric"},
    "ad_channel": {"role": "attribute", "type": "category"},
    "income": {"role": "sensitive"},
}


def outcome(power, *faults, top1=None):
    """A contender of which only power, hits and faults matter."""
    truth = None if top1 is None else SimpleNamespace(hit=np.array([top1]), has_match=np.array([True]))
    measured = SimpleNamespace(
        has_control=power is not None,
        controls=1_000,
        power_at=lambda rate: power,
        power_interval=lambda rate: Estimate(power, 0.0, 1.0),
        top1_interval_at=lambda confidence: Estimate(top1, 0.0, 1.0),
        truth=truth,
    )
    return AttackerOutcome(measured, None, SimpleNamespace(reasons=faults), None)


@pytest.mark.parametrize(
    ("outcomes", "headline", "among", "reasons"),
    [
        ({"a": (0.1,), "b": (0.3,), "c": (0.2,)}, "b", 3, 0),
        ({"a": (0.1,), "b": (0.9, "dead"), "c": (0.2,)}, "c", 2, 0),
        ({"a": (0.3,), "b": (0.3,)}, "a", 2, 0),
        ({"a": (None,), "b": (None,)}, "a", 1, 0),
        ({"a": (0.1, "dead"), "b": (0.2, "dead")}, "b", 1, 1),
        ({"a": (0.1, "dead"), "b": (0.2, "shifted", "dead")}, "b", 1, 2),
        ({"a": (0.1, "dead", "shifted")}, "a", 1, 2),
        ({"a": (0.1,)}, "a", 1, 0),
    ],
)
def test_the_strongest_without_a_fault_is_the_headline(outcomes, headline, among, reasons):
    ensemble = EnsembleOutcome.of({name: outcome(*item) for name, item in outcomes.items()})
    assert (ensemble.headline, ensemble.picked_among, len(ensemble.reasons)) == (headline, among, reasons)
    assert ensemble.confidence == pytest.approx(1 - 0.05 / among)


def test_of_equal_power_the_one_that_finds_more_persons_is_the_headline():
    found = {"a": outcome(0.05, top1=0.1), "b": outcome(0.05, top1=0.4), "c": outcome(0.04, top1=0.9)}
    assert EnsembleOutcome.of(found).headline == "b"
    assert EnsembleOutcome.of(found | {"d": outcome(0.05, "dead", top1=0.9)}).headline == "b"


def test_the_last_bits_of_a_rate_pick_no_attacker():
    nearly = 0.1 + 0.2
    assert nearly > 0.3
    found = {"a": outcome(0.3, top1=0.4), "b": outcome(nearly, top1=0.3)}
    assert EnsembleOutcome.of(found).headline == "a"
    found = {"a": outcome(0.2, top1=0.3), "b": outcome(0.2, top1=nearly)}
    assert EnsembleOutcome.of(found).headline == "a"
    assert EnsembleOutcome.of(found).best_candidate.attacker == "a"


def test_without_a_control_the_one_that_finds_most_persons_is_the_headline():
    found = {"a": outcome(None, top1=0.1), "b": outcome(None, top1=0.4), "c": outcome(None, "dead", top1=0.9)}
    ensemble = EnsembleOutcome.of(found)
    assert (ensemble.headline, ensemble.basis, ensemble.picked_among) == ("b", "true_matches", 2)


def test_one_that_cannot_be_read_against_the_control_is_not_the_headline():
    ensemble = EnsembleOutcome.of({"a": outcome(None, top1=0.9), "b": outcome(0.06, top1=0.1)})
    assert (ensemble.headline, ensemble.basis, ensemble.picked_among) == ("b", "control", 1)


def test_who_is_not_in_the_release_is_not_lost_by_blocking():
    """A tenth of the people, unchanged: nine in ten have no candidate, and nobody is lost."""
    rows = [{"person": at, "place": f"p{at}", "amount": float(at % 7)} for at in range(60)]
    columns = {
        "person": {"role": "id"},
        "place": {"role": "quasi_identifier", "type": "category", "block": "exact"},
        "amount": {"role": "attribute", "type": "numeric"},
    }
    config = {"columns": columns, "attacker": "paper"}
    found = cvpl.audit(pd.DataFrame(rows), pd.DataFrame(rows[::10]), config)
    assert found.validity.assessable
    assert found.truth.blocking_recall == 1.0
    parted = pd.DataFrame(rows[::10]).assign(place=[f"p{at}" for at in range(1, 7)])
    lost = cvpl.audit(pd.DataFrame(rows), parted, config)
    assert "more than half of the originals in the release without a single candidate" in lost.validity.reasons[0]


def test_a_fault_of_many_is_reported_once():
    ensemble = EnsembleOutcome.of({name: outcome(0.1, "it is dead") for name in "abcd"} | {"e": outcome(0.05)})
    assert ensemble.disqualified == ("not counted: 4 attackers; it is dead",)
    assert ensemble.headline == "e"


@pytest.fixture(scope="module")
def people():
    """400 originals, their lightly perturbed release, and 400 others.

    The release has incomes in thousands: exact ones are nearly unique, and unchanged they close every gate.
    """
    rng = np.random.default_rng(11)
    everybody = Touchpoints(records=800).draw(rng)
    drawn, control = everybody.take(np.arange(400)), everybody.take(np.arange(400, 800))
    original, released, others = (
        pd.DataFrame(item.to_columns()) for item in (drawn, Perturbation("medium").protect(drawn, rng), control)
    )
    return original, released.assign(income=released["income"].round(-3)), others


LINKAGE_ALONE = {"singling_out": False, "inference": False}


def audited(people, *, control=True, **settings):
    original, release, others = people
    more = {name: settings.pop(name) for name in ("attackers", "randomize") if name in settings}
    config = {"columns": COLUMNS, "attacker": "default", "sensitivity": False} | settings
    return cvpl.audit(original, release, config, control=others if control else None, **more)


def test_the_family_finds_more_than_the_paper_does(people):
    result = audited(people, report={"subgroups": ["gender", "income"]}, **LINKAGE_ALONE)
    assert [row.name for row in result.attackers] == [*EXACT, COMBINED]
    power = {row.name: next(item.power for item in row.power if item.false_rate == 0.05) for row in result.attackers}
    assert result.attacker == max(power, key=power.get)
    assert power[result.attacker] > power["paper"] + 0.2
    assert result.picked.among == len(EXACT) + 1
    assert any(row.settings["blocking"]["any_of"] == [[]] for row in result.attackers)
    assert not any(row.disqualified for row in result.attackers)
    # Both ends of the scale, by the same attacker, and the release between them.
    own = power[result.attacker]
    assert result.canaries.independent.power < 0.12 < own <= result.canaries.identity.power + 0.05
    assert result.canaries.identity.top1_hit_rate == pytest.approx(result.canaries.identity.attainable_top1, abs=0.01)
    assert [table.name for table in result.at_risk.tables] == ["gender", "income", "rarity, by tenths"]
    assert result.at_risk.average == pytest.approx(result.linkage_rate.estimate)
    assert result.at_risk.maximum.estimate >= result.at_risk.average
    assert result.control_likeness.alike


def test_members_that_need_reference_people_are_left_out_without_a_control(people):
    result = audited(people, control=False, canaries=False, **LINKAGE_ALONE)
    assert {row.name for row in result.attackers} == {
        name for name in EXACT if FAMILY[name].get("evidence") not in ("reference", "density", "values", "between")
    }
    assert result.attributable_rate.basis == "own_match_left_out"
    assert "base_rate_by_own_match" in {warning.rule for warning in result.warnings}


def test_an_attacker_of_ones_own_that_needs_reference_people_is_refused_without_a_control(people):
    original, release, _ = people
    config = {"columns": COLUMNS, "attacker": {"similarity": "rarity", "evidence": "reference"}}
    with pytest.raises(cvpl.InputError, match="people outside the release"):
        cvpl.audit(original, release, config)


def test_some_members_can_be_chosen_by_name(people):
    result = audited(people, attackers=["rarity", "paper"], canaries=False, **LINKAGE_ALONE)
    assert [row.name for row in result.attackers] == ["rarity", "paper"]
    assert result.picked.among == 2
    with pytest.raises(cvpl.UsageError, match="there is no attacker 'strong'; choose among paper, aligned"):
        audited(people, attackers=["strong"])


def test_drawn_attackers_are_recorded_and_can_be_drawn_again(people):
    first = audited(people, attackers=["paper"], randomize=True, canaries=False, **LINKAGE_ALONE)
    drawn = first.provenance.randomization
    assert drawn.attackers == ["drawn_1", "drawn_2", "drawn_3"]
    again = audited(people, attackers=["paper"], randomize=drawn.seed, canaries=False, **LINKAGE_ALONE)
    assert again.to_json() == first.to_json()
    other = audited(people, attackers=["paper"], randomize=drawn.seed + 1, canaries=False, **LINKAGE_ALONE)
    assert [row.settings for row in other.attackers] != [row.settings for row in first.attackers]


def test_at_another_confidence_the_figures_stay_and_the_intervals_widen(people):
    original, release, control = people
    resolved, inputs = read_plan(original, release, {"columns": COLUMNS, "attacker": "paper"}, control, None)
    measured = run_attackers(resolved, inputs, lambda phase, share: None).chosen.measured
    wider = measured.at_confidence(0.999)
    for name in ("rate", "attributable", "base_rate", "top1_interval"):
        narrow, wide = getattr(measured, name), getattr(wider, name)
        assert wide.value == narrow.value, name
        assert wide.low < narrow.low and wide.high > narrow.high, name
    assert [one.value for one in wider.power.values()] == [one.value for one in measured.power.values()]
    assert replace(wider, spread=measured.spread).at_confidence(0.95).rate == measured.rate


def test_several_policies_have_an_outcome_each(people):
    result = audited(
        people,
        attackers=["paper", "rarity"],
        canaries=False,
        **LINKAGE_ALONE,
        policy=[{"figure": "power_at_5", "max": 1.0}, "ema-policy-0070"],
    )
    figures = {policy.figure: policy for policy in result.policies}
    assert [(name, figure.met) for name, figure in figures.items()] == [("top1_hit_rate", False), ("power_at_5", True)]
    assert figures["top1_hit_rate"].preset == "ema-policy-0070"
    reason = figures["top1_hit_rate"].reasons[-1]
    assert "the upper interval end of the top-1 hit rate is" in reason and "above the limit of 9.0%" in reason
    assert figures["power_at_5"].attacker in ("paper", "rarity")
    assert result.policy == result.policies[0]


def test_a_subgroup_column_must_be_declared(people):
    with pytest.raises(cvpl.InputError, match=r"`report.subgroups` names a column that is not declared"):
        audited(people, report={"subgroups": ["shoe_size"]})
