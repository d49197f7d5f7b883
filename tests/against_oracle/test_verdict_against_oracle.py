"""Whole audits against the oracle: the family, calibration, headline, verdict and gate of random worlds.

The oracle is written from the documentation as plain loops and shares no code with the package. Every score, power,
risk and interval end must agree to 1e-9. A few worlds in `make test`, more in full, 2,000 with `make oracle`.
"""

from __future__ import annotations

import pytest

import verdict_comparison
from cvpl.assessment import combined, ensemble
from cvpl.assessment.combined import AttackerOutcome
from cvpl.evaluation import measurement
from cvpl.randomness import stream
from examples import examples
from family_worlds import verdict_world
from verdict_comparison import compare

SEEDS = (3, 4, 5, 6, 129, 159, 677)
"""Every kind of verdict, certain people, ages in tens, canaries, an open gate, combined evidence as the headline, and
without the members that have a fault."""
SLOWER = (10, 20, 50, 528, 621, 2131)
"""Nothing found and an open gate, enough people for combined evidence without a lower bound, canaries that members read
differently, hit rates that differ in the last bit."""
MORE = (*SLOWER, *range(1000, 988 + examples(6))) if examples(1) > 1 else ()
LINKABLE = 21


@pytest.mark.parametrize("seed", [*SEEDS, *MORE])
def test_the_verdict_is_the_oracles(seed):
    assert compare(verdict_world(seed)).differs == []


@pytest.fixture(scope="module")
def linkable():
    """A small world of that kind, quick to audit, which the oracle runs through once whatever the package does."""
    found = {}

    def once(world, released, reference):
        key = id(released), tuple(reference)
        if key not in found:
            found[key] = run(world, released, reference)
        return list(found[key])  # the combined attacker is added to it

    run = verdict_comparison.run_members
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict_comparison, "run_members", once)
        yield verdict_world(LINKABLE)


def test_a_wrong_false_positive_rate_is_noticed(linkable, monkeypatch):
    monkeypatch.setattr(measurement, "LARGER_FALSE_RATES", (0.29,))
    assert any("false-positive rate" in words for words in compare(linkable).differs)


def test_a_wrong_scale_of_the_risk_is_noticed(linkable, monkeypatch):
    monkeypatch.setattr(measurement, "attributable_from_power", lambda power, _: power)
    assert any("upper end" in words for words in compare(linkable).differs)


def test_a_wrong_choice_of_the_headline_is_noticed(linkable, monkeypatch):
    monkeypatch.setattr(AttackerOutcome, "power_at", lambda self, rate: -self.measured.power_at(rate))
    assert any(words.startswith("headline:") for words in compare(linkable).differs)


def test_an_uncorrected_interval_is_noticed(linkable, monkeypatch):
    monkeypatch.setattr(ensemble.EnsembleOutcome, "confidence", property(lambda _: 0.95))
    assert any(words.startswith("headline: lower end") for words in compare(linkable).differs)


def test_folds_of_another_seed_are_noticed(linkable, monkeypatch):
    monkeypatch.setattr(combined, "stream", lambda seed, purpose: stream(seed + 1, purpose))
    outcome = compare(linkable)
    assert outcome.combined
    assert any(words.startswith("combined: ") and "scores of" in words for words in outcome.differs)
