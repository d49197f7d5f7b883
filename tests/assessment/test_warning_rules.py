"""Each warning at its limit: a figure on the limit is quiet, one beyond it is not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.assessment.decision import attackers_left_out, notices
from cvpl.estimates import Estimate
from cvpl.evaluation.contradictions import (
    ALL_BASE_RATE,
    FEW_RECORDS,
    POWER_ABOVE,
    RECALL_NEAR_ZERO,
    STEEP,
    SWINGS,
    TOP1_ABOVE,
    TOP1_ABOVE_ATTRIBUTABLE,
    AuditWarning,
    CheckedFigures,
    contradictions,
    figures_of,
    power_unexplained,
    recall_near_zero,
    top1_far_above,
    top1_unexplained,
)
from cvpl.result.publishing import Disclosure

QUIET = {
    "records": 500, "linkage_rate": 0.5, "linkage_rate_of_matched": 0.5, "top1_hit_rate": 0.5, "blocking_recall": 1.0,
    "attributable_rate": 0.5, "basis": "control", "controls": 500, "power": 0.5, "step": 0.0,
}  # fmt: skip
EXACT = Disclosure(1, {"originals": 500})


def rules(**figures):
    return [warning.rule for warning in contradictions(CheckedFigures(**QUIET | figures))]


def messages(**figures):
    return " ".join(warning.message for warning in contradictions(CheckedFigures(**QUIET | figures)))


def test_figures_that_agree_have_no_warning():
    assert rules() == []


def test_the_limits_are_these():
    limits = (TOP1_ABOVE, TOP1_ABOVE_ATTRIBUTABLE, RECALL_NEAR_ZERO, POWER_ABOVE, ALL_BASE_RATE, STEEP, SWINGS)
    assert limits == (0.10, 0.30, 0.10, 0.10, 0.05, 0.10, 0.10)
    assert FEW_RECORDS == 100


@pytest.mark.parametrize(
    ("rule", "quiet", "loud"),
    [
        ("top1_above_rate", {"linkage_rate_of_matched": 0.41}, {"linkage_rate_of_matched": 0.39}),
        ("top1_above_rate", {"linkage_rate_of_matched": 0.375, "top1_hit_rate": 0.46}, {"top1_hit_rate": 0.61}),
        ("top1_above_rate", {"top1_hit_rate": None}, {"linkage_rate_of_matched": 0.0}),
        ("top1_above_rate", {"linkage_rate_of_matched": None}, {"linkage_rate_of_matched": 0.0}),
        ("top1_above_attributable", {"attributable_rate": 0.21}, {"attributable_rate": 0.19}),
        ("top1_above_attributable", {"attributable_rate": -0.9, "top1_hit_rate": 0.29}, {"attributable_rate": -0.9}),
        ("top1_above_attributable", {"attributable_rate": None}, {"attributable_rate": 0.0}),
        ("power_above_attributable", {"power": 0.05 + 0.95 * 0.59}, {"power": 0.05 + 0.95 * 0.61}),
        ("power_above_attributable", {"power": None}, {"power": 1.0}),
        ("blocking_recall_near_zero", {"blocking_recall": 0.10}, {"blocking_recall": 0.0999}),
        ("blocking_recall_near_zero", {"blocking_recall": None}, {"blocking_recall": 0.0}),
        ("base_rate_unknown", {"basis": "own_match_left_out"}, {"basis": None}),
        ("base_rate_by_own_match", {"basis": "control"}, {"basis": "own_match_left_out"}),
        ("all_base_rate", {"attributable_rate": 0.05}, {"attributable_rate": 0.049}),
        ("all_base_rate", {"attributable_rate": 0.0, "linkage_rate": 0.1}, {"attributable_rate": 0.0}),
        ("all_base_rate", {"attributable_rate": 0.0, "linkage_rate": None}, {"attributable_rate": 0.0}),
        ("all_base_rate", {"linkage_rate": 0.11}, {"attributable_rate": 0.0, "linkage_rate": 0.11}),
        ("steep_threshold", {"step": 0.10}, {"step": 0.101}),
        ("steep_threshold", {"step": None}, {"step": 0.5}),
        ("swings_with_blocking", {"spread_by_blocking": 0.10}, {"spread_by_blocking": 0.101}),
        ("swings_with_encoding", {"spread_by_encoding": 0.10}, {"spread_by_encoding": 0.101}),
        ("few_records", {"records": 100, "controls": 100}, {"records": 99}),
        ("few_records", {"controls": None}, {"controls": 99}),
        ("top1_above_attributable", {}, {"attributable_rate": 0.0, "top1_hit_rate": 0.35}),
        ("power_above_attributable", {}, {"attributable_rate": 0.0, "power": 0.05 + 0.95 * 0.15}),
    ],
)  # fmt: skip
def test_a_rule_speaks_only_beyond_its_limit(rule, quiet, loud):
    assert rule not in rules(**quiet)
    assert rule in rules(**loud)


def test_a_difference_that_is_the_limit_is_not_beyond_it():
    """The limits are compared as numbers, and these differences are exact in binary."""
    assert not top1_far_above(CheckedFigures(**QUIET | {"top1_hit_rate": TOP1_ABOVE, "linkage_rate_of_matched": 0.0}))
    assert not top1_unexplained(CheckedFigures(**QUIET | {"top1_hit_rate": 0.30, "attributable_rate": 0.0}))
    assert not recall_near_zero(CheckedFigures(**QUIET | {"blocking_recall": RECALL_NEAR_ZERO}))
    beyond = (0.2 - 0.05) / (1 - 0.05)
    assert beyond - (beyond - POWER_ABOVE) == POWER_ABOVE
    assert not power_unexplained(CheckedFigures(**QUIET | {"power": 0.2, "attributable_rate": beyond - POWER_ABOVE}))


def test_the_base_rate_is_named_by_its_source():
    found = messages(attributable_rate=0.0, top1_hit_rate=None, power=None)
    assert "people who are not in the release are linked about as often" in found
    found = messages(attributable_rate=0.0, top1_hit_rate=None, power=None, basis="own_match_left_out")
    assert "with their own match left out, the originals are linked about as often" in found


def test_a_rate_below_zero_is_told_as_zero():
    """What is attributed to the release is never told as less than nothing."""
    found = messages(attributable_rate=-0.4, top1_hit_rate=0.75, power=0.9)
    assert found.count("only 0.0% is attributed to the release") == 2
    assert "75.0%" in found and "90.0%" in found
    found = messages(attributable_rate=0.125, top1_hit_rate=0.75, power=0.9)
    assert found.count("only 12.5% is attributed to the release") == 2


def test_a_spread_is_told_in_points():
    found = messages(spread_by_encoding=0.25, swinging="paper")
    assert "attacker 'paper' vary by 25.0 points with the encoding and scaling of columns" in found


def test_few_people_are_told_with_their_number():
    found = messages(records=42, controls=17)
    assert "42 originals are few" in found and "17 people in the control are few" in found


# The figures of a measurement


def measurement(**more):
    """A stand-in for a measurement of four originals, of which three have a match and two are linked."""
    truth = SimpleNamespace(
        has_match=np.array([True, True, True, False]),
        in_block=np.array([True, False, False, False]),
        hit=np.array([1.0, 0.5, 0.0, 0.0]),
    )
    attack = SimpleNamespace(
        found=[0] * 4,
        scores=np.array([0.905, 0.895, 0.95, 0.1]),
        attacker=SimpleNamespace(on_scale=True),
        exact=True,
        share_examined=1.0,
        levers=SimpleNamespace(used=("sample",)),
    )
    fields = {
        "attack": attack, "truth": truth, "linked": (np.array([1.0, 0.0, 1.0, 1.0]), None), "threshold": 0.9,
        "rate": Estimate(0.5), "attributable": Estimate(0.4), "basis": "control", "control": [0] * 7,
        "power": {0.01: Estimate(0.1), 0.05: Estimate(0.3)},
    }  # fmt: skip
    return SimpleNamespace(**fields | more)


def test_the_figures_are_those_of_the_measurement():
    seen = figures_of(measurement())
    assert seen.records == 4 and seen.controls == 7
    assert seen.linkage_rate_of_matched == pytest.approx(2 / 3)
    assert seen.top1_hit_rate == pytest.approx(1.5 / 3)
    assert seen.blocking_recall == pytest.approx(1 / 3)
    assert (seen.linkage_rate, seen.attributable_rate, seen.power) == (0.5, 0.4, 0.3)
    assert seen.step == pytest.approx(0.75 - 0.25)  # at 0.89 three are linked, at 0.91 one is
    assert seen.at_threshold


def test_a_step_is_measured_within_a_hundredth_on_either_side():
    far = measurement()
    far.attack.scores = np.array([0.885, 0.915, 0.95, 0.1])
    assert figures_of(far).step == 0.0


def test_what_is_unknown_stays_unknown():
    unknown = figures_of(measurement(truth=None, control=None, power=None, threshold=None))
    assert unknown.linkage_rate_of_matched is None and unknown.top1_hit_rate is None
    assert unknown.blocking_recall is None and unknown.controls is None and unknown.power is None
    assert unknown.step is None and not unknown.at_threshold
    assert figures_of(measurement(linked=None)).linkage_rate_of_matched is None
    off = measurement()
    off.attack.attacker.on_scale = False
    assert figures_of(off).step is None


# All warnings of an audit


def ensemble(**more):
    fields = {"reasons": (), "disqualified": (), "left_out": (), "basis": None, "not_read": []}
    fields["with_too_many_labels"] = {}
    return SimpleNamespace(**fields | more)


def tables(*, control=None, matches=None, said=(), measured=()):
    pair = SimpleNamespace(control=control, notices=said, measured=measured)
    return SimpleNamespace(pair=pair, evaluation=SimpleNamespace(matches=matches))


def noticed(measured=None, attackers=None, inputs=None, likeness=None, **more):
    agreeing = measurement(
        truth=None, linked=None, power=None, attributable=Estimate(None), rate=Estimate(None), threshold=0.2
    )
    agreeing.attack.found = [0] * 500
    agreeing.control = [0] * 500
    return notices(measured or agreeing, attackers or ensemble(), inputs or tables(), likeness, EXACT, **more)


def test_nothing_is_said_where_nothing_is_wrong():
    assert noticed() == []


def test_faults_are_told_once_as_reasons_or_as_disqualified_attackers():
    both = ensemble(reasons=("every vector is zero",), disqualified=("not counted: attacker 'a'; zero",))
    assert noticed(attackers=both) == [AuditWarning("not_assessable", "every vector is zero")]
    one = ensemble(disqualified=("not counted: attacker 'a'; zero",))
    assert noticed(attackers=one) == [AuditWarning("attacker_disqualified", "not counted: attacker 'a'; zero")]


def test_variations_are_those_of_the_attacker_that_was_varied():
    swings = SimpleNamespace(attacker="rarity", spread_by_blocking=0.4, spread_by_encoding=0.2)
    found = noticed(swings=swings)
    assert [warning.rule for warning in found] == ["swings_with_blocking", "swings_with_encoding"]
    assert "'rarity' vary by 40.0 points" in found[0].message and "20.0 points" in found[1].message


def test_an_unlike_control_is_told_with_each_alarm():
    found = noticed(likeness=SimpleNamespace(figures=SimpleNamespace(alarms=("age differs", "sex differs"))))
    assert found == [AuditWarning("control_unlike", "age differs"), AuditWarning("control_unlike", "sex differs")]


def test_attackers_that_were_not_run_are_named():
    found = noticed(attackers=ensemble(left_out=("rarity", "weights")))
    assert found == [attackers_left_out(ensemble(left_out=("rarity", "weights")))]
    assert "'rarity', 'weights' were not run" in found[0].message


def test_a_column_of_too_many_labels_is_named_with_the_attackers_that_do_not_see_them():
    (one, several) = noticed(attackers=ensemble(with_too_many_labels={"city": ["paper"], "job": ["paper", "nearest"]}))
    assert one.rule == several.rule == "too_many_labels"
    assert (
        "column 'city' has too many labels for a feature each" in one.message
        and "attacker 'paper' compares" in one.message
    )
    assert "attackers 'paper', 'nearest' compare" in several.message


def test_pairs_that_were_left_out_are_told_with_their_share():
    measured = measurement(
        truth=None, linked=None, power=None, attributable=Estimate(None), rate=Estimate(None), threshold=0.2
    )
    measured.attack.found = measured.control = [0] * 500
    measured.attack.exact, measured.attack.share_examined = False, 0.125
    (found,) = noticed(measured)
    assert found.rule == "pairs_left_out"
    assert "as requested (sample), only 12.50% of the pairs" in found.message


def test_a_threshold_that_cannot_be_had_is_told_for_scores_on_the_scale():
    for on_scale in (True, False):
        measured = measurement(
            truth=None, linked=None, power=None, attributable=Estimate(None), rate=Estimate(None), threshold=None
        )
        measured.attack.found = measured.control = [0] * 500
        measured.attack.attacker.on_scale = on_scale
        assert [warning.rule for warning in noticed(measured)] == ["threshold_not_attainable"] * on_scale


def test_a_control_that_cannot_be_used_is_told():
    found = noticed(attackers=ensemble(basis="control", not_read=["umap"]))
    assert [warning.rule for warning in found] == ["control_unused"] and "attacker 'umap'" in found[0].message
    assert noticed(attackers=ensemble(basis="true_matches", not_read=["umap"])) == []
    assert noticed(inputs=tables(control="a table")) == []
    measured = measurement(
        truth=None, linked=None, power=None, attributable=Estimate(None), rate=Estimate(None), threshold=0.2
    )
    measured.attack.found, measured.control = [0] * 500, None
    assert noticed(measured) == []
    assert [warning.rule for warning in noticed(measured, inputs=tables(control="a table"))] == ["control_unused"]


def test_declared_identities_that_nobody_shares_are_told():
    assert noticed(inputs=tables(matches=SimpleNamespace(original=np.arange(2)))) == []
    found = noticed(inputs=tables(matches=SimpleNamespace(original=np.arange(0))))
    assert [warning.rule for warning in found] == ["no_matches"]


def test_what_was_noticed_on_columns_is_told_unless_it_is_about_too_few():
    told, hidden = (SimpleNamespace(describe=lambda _, text=text: text) for text in ("half are missing", None))
    found = noticed(inputs=tables(said=("column 'a' is left out",), measured=(told, hidden)))
    assert found == [AuditWarning("columns", "column 'a' is left out"), AuditWarning("columns", "half are missing")]
