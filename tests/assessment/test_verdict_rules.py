"""The verdict and the risk at their edges, from figures worked by hand; no audit is run."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from cvpl.assessment.decision import control_fault, control_hides, copied_rows, missing, verdict
from cvpl.estimates import Estimate
from cvpl.evaluation.intervals.intervals import refused_interval
from cvpl.evaluation.measurement import (
    FEWEST_LINKED_CONTROLS,
    RiskReading,
    best_candidate,
    can_be_read,
    certain_risk,
    choose_reading,
    risk_by_control,
    risk_by_matches,
)
from cvpl.result import BestCandidate, Finding, Risk, VerdictFigures, verdict_of
from cvpl.result.publishing import Disclosure
from cvpl.result.verdict import LINKED_MORE_OFTEN


def section(low, high, estimate=0.02, false_rate=0.05, basis="control", attacker="rarity"):
    return Risk(estimate=estimate, low=low, high=high, power=0.1, false_rate=false_rate, basis=basis, attacker=attacker)


def right(low=0.43, high=0.47, estimate=0.45):
    return BestCandidate(estimate=estimate, low=low, high=high, attacker="rarity")


def said(**figures):
    return verdict_of(VerdictFigures(**figures))


# The kinds at their edges


@pytest.mark.parametrize(
    ("low", "high", "kind"),
    [
        (0.0, 0.2, "indistinguishable_from_zero"),
        (1e-6, 0.2, "linkable"),
        (-0.2, 0.0, "indistinguishable_from_zero"),
        (-0.2, -1e-6, "undetermined"),
        (None, 0.2, "undetermined"),
        (0.1, None, "undetermined"),
    ],
)
def test_an_end_on_zero_includes_it(low, high, kind):
    assert said(risk=section(low, high)).kind == kind


def test_a_whole_interval_below_zero_is_the_fault_of_the_control():
    found = said(risk=section(-0.3, -0.1))
    assert (
        found.sentence
        == f"The risk of this release cannot be told: {LINKED_MORE_OFTEN}; no true match is known either."
    )
    assert found.basis is None and found.margin is None


@pytest.mark.parametrize(
    ("high", "more", "margin"),
    [
        (0.0499, {}, 0.05),
        (0.05, {}, None),
        (0.02, {"checked": False}, None),
        (0.02, {"copies": "the row of 1 person is in it unchanged"}, None),
    ],
)
def test_nothing_shows_needs_an_upper_end_below_the_margin_and_checks_that_found_nothing(high, more, margin):
    found = said(risk=section(-0.01, high), **more)
    assert found.kind == "indistinguishable_from_zero" and found.basis == "control"
    assert found.margin == margin
    assert ("nothing shows above a margin of 5 in 100" in found.sentence) == (margin is not None)


def test_the_first_reason_is_told_and_every_other_figure_is_left_out():
    found = said(reasons=["every vector is zero", "another"], risk=section(0.1, 0.2), best_candidate=right())
    assert found.sentence == "The risk of this release is not assessable: every vector is zero."


def test_a_risk_by_the_true_matches_determines_nothing():
    found = said(risk=section(0.1, 0.2, basis="true_matches"), best_candidate=right())
    assert (found.kind, found.basis) == ("undetermined", "true_matches")
    assert found.sentence == (
        "The risk of this release cannot be told: there is no control; by the true matches the best candidate is right "
        "for 45 in 100 people in it (43 to 47)."
    )


@pytest.mark.parametrize(("low", "high"), [(None, 0.5), (0.4, None), (None, None)])
def test_true_matches_without_both_ends_are_told_without_a_figure(low, high):
    found = said(best_candidate=right(low, high))
    assert found.sentence.endswith("; true matches are known, but they have no interval.") and found.basis is None
    linkable = said(risk=section(0.1, 0.2), best_candidate=right(low, high))
    assert "right person" not in linkable.sentence


def test_a_lower_bound_is_told_as_one():
    found = said(risk=section(-0.1, 0.2), lower_bound=True, best_candidate=right())
    assert found.sentence == (
        "The risk of this release cannot be told: the search skipped some pairs, so the figures are lower bounds; by "
        "the true matches the best candidate is right for at least 45 in 100 people in it (43 to 47)."
    )


def test_copies_are_told_in_every_kind():
    copies = "the rows of 25 people are in it unchanged"
    for figures in ({"risk": section(0.1, 0.2)}, {"risk": section(-0.1, 0.2)}, {}):
        assert f"; {copies}" in said(copies=copies, **figures).sentence


def test_the_order_of_the_doubts():
    """A control's fault outweighs a risk that shows; a control that only hides risk outweighs what is not seen."""
    fault, hides = "the control contains originals", "people of the control are in the release"
    certain = section(0.01, 0.03, false_rate=0.01)
    for shown in ({"risk": section(0.1, 0.2)}, {"risk": section(-0.1, 0.2), "certain": certain}):
        told = said(control_fault=fault, control_hides=hides, **shown)
        assert told.kind == "undetermined" and fault in told.sentence
        assert said(control_hides=hides, **shown).kind == "linkable"
    assert fault in said(risk=section(-0.3, -0.1), control_fault=fault, lower_bound=True).sentence
    assert hides in said(risk=section(-0.3, -0.1), control_hides=hides, lower_bound=True).sentence
    assert said(risk=section(-0.1, 0.02), control_hides=hides).kind == "undetermined"
    assert LINKED_MORE_OFTEN in said(risk=section(-0.3, -0.1), lower_bound=True).sentence


def test_a_certain_risk_says_where_it_was_read():
    at_one = said(risk=section(-0.1, 0.2), certain=section(0.011, 0.03, false_rate=0.01))
    assert at_one.sentence == (
        "About 2 in 100 people (1 to 3) can be linked because of this release, read where 1% of the control is linked; "
        "the strongest attacker at 5% cannot tell the risk from 0 (at most 20 in 100)."
    )
    other = said(risk=section(-0.1, 0.2), certain=section(0.011, 0.03, attacker="nearest"))
    assert ", read by attacker 'nearest'; the strongest attacker at 5%" in other.sentence
    assert at_one.basis == other.basis == "control"
    plain = said(risk=section(0.011, 0.03), certain=section(0.5, 0.6, false_rate=0.01))
    assert plain.sentence == "About 2 in 100 people (1 to 3) can be linked because of this release."


def test_the_defaults_of_a_risk_are_one_attacker_at_ninety_five_percent():
    found = section(0.1, 0.2)
    assert (found.among, found.confidence, right().among) == (1, 0.95, 1)
    figures = VerdictFigures()
    assert figures.checked and not figures.lower_bound


# What the figures of an ensemble become


def outcome(low=0.1, high=0.3, **more):
    """A stand-in for an ensemble whose risk and certain risk are at hand."""
    attack = SimpleNamespace(exact=True, control=SimpleNamespace(rows=300), original=SimpleNamespace(rows=300))
    measured = SimpleNamespace(attack=attack, has_control=True, power_interval=lambda _: Estimate(None, 0.1, 0.2))
    fields = {
        "risk": section(low, high, 0.2, attacker="a"), "certain": None, "reasons": (), "best_candidate": None,
        "chosen": SimpleNamespace(measured=measured), "reading": RiskReading(0.05),
    }  # fmt: skip
    return SimpleNamespace(**fields | more)


def finding(check, closes=True, count=None):
    return Finding(check=check, closes_gate=closes, message=f"about {check}", count=count)


def test_copies_are_those_of_the_first_finding_that_closes_the_gate():
    assert copied_rows([], 10) is None
    assert copied_rows([finding("exact_copies", closes=False, count=30), finding("other", count=30)], 10) is None
    both = [finding("near_copies", count=1), finding("exact_copies", count=40)]
    assert copied_rows(both, 1) == "the row of 1 person is in it with at most one value changed"
    assert copied_rows(both[1:], 1) == "the rows of 40 people are in it unchanged"
    assert (
        copied_rows([finding("exact_copies", count=None)], 10) == "the rows of fewer than 10 people are in it unchanged"
    )


def test_a_fault_of_the_control_is_one_that_closes_the_gate():
    assert control_fault([finding("control_unlike", closes=False), finding("exact_copies")]) is None
    found = [finding("control_unlike"), finding("control_in_release"), finding("related_rows")]
    assert control_fault(found[:2]) == "the control is unlike the originals"
    assert control_fault(found[2:]) == "rows belong together, and no group is declared"
    both = "the control is unlike the originals, or rows belong together and no group is declared"
    assert control_fault(found) == both
    assert control_fault([*found, finding("control_overlaps")]) == "the control contains originals"
    assert control_hides(found) == "people of the control are in the release"


def test_a_verdict_reads_all_of_its_figures():
    exact = Disclosure(1, {"originals": 300})
    assert verdict(outcome(), [], exact).kind == "linkable"
    small = [finding("few_released_rows", closes=False), finding("other")]
    assert verdict(outcome(), small, exact).sentence == (
        "The risk of this release is not assessable: about few_released_rows."
    )
    quiet = outcome(-0.1, 0.04)
    assert verdict(quiet, [], exact).margin == 0.05
    assert verdict(quiet, [finding("exact_copies", count=3)], exact).margin is None
    assert verdict(quiet, [finding("control_unlike")], exact).kind == "undetermined"
    quiet.certain = section(0.01, 0.03, 0.02, 0.01, attacker="a")
    assert verdict(quiet, [], exact).kind == "linkable"
    assert verdict(quiet, [finding("control_lacks_columns")], exact).kind == "linkable"
    assert verdict(quiet, [finding("control_overlaps")], exact).kind == "undetermined"
    skipping = outcome()
    skipping.chosen.measured.attack.exact = False
    assert verdict(skipping, [], exact).sentence.startswith("At least about 20 in 100")


def test_why_the_risk_has_no_interval():
    found = outcome()
    measured = found.chosen.measured
    attack = measured.attack
    assert missing(found) == "no interval is offered (unmeasured)"
    asked = []
    measured.power_interval = lambda rate: asked.append(rate) or refused_interval("too coarse")
    assert missing(found) == "no interval is offered (too coarse)" and asked == [0.05]
    found.reading = RiskReading(None, "too steep")
    assert missing(found) == "no interval is offered (too steep)"
    attack.original.rows = 20
    assert missing(found) == "no interval is offered (too steep)"
    attack.original.rows = 19
    assert missing(found) == "there are too few originals (19; an interval needs at least 20)"
    attack.control.rows = 20
    assert "too few originals" in missing(found)
    attack.control.rows = 19
    assert missing(found) == "there are too few controls (19; an interval needs at least 20)"
    measured.has_control = False
    assert missing(found) == "the attackers cannot be compared with the control"
    attack.control = None
    assert missing(found) == "there is no control"


# The risk


class Measured:
    """A stand-in for a measurement: power and its interval by false-positive rate, and the confidences asked for."""

    def __init__(self, powers, controls=1000, has_control=True, hits=None, released=101, ends=None):
        self.powers, self.controls, self.has_control, self.asked, self.ends = powers, controls, has_control, [], ends
        self.attack = SimpleNamespace(protected=SimpleNamespace(rows=released))
        self.truth = None
        if hits is not None:
            self.truth = SimpleNamespace(hit=np.array(hits), has_match=np.ones(len(hits), dtype=bool))

    def power_at(self, rate):
        return self.powers[rate][1]

    def power_interval(self, rate, confidence=0.95):
        self.asked.append((rate, confidence))
        low, power, high = self.powers[rate]
        return refused_interval("too few", power) if low is None else Estimate(power, low, high, confidence)

    def top1_interval_at(self, confidence):
        self.asked.append(confidence)
        return self.ends


def rates(known=(0.05, 0.10, 0.20, 0.30)):
    return {rate: (0.4 if rate in known else None, 0.5, 0.6) for rate in (0.01, 0.05, 0.10, 0.20, 0.30)}


@pytest.mark.parametrize(
    ("controls", "rate"),
    [(110, 0.05), (109, 0.10), (55, 0.10), (54, 0.20), (28, 0.20), (27, 0.30), (19, 0.30), (18, None), (1, None)],
)
def test_the_false_rate_links_at_least_five_and_a_half_controls(controls, rate):
    """0.05 x 110 = 0.10 x 55 = 5.5, and 5 x 1.1 = 5.5: fewer linked controls are too few."""
    found = choose_reading([Measured(rates(), controls), Measured(rates(), 5000)])
    assert found.false_rate == rate
    if rate is None:
        assert found.refused == ("1 control is too few" if controls == 1 else f"{controls} controls are too few")


def test_the_smallest_rate_that_all_attackers_have_an_interval_at_is_read():
    assert choose_reading([Measured(rates()), Measured(rates((0.2, 0.3)))]).false_rate == 0.2
    assert choose_reading([Measured(rates(())), Measured(rates())]) == RiskReading(None, "too few")
    assert choose_reading([Measured(rates((0.3,)), has_control=False), Measured(rates())]).false_rate == 0.05
    assert choose_reading([Measured(rates(), has_control=False)]) == RiskReading(None, "there is no control")
    assert choose_reading([]) == RiskReading(None, "there is no control")


def test_rounding_error_does_not_make_a_control_too_small():
    assert can_be_read(0.05, 110) and can_be_read(0.1, 55) and can_be_read(1.0, 6)
    assert not can_be_read(0.05, 109) and not can_be_read(1.0, 5)
    assert can_be_read((FEWEST_LINKED_CONTROLS - 1e-9) / 8, 8)
    assert not can_be_read((FEWEST_LINKED_CONTROLS - 2e-9) / 8, 8)


def test_the_risk_by_the_control_is_the_power_beyond_chance():
    measured = Measured({0.05: (0.24, 0.43, 0.62)})
    found = risk_by_control("a", measured, 0.05, 0.99)
    assert (found.attacker, found.basis, found.power, found.false_rate) == ("a", "control", 0.43, 0.05)
    assert (found.estimate, found.low, found.high) == pytest.approx((0.4, 0.2, 0.6))
    assert measured.asked == [(0.05, 0.99)]


def test_the_confidence_is_corrected_for_the_attackers_and_for_a_second_false_rate():
    measured = Measured(rates((0.01, 0.05)))
    found = risk_by_control("a", measured, 0.05, 1 - 0.05 / 4, 4)
    assert found.among == 4 and found.confidence == pytest.approx(1 - 0.05 / 4)
    certain = certain_risk({"a": measured}, "a", 0.05, 4)
    assert (certain.false_rate, certain.among) == (0.01, 4) and certain.confidence == pytest.approx(1 - 0.05 / 8)


def test_the_risk_by_the_matches_is_the_hit_rate_beyond_a_guess():
    measured = Measured({}, hits=[1.0, 1.0, 0.0, 0.02], released=101, ends=Estimate(0.505, 0.01, 0.505))
    found = risk_by_matches("a", measured, 0.99)
    guess = 1 / 101
    assert (found.attacker, found.basis, found.power, found.false_rate) == ("a", "true_matches", None, None)
    ends = [(value - guess) / (1 - guess) for value in (0.505, 0.01, 0.505)]
    assert (found.estimate, found.low, found.high) == pytest.approx(tuple(ends))
    assert measured.asked == [0.99]


def test_the_risk_by_the_matches_needs_a_match_and_two_released_records():
    assert best_candidate(Measured({})) is None
    assert risk_by_matches("a", Measured({}, released=2)) is None
    assert risk_by_matches("a", Measured({}, hits=[1.0], released=1)) is None
    found = risk_by_matches("a", Measured({}, hits=[1.0], released=2))
    assert found.estimate == 1.0 and found.low is None and found.refused == "no match is known"


def certain(attackers, headline="a", reading=0.05, **measured):
    return certain_risk({name: Measured(powers) for name, powers in measured.items()}, headline, reading, attackers)


def test_a_certain_risk_has_its_lower_end_above_zero():
    on_zero = {0.01: (0.01, 0.02, 0.03), 0.05: (0.5, 0.6, 0.7)}
    assert certain(1, a=on_zero) is None
    found = certain(1, a=on_zero | {0.01: (0.0101, 0.02, 0.03)})
    assert (found.attacker, found.false_rate) == ("a", 0.01) and found.low > 0
    assert certain(1, a=on_zero | {0.01: (None, 0.5, None)}) is None


def test_the_largest_lower_end_of_all_attackers_and_rates_is_returned():
    low, high = (0.06, 0.07, 0.08), (0.2, 0.3, 0.4)
    found = certain(2, a={0.01: low, 0.05: high}, b={0.01: low, 0.05: low})
    assert (found.attacker, found.false_rate) == ("a", 0.01)
    found = certain(2, a={0.01: low, 0.05: high}, b={0.01: low, 0.05: high})
    assert (found.attacker, found.false_rate) == ("b", 0.05)
    assert certain(1, reading=0.01, a={0.01: high}) is None


def test_a_certain_risk_is_corrected_for_all_attackers_and_both_rates():
    measured = Measured({0.01: (0.2, 0.3, 0.4), 0.05: (0.2, 0.3, 0.4)})
    certain_risk({"a": measured}, "a", 0.05, 3)
    assert [(rate, confidence) for rate, confidence in measured.asked if confidence != 0.95] == [
        (0.01, pytest.approx(1 - 0.05 / 6))
    ]
