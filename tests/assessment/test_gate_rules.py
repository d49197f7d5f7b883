"""The gate: which value of which attacker a policy checks, and what else keeps it closed; no audit is run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.assessment.decision import TableFigures, doubts, gate
from cvpl.config.written import PolicyConfig
from cvpl.estimates import Estimate
from cvpl.evaluation.groups.subgroups import GroupRow, GroupTable, Maximum, Subgroups
from cvpl.evaluation.measurement import RiskReading
from cvpl.result import LINKED_MORE_OFTEN, BestCandidate, Finding, Inference, Risk, SingledOutRate
from cvpl.result.publishing import Disclosure
from cvpl.result.questions import InferenceRate

SIZES = {"originals": 200, "controls": 200, "matched": 200}
EXACT = Disclosure(1, SIZES)


def measured(**more):
    """A stand-in for a measurement whose figures agree: a threshold, a control, and no true match."""
    attack = SimpleNamespace(
        exact=True,
        found=[0] * 200,
        scores=np.zeros(200),
        attacker=SimpleNamespace(on_scale=False),
        control=SimpleNamespace(rows=200),
        original=SimpleNamespace(rows=200),
    )
    fields = {
        "attack": attack, "truth": None, "linked": None, "threshold": 0.9, "basis": "control", "control": [0] * 200,
        "has_control": True, "rate": Estimate(0.30, 0.2, 0.4), "attributable": Estimate(0.10, 0.05, 0.15),
        "power": {
            0.01: Estimate(0.02, 0.01, 0.03), 0.05: Estimate(0.10, 0.08, 0.12), 0.10: Estimate(0.20, 0.1, 0.3),
        },
        "top1_interval": None, "power_interval": lambda _: Estimate(None, 0.1, 0.2), "asked": [],
    }  # fmt: skip
    found = SimpleNamespace(**fields | more)

    def at_confidence(confidence):
        found.asked.append(confidence)
        return found

    found.at_confidence = at_confidence
    return found


def known(hits=0.25, has_match=1.0, *, complete=True, recall=1.0):
    """True matches of so many originals, of which so many are hit."""
    matched = np.arange(200) < round(200 * has_match)
    return SimpleNamespace(
        has_match=matched, in_block=matched & (np.arange(200) < round(recall * matched.sum())),
        hit=np.full(200, hits), complete=complete,
    )  # fmt: skip


def risk(name="a", estimate=0.1, low=0.05, high=0.2, rate=0.05):
    return Risk(estimate=estimate, low=low, high=high, power=0.15, false_rate=rate, basis="control", attacker=name)


def right(estimate, low=0.0, high=1.0):
    return BestCandidate(estimate=estimate, low=low, high=high, attacker="a")


def ensemble(attackers=None, headline="a", **more):
    """A stand-in for an ensemble: its attackers' measurements, and the risks of those that count."""
    outcomes = {name: SimpleNamespace(measured=one) for name, one in (attackers or {"a": measured()}).items()}
    fields = {
        "outcomes": outcomes, "qualified": outcomes, "headline": headline, "chosen": outcomes[headline],
        "risks": {"a": risk()}, "certain": None, "not_read": [], "basis": "control", "reasons": (), "confidence": 0.975,
        "best_candidate": None, "reading": RiskReading(0.05),
    }  # fmt: skip
    found = SimpleNamespace(**fields | more)
    found.risk = found.risks.get(headline)
    return found


def policy(figure="risk", bound="high", limit=1.0, **more):
    return PolicyConfig(figure=figure, bound=bound, **{"min" if figure == "k" else "max": limit}, **more)


def decided(written=None, attackers=None, *, fail_above=None, people=None, findings=(), disclosure=EXACT, tables=None):
    attackers = attackers or ensemble()
    headline = attackers.chosen.measured
    return gate(attackers, headline, written, fail_above, people or {}, findings, disclosure, tables)


def value(figure, bound="high", attackers=None, **more):
    (found,) = decided(policy(figure, bound), attackers, **more)
    return found.value


def reasons(figure="risk", attackers=None, bound="high", limit=1.0, **more):
    (found,) = decided(policy(figure, bound, limit), attackers, **more)
    assert found.met == (not found.reasons)
    return found.reasons


# The values


@pytest.mark.parametrize(
    ("figure", "estimate", "high"),
    [
        ("risk", 0.1, 0.2),
        ("linkage_rate", 0.30, 0.4),
        ("attributable_rate", 0.10, 0.15),
        ("power_at_1", 0.02, 0.03),
        ("power_at_5", 0.10, 0.12),
        ("power_at_10", 0.20, 0.3),
        ("top1_hit_rate", 0.25, 0.35),
    ],
)
def test_a_policy_checks_the_end_that_it_names(figure, estimate, high):
    attackers = ensemble({"a": measured(truth=known(), top1_interval=Estimate(None, 0.1, 0.35))})
    assert value(figure, "estimate", attackers) == estimate
    (found,) = decided(policy(figure, "high"), attackers)
    assert (found.value, found.attacker, found.met) == (high, "a", True)


@pytest.mark.parametrize("bound", ["high", "estimate"])
def test_a_value_on_the_limit_meets_it(bound):
    end = {"high": 0.2, "estimate": 0.1}[bound]
    assert not reasons(bound=bound, limit=end)
    assert "above the limit" in reasons(bound=bound, limit=end - 0.01)[0]


def test_a_value_is_rounded_up_before_it_is_compared():
    rounded = Disclosure(10, SIZES)
    attackers = ensemble(risks={"a": risk(estimate=0.101, high=0.201)})
    assert value("risk", "estimate", attackers, disclosure=rounded) == pytest.approx(0.15)
    assert value("risk", "high", attackers, disclosure=rounded) == pytest.approx(0.25)
    below = ensemble(risks={"a": risk(estimate=-0.02, low=-0.1, high=-0.01)})
    assert value("risk", "high", below, disclosure=rounded) < 0
    assert value("risk", "estimate", below, disclosure=rounded) == 0


def test_a_rate_without_a_threshold_is_a_share_of_the_originals_alone():
    """At a threshold the attributable rate is also a share of the controls, of which there are fewer."""
    rounded = Disclosure(10, {"originals": 1000, "controls": 100})
    at = ensemble({"a": measured(attributable=Estimate(0.10, 0.0, 0.111))})
    assert value("attributable_rate", attackers=at, disclosure=rounded) == pytest.approx(0.2)
    off = ensemble({"a": measured(attributable=Estimate(0.10, 0.0, 0.111), threshold=None)})
    assert value("attributable_rate", attackers=off, disclosure=rounded) == pytest.approx(0.12)


def test_the_largest_value_of_all_attackers_counts():
    attackers = ensemble(
        {"a": measured(), "b": measured()},
        risks={"a": risk("a", 0.3, 0.1, 0.31), "b": risk("b", 0.2, 0.1, 0.5)},
    )
    (found,) = decided(policy("risk"), attackers)
    assert (found.value, found.attacker) == (0.5, "b")
    (found,) = decided(policy("risk", "estimate"), attackers)
    assert (found.value, found.attacker) == (0.3, "a")
    attackers.outcomes["b"].measured.power[0.05] = Estimate(0.6, 0.5, 0.7)
    (found,) = decided(policy("power_at_5", "estimate"), attackers)
    assert (found.value, found.attacker) == (0.6, "b")
    assert attackers.outcomes["a"].measured.asked == [0.975]


def test_an_attacker_whose_value_is_zero_is_not_the_strongest():
    risks = {"a": risk("a", 0.0, -0.1, 0.0), "b": risk("b", 0.02, -0.1, 0.05)}
    (found,) = decided(policy("risk"), ensemble({"a": measured(), "b": measured()}, risks=risks))
    assert (found.value, found.attacker) == (0.05, "b")


def test_a_certain_risk_raises_its_attackers_value():
    base = {"risks": {"a": risk("a", 0.1, -0.1, 0.2)}}
    higher = ensemble(**base, certain=risk("a", 0.15, 0.1, 0.25, 0.01))
    assert (value("risk", "estimate", higher), value("risk", "high", higher)) == (0.15, 0.25)
    lower = ensemble(**base, certain=risk("a", 0.05, 0.01, 0.12, 0.01))
    assert (value("risk", "estimate", lower), value("risk", "high", lower)) == (0.1, 0.2)
    other = ensemble({"a": measured(), "b": measured()}, **base, certain=risk("b", 0.3, 0.1, 0.4, 0.01))
    (found,) = decided(policy("risk"), other)
    assert (found.value, found.attacker) == (0.4, "b")
    unknown = ensemble(risks={"a": risk("a", 0.1, None, None)}, certain=risk("a", 0.3, 0.1, 0.4, 0.01))
    assert value("risk", "high", unknown) is None


def test_a_risk_without_an_interval_is_unknown_and_says_why():
    none = ensemble(risks={"a": risk(low=None, high=None)})
    for bound in ("high", "estimate"):
        (found,) = decided(policy("risk", bound), none)
        assert (found.value, found.attacker, found.met) == (None, None, False)
        assert found.reasons[-1].endswith("is not known: no interval is offered (unmeasured)")
    assert value("risk", attackers=ensemble(risks={})) is None


def test_an_attacker_that_cannot_be_compared_with_the_control_leaves_the_risk_unknown():
    attackers = ensemble(not_read=["umap"])
    assert "attacker 'umap' cannot be compared with the control" in reasons("risk", attackers)[-1]
    assert value("risk", attackers=ensemble(not_read=["umap"], basis="true_matches")) == 0.2


def test_a_figure_that_one_attacker_lacks_is_unknown():
    attackers = ensemble({"a": measured(), "b": measured(power=None)})
    (found,) = decided(policy("power_at_5"), attackers)
    assert found.value is None and found.reasons[-1].endswith("is not known: attacker 'b' has none")
    no_interval = ensemble({"a": measured(power={0.05: Estimate(0.10, None, None)})})
    for bound in ("high", "estimate"):
        assert value("power_at_5", bound, no_interval) is None
    assert value("power_at_5", "estimate", ensemble({"a": measured(power={0.05: Estimate(0.10)})})) is None


def test_rates_at_the_threshold_are_those_of_the_headline():
    attackers = ensemble(
        {
            "a": measured(rate=Estimate(0.2, 0.1, 0.3)),
            "b": measured(rate=Estimate(0.9, 0.8, 1.0), attributable=Estimate(0.8, 0.7, 0.9)),
        }
    )
    assert value("linkage_rate", "estimate", attackers) == 0.2
    assert value("attributable_rate", "estimate", attackers) == 0.10


def test_without_a_base_the_largest_rate_of_those_that_have_one_counts():
    attackers = ensemble(
        {
            "a": measured(rate=Estimate(0.2, 0.1, 0.4)),
            "b": measured(rate=Estimate(0.9, 0.8, 1.0)),
            "c": measured(rate=Estimate(None)),
        },
        basis=None,
    )
    (found,) = decided(policy("linkage_rate", "estimate"), attackers)
    assert (found.value, found.attacker) == (0.9, "b")
    (found,) = decided(policy("attributable_rate", "estimate"), attackers)
    assert (found.value, found.attacker) == (0.10, "a")
    nobody = ensemble({"a": measured(rate=Estimate(None))}, basis=None)
    assert reasons("linkage_rate", nobody) == [
        "the upper interval end of the linkage rate at the threshold is not known"
    ]


def test_disqualified_attackers_count_only_if_all_are():
    attackers = ensemble({"a": measured(), "b": measured(power={0.05: Estimate(0.7, 0.6, 0.8)})})
    attackers.qualified = {"a": attackers.outcomes["a"]}
    assert value("power_at_5", "estimate", attackers) == 0.10
    attackers.qualified = {}
    assert value("power_at_5", "estimate", attackers) == 0.7


def subgroups(*, at_least=False, high=0.5):
    row = GroupRow("a", 1, 50, 0.4, None, None, 0.3, high, None, None)
    return Subgroups((GroupTable("g", (row,)),), 0.3, Maximum(0.4, 0.3, high, "g", "a", 2, 0, at_least=at_least), None)


def test_the_largest_rate_of_a_subgroup_is_that_of_the_attacker():
    figure = "maximum_subgroup_rate"
    assert value(figure, "estimate", people={"a": subgroups()}) == 0.4
    assert value(figure, "high", people={"a": subgroups()}) == 0.5
    assert (
        "rates of small groups are hidden"
        in reasons(figure, bound="estimate", people={"a": subgroups(at_least=True)})[-1]
    )
    assert "rates of small groups are hidden" in reasons(figure)[-1]
    rounded = Disclosure(10, SIZES)
    assert value(figure, "estimate", people={"a": subgroups()}, disclosure=rounded) == 0.4


# Figures of the tables


def singled(high=0.3):
    return SingledOutRate(estimate=0.2, low=0.1, high=high, columns=2, people=200, basis="none")


def test_k_is_held_against_its_smallest_value():
    (found,) = decided(policy("k", limit=5), tables=TableFigures(k=5))
    assert (found.value, found.min, found.max, found.attacker, found.met) == (5, 5, None, None, True)
    (found,) = decided(policy("k", limit=5), tables=TableFigures(k=4))
    assert not found.met and "is 4, below the limit of 5" in found.reasons[0]
    (found,) = decided(policy("k", limit=5))
    assert not found.met and "no quasi-identifier, or this is a quick look" in found.reasons[0]


def test_singling_out_is_held_against_its_limit():
    tables = TableFigures(singled_out=singled())
    assert value("singled_out_rate", "estimate", tables=tables) == 0.2
    assert value("singled_out_rate", "high", tables=tables) == 0.3
    assert "set `singling_out: true`" in reasons("singled_out_rate")[-1]
    few = TableFigures(singled_out=singled(None))
    assert "there are too few predicates" in reasons("singled_out_rate", tables=few)[-1]


def inferred(refused=None, rate=True, high=0.3):
    """What attackers infer, as far as the gate reads it."""
    found = InferenceRate.model_construct(estimate=0.2, low=0.1, high=high) if rate else None
    secrets = [SimpleNamespace(column="pay", refused=None), SimpleNamespace(column="ill", refused=refused)]
    return TableFigures(inferred=Inference.model_construct(rate=found, secrets=secrets))


def test_inference_is_held_against_its_limit():
    assert value("inference_rate", "estimate", tables=inferred()) == 0.2
    assert value("inference_rate", "high", tables=inferred()) == 0.3
    assert "set `inference: true`" in reasons("inference_rate")[-1]
    refused = reasons("inference_rate", tables=inferred("too few people"))
    assert refused[-1].endswith("is not known: column 'ill': too few people")
    assert reasons("inference_rate", tables=inferred(rate=False))[-1].endswith("is not known")
    assert "there are too few people" in reasons("inference_rate", tables=inferred(high=None))[-1]


# The policies


def test_a_limit_on_the_command_line_takes_the_place_of_one_policys():
    (found,) = decided(policy("linkage_rate", limit=0.9), fail_above=0.1)
    assert (found.figure, found.max) == ("linkage_rate", 0.1)
    (found,) = decided(None, fail_above=0.0)
    assert (found.figure, found.bound, found.max) == ("risk", "high", 0.0)
    assert decided(None) == []


@pytest.mark.parametrize(
    "written",
    [
        policy("k", limit=2),
        policy("linkage_rate", limit=0.9, preset="cell-size-5"),
        (policy("linkage_rate", limit=0.9),),
    ],
    ids=["k", "preset", "list"],
)
def test_a_limit_on_the_command_line_adds_a_policy_beside_others(written):
    found = decided(written, fail_above=0.3, tables=TableFigures(k=3))
    assert sorted(one.figure for one in found) == sorted({"risk", found[0].figure, found[1].figure})
    assert len(found) == 2 and next(one.max for one in found if one.figure == "risk") == 0.3
    assert [one.preset for one in found if one.figure == "linkage_rate"] in ([], [None], ["cell-size-5"])


def test_policies_that_are_not_met_come_first():
    found = decided((policy("risk", limit=1.0), policy("linkage_rate", limit=0.0), policy("power_at_5", limit=1.0)))
    assert [(one.figure, one.met) for one in found] == [("linkage_rate", False), ("risk", True), ("power_at_5", True)]


def test_a_finding_that_closes_the_gate_closes_it_for_every_policy():
    closing = Finding(check="exact_copies", closes_gate=True, message="copies")
    quiet = Finding(check="other", closes_gate=False, message="nothing")
    found = decided((policy("risk"), policy("k", limit=1)), findings=[quiet, closing], tables=TableFigures(k=9))
    assert [one.reasons for one in found] == [["before the attack: copies"]] * 2


# Doubts


def test_figures_that_agree_leave_no_doubt():
    attackers = ensemble()
    for figure in ("risk", "attributable_rate", "linkage_rate", "power_at_5", "maximum_subgroup_rate"):
        assert doubts(attackers, attackers.chosen.measured, figure) == ()


def doubted(figure, attackers=None, **more):
    attackers = attackers or ensemble({"a": measured(**more)})
    return doubts(attackers, attackers.chosen.measured, figure)


def test_a_release_that_is_not_assessable_passes_no_gate():
    (found,) = doubted("risk", ensemble(reasons=("every vector is zero",)))
    assert found.endswith("every vector is zero")


def test_a_lower_bound_passes_no_gate():
    one = measured()
    one.attack.exact = False
    for figure in ("risk", "linkage_rate"):
        (found,) = doubted(figure, ensemble({"a": one}))
        assert "a lower bound cannot pass a gate" in found


@pytest.mark.parametrize(
    ("hits", "share", "complete", "estimate", "speaks"),
    [
        (0.30, 1.0, True, 0.0, False),
        (0.31, 1.0, True, 0.0, True),
        (0.31, 1.0, True, -0.5, True),
        (0.29, 1.0, True, -0.5, False),
        (0.50, 1.0, True, 0.3, False),
        (0.60, 0.5, True, 0.0, False),
        (0.62, 0.5, True, 0.0, True),
        (0.40, 0.5, False, 0.0, True),
        (0.25, 0.5, False, 0.0, False),
    ],
)
def test_a_hit_rate_far_above_the_risk_is_a_doubt(hits, share, complete, estimate, speaks):
    """The hits count among all originals; if not all matches are known, among those whose match is known."""
    attackers = ensemble(
        {"a": measured(truth=known(hits, share, complete=complete))},
        risks={"a": risk(estimate=estimate)},
        best_candidate=right(hits),
    )
    assert doubted("risk", attackers) == (("the top-1 hit rate is far above the risk",) if speaks else ())


def test_a_hit_rate_of_an_attacker_without_truth_counts_as_it_is():
    attackers = ensemble(best_candidate=right(0.45))
    assert doubted("risk", attackers) == ("the top-1 hit rate is far above the risk",)
    assert doubted("risk", ensemble(risks={}, best_candidate=right(0.9))) == ()


@pytest.mark.parametrize(("high", "speaks"), [(-1e-6, True), (0.0, False), (None, False)])
def test_a_risk_that_is_wholly_below_zero_is_a_doubt(high, speaks):
    attackers = ensemble(risks={"a": risk(estimate=-0.1, low=None if high is None else -0.2, high=high)})
    assert doubted("risk", attackers) == ((LINKED_MORE_OFTEN,) if speaks else ())
    assert doubted("linkage_rate", attackers) == ()


def test_rates_at_the_threshold_are_doubted_by_hits_and_power():
    linked = (np.zeros(200), None)
    truth = {"truth": known(0.2), "linked": linked}
    rate = "the top-1 hit rate is far above the linkage rate"
    assert doubted("linkage_rate", **truth) == doubted("top1_hit_rate", **truth) == (rate,)
    assert doubted("risk", **truth) == ()
    hits = {"truth": known(0.45), "linked": (np.ones(200), None)}
    attributable = "the top-1 hit rate is far above the attributable rate"
    assert doubted("attributable_rate", **hits) == (attributable,)
    assert doubted("linkage_rate", **hits) == ()
    powerful = {"power": {0.05: Estimate(0.5)}}
    power = ("the power at a 5% false-positive rate is far above the attributable rate",)
    for figure in ("attributable_rate", "linkage_rate", "maximum_subgroup_rate"):
        assert doubted(figure, **powerful) == power
    assert doubted("risk", **powerful) == doubted("power_at_5", **powerful) == ()


def test_a_blocking_that_separates_true_pairs_is_a_doubt():
    assert doubted("risk", truth=known(0.0, recall=0.05)) == ("blocking recall is near zero",)


# Without a control


def left_out(high=0.2, estimate=0.1, **more):
    best = right(estimate, None if high is None else 0.05, high)
    return ensemble({"a": measured(basis="own_match_left_out")}, best_candidate=best, basis="true_matches", **more)


@pytest.mark.parametrize(("bound", "end"), [("high", 0.2), ("estimate", 0.1)])
def test_without_a_control_the_hit_rate_must_meet_the_limit_too(bound, end):
    attackers = left_out()
    for one in (attackers.chosen.measured,):
        one.rate = one.attributable = Estimate(0.0, 0.0, 0.0)
        one.power = {0.05: Estimate(0.05)}
    for figure in ("linkage_rate", "attributable_rate"):
        assert reasons(figure, attackers, bound, end) == []
        (found,) = reasons(figure, attackers, bound, end - 0.01)
        assert found == f"there is no control, and the top-1 hit rate of up to {end:.1%} is above the limit"
    rounded = Disclosure(10, SIZES)
    assert "up to 25.0%" in reasons("linkage_rate", left_out(high=0.21), limit=0.21, disclosure=rounded)[0]


def test_without_a_control_a_hit_rate_without_an_interval_closes_the_gate():
    assert "there is no control, and the top-1 hit rate has no interval" in reasons("linkage_rate", left_out(None))
    nobody = left_out()
    nobody.best_candidate = None
    assert reasons("linkage_rate", nobody) == []


def test_with_a_control_or_for_other_figures_the_hit_rate_is_not_asked():
    with_control = ensemble(best_candidate=right(0.3, None, None))
    assert reasons("linkage_rate", with_control) == []
    attackers = left_out(None)
    assert reasons("risk", attackers) == []
    tables = TableFigures(k=9, singled_out=singled(), inferred=inferred().inferred)
    for figure in ("singled_out_rate", "inference_rate"):
        assert reasons(figure, attackers, tables=tables) == []
    (found,) = decided(policy("k", limit=2), attackers, tables=tables)
    assert found.met
